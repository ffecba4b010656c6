package trigger

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
}

// Firing is one time that a trigger fired.
type Firing struct {
	Key string    `json:"key"`
	At  time.Time `json:"at"`
	Run string    `json:"run,omitempty"` // that it started
	Why string    `json:"why,omitempty"` // why it started none
	// Content is the digest of what a request said.
	Content string `json:"content,omitempty"`
}

// remembered is how many firings of a trigger are remembered.
const remembered = 500

// find returns the firing with a key, or of a request that said the same; nil if there is none.
func (s *state) find(key, content string) *Firing {
	for i := range s.Fired {
		if f := &s.Fired[i]; f.Key == key || content != "" && f.Content == content {
			return f
		}
	}
	return nil
}

// note remembers a firing.
func (s *state) note(f Firing) {
	s.Fired = append(s.Fired, f)
	s.Fired = slices.Delete(s.Fired, 0, max(0, len(s.Fired)-remembered))
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

// patience is how long to wait for another server that handles firings of the same trigger.
const patience = 30 * time.Second

// store has the states of the triggers of a project.
type store struct{ dir string }

func (s store) file(name string) string { return filepath.Join(s.dir, name+".json") }

// read returns the state of a trigger; it is empty if there is none.
func (s store) read(name string) (*state, error) {
	data, err := os.ReadFile(s.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return &state{}, nil
	}
	st := &state{}
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
