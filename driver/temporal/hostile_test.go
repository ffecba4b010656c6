package temporal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/temporal"
	"github.com/hocket-dev/hocket/engine"
	"go.temporal.io/sdk/client"
)

// TestHostileRuns: workflows and values that somebody else puts into the namespace and the store neither break lists nor
// programs that read them, and lead to no other run.
func TestHostileRuns(t *testing.T) {
	needsServer(t)
	ctx, s, queue := t.Context(), temporal.Folder(t.TempDir()), newName()
	d := open(t, options(queue, s))
	begin(t, d, chain(gate("ok")))
	if res := drive(t, d, "run-1", echo); res.Status != engine.Waiting {
		t.Fatalf("%+v", res)
	}
	c, err := client.Dial(client.Options{HostPort: address, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	past := time.Now().Add(-time.Hour)
	facts := map[string]any{"id": "run-1", "workflow": "long", "status": "success", "created": past, "changed": past, "open": 1}
	inputs := map[string]any{
		"empty": map[string]any{}, "bare": map[string]any{"pin": map[string]any{}},
		"null": map[string]any{"pin": map[string]any{"bundle": map[string]any{"definitions": []any{nil}}}},
	}
	start := func(id string, memo map[string]any, in any) {
		t.Helper()
		if _, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: queue + "/" + id, TaskQueue: newName(), Memo: memo}, "hocket.run", in); err != nil {
			t.Fatal(err)
		}
	}
	for id, in := range inputs {
		start(id, map[string]any{"hocket": facts}, in)
	}
	start("evil", nil, 1)
	start("other/run-1", map[string]any{"hocket": facts}, 1)
	for _, key := range []string{"ended/archived", "ended/folder/run-1", "ended/red%1B"} {
		if err := s.Put(ctx, key, []byte(`{"id": "run-1", "status": "success", "changed": "2020-01-01T00:00:00Z"}`)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"archived success", "bare success", "empty success", "evil damaged", "null success", "run-1 waiting"}
	var got []string
	for range 100 { // the server lists them when it likes
		runs, err := d.Runs(ctx, driver.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		got = nil
		for _, i := range runs {
			got = append(got, i.ID+" "+string(i.Status))
			if (i.Problem != "") != (i.Status == driver.Damaged) {
				t.Errorf("%+v", i)
			}
		}
		if slices.Sort(got); slices.Equal(got, want) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := d.Count(ctx, past); err != nil {
		t.Error(err)
	}
	for _, err := range d.Watch(ctx, 0) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	if open, err := d.Questions(ctx, driver.QuestionFilter{}); len(open) != 1 || open[0].Run != "run-1" || err != nil {
		t.Errorf("%+v, %v", open, err)
	}
	for id := range inputs {
		_, err := d.Pin(ctx, id)
		for _, wrong := range d.Events(ctx, id, 0, false) {
			err = errors.Join(err, wrong)
		}
		if !errors.As(err, new(*driver.BrokenError)) {
			t.Errorf("%s: %v", id, err)
		}
	}
	removed, err := d.Collect(ctx, driver.Retention{Age: time.Minute}, nil, false)
	if len(removed) != 4 || err != nil {
		t.Errorf("%+v, %v", removed, err)
	}
	if err := d.Delete(ctx, "evil"); err != nil {
		t.Error(err)
	}
	if i, err := d.Info(ctx, "run-1"); i.Status != engine.Waiting || err != nil {
		t.Errorf("%+v, %v", i, err)
	}
}

// TestDamagedSignal: a signal that cannot be decoded changes nothing about the next one.
func TestDamagedSignal(t *testing.T) {
	needsServer(t)
	o := options(newName(), temporal.Folder(t.TempDir()))
	d := open(t, o)
	begin(t, d, chain(task("a")))
	good, err := engine.Encode(engine.Envelope{Event: &engine.Queued{Address: "a", Attempt: 1}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.Dial(client.Options{HostPort: address, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, signal := range []string{`{"left": "nothing", "event": {"type": "nope"}}`, `{"event": ` + string(good) + `}`} {
		if err := c.SignalWorkflow(t.Context(), o.Queue+"/run-1", "", "hocket.note", json.RawMessage(signal)); err != nil {
			t.Fatal(err)
		}
	}
	if res := drive(t, d, "run-1", echo); res.Status != engine.Success {
		t.Fatalf("%+v", res)
	}
	seq, queued := 0, false
	for e, err := range d.Events(t.Context(), "run-1", 0, false) {
		if err != nil {
			t.Fatal(err)
		}
		_, ok := e.Event.(*engine.Queued)
		seq, queued = e.Seq, queued || ok
	}
	if i, err := d.Info(t.Context(), "run-1"); err != nil || i.Seq != seq || !queued {
		t.Errorf("the workflow has recorded %d events, and a mirror reads %d, %v", i.Seq, seq, err)
	}
}

// TestEmptyChunk: whoever follows a step ends with it, whatever somebody else has stored as its output.
func TestEmptyChunk(t *testing.T) {
	needsServer(t)
	s := temporal.Folder(t.TempDir())
	d := open(t, options(newName(), s))
	begin(t, d, chain(task("a")))
	begun, pieces := make(chan bool), 0
	begins := sync.OnceFunc(func() { close(begun) })
	defer work(t, d, func(ctx context.Context, _ *engine.StartTask, _ driver.Attempt) driver.Outcome {
		if err := s.Put(ctx, temporal.RunKey("run-1", "attempts", "a", "1", "output", fmt.Sprintf("%020d", 0)), nil); err != nil {
			t.Error(err)
		}
		begins()
		time.Sleep(2 * time.Second)
		return driver.Outcome{Output: "x"}
	})()
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for p, err := range d.Read(ctx, driver.AttemptID{Run: "run-1", Address: "a", Attempt: 1}, driver.Output, 0, true) {
		if err != nil {
			t.Fatal(err)
		}
		if pieces++; pieces > 100 {
			t.Fatalf("%+v is read again and again", p)
		}
	}
	if ctx.Err() != nil {
		t.Error("the step has ended, and Read has not")
	}
}

// TestPlainIsRefused: with a key, what was written without it is not believed. It can be deleted.
func TestPlainIsRefused(t *testing.T) {
	needsServer(t)
	ctx, s, queue := context.Background(), temporal.Folder(t.TempDir()), newName()
	before := open(t, options(queue, s))
	begin(t, before, chain(task("a")))
	if res := drive(t, before, "run-1", echo); res.Status != engine.Success {
		t.Fatalf("%+v", res)
	}
	before.Close() // no worker without the key is left
	for id, text := range map[string]string{"old": `{"status": "success", "changed": "2020-01-01T00:00:00Z"}`, "odd": `{"status": "success"}`} {
		if err := s.Put(ctx, "ended/"+id, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	o := options(queue, s)
	o.Key = bytes.Repeat([]byte{7}, 32)
	d := open(t, o)
	if _, err := d.Pin(ctx, "run-1"); err == nil || !strings.Contains(err.Error(), "it is not encrypted") {
		t.Error(err)
	}
	var runs []driver.Info
	for range 100 {
		var err error
		if runs, err = d.Runs(ctx, driver.Filter{}); err != nil {
			t.Fatal(err)
		}
		if ended := !slices.ContainsFunc(runs, func(i driver.Info) bool { return i.ID == "run-1" && i.Changed.IsZero() }); len(runs) == 3 && ended {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	for _, i := range runs {
		if i.Status != driver.Damaged || (i.ID == "odd") != i.Changed.IsZero() {
			t.Errorf("%+v", i)
		}
		if info, err := d.Info(ctx, i.ID); err != nil || info.Status != driver.Damaged || info.Changed.IsZero() != i.Changed.IsZero() {
			t.Errorf("%+v, %v", info, err)
		}
	}
	if len(runs) != 3 {
		t.Errorf("%+v", runs)
	}
	for _, c := range []struct {
		age  time.Duration
		want string
	}{{time.Hour, "old"}, {time.Nanosecond, "run-1"}} {
		removed, err := d.Collect(ctx, driver.Retention{Age: c.age}, nil, false)
		if err != nil || len(removed) != 1 || removed[0].ID != c.want {
			t.Errorf("after %s: %+v, %v", c.age, removed, err)
		}
	}
	if err := d.Delete(ctx, "odd"); err != nil {
		t.Error(err)
	}
	if runs, err := d.Runs(ctx, driver.Filter{}); len(runs) > 0 || err != nil {
		t.Errorf("%+v, %v", runs, err)
	}
	if keys, err := s.List(ctx, "runs"); len(keys) > 0 || err != nil {
		t.Errorf("%q, %v", keys, err)
	}
}
