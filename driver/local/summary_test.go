package local_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// A list of runs brings a run up to date that a killed driver left behind, but reads no
// long outputs for it.
func TestListReadsNoLongOutputs(t *testing.T) {
	for _, c := range []struct {
		name string
		size int
		want int // tasks that the list knows of
	}{{"short", 1 << 20, 2}, {"long", 20 << 20, 0}} {
		s := openStore(t)
		now := time.Now().UTC()
		w, err := s.Create(journal.NewRun{ID: "demo-1", Pin: &driver.Pin{Bundle: chain(task("a", ""), task("b", ""))}, Created: now,
			Events: []engine.Envelope{{Time: now, Clock: 1, Event: &engine.Started{Run: "demo-1", Version: engine.Version}}}})
		if err != nil {
			t.Fatal(err)
		}
		ended := engine.Envelope{Time: now, Clock: 2, Event: &engine.TaskEnded{Address: "a", Attempt: 1, Output: strings.Repeat("x", c.size)}}
		if err := w.Append(journal.Batch{Events: []engine.Envelope{ended}}); err != nil {
			t.Fatal(err)
		}
		w.Close()
		err = with(s, work{}, func(d *local.Driver) error {
			runs, err := d.Runs(t.Context(), driver.Filter{})
			if err == nil && (len(runs) != 1 || runs[0].Status != engine.Running || runs[0].Usage.Steps != c.want) {
				t.Errorf("%s: %+v", c.name, runs)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
