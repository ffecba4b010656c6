package hocket

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/session"
	"github.com/hocket-dev/hocket/workspace"
)

// A run that a process drives loses its directories when it ends, because that process removes them. Workers only make attempts, so they look
// for runs that have ended or were deleted.
const (
	sweepEvery = time.Minute // for directories of runs that have ended
	sweepAll   = 60          // for everything of runs that were deleted: each so many times, and the first time
)

// sweeps removes what a worker does not need, until ctx is done. What fails is tried again.
func (p *Project) sweeps(ctx context.Context, d driver.Workers) {
	every := time.NewTicker(sweepEvery)
	defer every.Stop()
	for i := 0; ; i++ {
		if i%sweepAll == 0 {
			_ = p.sweepDeleted(ctx, d)
		}
		_ = p.sweepEnded(ctx)
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// sweepEnded removes the directories of runs that have ended, as [Run.retain] does. Without directories, it asks nobody.
func (p *Project) sweepEnded(ctx context.Context) error {
	return p.ifIsolated(ctx, func(s *workspace.Store) error {
		if runs, err := s.Runs(); len(runs) == 0 || err != nil {
			return err
		}
		return p.cleanWorkspaces(ctx, func(_ Workspace, over bool) bool { return over })
	})
}

// sweepDeleted removes everything of runs that were deleted, wherever that was done.
func (p *Project) sweepDeleted(ctx context.Context, w driver.Workers) error {
	return p.ifIsolated(ctx, func(s *workspace.Store) error {
		runs, err := s.Entered(placeOf(w))
		if len(runs) == 0 || err != nil {
			return err
		}
		d, err := p.runs()
		if err != nil {
			return err
		}
		listed, err := d.Runs(ctx, Filter{})
		if err != nil {
			return err
		}
		var all []error
		var deleted []string
		for _, run := range runs {
			if slices.ContainsFunc(listed, func(i Info) bool { return i.ID == run }) {
				continue
			}
			noted, err := w.Deleted(ctx, run)
			if noted != nil && err == nil {
				deleted = append(deleted, run)
			}
			all = append(all, err)
		}
		return errors.Join(append(all, session.OpenInbox(p.State()).ForgetAll(func() ([]string, error) { return deleted, nil }), p.release(ctx, d, deleted...))...)
	})
}

// deletedPlace is where runs are that were deleted, until nothing is left of them: see [workspace.Store.Enter].
const deletedPlace = "deleted"

// release removes everything of runs that were deleted. On workers, what a run has made stays as long as another one repeats it: the copy
// for that one is only where it was forked, see [lineage]. The sweep after that removes it.
func (p *Project) release(ctx context.Context, d driver.Driver, deleted ...string) error {
	return p.ifIsolated(ctx, func(s *workspace.Store) (err error) {
		w, isWorkers := d.(driver.Workers)
		for _, run := range deleted {
			err = errors.Join(err, s.Enter(deletedPlace, run))
			if isWorkers {
				err = errors.Join(err, s.Enter(placeOf(w), run)) // the run may have been forked and deleted where no worker is
			}
		}
		all, wrong := s.Entered(deletedPlace) // also those with which an earlier call was not done
		if err = errors.Join(err, wrong); len(all) == 0 {
			return err
		}
		repeated := func(string) bool { return false }
		if isWorkers && err == nil {
			repeated, err = repeatedRuns(ctx, d, w)
		}
		if err != nil {
			return err
		}
		for _, run := range all {
			if !repeated(run) {
				err = errors.Join(err, s.Release(ctx, run))
			}
		}
		return err
	})
}

// repeatedRuns returns what reports whether there is a run that was forked from another one, perhaps by way of others that were deleted. If
// a run cannot be read, it may be one of any.
func repeatedRuns(ctx context.Context, d driver.Driver, w driver.Workers) (func(run string) bool, error) {
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
				gone, err := w.Deleted(ctx, run)
				if err != nil {
					return nil, err
				}
				if gone != nil {
					origin = gone.Origin
				}
			}
			run = origin
		}
	}
	return func(run string) bool { return repeated[run] }, nil
}

// placeOf names where the runs of a driver are, see [workspace.Store.Enter].
func placeOf(d driver.Workers) string {
	sum := sha256.Sum256([]byte(d.Place()))
	return hex.EncodeToString(sum[:8])
}
