package notify

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/hocket-dev/hocket/internal/wholefile"
)

// maxRemembered is how much of what was told is remembered. What is older than all of it counts as told.
const maxRemembered = 1000

// memory is what was told before, in a file. A project that notifies nobody has no file.
type memory struct {
	file string
	keys map[string]bool

	Since   time.Time `json:"since"`   // nothing that happened up to then is told
	Entries []entry   `json:"entries"` // by time
}

// entry is one thing that was told, or is to be told.
type entry struct {
	Key     string    `json:"key"`
	At      time.Time `json:"at"`
	Pending []string  `json:"pending,omitempty"` // who has not been told yet, by the ids of the targets
	Notice  *Notice   `json:"notice,omitempty"`  // until all have been told
}

// recall reads the memory. Without a file, everything until now is old news.
func recall(file string, now time.Time) (*memory, error) {
	m := &memory{file: file, keys: map[string]bool{}, Since: now}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	var stored memory
	if err == nil {
		err = json.Unmarshal(data, &stored)
	}
	if err != nil {
		return m, err
	}
	m.Since, m.Entries = stored.Since, stored.Entries
	for _, e := range m.Entries {
		m.keys[e.Key] = true
	}
	return m, nil
}

// has reports whether something was told, or is too old.
func (m *memory) has(h happening) bool { return m.keys[h.key()] || !h.at.After(m.Since) }

// add remembers things that one notice tells. The first of them has the notice.
func (m *memory) add(group []happening, notice Notice, targets []string) {
	for i, h := range group {
		e := entry{Key: h.key(), At: h.at}
		if i == 0 && len(targets) > 0 {
			e.Pending, e.Notice = slices.Clone(targets), &notice
		}
		at, _ := slices.BinarySearchFunc(m.Entries, e.At, func(e entry, at time.Time) int { return e.At.Compare(at) })
		m.Entries = slices.Insert(m.Entries, at, e)
		m.keys[e.Key] = true
	}
	for len(m.Entries) > maxRemembered {
		delete(m.keys, m.Entries[0].Key)
		m.Since = m.Entries[0].At
		m.Entries = slices.Delete(m.Entries, 0, 1)
	}
}

// delivered notes that a target was told, or will never be.
func (m *memory) delivered(key, target string) {
	i := slices.IndexFunc(m.Entries, func(e entry) bool { return e.Key == key })
	if i < 0 {
		return
	}
	e := &m.Entries[i]
	e.Pending = slices.DeleteFunc(e.Pending, func(id string) bool { return id == target })
	if len(e.Pending) == 0 {
		e.Notice = nil
	}
}

// pending returns what was not delivered to all.
func (m *memory) pending() (all []entry) {
	for _, e := range m.Entries {
		if len(e.Pending) > 0 && e.Notice != nil {
			all = append(all, e)
		}
	}
	return all
}

// forget removes everything, if the project notifies nobody: when it names somebody later, they are not told
// about what happened before.
func (m *memory) forget(now time.Time) {
	m.Since = now
	if len(m.Entries) > 0 {
		m.Entries = nil
		clear(m.keys)
	}
	_ = os.Remove(m.file) // there may be none
}

func (m *memory) write() error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return wholefile.Write(m.file, data, 0o600)
}
