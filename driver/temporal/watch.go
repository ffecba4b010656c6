package temporal

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/hocket-dev/hocket/driver"
)

// How often a watcher asks the server about runs that may change, and about all runs. If nothing changes, it asks less
// often.
const (
	watchEvery    = 250 * time.Millisecond
	watchSlowly   = time.Second
	watchAllEvery = 5 * time.Second
)

// Watch reports changes to runs of this project. The server does not keep what the list was, so a watcher that
// begins after a version is told to read the list again.
func (d *Driver) Watch(ctx context.Context, since int64) iter.Seq2[driver.Change, error] {
	return func(yield func(driver.Change, error) bool) {
		known := map[string]driver.Info{}
		report := func(c driver.Change) bool {
			c.Version = d.o.Now().UnixMicro()
			return yield(c, nil)
		}
		first := since > 0
		var all time.Time // when all runs were listed
		for wait := watchEvery; ctx.Err() == nil; {
			condition := ""
			if began := time.Now(); began.Sub(all) < watchAllEvery { // runs that ended before do not change
				condition = " AND (ExecutionStatus = 'Running' OR CloseTime > '" + all.Add(-time.Minute).UTC().Format(time.RFC3339) + "')"
			} else {
				all = began
			}
			list, err := d.list(ctx, condition)
			if err != nil {
				if ctx.Err() == nil {
					yield(driver.Change{}, err)
				}
				return
			}
			wait = min(wait*2, watchSlowly)
			found := changes(known, list, condition == "")
			if first { // whoever now reads the list sees at least this one
				found, first = []driver.Change{{Kind: driver.Reset}}, false
			}
			for _, c := range found {
				wait = watchEvery
				if !report(c) {
					return
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
		}
	}
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
		case old.Status != i.Status || old.Driven != i.Driven || old.Open != i.Open || old.Pending != i.Pending || old.Usage != i.Usage || !old.Due.Equal(i.Due):
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
