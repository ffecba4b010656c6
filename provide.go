package hocket

import (
	"context"
	"errors"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/workspace"
)

// provide makes sure that the store has a commit. A worker on another machine than the one that started the run
// captures its own files: if they are the same, so is the commit.
func (i *isolation) provide(ctx context.Context, store *workspace.Store, run, commit string) error {
	key := [2]string{run, commit}
	if _, known := i.provided.Load(key); known {
		return nil
	}
	if err := i.find(ctx, store, run, commit); err != nil {
		return err
	}
	i.provided.Store(key, true)
	return nil
}

func (i *isolation) find(ctx context.Context, store *workspace.Store, run, commit string) error {
	base, err := i.keepBase(ctx, store, run)
	if err != nil {
		return err
	}
	found, err := i.has(ctx, store, run, commit)
	switch {
	case err != nil:
		return err
	case found:
		err = store.Keep(ctx, run, commit)
	default:
		err = i.recaptured(ctx, store, run, commit, base)
	}
	if _, ok := i.d.(driver.Workers); ok && err == nil {
		err = i.p.worked(i.d).add(run)
	}
	if err == nil && i.lineage != nil {
		err = store.Note(ctx, run, i.lineage.plan, commit)
	}
	return err
}

// keepBase keeps what the run began with, if that is here and the run may use it, and returns it. Nothing else becomes its base: the
// first commit that a run needs on a machine may be what an earlier run has made, and its landing would be without these changes.
func (i *isolation) keepBase(ctx context.Context, store *workspace.Store, run string) (string, error) {
	if base, err := store.Base(ctx, run); base != "" || err != nil {
		return base, err
	}
	base, err := i.base(ctx)
	if base == "" || err != nil {
		return "", err
	}
	found, err := i.has(ctx, store, run, base)
	if found && err == nil {
		err = store.KeepBase(ctx, run, base)
	}
	return base, err
}

// has reports whether the store has a commit that the run may use.
func (i *isolation) has(ctx context.Context, store *workspace.Store, run, commit string) (bool, error) {
	found, err := store.Has(ctx, commit)
	if found && err == nil && i.lineage != nil {
		return i.lineage.has(ctx, store, run, commit)
	}
	return found, err
}

// recaptured makes a commit of the files that are here now, and keeps it for the run if it is the wanted one.
func (i *isolation) recaptured(ctx context.Context, store *workspace.Store, run, commit, base string) error {
	now, keep, err := i.p.captured(ctx, store)
	switch {
	case err != nil:
		return err
	case now.Commit != commit:
		return errors.Join(&foreignError{commit}, keep(""))
	case commit == base:
		return keep(run)
	}
	return errors.Join(store.Keep(ctx, run, commit), keep(""))
}
