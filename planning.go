package hocket

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

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
	unpaid, err := r.p.unchargedFor(ctx, payer)
	if err == nil && slices.Contains(unpaid, r.id) {
		return &UnchargedError{r.id, payer}
	}
	return err
}

// uncharged returns all runs in which models have planned for others, which still have to pay for them.
func (p *Project) uncharged(ctx context.Context) ([]string, error) {
	planned, err := p.Runs(ctx, Filter{Label: PlansLabel})
	if err != nil {
		return nil, err
	}
	var all []string
	seen := map[string]bool{}
	for _, info := range planned {
		payer := info.Owner.Labels[PlansLabel]
		if seen[payer] {
			continue
		}
		seen[payer] = true
		unpaid, err := p.unchargedFor(ctx, payer)
		if err != nil {
			return nil, err
		}
		all = append(all, unpaid...)
	}
	return all, nil
}

// unchargedFor returns the runs that a run still has to pay for. One that was deleted pays for nothing.
func (p *Project) unchargedFor(ctx context.Context, payer string) ([]string, error) {
	planned, err := p.Run(ctx, payer)
	if unknown := (*UnknownRunError)(nil); errors.As(err, &unknown) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	_, runs, err := planned.Planning(ctx)
	var unpaid []string
	for id, used := range runs {
		if used != (engine.Usage{}) {
			unpaid = append(unpaid, id)
		}
	}
	return unpaid, err
}
