// Package secret finds secret values and masks them in everything that is shown or stored.
// A definition names a secret; its value comes from the environment or from a file. The
// package is a leaf: it imports no other package of Hocket.
//
// # What is masked
//
// The values of all secrets that the configuration names, those that were requested, and
// those of variables in which programs usually expect a key ([Variables]). Each is found
// unchanged and in the forms in which it may appear: quoted as JSON (once, or inside of
// another JSON text), escaped for URLs, shells, HTML, in hexadecimal, and in base64 at any
// place of a longer text. A value of several lines is found line by line too.
//
// A value of fewer than [Shortest] characters cannot be a secret: masking it would damage
// unrelated texts. Requesting it is an error. Variables that the configuration does not
// name count only if their values are longer, since programs are often given a word such as
// "ollama" where no key is needed.
package secret

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/hocket-dev/hocket/internal/sorted"
)

// Shortest is the minimum length of a secret in bytes.
const Shortest = 6

// shortestFound is the same for variables that the configuration does not name.
const shortestFound = 8

// longest is the maximum size of a file with a secret.
const longest = 64 << 10

// Variables are those in which programs usually expect a key.
var Variables = []string{
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY", "CODEX_API_KEY",
	"GEMINI_API_KEY", "GOOGLE_API_KEY", "AZURE_OPENAI_API_KEY", "OPENROUTER_API_KEY", "MISTRAL_API_KEY", "GROQ_API_KEY",
	"DEEPSEEK_API_KEY", "XAI_API_KEY", "COHERE_API_KEY", "TOGETHER_API_KEY", "DASHSCOPE_API_KEY", "CURSOR_API_KEY",
	"COPILOT_GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY", "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "HF_TOKEN", "NPM_TOKEN",
	"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
}

// Place is where a secret is: one of its fields is set.
type Place struct {
	Env  string // a variable of the environment
	File string // a file, relative to the project
}

// Options configure where secrets are.
type Options struct {
	Places map[string]Place                 // by name
	Hidden []Place                          // values that have no name here, but are secret
	Getenv func(name string) (string, bool) // nil: the environment of this process
	Dir    string                           // directory for relative paths of files
	May    func(file string) bool           // whether a file may be opened now; nil: any
}

// Store provides secrets. It is safe for concurrent use.
type Store struct {
	places map[string]Place
	hidden []Place
	getenv func(string) (string, bool)
	dir    string
	may    func(file string) bool
	masker *Masker

	loading  sync.Mutex
	loaded   bool
	withheld string   // a file that could not be opened yet; "": there is none
	short    []string // names of secrets that exist and are too short to be masked

	mu    sync.Mutex
	files map[string]string // that were read, by path
}

// New returns a store. It opens nothing yet: a file that an untrusted project names must
// not be opened before it is needed. Existing secrets are masked in everything that the
// [Masker] is given; a missing one is reported when it is requested.
func New(o Options) *Store {
	s := &Store{places: maps.Clone(o.Places), hidden: o.Hidden, getenv: o.Getenv, dir: o.Dir, may: o.May, masker: &Masker{}, files: map[string]string{}}
	if s.getenv == nil {
		s.getenv = os.LookupEnv
	}
	if s.may == nil {
		s.may = func(string) bool { return true }
	}
	s.masker.load = s.load
	return s
}

// load loads all secrets that exist: once, and again when files may be opened that could not be.
func (s *Store) load() {
	s.loading.Lock()
	defer s.loading.Unlock()
	if s.loaded && (s.withheld == "" || !s.may(s.withheld)) {
		return
	}
	s.loaded, s.withheld, s.short = true, "", nil
	s.findAll()
}

// findAll loads all secrets that exist.
func (s *Store) findAll() {
	var values []string
	read := func(place Place) (string, error) {
		value, err := s.read(place)
		if errors.Is(err, errWithheld) {
			s.withheld = place.File
		}
		return value, err
	}
	for _, place := range s.hidden {
		if value, err := read(place); err == nil {
			values = append(values, value)
		}
	}
	for _, name := range s.Names() {
		value, err := read(s.places[name])
		if err == nil && value != "" && len(value) < Shortest {
			s.short = append(s.short, name)
		}
		values = append(values, value)
	}
	for _, name := range Variables {
		if value, _ := s.getenv(name); len(strings.TrimSpace(value)) >= shortestFound {
			values = append(values, value)
		}
	}
	s.masker.Add(values...)
}

// Names returns the names of the secrets in the configuration, sorted.
func (s *Store) Names() []string { return sorted.Keys(s.places) }

// TooShort reports a secret that exists but cannot be masked; nil if there is none.
func (s *Store) TooShort() error {
	s.load()
	s.loading.Lock()
	defer s.loading.Unlock()
	if len(s.short) == 0 {
		return nil
	}
	return tooShort(s.short[0])
}

func tooShort(name string) *Error {
	return &Error{Name: name, Problem: fmt.Sprintf("has fewer than %d characters, too few to mask it in outputs", Shortest), Advice: "use a longer one, or remove it from config.yml, so that it is shown unmasked"}
}

// Masker masks all secrets that are known, including those that become known later.
func (s *Store) Masker() *Masker { return s.masker }

// Get returns a secret by its name.
func (s *Store) Get(name string) (string, error) {
	place, ok := s.places[name]
	if !ok {
		return "", &Error{Name: name, Problem: "is not configured", Advice: fmt.Sprintf("add it under secrets in config.yml, for example `%s: {env: %s}`", name, name)}
	}
	return s.find(name, place)
}

// At returns the secret at a place.
func (s *Store) At(place Place) (string, error) {
	name := place.Env
	if name == "" {
		name = place.File
	}
	return s.find(name, place)
}

func (s *Store) find(name string, place Place) (string, error) {
	value, err := s.read(place)
	switch {
	case err != nil:
		return "", &Error{Name: name, Problem: err.Error(), Advice: place.hint()}
	case value == "":
		return "", &Error{Name: name, Problem: "is empty", Advice: place.hint()}
	case len(value) < Shortest:
		return "", tooShort(name)
	}
	s.masker.Add(value)
	return value, nil
}

// Error reports that a secret is missing, and what to do.
type Error struct{ Name, Problem, Advice string }

func (e *Error) Error() string { return fmt.Sprintf("secret %s %s; %s", e.Name, e.Problem, e.Advice) }

// Hint says what to do.
func (e *Error) Hint() string { return e.Advice }

func (p Place) hint() string {
	if p.Env != "" {
		return "set the variable " + p.Env + " before you start hocket"
	}
	return "write it to the file " + p.File
}

// errWithheld reports that a file must not be opened yet.
var errWithheld = errors.New("is in a file outside of the project, which is not trusted")

func (s *Store) read(place Place) (string, error) {
	if place.Env != "" {
		value, ok := s.getenv(place.Env)
		if !ok {
			return "", errors.New("is not set")
		}
		return withoutLineEnd(value), nil
	}
	if !s.may(place.File) {
		return "", errWithheld
	}
	path := place.File
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.dir, path)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if value, ok := s.files[path]; ok {
		return value, nil
	}
	value, err := readFile(path)
	if err == nil {
		s.files[path] = value
	}
	return value, err
}

// readFile returns the content of a file, without the newline that editors append.
func readFile(path string) (string, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", fmt.Errorf("cannot be read: %s is not a file", path) // opening a pipe would block
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("is not set: there is no file " + path)
	}
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, longest+1))
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", err)
	}
	if len(data) > longest {
		return "", fmt.Errorf("is too long: the file %s holds more than %d KB", path, longest>>10)
	}
	return withoutLineEnd(string(data)), nil
}

// withoutLineEnd removes the newline that editors and scripts append to a value.
func withoutLineEnd(value string) string { return strings.TrimRight(value, "\r\n") }
