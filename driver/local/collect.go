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
	runs = slices.DeleteFunc(runs, func(r journal.Run) bool { return r.Status == driver.Damaged }) // its age is unknown
	slices.SortStableFunc(runs, func(a, b journal.Run) int { return b.Changed.Compare(a.Changed) })
	last := slices.IndexFunc(runs, func(r journal.Run) bool { return r.Status.Done() })
	sizes, total := make([]int64, len(runs)), int64(0)
	for i := range runs {
		if r.Size > 0 {
			if sizes[i], err = s.Bytes(ctx, runs[i]); err != nil {
				return nil, err
			}
			total += sizes[i]
		}
	}
	left, now := len(runs), d.o.Clock.Now()
	var surplus []driver.Collected
	for i, run := range slices.Backward(runs) {
		old := r.Age > 0 && now.Sub(run.Changed) > r.Age
		many := r.Runs > 0 && left > r.Runs
		large := r.Size > 0 && total > r.Size
		if !run.Status.Done() || slices.Contains(keep, run.ID) || !old && (i == last || !many && !large) {
			continue
		}
		if r.Size == 0 {
			if sizes[i], err = s.Bytes(ctx, run); err != nil {
				return nil, err
			}
		}
		left, total = left-1, total-sizes[i]
		surplus = append(surplus, driver.Collected{Info: run.Info, Size: sizes[i]})
	}
	return surplus, nil
}
