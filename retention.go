package hocket

import (
	"context"

	"github.com/hocket-dev/hocket/engine"
)

// Delete deletes the run and everything that is stored about it. A run that has not ended
// must be cancelled first.
func (r *Run) Delete(ctx context.Context) error {
	info, err := r.Info(ctx)
	if err != nil {
		return err
	}
	if !info.Status.Done() {
		return &RefusedError{Run: r.id, Reason: "it has not ended; cancel it first"}
	}
	return r.d.Delete(ctx, r.id)
}

// Collect deletes the oldest runs that have ended until the others are within r. With dry
// it only returns them. A run that is waiting or can be resumed is never deleted.
func (p *Project) Collect(ctx context.Context, r Retention, dry bool) ([]Collected, error) {
	d, err := p.runs()
	if err != nil {
		return nil, err
	}
	return d.Collect(ctx, r, dry)
}

// Compact frees the disk space of deleted runs. Runs may have to wait for it.
func (p *Project) Compact(ctx context.Context) error {
	d, err := p.runs()
	if err != nil {
		return err
	}
	return d.Compact(ctx)
}

// retain deletes old runs as configured, after a run has ended.
func (r *Run) retain(ctx context.Context, res engine.Result) {
	if keep := Retention(r.p.Config().Retention); keep != (Retention{}) && res.Status.Done() {
		_, _ = r.d.Collect(ctx, keep, false) // the next run that ends tries again
	}
}
