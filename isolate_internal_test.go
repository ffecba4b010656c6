package hocket

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workspace"
)

// What a successful attempt left has more time to be collected, unless the attempt is told to stop.
func TestCollecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed, cancel := collecting(t.Context(), true)
		defer cancel()
		attempt, stop := context.WithCancel(t.Context())
		ctx, done := collecting(attempt, false)
		defer done()
		hung, end := collecting(t.Context(), false)
		defer end()
		time.Sleep(wantedTime / 2)
		if failed.Err() == nil || ctx.Err() != nil {
			t.Fatalf("after half of the time: failed %v, succeeded %v", failed.Err(), ctx.Err())
		}
		stop()
		time.Sleep(collectTime - time.Second)
		if ctx.Err() != nil {
			t.Fatal("it was stopped with the attempt")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if ctx.Err() == nil {
			t.Error("it goes on after the attempt was told to stop")
		}
		time.Sleep(wantedTime)
		if hung.Err() != context.DeadlineExceeded {
			t.Errorf("it goes on without an end: %v", hung.Err())
		}
	})
}

// A workspace is free for the next attempt only when everything in it has ended, also what the attempt before it
// handed off and did not wait for.
func TestNextAttemptWaitsForGuests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, err := host(t.Context(), "dir")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := visit("dir"); err == nil {
			t.Error("work began in a workspace that does not exist yet")
		}
		freed := false
		first.provide(&workspace.Workspace{}, 0, func() { freed = true })
		_, leave, err := visit("dir")
		if err != nil {
			t.Fatal(err)
		}
		first.leave() // it has failed
		if _, _, err := visit("dir"); err == nil {
			t.Error("work began in a workspace whose attempt has ended")
		}
		begun := make(chan *shared, 1)
		go func() {
			s, err := host(t.Context(), "dir")
			if err != nil {
				t.Error(err)
			}
			begun <- s
		}()
		synctest.Wait()
		if len(begun) > 0 || freed {
			t.Error("the next attempt began, or the workspace and its ports were freed, while work was going on")
		}
		leave()
		second := <-begun
		if !freed {
			t.Error("the workspace was not freed")
		}
		if err := second.close(t.Context()); err != nil {
			t.Error(err)
		}
		second.leave()
		if _, _, err := visit("dir"); err == nil {
			t.Error("work began in a workspace without an attempt")
		}
	})
}

// What fails is tried again, and what succeeds is not.
func TestOnceDone(t *testing.T) {
	calls := 0
	get := onceDone(func() (int, error) {
		if calls++; calls == 1 {
			return 0, errors.New("not now")
		}
		return calls, nil
	})
	for _, want := range []int{0, 2, 2} {
		if got, err := get(); got != want || (err != nil) != (want == 0) {
			t.Errorf("%d, %v, want %d", got, err, want)
		}
	}
}

// An attempt whose call for a result was broken off still waits for the work.
func TestErrandsAreAwaited(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	var calls []string
	at := driver.Attempt{HandOff: func(ctx context.Context, ev *engine.HandoffAsked) (*engine.Return, error) {
		if ctx == stopped {
			stop()
			return nil, ctx.Err()
		}
		if !ev.Blocking {
			return &engine.Return{ID: "spawned", Status: engine.Running}, nil
		}
		calls = append(calls, ev.ID+ev.Key)
		return &engine.Return{ID: ev.ID, Status: engine.Success}, nil
	}}
	var e errands
	e.follow(&engine.StartTask{Handed: []engine.Handed{{ID: "before", Status: engine.Running}, {ID: "done", Status: engine.Success}}}, &at)
	for _, ev := range []*engine.HandoffAsked{{Key: "a"}, {Key: "b", Blocking: true}} {
		if _, err := at.HandOff(t.Context(), ev); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := at.HandOff(stopped, &engine.HandoffAsked{Key: "c", Blocking: true}); err == nil {
		t.Fatal("no error")
	}
	calls = nil
	if err := e.wait(t.Context()); err != nil || len(calls) != 3 || calls[0] != "before" || calls[1] != "spawned" || calls[2] != "c" {
		t.Errorf("it waited for %v, %v", calls, err)
	}
}

// What a landing says is no rejection when a reply repeats it, also if files were changed while it landed.
func TestLandedText(t *testing.T) {
	c := &attemptAt{at: driver.Attempt{Worker: "desk"}}
	for how, want := range map[workspace.How]string{
		workspace.AsPatch:  "changed 2 files on worker desk, but these were changed again while it landed, so look whether they have their part of it: a.txt, \"b c\"",
		workspace.AsBranch: "landed 2 files on topic as abc on worker desk, but these were changed again while it landed, so look whether they have their part of it: a.txt, \"b c\"",
	} {
		text := c.landedText(workspace.Landing{How: how}, workspace.Landed{Commit: "abc", Ref: "refs/heads/topic", Files: 2, Differ: []string{"a.txt", "b c"}})
		if text != want {
			t.Errorf("%q, want %q", text, want)
		}
		if fault := rejectionIn(text); fault != nil {
			t.Errorf("%q rejects: %v", text, fault)
		}
	}
	c.at.Worker = ""
	if text := c.landedText(workspace.Landing{How: workspace.AsPatch}, workspace.Landed{Files: 1, Differ: []string{"a.txt"}}); rejectionIn(text) != nil {
		t.Errorf("%q rejects", text)
	}
}
