package local

import (
	"context"
	"errors"
	"slices"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/journal"
)

// deletions is how many runs are deleted at once.
const deletions = 200

// Collect deletes the runs that ended first.
func (d *Driver) Collect(ctx context.Context, r driver.Retention, keep []string, dry bool) ([]driver.Collected, error) {
	s, err := d.reading()
	if err != nil || s == nil {
		return nil, err
	}
	surplus, err := d.surplus(ctx, s, r, keep)
	if err != nil || dry || len(surplus) == 0 {
		return surplus, err
	}
	if s, err = d.writing(); err != nil {
		return nil, err
	}
	var removed []driver.Collected
	for part := range slices.Chunk(surplus, deletions) {
		ids := make([]string, len(part))
		for i, c := range part {
			ids[i] = c.ID
		}
		ids, err = s.Delete(ctx, ids...)
		for _, c := range part {
			if slices.Contains(ids, c.ID) {
				removed = append(removed, c)
			}
		}
		if err != nil && !passedOver(err) {
			break
		}
		err = nil
	}
	d.pulse.changed(change)
	return removed, err
}

// passedOver reports whether runs were not deleted only because another process is using them, or
// deleted them first.
func passedOver(err error) bool {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(all.Unwrap(), func(err error) bool { return !passedOver(err) })
	}
	return errors.As(err, new(*driver.HeldError)) || errors.As(err, new(*driver.UnknownRunError))
}

// Compact returns the space of deleted runs to the system.
func (d *Driver) Compact(ctx context.Context) error {
	s, err := d.reading()
	if err != nil || s == nil {
		return err
	}
	if s, err = d.writing(); err != nil {
		return err
	}
	return s.Compact(ctx)
}

// surplus returns the runs that neither r nor keep keeps, beginning with those that ended first.
func (d *Driver) surplus(ctx context.Context, s *journal.Store, r driver.Retention, keep []string) ([]driver.Collected, error) {
	runs, err := s.List(ctx, driver.Filter{})
	if err != nil {
		return nil, err
	}
	infos, byID := make([]driver.Info, len(runs)), map[string]journal.Run{}
	for i, run := range runs {
		infos[i], byID[run.ID] = run.Info, run
	}
	return driver.Surplus(infos, r, keep, d.o.Clock.Now(), func(run string) (int64, error) { return s.Bytes(ctx, byID[run]) })
}
