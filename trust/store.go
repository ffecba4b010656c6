package trust

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/wholefile"
)

// Approval is what a person approved for a project at a place.
type Approval struct {
	Root   string    `json:"root"`   // absolute; a project that is moved is another one
	Digest string    `json:"digest"` // of Powers
	Powers Powers    `json:"powers"`
	At     time.Time `json:"at"`
	By     string    `json:"by,omitempty"`
	// Repository is the git directory that the project and its linked worktrees share,
	// and Below where the project is inside of a worktree. "" it is in no repository.
	Repository string `json:"repository,omitempty"`
	Below      string `json:"below,omitempty"`
	// Revoked is when the user last took approvals of the project back. Without Powers
	// and Digest nothing was approved since.
	Revoked time.Time `json:"revoked,omitzero"`
}

// Store keeps approvals in a directory of the user's state that nobody else can read. It
// is safe for use by several processes: every file is replaced in one step.
type Store struct{ dir string }

// Open opens the store below the user's directory for state. It makes nothing yet.
func Open(stateHome string) *Store {
	return &Store{dir: filepath.Join(stateHome, "hocket", "trust")}
}

// Approve keeps that a person approved powers of a project, besides those approved
// before.
func (s *Store) Approve(root string, powers Powers, by string, at time.Time) (Approval, error) {
	before, err := s.at(root)
	if err != nil {
		return Approval{}, err
	}
	return s.approve(root, powers.Union(before.Powers), by, at, before.Revoked)
}

func (s *Store) approve(root string, powers Powers, by string, at, revoked time.Time) (Approval, error) {
	a := Approval{Root: root, Powers: powers, Digest: powers.Digest(), At: at.UTC(), By: by, Revoked: revoked}
	a.Repository, a.Below = repository(root)
	return a, s.write(a)
}

func (s *Store) write(a Approval) error {
	data, err := json.MarshalIndent(a, "", "  ")
	if err == nil {
		err = os.MkdirAll(s.dir, 0o700)
	}
	if err == nil {
		err = os.Chmod(s.dir, 0o700) // it may be older than this program
	}
	if err == nil {
		err = wholefile.Write(s.file(a.Root), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("trust: %w", err)
	}
	return nil
}

// Replace is Approve without what was approved before.
func (s *Store) Replace(root string, powers Powers, by string, at time.Time) (Approval, error) {
	before, err := s.at(root)
	if err != nil {
		return Approval{}, err
	}
	return s.approve(root, powers, by, at, before.Revoked)
}

// Find is the approval that holds for a project with some powers: its own, or that of
// another worktree of its repository if the digest is the same.
func (s *Store) Find(root string, powers Powers) (Approval, bool, error) {
	all, err := s.around(root)
	for _, a := range all {
		if a.Root == root || a.Digest == powers.Digest() {
			return a, a.Digest != "", err
		}
	}
	return Approval{}, false, err
}

// around are what is known about a project, and after that about its other worktrees.
func (s *Store) around(root string) ([]Approval, error) {
	var found []Approval
	own, err := s.at(root)
	if own.Root != "" {
		found = append(found, own)
	}
	link := readLink(root)
	if link.file == "" || err != nil {
		return found, err
	}
	all, err := s.all()
	for _, a := range all {
		if a.Root != root && link.belongsTo(a) {
			found = append(found, a)
		}
	}
	return found, err
}

// List is all approvals, by place.
func (s *Store) List() ([]Approval, error) {
	all, err := s.all()
	return slices.DeleteFunc(all, func(a Approval) bool { return a.Digest == "" }), err
}

// all is what is known about all projects, by place.
func (s *Store) all() ([]Approval, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("trust: %w", err)
	}
	var all []Approval
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		a, err := read(filepath.Join(s.dir, e.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b Approval) int { return cmp.Compare(a.Root, b.Root) })
	return all, nil
}

// Revoke takes back the approval of a project, and the trust in runs that were recorded
// until then; false: it had none.
func (s *Store) Revoke(root string, at time.Time) (bool, error) {
	all, err := s.around(root)
	if err != nil {
		return false, err
	}
	had := slices.ContainsFunc(all, func(a Approval) bool { return a.Digest != "" })
	a := Approval{Root: root, Revoked: at.UTC()}
	a.Repository, a.Below = repository(root)
	return had, s.write(a)
}

// Revoked is when the user last took an approval of a project back, here or in another
// worktree; zero: never.
func (s *Store) Revoked(root string) (time.Time, error) {
	all, err := s.around(root)
	var last time.Time
	for _, a := range all {
		if a.Revoked.After(last) {
			last = a.Revoked
		}
	}
	return last, err
}

// at is the approval of a project; the zero value: there is none.
func (s *Store) at(root string) (Approval, error) {
	a, err := read(s.file(root))
	if errors.Is(err, fs.ErrNotExist) || err == nil && a.Root != root {
		return Approval{}, nil
	}
	return a, err
}

func (s *Store) file(root string) string {
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+".json")
}

// read reads an approval. One that does not hold what its digest says was changed by
// somebody else, and counts for nothing.
func read(file string) (Approval, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Approval{}, fmt.Errorf("trust: %w", err)
	}
	var a Approval
	if err := json.Unmarshal(data, &a); err != nil || a.Digest != a.Powers.Digest() && (a.Digest != "" || a.Revoked.IsZero() || len(a.Powers) > 0) {
		return Approval{}, fmt.Errorf("trust: %s is damaged; remove it and run `hocket trust` again", file)
	}
	return a, nil
}

// First says whether a text is shown to the user for the first time, and remembers
// that it was. Where it cannot be remembered, it is shown again.
func (s *Store) First(text string) bool {
	sum := sha256.Sum256([]byte(text))
	line := hex.EncodeToString(sum[:16]) + "\n"
	file := filepath.Join(s.dir, "shown")
	known, err := os.ReadFile(file)
	if err == nil && strings.Contains(string(known), line) {
		return false
	}
	if os.MkdirAll(s.dir, 0o700) != nil {
		return true
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return true
	}
	_, _ = f.WriteString(line) // short lines that are appended do not mix
	_ = f.Close()
	return true
}
