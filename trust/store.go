package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/filelock"
	"github.com/hocket-dev/hocket/internal/wholefile"
)

// Approval is what a person has approved for the project at a path.
type Approval struct {
	Root   string `json:"root"`   // absolute; a project that is moved has to be approved again
	Digest string `json:"digest"` // of Powers
	Powers Powers `json:"powers"`
	// Lists are the digests of the lists that were approved one after the other. Powers has what
	// they contain together.
	Lists []string  `json:"lists,omitempty"`
	At    time.Time `json:"at"`
	By    string    `json:"by,omitempty"`
	// Repository is the git directory that the project shares with its linked worktrees,
	// and Below the path of the project in a worktree. Repository is "" outside of git.
	Repository string `json:"repository,omitempty"`
	Below      string `json:"below,omitempty"`
	// Revoked is when the user last revoked an approval of the project. If Powers and
	// Digest are empty, nothing was approved since.
	Revoked time.Time `json:"revoked,omitzero"`
}

// Store stores approvals in a private directory of the user's state. It is safe for use by
// several processes: they take turns, and files are replaced atomically.
type Store struct{ dir string }

// Open opens the store below the user's state directory. It does not create anything.
func Open(stateHome string) *Store {
	return &Store{dir: filepath.Join(stateHome, "hocket", "trust")}
}

// Approve stores that a person has approved powers of a project, in addition to those approved
// before: commands that use different files of a project have different powers. If the files of a
// power have changed, the new ones count.
func (s *Store) Approve(root string, powers Powers, by string, at time.Time) (_ Approval, err error) {
	unlock, err := s.lock()
	if err != nil {
		return Approval{}, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	before, err := s.at(root)
	if err != nil {
		return Approval{}, err
	}
	kept := slices.DeleteFunc(slices.Clone(before.Powers), func(old Power) bool {
		return slices.ContainsFunc(powers, func(p Power) bool { return p.Kind == old.Kind && p.What == old.What })
	})
	all := powers.Union(kept)
	a := Approval{Root: root, Powers: all, Digest: all.Digest(), Lists: before.lists(), At: at.UTC(), By: by, Revoked: before.Revoked}
	if digest := powers.Digest(); !slices.Contains(a.Lists, digest) {
		a.Lists = append(a.Lists, digest)
	}
	a.Repository, a.Below = repository(root)
	return a, s.write(a)
}

// lists returns the digests of all lists that were approved. Older versions stored one.
func (a Approval) lists() []string {
	if a.Lists == nil && a.Digest != "" {
		return []string{a.Digest}
	}
	return a.Lists
}

// lock creates the directory, and keeps other processes from changing approvals while it is held.
func (s *Store) lock() (unlock func() error, err error) {
	err = os.MkdirAll(s.dir, 0o700)
	if err == nil {
		err = os.Chmod(s.dir, 0o700) // an older version may have created it
	}
	if err != nil {
		return nil, fmt.Errorf("trust: %w", err)
	}
	l, err := filelock.Wait(filepath.Join(s.dir, "lock"), 10*time.Second)
	if err != nil {
		return nil, fmt.Errorf("trust: %w", err)
	}
	return l.Release, nil
}

func (s *Store) write(a Approval) error {
	data, err := json.MarshalIndent(a, "", "  ")
	if err == nil {
		err = wholefile.Write(s.file(a.Root), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("trust: %w", err)
	}
	return nil
}

// Find returns the approval that applies to a project with some powers: its own, or that of
// another worktree of its repository in which a list with the same digest was approved.
func (s *Store) Find(root string, powers Powers) (Approval, bool, error) {
	all, err := s.around(root)
	for _, a := range all {
		if a.Root == root || a.Digest == powers.Digest() || slices.Contains(a.Lists, powers.Digest()) {
			return a, a.Digest != "", err
		}
	}
	return Approval{}, false, err
}

// around returns the approvals of a project, followed by those of its other worktrees.
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

// List returns all approvals, sorted by path.
func (s *Store) List() ([]Approval, error) {
	all, err := s.all()
	return slices.DeleteFunc(all, func(a Approval) bool { return a.Digest == "" }), err
}

// all returns the records of all projects, sorted by path.
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
	sort.Slice(all, func(i, j int) bool { return all[i].Root < all[j].Root })
	return all, nil
}

// Revoke revokes the approval of a project, also for runs that were recorded until then. It
// returns false if there was none.
func (s *Store) Revoke(root string, at time.Time) (had bool, err error) {
	unlock, err := s.lock()
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	all, err := s.around(root)
	if err != nil {
		return false, err
	}
	had = slices.ContainsFunc(all, func(a Approval) bool { return a.Digest != "" })
	a := Approval{Root: root, Revoked: at.UTC()}
	a.Repository, a.Below = repository(root)
	return had, s.write(a)
}

// Revoked returns when the user last revoked an approval of a project, here or in another
// worktree; zero means never.
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

// at returns the approval of a project, the zero value if there is none.
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

// read reads an approval. If its digest does not match its powers, the file was tampered
// with, and the approval does not count.
func read(file string) (Approval, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Approval{}, fmt.Errorf("trust: %w", err)
	}
	var a Approval
	err = json.Unmarshal(data, &a)
	if err == nil && isOld(a.Digest) {
		return Approval{Root: a.Root, Repository: a.Repository, Below: a.Below, Revoked: a.Revoked}, nil
	}
	if err != nil || a.Digest != a.Powers.Digest() && (a.Digest != "" || a.Revoked.IsZero() || len(a.Powers) > 0) {
		return Approval{}, fmt.Errorf("trust: %s is damaged; remove it and run `hocket trust` again", file)
	}
	return a, nil
}

// First reports whether a text is shown to the user for the first time, and records it. If
// that fails, the text is shown again.
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
	_, _ = f.WriteString(line) // appends of short lines do not interleave
	_ = f.Close()
	return true
}
