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

// site is the location of a project that has runs in a state directory.
type site struct {
	Root string   `json:"root"`
	ID   string   `json:"id,omitempty"`  // of the directory, even if it is moved; "": unknown
	Was  []string `json:"was,omitempty"` // where it was before
}

// is reports whether the project is the directory at a root. Snapshots and disk copies have
// directories with the same id; then the one that still exists at its path is the project.
func (s *site) is(root, id string) bool {
	if id == "" || s.ID != id || s.Root == root {
		return id != "" && s.ID == id
	}
	there, err := os.Stat(s.Root)
	here, errHere := os.Stat(root)
	return err != nil || errHere != nil || os.SameFile(there, here) || projectfile.Identity(s.Root) != id
}

// had reports whether the project is or was at a directory.
func (s *site) had(dir string) bool { return s.Root == dir || slices.Contains(s.Was, dir) }

// A state directory has a file with its sites: one, or several if the user chose it for
// several projects.
const sitesFile = "projects.json"

// sitesIn returns the sites of a state directory. Without them, or if they cannot be read,
// a project is found only by its path.
func sitesIn(state string) (all []site) {
	text, err := os.ReadFile(filepath.Join(state, sitesFile))
	if err != nil || json.Unmarshal(text, &all) != nil {
		return nil
	}
	return all
}

// indexOf finds the project at a root among sites: by the id of its directory, otherwise by its
// path, as a new directory may have replaced the old one.
func indexOf(all []site, root, id string) int {
	if i := slices.IndexFunc(all, func(s site) bool { return s.is(root, id) }); i >= 0 {
		return i
	}
	return slices.IndexFunc(all, func(s site) bool { return s.Root == root })
}

// stateOf returns the state directory of the project at a root: that of the same directory,
// which may have been moved, otherwise that of the same path, with or without resolving symbolic
// links, otherwise a new one.
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
	// A project that used to be here, and was moved, keeps the state directory of this name.
	name := own
	for n := 2; len(sitesIn(own)) > 0; n++ {
		own = fmt.Sprintf("%s-%d", name, n)
	}
	return own
}

// stateDirs returns the state directories of the user, likeliest first.
func stateDirs(home, likely string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(likely) {
			return
		}
		entries, _ := os.ReadDir(home) // none, if nothing is stored yet
		for _, e := range entries {
			if !yield(filepath.Join(home, e.Name())) {
				return
			}
		}
	}
}

// patience is how long to wait for another process that writes the sites.
const patience = 10 * time.Second

// NotePlace records the location of the project in its state directory.
func (p *Project) NotePlace() error {
	if slices.ContainsFunc(sitesIn(p.State), func(s site) bool { return s.Root == p.Root && s.ID == p.id }) {
		return nil // the usual case
	}
	return p.note(p.State, "")
}

// note records the location in a state directory. was, if not "", is the previous one.
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
		return fmt.Errorf("project: %s is damaged; remove it, and run `hocket adopt` for projects that were moved", file)
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

// Now returns the current location of the project that was at a directory when a run was
// recorded.
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

// Adopt links the state of the project that was at a directory to this project, if it was
// moved here in a way that cannot be recognized. It takes effect when the project is opened
// again.
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
		return &AdoptError{was, "it still exists"}
	}
	state := p.State
	if p.home != "" {
		if len(sitesIn(p.State)) > 0 || isDir(p.State) && !isEmpty(p.State) {
			return &AdoptError{was, "this project already has runs; to list those of the other one, run `hocket --state " + filepath.Join(p.home, key(was)) + " runs`"}
		}
		state = stateOf(p.home, was, "", spelled)
	}
	known := slices.ContainsFunc(sitesIn(state), func(s site) bool { return s.had(was) || s.had(spelled) })
	if !isDir(state) || len(sitesIn(state)) > 0 && !known {
		return &AdoptError{was, "no runs are stored for it"}
	}
	return p.note(state, was)
}

// AdoptError reports why a project cannot adopt the state of another directory.
type AdoptError struct {
	Dir string // the other directory
	Why string
}

func (e *AdoptError) Error() string { return "cannot adopt " + e.Dir + ": " + e.Why }

func isEmpty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 0
}
