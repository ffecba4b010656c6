package local

import (
	"context"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// summary returns the entry of a run in the list of runs.
func summary(r *engine.Run) *journal.Summary {
	m := &journal.Summary{Status: r.Status(), At: r.Time(), Usage: r.Usage()}
	if m.Status == engine.Waiting {
		m.Due = r.Due()
	}
	for _, q := range r.Questions() {
		m.Questions = append(m.Questions, driver.Question{Question: q})
	}
	return m
}

// info converts a run for package driver. If a killed driver left its entry in the list of
// runs outdated, the entry is updated first.
func info(ctx context.Context, s *journal.Store, r journal.Run) driver.Info {
	if !r.Status.Done() {
		r.Holder, r.Driven = s.HolderOf(r)
		r.Pending = !r.Begun && !r.Driven && !r.Owner.Claimed
	}
	if r.Stale && !r.Driven {
		refresh(ctx, s, &r)
	}
	return r.Info
}

// refresh replays a run to update its entry in the list of runs. A run that cannot be
// replayed keeps its entry.
func refresh(ctx context.Context, s *journal.Store, r *journal.Run) {
	run, err := load(ctx, s, r.ID)
	if err != nil {
		return
	}
	m := summary(run)
	r.Status, r.Problem, r.Due, r.Usage, r.Open = m.Status, "", m.Due, m.Usage, len(m.Questions)
	if s.Writable() == nil {
		_ = s.Refresh(*r, run.Seq(), *m) // a cache: the next one tries again
	}
}
