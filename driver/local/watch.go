package local

import (
	"context"
	"errors"
	"iter"
	"sort"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/journal"
)

// Watch reports changes to runs, made by any process.
func (d *Driver) Watch(ctx context.Context, since int64) iter.Seq2[driver.Change, error] {
	return func(yield func(driver.Change, error) bool) {
		l := d.pulse.listen(change, "")
		defer l.close()
		w := watch{d: d, since: since, version: -1, runs: map[string]watched{}}
		for l.wait(ctx) {
			changes, err := w.look(ctx)
			if err != nil {
				if ctx.Err() == nil {
					yield(driver.Change{}, err)
				}
				return
			}
			for _, c := range changes {
				if !yield(c, nil) {
					return
				}
			}
		}
	}
}

// watch is what one watcher has seen.
type watch struct {
	d       *Driver
	since   int64 // where to begin; 0: it has begun, or begins with all runs
	version int64 // of the list of runs
	leases  int64
	runs    map[string]watched
}

type watched struct{ over, driven bool }

// look finds what has changed since the last time.
func (w *watch) look(ctx context.Context) (changes []driver.Change, err error) {
	s, err := w.d.reading()
	if err != nil {
		return nil, err
	}
	if since := w.since; since != 0 {
		if changes, err = w.begin(ctx, s); err != nil {
			return nil, err
		}
		w.since = 0
		if s == nil || w.version != since {
			return changes, nil
		}
		left := changes // those whose process died, which no version shows, come last
		if changes, err = w.news(ctx, s, true); err != nil {
			return nil, err
		}
		for _, c := range left {
			c.Version = w.version
			changes = append(changes, c)
		}
		return changes, nil
	}
	if s == nil {
		return nil, nil
	}
	leases := w.d.pulse.leases.Load()
	if changes, err = w.news(ctx, s, false); err != nil || leases == w.leases {
		return changes, err
	}
	w.leases = leases
	moved, err := w.moved(ctx, s)
	return append(changes, moved...), err
}

// begin sees the runs that exist when a watcher begins at a version. It returns those whose process died, or a reset if
// there was no such version.
func (w *watch) begin(ctx context.Context, s *journal.Store) (changes []driver.Change, err error) {
	if s == nil { // there is no run yet
		return []driver.Change{{Kind: driver.Reset}}, nil
	}
	runs, _, version, err := s.Changes(ctx, -1)
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		if c := w.seen(info(ctx, s, r)); r.WasDriven() && !c.Info.Driven && !c.Info.Status.Done() {
			changes = append(changes, c)
		}
	}
	if w.since > version {
		w.version = version
		return []driver.Change{{Kind: driver.Reset, Version: version}}, nil
	}
	w.version = w.since
	return changes, nil
}

// news returns the changes of the list of runs in their order. With all, it also reports that runs were deleted that
// this watcher has not seen.
func (w *watch) news(ctx context.Context, s *journal.Store, all bool) (changes []driver.Change, err error) {
	changed, deleted, version, err := s.Changes(ctx, w.version)
	if err != nil {
		return nil, err
	}
	w.version = version
	for _, r := range changed {
		c := w.seen(info(ctx, s, r))
		c.Version = r.Version
		changes = append(changes, c)
	}
	for _, gone := range deleted {
		if _, known := w.runs[gone.ID]; known || all {
			delete(w.runs, gone.ID)
			changes = append(changes, driver.Change{Run: gone.ID, Kind: driver.Deleted, Info: driver.Info{ID: gone.ID}, Version: gone.Version})
		}
	}
	sort.SliceStable(changes, func(i, j int) bool { return changes[i].Version < changes[j].Version })
	return changes, nil
}

func (w *watch) seen(i driver.Info) driver.Change {
	kind := driver.Appeared
	if _, known := w.runs[i.ID]; known {
		kind = driver.Moved
	}
	w.runs[i.ID] = watched{over: i.Status.Done(), driven: i.Driven}
	return driver.Change{Run: i.ID, Kind: kind, Info: i, Version: w.version}
}

// moved finds the runs whose process was killed, which the list of runs does not show.
func (w *watch) moved(ctx context.Context, s *journal.Store) (changes []driver.Change, err error) {
	driven, err := s.Driven(ctx)
	if err != nil {
		return nil, err
	}
	for id, run := range w.runs {
		if run.over || driven[id] == run.driven {
			continue
		}
		r, err := s.Find(ctx, id)
		var gone *driver.UnknownRunError
		if errors.As(err, &gone) {
			continue // the next look finds that it was deleted
		}
		if err != nil {
			return changes, err
		}
		changes = append(changes, w.seen(info(ctx, s, r)))
	}
	return changes, nil
}
