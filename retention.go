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
	if err := r.d.Delete(ctx, r.id); err != nil {
		return err
	}
	return r.p.release(ctx, r.d, r.id)
}

// Collect deletes the oldest runs that have ended until the others are within r. With dry
// it only returns them. A run that is waiting or can be resumed is never deleted, nor is one that another run
// still has to pay for.
func (p *Project) Collect(ctx context.Context, r Retention, dry bool) ([]Collected, error) {
	d, err := p.runs()
	if err != nil {
		return nil, err
	}
	keep, err := p.uncharged(ctx)
	if err != nil {
		return nil, err
	}
	deleted, err := d.Collect(ctx, r, keep, dry)
	if err == nil && !dry {
		wrong := p.cleanWorkspaces(ctx, func(_ Workspace, over bool) bool { return over })
		err = errors.Join(p.forgetMessages(ctx, idsOf(deleted)), p.release(ctx, d, idsOf(deleted)...), wrong)
		if w, ok := d.(driver.Workers); ok { // others may have deleted runs for which this machine has worked
			err = errors.Join(err, p.sweepDeleted(ctx, w))
		}
	}
	return deleted, err
}

func idsOf(runs []Collected) (ids []string) {
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	return ids
}

// forgetMessages deletes what runs that have ended, and those that were deleted, took from the inboxes of agents. Usually they did
// that themselves, unless their process was killed.
func (p *Project) forgetMessages(ctx context.Context, deleted []string) error {
	return session.OpenInbox(p.State()).ForgetAll(func() ([]string, error) {
		listed, err := p.Runs(ctx, Filter{})
		for _, i := range listed {
			if hasEnded(i) {
				deleted = append(deleted, i.ID)
			}
		}
		return deleted, err
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

// retain deletes what is not needed after a run has ended: its messages, and old runs as configured.
func (r *Run) retain(ctx context.Context, res engine.Result) {
	if res.Status.Done() {
		_, _ = r.withdraw(ctx) // whatever captures the project next tries again
		// What was made stays in the store. Other runs may have ended without a process that drove them. Collect tries again.
		_ = r.p.cleanWorkspaces(ctx, func(w Workspace, over bool) bool { return over || w.Run == r.id })
		_ = session.OpenInbox(r.p.State()).Forget(r.id) // Collect tries again
	}
	if keep := Retention(r.p.Config().Retention); keep != (Retention{}) && res.Status.Done() {
		if unpaid, err := r.p.uncharged(ctx); err == nil {
			deleted, _ := r.d.Collect(ctx, keep, unpaid, false) // the next run that ends tries again
			_ = r.p.release(ctx, r.d, idsOf(deleted)...)
		}
	}
}
