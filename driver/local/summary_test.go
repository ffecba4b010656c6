package local_test

import (
	"errors"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// Listing updates a run that a killed driver left behind, without reading its long
// outputs.
func TestListReadsNoLongOutputs(t *testing.T) {
	s := openStore(t)
	now := time.Now().UTC()
	w, err := s.Create(journal.NewRun{ID: "demo-1", Pin: &driver.Pin{Bundle: chain(task("a", ""), task("b", ""))}, Created: now,
		Events: []engine.Envelope{{Time: now, Clock: 1, Event: &engine.Started{Run: "demo-1", Version: engine.Version}}}})
	if err != nil {
		t.Fatal(err)
	}
	ended := engine.Envelope{Time: now, Clock: 2, Event: &engine.TaskEnded{Address: "a", Attempt: 1, Output: outputOf("a")}}
	if err := errors.Join(w.Append(journal.Batch{Events: []engine.Envelope{ended}}), w.Close()); err != nil {
		t.Fatal(err)
	}
	changeSnapshots(t, s.Dir(), "UPDATE blobs SET data = 'cannot be read'")
	err = with(s, work{}, func(d *local.Driver) error {
		runs, err := d.Runs(t.Context(), driver.Filter{})
		if err == nil && (len(runs) != 1 || runs[0].Status != engine.Running || runs[0].Usage.Steps != 2) {
			t.Errorf("%+v", runs)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
