package drivertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

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
		for c, err := range watcher.Watch(ctx, 0) {
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

// watchedSince: a watcher that begins after a version sees what changed since, also what was deleted, and in this
// order. If that is not known, it is told to read the list, and sees what changes from then on.
func watchedSince(t *scene, w World) {
	forgets := w.Traits().Forgets
	d := open(t, w, echo).raw
	start := func(run string) {
		t.Helper()
		s := starting(bundle(chain(task("a", "x"))))
		s.Run = run
		if _, err := d.Start(t.Context(), s.spec()); err != nil {
			t.Fatal(err)
		}
	}
	version := func() int64 {
		t.Helper()
		counts, err := d.Count(t.Context(), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		return counts.Version
	}
	if v := version(); v != 0 {
		t.Errorf("without runs, the version is %d", v)
	}
	wantSince(t, d, 5, "reset ")
	start("old-1")
	start("old-2")
	first := version()
	start("new-1")
	second := version()
	if err := d.Delete(t.Context(), "old-1"); err != nil {
		t.Fatal(err)
	}
	start("new-2")
	other := open(t, w, echo).raw
	if !forgets {
		wantSince(t, other, first, "changed new-1", "deleted old-1", "changed new-2")
		wantSince(t, other, second, "deleted old-1", "changed new-2")
		wantSince(t, other, version())
	}
	wantSince(t, other, 0, "changed old-2", "changed new-1", "changed new-2")
	never := version() + 1
	wantSince(t, other, never, "reset ")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if forgets {
		never = first
	}
	got := ""
	for c, err := range other.Watch(ctx, never) {
		if err != nil {
			t.Fatal(err)
		}
		if got += fmt.Sprintf("%s %s, ", c.Kind, c.Run); c.Run == "last" {
			break
		}
		start("last") // whoever reads the list now may miss it there
	}
	if got != "reset , appeared last, " {
		t.Errorf("a watcher that must read the list first sees %s", got)
	}
}

// wantSince checks what a watcher that begins after a version reports before anything else happens, and that the
// first version leads to the rest.
func wantSince(t *scene, d driver.Driver, since int64, want ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	nothingMore := func() { time.AfterFunc(200*time.Millisecond, cancel) }
	if len(want) == 0 {
		nothingMore()
	}
	var got []string
	var versions []int64
	for c, err := range d.Watch(ctx, since) {
		if err != nil {
			t.Fatal(err)
		}
		kind := string(c.Kind)
		if c.Kind == driver.Appeared || c.Kind == driver.Moved {
			kind = "changed"
		}
		got, versions = append(got, kind+" "+c.Run), append(versions, c.Version)
		if len(got) == len(want) {
			nothingMore()
		}
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") || !slices.IsSorted(versions) {
		t.Errorf("since %d: %q with the versions %d, want %q", since, got, versions, want)
		return
	}
	if since > 0 && len(want) > 1 {
		wantSince(t, d, versions[0], want[1:]...)
	}
}

// watchedCost: a watcher sees what a run has cost while the run goes on.
func watchedCost(t *scene, w World) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	changes, release := make(chan driver.Change, 1000), make(chan struct{})
	watcher := open(t, w, echo).raw
	go func() {
		for c, err := range watcher.Watch(ctx, 0) {
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
