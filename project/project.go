package project

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// Options configure [Open] with what is not on disk.
type Options struct {
	// State is the directory for runs. "" means a directory for this project below
	// StateHome.
	State string
	// Shared means that State may have runs of other projects, so that the retention of
	// this project does not apply.
	Shared bool
	// User is the user's own config.yml, for settings that a project cannot set. ""
	// means none.
	User string
	// StateHome is the user's state directory: XDG_STATE_HOME, or ~/.local/state.
	StateHome string
	// Executors creates the executors, by name, from the project's configuration. The
	// diagnostics report what is wrong with that.
	Executors func(root string, c Config) (map[string]agent.Executor, workflow.Diagnostics, error)
	// Root is the project's directory. "" means to search for it, from the opened
	// directory upwards.
	Root string
	// Reserved are names of executors that no file of the project can override.
	Reserved []string
	// Away means that it does not matter what executors lack on this machine.
	Away bool
	// Local means that the project's driver is not used, so nothing is sent where that leads.
	Local bool
}

// Project is a directory with workflows and agents. After Open, AddPowers and Report it
// does not change, and is safe for concurrent use.
type Project struct {
	Root   string // absolute, with symbolic links resolved
	Config Config
	Agents *agent.Set
	State  string // the directory for its runs; may not exist yet
	// Sources are the texts of its own files, by the names that they have in positions.
	Sources map[string][]byte

	dir         string   // where relative paths begin
	spelled     string   // Root as the user wrote it
	id          string   // of the directory Root, see site
	home        string   // contains the state directories of projects; "": the user chose State
	homes       []string // .hocket and .glee, those that exist
	executors   map[string]agent.Executor
	reserved    []string
	away, local bool // see Options
	definitions []*agent.Definition
	waiting     []string // agents that a model wrote and nobody has approved
	found       workflow.Diagnostics
	powers      []func() trust.Powers   // from AddPowers
	at          map[string]workflow.Pos // of what needs trust in config.yml, such as mcp.NAME
}

// Open opens the project that contains a directory: the nearest directory, from there
// upwards, that has .hocket or .glee, otherwise the directory itself. Mistakes in its files are
// in Diagnostics; the error is a system error.
func Open(dir string, o Options) (*Project, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("project: %w", err)
	}
	if info, err := os.Stat(abs); err != nil {
		return nil, fmt.Errorf("project: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("project: %s is not a directory", dir)
	}
	p := &Project{dir: dir, Root: o.Root, Config: defaultConfig(), State: o.State, reserved: o.Reserved, away: o.Away, local: o.Local, Sources: make(map[string][]byte), at: map[string]workflow.Pos{}}
	if p.Root == "" {
		p.Root = findRoot(abs)
	}
	p.spelled = p.Root
	if real, err := filepath.EvalSymlinks(p.Root); err == nil {
		p.Root = real
	}
	p.id, p.homes = projectfile.Identity(p.Root), p.homesIn(p.Root)
	if p.State == "" {
		p.home = filepath.Join(o.StateHome, "hocket")
		p.State = stateOf(p.home, p.Root, p.id, p.spelled, abs)
	}
	if err := p.readConfig(o); err != nil {
		return nil, err
	}
	if o.Executors != nil {
		executors, found, err := o.Executors(p.Root, p.Config)
		if err != nil {
			return nil, err
		}
		p.executors, p.found = executors, append(p.found, found...)
	}
	return p, p.readAgents(p.homes)
}

// Executors returns all executors, by name.
func (p *Project) Executors() map[string]agent.Executor { return p.executors }

// homesIn returns the .hocket and .glee directories in a directory. It rejects symbolic
// links, which may lead anywhere.
func (p *Project) homesIn(dir string) []string {
	homes, links := agent.HomesIn(dir)
	for _, link := range links {
		p.refuse(link, "replace it with a real directory", "%s is a symbolic link", filepath.Base(link))
	}
	return homes
}

// refuse reports a file of the project that cannot be opened.
func (p *Project) refuse(file, detail, summary string, args ...any) {
	d := workflow.Errorf(workflow.Pos{File: file}, codeLink, detail, summary, args...)
	if !slices.ContainsFunc(p.found, func(o workflow.Diagnostic) bool { return o.Code == d.Code && o.Pos == d.Pos }) {
		p.found = append(p.found, d)
	}
}

// unusable reports a file that is not a regular file of the project, and returns whether it
// is one.
func (p *Project) unusable(file string, err error) bool {
	var outside *projectfile.OutsideError
	switch {
	case errors.As(err, &outside):
		p.refuse(file, "replace it with the file itself: files outside of the project are not part of it", "%s is a symbolic link that leaves the project", filepath.Base(file))
	case errors.Is(err, projectfile.ErrNotFile):
		p.refuse(file, "replace it with a text file", "%s is %v", filepath.Base(file), projectfile.ErrNotFile)
	default:
		return false
	}
	return true
}

// Diagnostics returns the mistakes in the project's own files: config.yml and the agents.
func (p *Project) Diagnostics() workflow.Diagnostics { return p.found }

// findRoot returns the nearest project directory from dir upwards, with or without
// resolving symbolic links, otherwise dir itself.
func findRoot(dir string) string {
	root, found := findUpward(dir)
	if real, err := filepath.EvalSymlinks(dir); err == nil && !found {
		root, _ = findUpward(real)
	}
	return root
}

// findUpward returns the nearest project directory from dir upwards. It ignores directories
// of other users, who could plant a project, for instance in /tmp, whose programs would then
// run.
func findUpward(dir string) (root string, found bool) {
	for at := dir; ; at = filepath.Dir(at) {
		for _, name := range agent.Homes {
			if home := filepath.Join(at, name); isDir(home) && (at == dir || !foreign(home, dir)) {
				return at, true
			}
		}
		if at == filepath.Dir(at) {
			return dir, false
		}
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// key returns a readable name for a project that is unique to its path.
func key(root string) string {
	sum := sha256.Sum256([]byte(root))
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, filepath.Base(root))
	return strings.Trim(name, ".-") + "-" + hex.EncodeToString(sum[:6])
}

// readConfig reads the config.yml of the first directory that has one, and that of the
// user, which takes precedence.
func (p *Project) readConfig(o Options) error {
	for _, home := range p.homes {
		file := filepath.Join(home, "config.yml")
		text, err := p.read(file)
		if os.IsNotExist(err) || p.unusable(file, err) {
			continue
		}
		if err != nil {
			return err
		}
		config, found := readConfig(file, text, p.at)
		if filepath.Base(home) == ".glee" {
			found = tolerated(found)
		}
		p.Config, p.found = config, append(p.found, found...)
		break
	}
	if o.Shared {
		p.Config.Retention = Retention{}
	}
	if o.User == "" {
		return nil
	}
	text, err := os.ReadFile(o.User)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("project: %w", err)
	}
	p.Sources[o.User] = text
	p.found = append(p.found, p.Config.readUser(o.User, text)...)
	return nil
}

// tolerated turns unknown keys into warnings in a configuration that Glee wrote: it has its
// own keys.
func tolerated(found workflow.Diagnostics) workflow.Diagnostics {
	for i, d := range found {
		if d.Code == "yaml-unknown-key" {
			found[i] = workflow.Warningf(d.Pos, d.Code, "Hocket ignores it; "+d.Detail, "%s", d.Summary)
		}
	}
	return found
}

// read reads a file of the project, or in one of the directories, and keeps its text.
func (p *Project) read(file string, in ...string) ([]byte, error) {
	text, err := projectfile.Read(file, append(in, p.Root)...)
	return p.keep(file, text, err)
}

// readNamed reads a file that the user named. A symbolic link inside of the project must
// not leave it, and any other must not leave its repository or directory.
func (p *Project) readNamed(file string) ([]byte, error) {
	if isBelow(p.Root, file) || isBelow(p.spelled, file) {
		return projectfile.Read(file, p.Root)
	}
	return projectfile.ReadNamed(file)
}

// ReadNamed reads a file that the user named. The error is a *[ReadError].
func (p *Project) ReadNamed(file string) ([]byte, error) {
	text, err := p.readNamed(file)
	if err != nil {
		reason, advice := whyUnreadable(file, err)
		return nil, &ReadError{file, reason, advice, err}
	}
	return text, nil
}

// ReadError reports why a file that the user named cannot be read.
type ReadError struct {
	File, Reason string
	Advice       string // what to do about it; "": the reason says it
	Err          error
}

func (e *ReadError) Error() string { return "cannot read " + e.File + ": " + e.Reason }
func (e *ReadError) Unwrap() error { return e.Err }

// Hint returns what to do about it.
func (e *ReadError) Hint() string { return e.Advice }

// whyUnreadable explains an error in words for the user, without names of system calls.
func whyUnreadable(file string, err error) (reason, advice string) {
	info, unknown := os.Stat(file) // unlike EvalSymlinks, it follows /dev/fd/63 to a pipe
	_, missing := os.Lstat(file)
	var path *fs.PathError
	switch {
	case unknown == nil && info.IsDir():
		return "it is a directory", ""
	case unknown == nil && !info.Mode().IsRegular():
		return "not a regular file", ""
	case errors.Is(err, fs.ErrNotExist) && missing == nil:
		return "it is a symbolic link to a file that does not exist", "remove the link, or create the file that it leads to"
	case errors.Is(err, fs.ErrNotExist):
		return "no such file", ""
	case errors.As(err, new(*projectfile.OutsideError)):
		return "it is a symbolic link that leaves the project", ""
	case errors.Is(err, projectfile.ErrNotFile):
		return "it is larger than 16 MB", "check that it is the right file, or split it: Hocket reads files of at most 16 MB"
	case errors.As(err, &path):
		return path.Err.Error(), ""
	}
	return err.Error(), ""
}

func (p *Project) keep(file string, text []byte, err error) ([]byte, error) {
	if os.IsNotExist(err) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("project: %w", err)
	}
	p.Sources[file] = text
	return text, nil
}
