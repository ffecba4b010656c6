package hocket

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/filelock"
)

// LockPlanning lets only one planner at a time plan for the run: each may use what is left of the limits of
// the run, and two would use it twice. The error is a *[RefusedError] while another one plans.
func (r *Run) LockPlanning() (unlock func(), err error) {
	lock, err := filelock.Take(filepath.Join(r.p.State(), "plan-"+r.id+".lock"))
	if errors.Is(err, filelock.ErrLocked) {
		return nil, &RefusedError{Run: r.id, Reason: "a model is writing a plan for it already; wait until that has ended"}
	}
	if err != nil {
		return nil, fmt.Errorf("hocket: %w", err)
	}
	return func() { _ = lock.Release() }, nil
}

// UnchargedError reports that a run in which a model planned cannot be deleted yet.
type UnchargedError struct {
	Run string
	For string // the run that pays for it
}

func (e *UnchargedError) Error() string {
	return fmt.Sprintf("run %s: a model planned in it for %s, which pays for it with its next plan", e.Run, e.For)
}

// Hint returns what to do about it.
func (e *UnchargedError) Hint() string { return "give " + e.For + " a new plan, or delete it, first" }

// checkCharged returns an *[UnchargedError] if a model has planned in the run for another one, which still has
// to pay for it.
func (r *Run) checkCharged(ctx context.Context, info Info) error {
	payer := info.Owner.Labels[PlansLabel]
	if payer == "" || info.Usage.Usage == (engine.Usage{}) {
		return nil
	}
	planned, err := r.p.Run(ctx, payer)
	if unknown := (*UnknownRunError)(nil); errors.As(err, &unknown) {
		return nil
	}
	if err != nil {
		return err
	}
	_, runs, err := planned.Planning(ctx)
	if _, ok := runs[r.id]; ok && err == nil {
		return &UnchargedError{r.id, payer}
	}
	return err
}
