package server

import (
	"context"
	"iter"
	"time"

	"github.com/hocket-dev/hocket"
)

// A project whose runs are on another server is not connected to it before a person trusts the project, and not at all if
// this program does not have its driver. Until then, what is about all projects leaves out its runs: the pages and streams
// of the others work, and here a person can approve it.

// Closed reports whether an error means that the runs of a project cannot be read before a person trusts the project or
// changes its driver.
func Closed(err error) bool {
	return isA[*hocket.UntrustedError](err) || isA[*hocket.UnknownDriverError](err)
}

// open returns nil instead of an error that means that a project is closed.
func open(err error) error {
	if Closed(err) {
		return nil
	}
	return err
}

func (p served) Count(ctx context.Context, since time.Time) (hocket.Counts, error) {
	counts, err := p.Project.Count(ctx, since)
	return counts, open(err)
}

func (p served) Spent(ctx context.Context, since time.Time) ([]hocket.Spent, error) {
	spent, err := p.Project.Spent(ctx, since)
	return spent, open(err)
}

func (p served) Questions(ctx context.Context, f hocket.QuestionFilter) ([]hocket.Question, error) {
	found, err := p.Project.Questions(ctx, f)
	return found, open(err)
}

func (p served) WatchSince(ctx context.Context, since int64) iter.Seq2[hocket.Change, error] {
	return func(yield func(hocket.Change, error) bool) {
		for {
			closed := false
			for c, err := range p.Project.WatchSince(ctx, since) {
				if closed = Closed(err); closed {
					break
				}
				if !yield(c, err) {
					return
				}
			}
			if !closed {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second): // somebody may have changed that
			}
		}
	}
}
