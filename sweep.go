package hocket

import (
	"context"
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
func (p *Project) sweeps(ctx context.Context) {
	every := time.NewTicker(sweepEvery)
	defer every.Stop()
	for i := 0; ; i++ {
		if i%sweepAll == 0 {
			_ = p.sweepDeleted(ctx)
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
func (p *Project) sweepDeleted(ctx context.Context) error {
	d, err := p.runs()
	if err != nil {
		return err
	}
	return p.erase(ctx, d, nil, func() ([]string, error) { return p.deletedElsewhere(ctx, d) })
}

// deletedElsewhere returns the runs for which a worker has worked here and that were deleted, on whatever machine.
func (p *Project) deletedElsewhere(ctx context.Context, d driver.Driver) (deleted []string, err error) {
	w, ok := d.(driver.Workers)
	if !ok {
		return nil, nil
	}
	worked, err := p.worked(d).all()
	if len(worked) == 0 || err != nil {
		return nil, err
	}
	listed, err := d.Runs(ctx, Filter{})
	if err != nil {
		return nil, err
	}
	for _, run := range worked {
		if slices.ContainsFunc(listed, func(i Info) bool { return i.ID == run }) {
			continue
		}
		noted, wrong := w.Deleted(ctx, run)
		if noted != nil && wrong == nil {
			deleted = append(deleted, run)
		}
		err = errors.Join(err, wrong)
	}
	return deleted, err
}

// erase deletes runs, and everything that is stored about them. Del makes the driver delete them, and returns those that are deleted. They are noted
// before that: if the process is killed, nobody could find afterwards what it has left.
func (p *Project) erase(ctx context.Context, d driver.Driver, runs []string, del func() (deleted []string, err error)) error {
	for _, run := range runs {
		_ = p.deletions(d).add(run) // a full disk keeps nobody from deleting runs; removeRest notes what is left
	}
	deleted, err := del()
	return errors.Join(err, p.removeRest(ctx, d, runs, deleted))
}

// removeRest removes everything of runs that were deleted, and of others, which were to be deleted or were noted earlier, if the driver has deleted
// them. It notes those of which something is left.
func (p *Project) removeRest(ctx context.Context, d driver.Driver, asked, deleted []string) error {
	deleted, err := p.addDeleted(ctx, d, asked, deleted)
	if len(deleted) == 0 {
		return err
	}
	forgotten := session.OpenInbox(p.State()).Forget(deleted...)
	done, wrong := p.release(ctx, d, deleted)
	err = errors.Join(err, forgotten, wrong)
	for _, run := range deleted {
		if forgotten == nil && slices.Contains(done, run) {
			err = errors.Join(err, p.deletions(d).remove(run), p.worked(d).remove(run))
		} else {
			err = errors.Join(err, p.deletions(d).add(run))
		}
	}
	return err
}

// addDeleted adds the runs that were to be deleted and that the driver does not know any more. One that it knows stays as it is, because it could not
// be deleted, and so does one if the driver does not answer: whoever asks next tries again.
func (p *Project) addDeleted(ctx context.Context, d driver.Driver, asked, deleted []string) ([]string, error) {
	noted, err := p.deletions(d).all()
	for _, run := range slices.Concat(asked, noted) {
		if slices.Contains(deleted, run) {
			continue
		}
		if _, unknown := d.Info(ctx, run); errors.As(unknown, new(*driver.UnknownRunError)) {
			deleted = append(deleted, run)
		}
	}
	return deleted, err
}

// release removes the workspaces of runs that were deleted, and what was made in them, unless another run repeats it. It returns those of which
// nothing is left.
func (p *Project) release(ctx context.Context, d driver.Driver, deleted []string) (done []string, err error) {
	s, err := p.existingWorkspaces(ctx)
	if s == nil && err == nil {
		return deleted, nil
	}
	var repeated func(run string) bool
	if err == nil {
		repeated, err = repeatedRuns(ctx, d)
	}
	if err != nil {
		return nil, err
	}
	for _, run := range deleted {
		if repeated(run) {
			continue
		}
		wrong := s.Release(ctx, run)
		left, unknown := s.Left(run)
		if wrong = errors.Join(wrong, unknown); wrong == nil && !left {
			done = append(done, run)
		}
		err = errors.Join(err, wrong)
	}
	return done, err
}
