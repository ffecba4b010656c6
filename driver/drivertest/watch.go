package drivertest

import (
	"context"
	"fmt"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
)

// watched: a watcher sees runs appear, change and disappear, in any process, even if the
// watch began before the first run.
func watched(t *scene, w World) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	changes := make(chan driver.Change, 1000)
	watcher := open(t, w, echo).raw
	done := make(chan struct{})
	go func() {
		defer close(done)
		for c, err := range watcher.Watch(ctx) {
			if err != nil {
				t.Error(err)
				return
			}
			changes <- c
		}
	}()
	d := open(t, w, echo)
	b := bundle(chain(task("a", "x"), gate("ok", "yes"), task("b", "y")))
	until := waitFor(t, changes)

	if _, err := d.raw.Start(t.Context(), starting(b).spec()); err != nil {
		t.Fatal(err)
	}
	until("appeared", func(c driver.Change) bool { return c.Run == runID && c.Kind == driver.Appeared })
	resume(t, d, b)
	until("waits for an answer", func(c driver.Change) bool {
		return c.Kind == driver.Moved && c.Info.Status == engine.Waiting && c.Info.Open == 1 && !c.Info.Driven && !c.Info.Due.IsZero()
	})
	if err := d.Answer(t.Context(), runID, "ok", "yes"); err != nil {
		t.Fatal(err)
	}
	until("answered", func(c driver.Change) bool { return c.Info.Open == 0 })
	resume(t, d, b)
	until("over", func(c driver.Change) bool { return c.Info.Status == engine.Success && c.Info.Usage.Steps == 2 })
	if err := d.raw.Delete(t.Context(), runID); err != nil {
		t.Fatal(err)
	}
	until("deleted", func(c driver.Change) bool { return c.Run == runID && c.Kind == driver.Deleted })
	cancel()
	await(t, "the end of watching", done)
}

// watchedCost: a watcher sees what a run has cost while the run goes on.
func watchedCost(t *scene, w World) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	changes, release := make(chan driver.Change, 1000), make(chan struct{})
	watcher := open(t, w, echo).raw
	go func() {
		for c, err := range watcher.Watch(ctx) {
			if err != nil {
				t.Error(err)
				return
			}
			changes <- c
		}
	}()
	d := open(t, w, func(ctx context.Context, task *engine.StartTask) Outcome {
		if task.Node == "b" {
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
		return Outcome{Output: task.Node, Usage: engine.Usage{CostUSD: 2}}
	})
	b := bundle(chain(task("a", "x"), task("b", "y")))
	if _, err := d.raw.Start(t.Context(), starting(b).spec()); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		resume(t, d, b)
	}()
	until := waitFor(t, changes)
	until("costs 2", func(c driver.Change) bool { return c.Info.Status == engine.Running && c.Info.Usage.CostUSD == 2 })
	close(release)
	until("costs 4", func(c driver.Change) bool { return c.Info.Status == engine.Success && c.Info.Usage.CostUSD == 4 })
	await(t, "the end of the run", done)
}

// waitFor returns a function that waits until a change matches.
func waitFor(t *scene, changes <-chan driver.Change) func(what string, is func(driver.Change) bool) {
	return func(what string, is func(driver.Change) bool) {
		t.Helper()
		seen := ""
		for {
			select {
			case c := <-changes:
				if is(c) {
					return
				}
				seen += fmt.Sprintf("\n%s %s: %s, driven %v, %d open", c.Kind, c.Run, c.Info.Status, c.Info.Driven, c.Info.Open)
			case <-t.Context().Done():
				t.Fatalf("no change %q is reported; there were:%s", what, seen)
			}
		}
	}
}
