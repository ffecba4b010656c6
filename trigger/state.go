package trigger

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/filelock"
	"github.com/hocket-dev/hocket/internal/wholefile"
)

// state is what is remembered about a trigger.
type state struct {
	// Cause is the cause that the rest belongs to; if it has changed, the trigger begins anew.
	Cause string `json:"cause"`
	// Since is when the trigger was first served, or what it has handled since: nothing until then fires.
	Since time.Time `json:"since"`
	// Fired are the last firings, the newest last.
	Fired []Firing `json:"fired,omitempty"`
	// Files are the watched files as they were when they were handled; nil: the trigger has not looked at any.
	Files map[string]version `json:"files,omitzero"`

	older archive
}

// Firing is one time that a trigger fired.
type Firing struct {
	Key string    `json:"key"`
	At  time.Time `json:"at"`
	Run string    `json:"run,omitempty"` // that it started
	Why string    `json:"why,omitempty"` // why it started none
	// Content is the digest of what a request said.
	Content string `json:"content,omitempty"`
	// Chain is how many runs led to the one of a file, each because a file changed while the one before was in progress.
	Chain int `json:"chain,omitempty"`
	// Ended is when the run ended that fired it.
	Ended time.Time `json:"ended,omitzero"`
	// Mistake means that there is no run because of a mistake in the trigger, the workflow or what has happened.
	Mistake bool `json:"mistake,omitempty"`
}

// final reports whether the firing must not come again. A request can be delivered again after a mistake was fixed.
func (f *Firing) final() bool { return !f.Mistake || !strings.HasPrefix(f.Key, deliveryKey) }

// remembered is how many firings of a trigger are remembered.
const remembered = 500

// The keys of firings that can come again at any time begin with these words. A schedule and the ends of runs have a
// time up to which everything was handled: ends are handled in their order, so those before one that is forgotten were.
const (
	deliveryKey = "delivery "
	fileKey     = "file "
)

// find returns the firing with a key, or of a request that said the same; nil if there is none.
func (s *state) find(key, content string) (*Firing, error) {
	for i := range s.Fired {
		if f := &s.Fired[i]; f.final() && (f.Key == key || content != "" && f.Content == content) {
			return f, nil
		}
	}
	for _, key := range keysOf(key, content) {
		if f, err := s.older.find(key); f != nil || err != nil {
			return f, err
		}
	}
	return nil, nil
}

// note remembers a firing. Of the oldest, only the keys are kept.
func (s *state) note(f Firing) error {
	s.Fired = append(s.Fired, f)
	for len(s.Fired) > remembered {
		if oldest := s.Fired[0]; oldest.final() {
			for _, key := range keysOf(oldest.Key, oldest.Content) {
				if err := s.older.add(key, oldest); err != nil {
					return err
				}
			}
		}
		s.Since = latest(s.Since, s.Fired[0].Ended)
		s.Fired = slices.Delete(s.Fired, 0, 1)
	}
	return nil
}

// keysOf returns what must not happen again: a key, and what a request said.
func keysOf(key, content string) (keys []string) {
	if strings.HasPrefix(key, deliveryKey) || strings.HasPrefix(key, fileKey) {
		keys = append(keys, key)
	}
	if content != "" {
		keys = append(keys, "content "+content)
	}
	return keys
}

// started returns how many runs were started since a time.
func (s *state) started(since time.Time) (n int) {
	for _, f := range s.Fired {
		if f.Run != "" && f.At.After(since) {
			n++
		}
	}
	return n
}

// chainOf returns how many runs led to a run, see [Firing].
func (s *state) chainOf(run string) int {
	for _, f := range slices.Backward(s.Fired) {
		if f.Run == run {
			return f.Chain
		}
	}
	return 0
}

// patience is how long to wait for another server that handles firings of the same trigger.
const patience = 30 * time.Second

// store has the states of the triggers of a project.
type store struct{ dir string }

func (s store) file(name string) string { return filepath.Join(s.dir, name+".json") }

// names returns the triggers that have a state.
func (s store) names() (names []string, err error) {
	files, err := filepath.Glob(s.file("*"))
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".json"))
	}
	return names, err
}

// read returns the state of a trigger; it is empty if there is none.
func (s store) read(name string) (*state, error) {
	st := &state{older: archive{filepath.Join(s.dir, name+".fired")}}
	data, err := os.ReadFile(s.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return st, nil
	}
	if err == nil {
		err = json.Unmarshal(data, st)
	}
	if err != nil {
		return nil, fmt.Errorf("trigger: %s: %w", name, err)
	}
	return st, nil
}

// change lets one process at a time change the state of a trigger. If do returns an error, nothing changes.
func (s store) change(name string, do func(st *state) error) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("trigger: %w", err)
	}
	lock, err := filelock.Wait(s.file(name)+".lock", patience)
	if err != nil {
		return fmt.Errorf("trigger: %s: %w", name, err)
	}
	defer lock.Release()
	st, err := s.read(name)
	if err != nil {
		return err
	}
	before, err := json.Marshal(st)
	if err != nil {
		return fmt.Errorf("trigger: %w", err)
	}
	if err := do(st); err != nil {
		return err
	}
	after, err := json.Marshal(st)
	if err == nil && string(after) != string(before) {
		err = wholefile.Write(s.file(name), after, 0o600)
	}
	if err != nil {
		return fmt.Errorf("trigger: %s: %w", name, err)
	}
	return nil
}
