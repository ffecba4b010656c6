package temporal

import (
	"cmp"
	"reflect"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// TestOtherSnapshot: a release that cannot read the snapshot of another one takes the run up from its events.
func TestOtherSnapshot(t *testing.T) {
	task := func(id string) workflow.Node { return workflow.Node{ID: id, Step: &workflow.Task{Agent: "shell"}} }
	pin := &driver.Pin{Bundle: &workflow.Bundle{Root: &workflow.Workflow{
		Name: "w", Body: workflow.Graph{Nodes: []workflow.Node{task("a"), task("b")}, Edges: []workflow.Edge{{From: "a", To: "b"}}},
	}}}
	store, at := Folder(t.TempDir()), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m, err := newMachine(begin{Run: "r", Pin: pin}, &mirror{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var lines []byte
	for i, ev := range []engine.Event{&engine.Started{Run: "r", Version: engine.Version}, &engine.TaskEnded{Address: "a", Attempt: 1, Output: "x"}} {
		e := engine.Envelope{Seq: i + 1, Time: at, Clock: time.Duration(i + 1), Event: ev}
		if _, err := m.step(e); err != nil {
			t.Fatal(err)
		}
		line, err := engine.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(append(lines, line...), '\n')
	}
	if err := cmp.Or(store.Put(t.Context(), idKey, nil), store.Put(t.Context(), runKey("r", "events", "000000000001"), lines)); err != nil {
		t.Fatal(err)
	}
	if err := putJSON(t.Context(), store, runKey("r", "plans", "first"), pin); err != nil {
		t.Fatal(err)
	}
	recall := func(last int) (begin, error) { return past(t.Context(), store, "r", last) }
	in := begin{Run: "r", Pin: pin, Snapshot: m.run.Snapshot(), Seq: m.run.Seq()}
	good, err := newMachine(in, &mirror{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	in.Snapshot = []byte("{\"layout\":1}\nof another release")
	if _, err := newMachine(in, &mirror{}, nil); err == nil {
		t.Error("the other snapshot can be read")
	}
	other, err := newMachine(in, &mirror{}, recall)
	if err != nil {
		t.Fatal(err)
	}
	if other.run.Seq() != 2 || len(other.first) == 0 || !reflect.DeepEqual(other.run.Result(), good.run.Result()) || string(other.run.Snapshot()) != string(good.run.Snapshot()) {
		t.Errorf("%+v, want %+v", other.run.Result(), good.run.Result())
	}
}
