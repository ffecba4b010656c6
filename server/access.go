package server

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/filelock"
	"github.com/hocket-dev/hocket/internal/wholefile"
)

// Scope is something that a token allows. Every token allows reading.
type Scope string

// The scopes.
const (
	Read   Scope = "read"
	Answer Scope = "answer" // answer questions
	Start  Scope = "run"    // start what is in the project, and cancel, resume, retry and fork runs
	Admin  Scope = "admin"  // everything: save files, trust, approve, delete
	Model  Scope = "mcp"    // use the address for MCP clients, and nothing else
)

// ParseScopes parses a list such as "answer,run".
func ParseScopes(text string) ([]Scope, error) {
	var scopes []Scope
	for word := range strings.SplitSeq(text, ",") {
		s := Scope(strings.TrimSpace(word))
		if !slices.Contains([]Scope{Read, Answer, Start, Admin, Model}, s) {
			return nil, fmt.Errorf("unknown scope %q: expected read, answer, run, admin or mcp", word)
		}
		scopes = append(scopes, s)
	}
	if len(scopes) > 1 && slices.Contains(scopes, Model) {
		return nil, errors.New("the scope mcp is for a model, and cannot be combined with others")
	}
	return scopes, nil
}

// Token is a secret that a program or a browser sends with each request. Only its hash is stored.
type Token struct {
	Name    string    `json:"name"` // who uses it, as the journal records it
	Scopes  []Scope   `json:"scopes"`
	Hash    string    `json:"hash"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
	// Browser means that the secret is the cookie of a browser session.
	Browser bool `json:"browser,omitempty"`
}

func (t *Token) allows(s Scope) bool {
	if s == Model || slices.Contains(t.Scopes, Model) { // what a model may do, and what a program may, do not add up
		return s == Model && slices.Contains(t.Scopes, Model)
	}
	return s == Read || slices.Contains(t.Scopes, s) || slices.Contains(t.Scopes, Admin)
}

func (t *Token) expired(now time.Time) bool { return !t.Expires.IsZero() && now.After(t.Expires) }

const (
	sessionLife = 30 * 24 * time.Hour
	maxSessions = 100 // of browsers; a new one replaces the oldest
	secretBytes = 32
)

// Access stores the tokens of a user in a private file. Several processes may use it at once, and a
// token that one of them revokes is invalid for the others at the next request.
type Access struct {
	file string

	mu     sync.Mutex
	read   os.FileInfo // of the file when it was read; nil: never
	tokens []Token
}

// Address returns the address of the pages of a server that listens on a port of loopback.
func (a *Access) Address(port string) (string, error) {
	name, err := a.hostName()
	return "http://" + net.JoinHostPort(name, port), err
}

// hostName returns the host of the pages, which is chosen once. Strangers must not know it: a cookie goes to every
// port of a host, so whoever can make a browser open another port of this one gets the sessions. Browsers
// know that all names that end in localhost are this machine.
func (a *Access) hostName() (string, error) {
	file := a.hostFile()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	lock, err := filelock.Wait(a.file+".lock", 10*time.Second)
	if err != nil {
		return "", err
	}
	defer lock.Release()
	text, err := os.ReadFile(file)
	name := strings.TrimSpace(string(text))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		name = "hocket-" + strings.ToLower(rand.Text()) + ".localhost"
		return name, wholefile.Write(file, []byte(name+"\n"), 0o600)
	case err != nil:
		return "", err
	case !ownHost.MatchString(name):
		return "", fmt.Errorf("%s is damaged; delete it, and the next server chooses another name for its pages", file)
	}
	return name, nil
}

var ownHost = regexp.MustCompile(`^hocket-[a-z2-7]{10,50}\.localhost$`)

func (a *Access) hostFile() string { return filepath.Join(filepath.Dir(a.file), "host") }

// OpenAccess opens the tokens in a directory. It creates nothing.
func OpenAccess(dir string) *Access { return &Access{file: filepath.Join(dir, "tokens.json")} }

// Tokens lists the tokens that are valid, without browser sessions.
func (a *Access) Tokens() ([]Token, error) {
	all, err := a.load()
	return slices.DeleteFunc(slices.Clone(all), func(t Token) bool { return t.Browser || t.expired(time.Now()) }), err
}

// Create stores a new token and returns its secret, which is not stored.
func (a *Access) Create(name string, scopes []Scope, life time.Duration) (secret string, err error) {
	if clean := agent.OneLine(name, 60); clean == "" || clean != name {
		return "", fmt.Errorf("invalid name %q: expected one line of at most 60 characters", name)
	}
	if len(scopes) == 0 {
		return "", errors.New("a token needs a scope")
	}
	return a.add(Token{Name: name, Scopes: scopes}, life)
}

// session starts a browser session of a person.
func (a *Access) session(name string) (secret string, err error) {
	return a.add(Token{Name: name, Scopes: []Scope{Admin}, Browser: true}, sessionLife)
}

func (a *Access) add(t Token, life time.Duration) (string, error) {
	secret := newSecret()
	t.Hash, t.Created = hash(secret), time.Now().UTC().Truncate(time.Second)
	if life > 0 {
		t.Expires = t.Created.Add(life)
	}
	return secret, a.change(func(all []Token) ([]Token, error) {
		if !t.Browser && slices.ContainsFunc(all, func(o Token) bool { return !o.Browser && o.Name == t.Name }) {
			return nil, &TokenExistsError{t.Name}
		}
		browsers := 0
		for _, o := range all {
			if o.Browser {
				browsers++
			}
		}
		if t.Browser && browsers >= maxSessions {
			oldest := slices.IndexFunc(all, func(o Token) bool { return o.Browser })
			all = slices.Delete(all, oldest, oldest+1)
		}
		return append(all, t), nil
	})
}

// TokenExistsError reports that a name is taken. Names are unique, so that the journal says which
// token was used.
type TokenExistsError struct{ Name string }

func (e *TokenExistsError) Error() string { return fmt.Sprintf("a token named %q exists", e.Name) }

// Hint returns what to do about it.
func (e *TokenExistsError) Hint() string { return "revoke it first, or choose another name" }

// UnknownTokenError reports that there is no token with a name.
type UnknownTokenError struct{ Name string }

func (e *UnknownTokenError) Error() string { return fmt.Sprintf("there is no token named %q", e.Name) }

// Revoke makes a token invalid at once.
func (a *Access) Revoke(name string) error {
	return a.remove(func(t Token) bool { return !t.Browser && t.Name == name }, &UnknownTokenError{name})
}

// RevokeSessions ends all browser sessions. The next server has its pages at another name, in case that this one is known.
func (a *Access) RevokeSessions() error {
	if err := os.Remove(a.hostFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return a.remove(func(t Token) bool { return t.Browser }, nil)
}

func (a *Access) remove(which func(Token) bool, none error) error {
	return a.change(func(all []Token) ([]Token, error) {
		left := slices.DeleteFunc(slices.Clone(all), which)
		if len(left) == len(all) {
			return all, none
		}
		return left, nil
	})
}

// find returns the token of a secret, nil if there is none or it has expired. Secrets are long and
// random and the hash is compared, so the time that it takes says nothing about them.
func (a *Access) find(secret string, browser bool) (*Token, error) {
	all, err := a.load()
	sum := hash(secret)
	for _, t := range all {
		if t.Hash == sum && t.Browser == browser && !t.expired(time.Now()) {
			return &t, nil
		}
	}
	return nil, err
}

// valid returns the hashes of the tokens and sessions that are valid now.
func (a *Access) valid() (map[string]bool, error) {
	all, err := a.load()
	valid := map[string]bool{}
	for _, t := range all {
		valid[t.Hash] = !t.expired(time.Now())
	}
	return valid, err
}

// load returns all tokens. It reads the file only if it has changed.
func (a *Access) load() ([]Token, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	info, err := os.Stat(a.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		a.read, a.tokens = nil, nil
		return nil, nil
	case err != nil:
		return nil, err
	case a.read != nil && os.SameFile(info, a.read) && info.ModTime().Equal(a.read.ModTime()) && info.Size() == a.read.Size():
		return a.tokens, nil
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read by other users; run `chmod 600 %s`", a.file, a.file)
	}
	data, err := os.ReadFile(a.file)
	if err != nil {
		return nil, err
	}
	var tokens []Token
	if err := json.Unmarshal(data, &tokens); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; delete it to start again without tokens", a.file, err)
	}
	a.read, a.tokens = info, tokens
	return tokens, nil
}

// change replaces the tokens, without those that have expired.
func (a *Access) change(how func([]Token) ([]Token, error)) error {
	if err := os.MkdirAll(filepath.Dir(a.file), 0o700); err != nil {
		return err
	}
	lock, err := filelock.Wait(a.file+".lock", 10*time.Second)
	if err != nil {
		return err
	}
	defer lock.Release()
	all, err := a.load()
	if err != nil {
		return err
	}
	now := time.Now()
	all, err = how(slices.DeleteFunc(slices.Clone(all), func(t Token) bool { return t.expired(now) }))
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return wholefile.Write(a.file, append(data, '\n'), 0o600)
}

func newSecret() string {
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// links are secrets that can be used once, to start a browser session.
type links struct {
	mu  sync.Mutex
	all map[string]time.Time // when each ends, by hash
}

const (
	linkLife = 5 * time.Minute
	maxLinks = 100
)

// add returns a new link, "" if too many are open.
func (l *links) add() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for sum, end := range l.all {
		if now.After(end) {
			delete(l.all, sum)
		}
	}
	if len(l.all) >= maxLinks {
		return ""
	}
	if l.all == nil {
		l.all = map[string]time.Time{}
	}
	secret := newSecret()
	l.all[hash(secret)] = now.Add(linkLife)
	return secret
}

// use reports whether a link is valid, and makes it invalid.
func (l *links) use(secret string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := hash(secret)
	end, ok := l.all[sum]
	delete(l.all, sum)
	return ok && time.Now().Before(end)
}
