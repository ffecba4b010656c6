package local

import (
	"context"
	"errors"
	"iter"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/journal"
)

// Watch reports changes to runs, made by any process.
func (d *Driver) Watch(ctx context.Context) iter.Seq2[driver.Change, error] {
	return func(yield func(driver.Change, error) bool) {
		l := d.pulse.listen(change, "")
		defer l.close()
		w := watch{d: d, version: -1, runs: map[string]watched{}}
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
	version int64 // of the list of runs
	leases  int64
	runs    map[string]watched
}

type watched struct{ over, driven bool }

// look finds what has changed since the last time.
func (w *watch) look(ctx context.Context) (changes []driver.Change, err error) {
	s, err := w.d.reading()
	if err != nil || s == nil {
		return nil, err
	}
	leases := w.d.pulse.leases.Load()
	changed, deleted, version, err := s.Changes(ctx, w.version)
	if err != nil {
		return nil, err
	}
	w.version = version
	for _, r := range changed {
		changes = append(changes, w.seen(info(ctx, s, r)))
	}
	for _, id := range deleted {
		if _, known := w.runs[id]; known {
			delete(w.runs, id)
			changes = append(changes, driver.Change{Run: id, Kind: driver.Deleted, Info: driver.Info{ID: id}})
		}
	}
	if leases == w.leases {
		return changes, nil
	}
	w.leases = leases
	moved, err := w.moved(ctx, s)
	return append(changes, moved...), err
}

func (w *watch) seen(i driver.Info) driver.Change {
	kind := driver.Appeared
	if _, known := w.runs[i.ID]; known {
		kind = driver.Moved
	}
	w.runs[i.ID] = watched{over: i.Status.Done(), driven: i.Driven}
	return driver.Change{Run: i.ID, Kind: kind, Info: i}
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
