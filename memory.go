package hocket

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/memory"
)

// Memory is a text to remember about the project.
type Memory = memory.Memory

// Remembered is a search result: a memory and how well it matches.
type Remembered = memory.Found

// The errors of memories.
type (
	// InvalidMemoryError reports why a text cannot be stored or searched for.
	InvalidMemoryError = memory.InvalidError
	// UnknownMemoryError reports that there is no memory with an id.
	UnknownMemoryError = memory.UnknownError
	// MemoryKeyError reports that a key was used before for another memory.
	MemoryKeyError = memory.KeyError
)

// AddMemory stores a text, which is added to prompts of tasks that it matches.
func (p *Project) AddMemory(ctx context.Context, text string, tags []string, source string) (Memory, error) {
	return p.AddMemoryOnce(ctx, "", text, tags, source)
}

// AddMemoryOnce is AddMemory, but if the key was used before, it returns that memory. The error is a
// *[MemoryKeyError] if that has another text or other tags. "" means no key.
func (p *Project) AddMemoryOnce(ctx context.Context, key, text string, tags []string, source string) (Memory, error) {
	if err := p.CheckSecret("the text", text); err != nil {
		return Memory{}, err
	}
	if p.o.State == "" && !filepath.IsAbs(p.State()) {
		return Memory{}, &NoHomeError{}
	}
	if err := p.now().files.NotePlace(); err != nil {
		return Memory{}, err
	}
	store, err := memory.Open(p.State())
	if err != nil {
		return Memory{}, err
	}
	m, err := store.AddOnce(ctx, key, text, tags, source)
	return m, errors.Join(err, store.Close())
}

// SearchMemories finds the memories that match a text best, best first.
func (p *Project) SearchMemories(ctx context.Context, query string, limit int, tags []string) (found []Remembered, err error) {
	err = p.withMemories(func(s *memory.Store) (err error) {
		found, err = s.Search(ctx, query, limit, tags)
		return err
	})
	return found, err
}

// Memories lists the memories that have all of the tags, newest first, of those that are older than the one with
// the id before; 0: of all. A limit of zero means all.
func (p *Project) Memories(ctx context.Context, before int64, limit int, tags []string) (all []Memory, err error) {
	err = p.withMemories(func(s *memory.Store) (err error) {
		all, err = s.List(ctx, before, limit, tags)
		return err
	})
	return all, err
}

// DeleteMemory deletes a memory.
func (p *Project) DeleteMemory(ctx context.Context, id int64) error {
	err := error(&memory.UnknownError{ID: id}) // also if the project has no memories at all
	wrong := p.withMemories(func(s *memory.Store) error {
		err = s.Delete(ctx, id)
		return nil
	})
	return errors.Join(wrong, err)
}

// withMemories uses the memories of the project, if there are any.
func (p *Project) withMemories(use func(*memory.Store) error) error {
	store, err := memory.OpenExisting(p.State())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(use(store), store.Close())
}

// memories opens the memories of a project on first use.
type memories struct {
	state string
	most  int // per task

	once  sync.Once
	store *memory.Store // nil: the project has none
	err   error
}

// about finds the memories that match a task.
func (m *memories) about(ctx context.Context, task string) ([]agent.Passage, error) {
	m.once.Do(func() {
		m.store, m.err = memory.OpenExisting(m.state)
		if errors.Is(m.err, fs.ErrNotExist) {
			m.store, m.err = nil, nil
		}
	})
	if m.err != nil || m.store == nil {
		return nil, m.err
	}
	found, err := m.store.Search(ctx, task, m.most, nil)
	var passages []agent.Passage
	for _, f := range found {
		passages = append(passages, agent.Passage{Source: "memory:" + strconv.FormatInt(f.ID, 10), Text: f.Text})
	}
	return passages, err
}

func (m *memories) close() {
	m.once.Do(func() {})
	if m.store != nil {
		_ = m.store.Close() // it was only read
	}
}
