package hocket

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workspace"
)

// lineage says with which commits a worker begins attempts of a run. Whoever can write to the server can name any commit, and the
// repository may have some that nobody here has looked at: of other branches, of pull requests, and of other runs.
type lineage struct {
	d    driver.Driver
	plan string // what the run does, as a word: see [workspace.Store.Note]
}

func newLineage(d driver.Driver, pin *driver.Pin) (*lineage, error) {
	digest, err := runDigest(pin.Bundle, pin.Agents)
	_, word, _ := strings.Cut(digest, ":")
	return &lineage{d, word}, err
}

// maxOrigins is how many forks of forks are followed.
const maxOrigins = 100

// has reports whether a commit was made on this machine in the run, or in one that it repeats and that did the same, or is in the
// history of the checkout.
func (l *lineage) has(ctx context.Context, store *workspace.Store, run, commit string) (bool, error) {
	made, err := store.Made(ctx, run, commit)
	if !made && err == nil {
		made, err = store.InHistory(ctx, commit)
	}
	for range maxOrigins {
		if made || err != nil {
			return made, err
		}
		origin, unknown := originOf(ctx, l.d, run)
		if run = origin; run == "" || unknown != nil {
			return false, nil //nolint:nilerr // nothing vouches for the commit
		}
		if same, wrong := store.Noted(ctx, run, l.plan); same || wrong != nil {
			if err = wrong; err == nil {
				made, err = store.Made(ctx, run, commit)
			}
		}
	}
	return made, err
}

// originOf returns which run another one was forked from, which may have been deleted; "" if none.
func originOf(ctx context.Context, d driver.Driver, run string) (string, error) {
	info, err := d.Info(ctx, run)
	w, ok := d.(driver.Workers)
	if !ok || !errors.As(err, new(*driver.UnknownRunError)) {
		return info.Origin, err
	}
	gone, err := w.Deleted(ctx, run)
	if gone == nil || err != nil {
		return "", err
	}
	return gone.Origin, nil
}

// repeatedRuns returns what reports whether there is a run that was forked from another one, perhaps by way of others that were deleted. On workers,
// it begins with what that one has made: the copy of that is only where it was forked, see [lineage]. If a run cannot be read, it may be one of any.
func repeatedRuns(ctx context.Context, d driver.Driver) (func(run string) bool, error) {
	if _, ok := d.(driver.Workers); !ok {
		return func(string) bool { return false }, nil
	}
	listed, err := d.Runs(ctx, Filter{})
	if err != nil {
		return nil, err
	}
	origins, repeated := map[string]string{}, map[string]bool{}
	for _, i := range listed {
		if i.Status == Damaged {
			return func(string) bool { return true }, nil
		}
		origins[i.ID] = i.Origin
	}
	for _, i := range listed {
		for run := i.Origin; run != "" && !repeated[run]; {
			repeated[run] = true
			origin, ok := origins[run]
			if !ok {
				if origin, err = originOf(ctx, d, run); err != nil {
					return nil, err
				}
			}
			run = origin
		}
	}
	return func(run string) bool { return repeated[run] }, nil
}

// inputs returns an error if an attempt would use another commit, besides the one that it begins with.
func (l *lineage) inputs(ctx context.Context, store *workspace.Store, run string, task *engine.StartTask) error {
	var commits []string
	for _, t := range task.Trees {
		commits = append(commits, t.Workspace)
	}
	if task.Continues != "" {
		commits = append(commits, task.Continues)
	}
	var all []error
	for _, commit := range commits {
		made, err := l.has(ctx, store, run, commit)
		if !made && err == nil {
			err = &foreignError{commit}
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}

// foreignError reports a commit with which a run cannot work on this machine.
type foreignError struct{ commit string }

func (e *foreignError) Error() string {
	return fmt.Sprintf("the workspace %.12s was not made in this run on this machine, and its files differ from those that the run began with", e.commit)
}
