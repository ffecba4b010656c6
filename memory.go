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

// Memory is something that is remembered about the project.
type Memory = memory.Memory

// Remembered is a memory that was found, and how well it fits.
type Remembered = memory.Found

// The errors of memories.
type (
	// InvalidMemoryError says why a text cannot be remembered or searched for.
	InvalidMemoryError = memory.InvalidError
	// UnknownMemoryError says that there is no memory with an id.
	UnknownMemoryError = memory.UnknownError
)

// AddMemory remembers a text, which agents are given when it fits their task.
func (p *Project) AddMemory(ctx context.Context, text string, tags []string, source string) (Memory, error) {
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
	m, err := store.Add(ctx, text, tags, source)
	return m, errors.Join(err, store.Close())
}

// SearchMemories finds the memories that have most in common with a text, the best
// first.
func (p *Project) SearchMemories(ctx context.Context, query string, limit int, tags []string) (found []Remembered, err error) {
	err = p.withMemories(func(s *memory.Store) (err error) {
		found, err = s.Search(ctx, query, limit, tags)
		return err
	})
	return found, err
}

// Memories lists memories, the newest first. A limit of zero means all.
func (p *Project) Memories(ctx context.Context, limit int, tags []string) (all []Memory, err error) {
	err = p.withMemories(func(s *memory.Store) (err error) {
		all, err = s.List(ctx, limit, tags)
		return err
	})
	return all, err
}

// DeleteMemory deletes a memory.
func (p *Project) DeleteMemory(ctx context.Context, id int64) error {
	err := error(&memory.UnknownError{ID: id}) // also where there is none at all
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

// memories are what is remembered about a project, opened when first asked for.
type memories struct {
	state string
	most  int // at once

	once  sync.Once
	store *memory.Store // nil: there are none
	err   error
}

// about finds memories that have to do with a task.
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
		_ = m.store.Close() // nothing is lost by it
	}
}
