package project

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hocket-dev/hocket/internal/filelock"
	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/internal/wholefile"
)

// site is where a project is whose runs are kept in a state directory.
type site struct {
	Root string   `json:"root"`
	ID   string   `json:"id,omitempty"`  // of the directory, wherever it is moved; "": not known
	Was  []string `json:"was,omitempty"` // where it was before
}

// is says whether the project is the directory at a root. A snapshot of a file system, or a
// copy of a disk, has directories that look the same: the one that is still there counts.
func (s *site) is(root, id string) bool {
	if id == "" || s.ID != id || s.Root == root {
		return id != "" && s.ID == id
	}
	there, err := os.Stat(s.Root)
	here, errHere := os.Stat(root)
	return err != nil || errHere != nil || os.SameFile(there, here) || projectfile.Identity(s.Root) != id
}

// had says whether the project is or was at a directory.
func (s *site) had(dir string) bool { return s.Root == dir || slices.Contains(s.Was, dir) }

// A state directory has a file with its sites: one, or several where the user named it
// for several projects.
const sitesFile = "projects.json"

// sitesIn are the sites of a state directory. Without them, or where they cannot be
// read, a project is found by its path alone.
func sitesIn(state string) (all []site) {
	text, err := os.ReadFile(filepath.Join(state, sitesFile))
	if err != nil || json.Unmarshal(text, &all) != nil {
		return nil
	}
	return all
}

// indexOf finds the project at a root among sites: by its directory, else by its path,
// where a new directory may have taken the place of the old one.
func indexOf(all []site, root, id string) int {
	if i := slices.IndexFunc(all, func(s site) bool { return s.is(root, id) }); i >= 0 {
		return i
	}
	return slices.IndexFunc(all, func(s site) bool { return s.Root == root })
}

// stateOf is the state directory of the project at a root: that of the same directory,
// which may have been somewhere else, then that of the same path, also as it was spelled
// before links were followed, then a new one.
func stateOf(home, root, id string, spelled ...string) string {
	own := filepath.Join(home, key(root))
	byID := func(s site) bool { return s.is(root, id) }
	byRoot := func(s site) bool { return s.Root == root }
	for _, same := range []func(site) bool{byID, byRoot} {
		for dir := range stateDirs(home, own) {
			if slices.ContainsFunc(sitesIn(dir), same) {
				return dir
			}
		}
	}
	for _, path := range spelled {
		if old := filepath.Join(home, key(path)); path != root && isDir(old) && len(sitesIn(old)) == 0 {
			return old
		}
	}
	// A project that was here before and was moved keeps the directory with this name.
	name := own
	for n := 2; len(sitesIn(own)) > 0; n++ {
		own = fmt.Sprintf("%s-%d", name, n)
	}
	return own
}

// stateDirs are the state directories of the user, the likeliest first.
func stateDirs(home, likely string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(likely) {
			return
		}
		entries, _ := os.ReadDir(home) // none where there is nothing yet
		for _, e := range entries {
			if !yield(filepath.Join(home, e.Name())) {
				return
			}
		}
	}
}

// patience is how long another process may take to note a place.
const patience = 10 * time.Second

// NotePlace keeps in the state directory where the project is.
func (p *Project) NotePlace() error {
	if slices.ContainsFunc(sitesIn(p.State), func(s site) bool { return s.Root == p.Root && s.ID == p.id }) {
		return nil // mostly
	}
	return p.note(p.State, "")
}

// note does it for a state directory; was, if not "", is where the project was before.
func (p *Project) note(state, was string) error {
	if err := os.MkdirAll(state, 0o700); err != nil {
		return fmt.Errorf("project: %w", err)
	}
	file := filepath.Join(state, sitesFile)
	lock, err := filelock.Wait(file+".lock", patience)
	if err != nil {
		return fmt.Errorf("project: %w", err)
	}
	defer lock.Release()
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("project: %w", err)
	}
	var all []site
	if err == nil && json.Unmarshal(before, &all) != nil {
		return fmt.Errorf("project: %s is damaged; remove it, and name projects that were moved with `hocket adopt`", file)
	}
	i := indexOf(all, p.Root, p.id)
	if i < 0 && was != "" {
		i = slices.IndexFunc(all, func(s site) bool { return s.had(was) })
	}
	if i < 0 {
		i = len(all)
		all = append(all, site{Root: p.Root})
	}
	at := &all[i]
	for _, old := range []string{at.Root, was} {
		if old != "" && old != p.Root && !slices.Contains(at.Was, old) {
			at.Was = append(at.Was, old)
		}
	}
	at.Root, at.ID = p.Root, p.id
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("project: %w", err)
	}
	if bytes.Equal(before, text) {
		return nil
	}
	if err := wholefile.Write(file, text, 0o600); err != nil {
		return fmt.Errorf("project: %w", err)
	}
	return nil
}

// Now is where the project is now that was at a directory when a run was recorded.
func (p *Project) Now(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	all := sitesIn(p.State)
	if i := indexOf(all, p.Root, p.id); i >= 0 && all[i].had(dir) {
		return p.Root
	}
	if i := slices.IndexFunc(all, func(s site) bool { return s.had(dir) }); i >= 0 {
		return all[i].Root
	}
	return dir
}

// Adopt gives this project what is kept about the one that was at a directory, for when
// it was moved here and nothing tells that it is the same. It takes effect when the
// project is opened again.
func (p *Project) Adopt(dir string) error {
	spelled, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("project: %w", err)
	}
	was := spelled
	if parent, err := filepath.EvalSymlinks(filepath.Dir(was)); err == nil {
		was = filepath.Join(parent, filepath.Base(was))
	}
	if real, err := filepath.EvalSymlinks(was); err == nil && real != p.Root {
		return &AdoptError{was, "is still there, and keeps its runs"}
	}
	state := p.State
	if p.home != "" {
		if len(sitesIn(p.State)) > 0 || isDir(p.State) && !isEmpty(p.State) {
			return &AdoptError{was, "cannot give its runs to a project that has runs of its own; `hocket --state " + filepath.Join(p.home, key(was)) + " runs` shows them"}
		}
		state = stateOf(p.home, was, "", spelled)
	}
	known := slices.ContainsFunc(sitesIn(state), func(s site) bool { return s.had(was) || s.had(spelled) })
	if !isDir(state) || len(sitesIn(state)) > 0 && !known {
		return &AdoptError{was, "is not a project that has runs"}
	}
	return p.note(state, was)
}

// AdoptError says why a project cannot take over what is kept about another one.
type AdoptError struct {
	Dir string // where the other one was
	Why string
}

func (e *AdoptError) Error() string { return e.Dir + " " + e.Why }

func isEmpty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 0
}
