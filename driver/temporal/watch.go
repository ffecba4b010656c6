package temporal

import (
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/hocket-dev/hocket/driver"
)

// How often the server is asked about runs that may change, and about all runs, while somebody watches them. If nothing
// changes, it is asked less often.
const (
	watchEvery    = 250 * time.Millisecond
	watchSlowly   = time.Second
	watchAllEvery = 5 * time.Second
	watchArchive  = time.Minute // how often the archive is listed
)

// Watch reports changes to runs of this project. The server does not keep what the list was, so a watcher that
// begins after a version is told to read the list again.
func (d *Driver) Watch(ctx context.Context, since int64) iter.Seq2[driver.Change, error] {
	return func(yield func(driver.Change, error) bool) {
		known, seen, first := map[string]driver.Info{}, -1, since > 0
		for ctx.Err() == nil {
			list, version, err := d.view.now(ctx, d)
			if err != nil {
				if ctx.Err() == nil {
					yield(driver.Change{}, err)
				}
				return
			}
			var found []driver.Change
			if version != seen {
				found, seen = changes(known, list, true), version
			}
			if first { // whoever now reads the list sees at least this one
				found, first = []driver.Change{{Kind: driver.Reset}}, false
			}
			for _, c := range found {
				c.Version = d.o.Now().UnixMicro()
				if !yield(c, nil) {
					return
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(watchEvery):
			}
		}
	}
}

// overview is the list of runs as it was a moment ago. All watchers share it, so that many of them cost as much as one.
type overview struct {
	turn    chan struct{} // has a value while somebody uses the rest
	runs    map[string]driver.Info
	version int           // how often runs has changed
	ended   []driver.Info // those that only the archive had
	asked   time.Time     // when the server was asked about runs that may change,
	all     time.Time     // and about all of them,
	stored  time.Time     // and when the archive was listed
	wait    time.Duration // until the server is asked again
}

func newOverview() *overview {
	return &overview{turn: make(chan struct{}, 1), runs: map[string]driver.Info{}}
}

// now returns the list, with a number that changes with it.
func (o *overview) now(ctx context.Context, d *Driver) ([]driver.Info, int, error) {
	select {
	case o.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	defer func() { <-o.turn }()
	if time.Since(o.asked) >= o.wait {
		if err := o.ask(ctx, d); err != nil {
			return nil, 0, err
		}
	}
	return slices.Collect(maps.Values(o.runs)), o.version, nil
}

// ask brings the list up to date.
func (o *overview) ask(ctx context.Context, d *Driver) error {
	now, condition := time.Now(), ""
	if now.Sub(o.all) < watchAllEvery { // runs that ended before do not change
		condition = " AND (ExecutionStatus = 'Running' OR CloseTime > '" + o.all.Add(-time.Minute).UTC().Format(time.RFC3339) + "')"
	}
	list, err := d.current(ctx, condition)
	if err == nil && condition == "" {
		list, err = o.archived(ctx, d, now, list)
	}
	if err != nil {
		return err
	}
	if condition == "" {
		o.all = now
	}
	o.asked, o.wait = now, min(max(2*o.wait, watchEvery), watchSlowly)
	if len(changes(o.runs, list, condition == "")) > 0 {
		o.version++
		o.wait = watchEvery
	}
	return nil
}

// archived adds the runs that only the archive has. It is listed when a run has disappeared from the server, and otherwise
// seldom.
func (o *overview) archived(ctx context.Context, d *Driver, now time.Time, list []driver.Info) ([]driver.Info, error) {
	has := map[string]bool{}
	for _, i := range slices.Concat(list, o.ended) {
		has[i.ID] = true
	}
	gone := false
	for id := range o.runs {
		gone = gone || !has[id]
	}
	if gone || now.Sub(o.stored) >= watchArchive {
		ended, err := d.endedRuns(ctx, list)
		if err != nil {
			return nil, err
		}
		o.ended, o.stored = ended, now
	}
	all := map[string]driver.Info{}
	for _, i := range slices.Concat(o.ended, list) { // one that goes on is on the server again
		all[i.ID] = i
	}
	return slices.Collect(maps.Values(all)), nil
}

// changes compares a list of runs with what is known, which it replaces. If the list has all runs, the others were
// deleted.
func changes(known map[string]driver.Info, list []driver.Info, all bool) (found []driver.Change) {
	slices.SortFunc(list, older)
	now := map[string]bool{}
	for _, i := range list {
		now[i.ID] = true
		old, seen := known[i.ID]
		known[i.ID] = i
		switch {
		case !seen:
			found = append(found, driver.Change{Run: i.ID, Kind: driver.Appeared, Info: i})
		case old.Status != i.Status || old.Driven != i.Driven || old.Open != i.Open || old.Pending != i.Pending || old.Problem != i.Problem || old.Usage != i.Usage || !old.Due.Equal(i.Due):
			found = append(found, driver.Change{Run: i.ID, Kind: driver.Moved, Info: i})
		}
	}
	for id := range known {
		if all && !now[id] {
			delete(known, id)
			found = append(found, driver.Change{Run: id, Kind: driver.Deleted, Info: driver.Info{ID: id}})
		}
	}
	return found
}
