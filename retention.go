package hocket

import (
	"context"
	"errors"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/session"
	"github.com/hocket-dev/hocket/workspace"
)

// Delete deletes the run and everything that is stored about it. A run that has not ended
// must be cancelled first, unless nobody can read it: then the driver decides. The error is an *[UnchargedError] if another run still has to pay for it.
func (r *Run) Delete(ctx context.Context) error {
	info, err := r.Info(ctx)
	if err != nil {
		return err
	}
	if !info.Status.Done() && info.Status != Damaged {
		return &RefusedError{Run: r.id, Reason: "it has not ended; cancel it first"}
	}
	if err := r.checkCharged(ctx, info); err != nil {
		return err
	}
	// A landing that was killed needs what is stored about the run. The rest needs a run that nobody can continue any more.
	if err := r.p.ifIsolated(ctx, func(s *workspace.Store) error { _, err := s.Withdraw(ctx, r.id); return err }); err != nil {
		return err
	}
	return r.p.erase(ctx, r.d, []string{r.id}, func() ([]string, error) {
		if err := r.d.Delete(ctx, r.id); err != nil {
			return nil, err
		}
		return []string{r.id}, nil
	})
}

// Collect deletes the oldest runs that have ended until the others are within r. With dry
// it only returns them. A run that is waiting or can be resumed is never deleted, nor is one that another run
// still has to pay for.
func (p *Project) Collect(ctx context.Context, r Retention, dry bool) ([]Collected, error) {
	d, err := p.runs()
	if err != nil {
		return nil, err
	}
	keep, surplus, err := p.surplus(ctx, d, r)
	if dry || err != nil {
		return surplus, err
	}
	deleted, err := p.eraseSurplus(ctx, d, r, keep, surplus)
	wrong := p.cleanWorkspaces(ctx, func(_ Workspace, over bool) bool { return over })
	return deleted, errors.Join(err, p.forgetMessages(ctx), wrong)
}

// surplus returns the runs to delete, and those that must stay.
func (p *Project) surplus(ctx context.Context, d driver.Driver, r Retention) (keep []string, surplus []Collected, err error) {
	keep, err = p.uncharged(ctx)
	if err == nil {
		surplus, err = d.Collect(ctx, r, keep, true)
	}
	return keep, surplus, err
}

// eraseSurplus deletes runs that are not within r, and what is left here of those that were deleted elsewhere.
func (p *Project) eraseSurplus(ctx context.Context, d driver.Driver, r Retention, keep []string, surplus []Collected) (deleted []Collected, err error) {
	err = p.erase(ctx, d, idsOf(surplus), func() (gone []string, err error) {
		if len(surplus) > 0 {
			deleted, err = d.Collect(ctx, r, keep, false)
		}
		gone, wrong := p.deletedElsewhere(ctx, d)
		return append(gone, idsOf(deleted)...), errors.Join(err, wrong)
	})
	return deleted, err
}

func idsOf(runs []Collected) (ids []string) {
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	return ids
}

// forgetMessages deletes what runs that have ended took from the inboxes of agents. Usually they did that themselves, unless their process was killed.
func (p *Project) forgetMessages(ctx context.Context) error {
	return session.OpenInbox(p.State()).ForgetAll(func() (ended []string, err error) {
		listed, err := p.Runs(ctx, Filter{})
		for _, i := range listed {
			if hasEnded(i) {
				ended = append(ended, i.ID)
			}
		}
		return ended, err
	})
}

// Compact frees the disk space of deleted runs. Runs may have to wait for it.
func (p *Project) Compact(ctx context.Context) error {
	d, err := p.runs()
	if err != nil {
		return err
	}
	return d.Compact(ctx)
}

// retain deletes what is not needed after a run has ended: its messages, and old runs as configured. It warns of what it takes back of a landing;
// warn may be nil.
func (r *Run) retain(ctx context.Context, res engine.Result, warn func(text string)) {
	if !res.Status.Done() {
		return
	}
	if note := r.withdrawn(ctx); note != "" && warn != nil {
		warn(note)
	}
	// What was made stays in the store. Other runs may have ended without a process that drove them. Collect tries again.
	_ = r.p.cleanWorkspaces(ctx, func(w Workspace, over bool) bool { return over || w.Run == r.id })
	_ = r.forgetMessages()
	if within := Retention(r.p.Config().Retention); within != (Retention{}) {
		if keep, surplus, err := r.p.surplus(ctx, r.d, within); err == nil {
			_, _ = r.p.eraseSurplus(ctx, r.d, within, keep, surplus) // the next run that ends tries again
		}
	}
}

// forgetMessages deletes what the run, which has ended, took from the inboxes of agents. If that fails, Collect tries again.
func (r *Run) forgetMessages() error { return session.OpenInbox(r.p.State()).Forget(r.id) }
