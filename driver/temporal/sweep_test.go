package temporal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/temporal"
	"github.com/hocket-dev/hocket/engine"
	"go.temporal.io/sdk/client"
)

// refs returns the refs of a run in the repository of a machine.
func (m *machine) refs(t *testing.T, run string) string {
	t.Helper()
	out, err := exec.Command("git", "-C", m.root, "for-each-ref", "refs/hocket/"+run).CombinedOutput()
	if err != nil {
		t.Fatalf("%s", out)
	}
	return string(out)
}

// directories returns how many workspaces a machine has for runs.
func (m *machine) directories(t *testing.T, runs ...*hocket.Run) int {
	t.Helper()
	all, err := m.Workspaces(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, w := range all {
		for _, r := range runs {
			if w.Run == r.ID() {
				n++
			}
		}
	}
	return n
}

// TestWorkersRemoveWorkspaces: a worker removes the directories of runs that have ended, and everything of those that somebody on another
// machine has deleted. It keeps those of runs in progress.
func TestWorkersRemoveWorkspaces(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]string{".hocket/workflows/build.yml": `name: build
steps:
  - {id: a, agent: shell, workspace: own, config: {command: echo x > made}}
  - {id: ok, human: "Go on?"}
`})
	starter, one := c.machine(nil), c.machine(nil)
	stop := one.work(t, hocket.Worker{Name: "one"})
	var runs []*hocket.Run
	for range 3 {
		r, wait := starter.start(t, "build", hocket.Front{})
		if res, err := wait(); err != nil || res.Status != engine.Waiting {
			t.Fatalf("%+v %v", res, err)
		}
		runs = append(runs, r)
	}
	open, ended, deleted := runs[0], runs[1], runs[2]
	for _, r := range runs[1:] {
		if _, err := r.Answer(t.Context(), "ok", hocket.Answer{Value: "yes"}); err != nil {
			t.Fatal(err)
		}
		if res := follow(t, r); res.Status != engine.Success {
			t.Fatalf("%+v", res)
		}
	}
	if n := one.directories(t, runs...); n != 3 {
		t.Fatalf("%d directories", n)
	}
	stop()
	d, err := temporal.Open(temporal.Options{Client: client.Options{HostPort: address, Logger: quiet}, Queue: c.queue, Store: temporal.Folder(c.store)})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	is := func(want bool) {
		t.Helper()
		if gone, err := d.Deleted(t.Context(), deleted.ID()); gone != nil != want || err != nil {
			t.Errorf("deleted: %v %v, want %t", gone, err, want)
		}
	}
	is(false)
	if err := deleted.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	is(true)
	if err := os.Rename(c.store, c.store+".away"); err != nil {
		t.Fatal(err)
	}
	if gone, err := d.Deleted(t.Context(), deleted.ID()); gone != nil || !errors.As(err, new(*temporal.NoStoreError)) {
		t.Errorf("without the store: %v %v", gone, err)
	}
	if err := os.Rename(c.store+".away", c.store); err != nil {
		t.Fatal(err)
	}
	one.work(t, hocket.Worker{Name: "one"})
	for until := time.Now().Add(time.Minute); one.directories(t, ended, deleted) > 0 || one.refs(t, deleted.ID()) != ""; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%d directories, and refs %q", one.directories(t, ended, deleted), one.refs(t, deleted.ID()))
		}
	}
	if n := one.directories(t, open); n != 1 || one.refs(t, open.ID()) == "" || one.refs(t, ended.ID()) == "" {
		t.Errorf("the run in progress has %d directories and %q, the one that has ended %q", n, one.refs(t, open.ID()), one.refs(t, ended.ID()))
	}
}

// TestAnotherServerDeletesNothing: on a server that has never had a run, or has lost it, nothing of it is removed, although the store has
// nothing of it either.
func TestAnotherServerDeletesNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]string{".hocket/workflows/build.yml": silent})
	m := c.machine(nil)
	stop := m.work(t, hocket.Worker{})
	r, wait := m.start(t, "build", hocket.Front{})
	if res, err := wait(); err != nil || res.Status != engine.Waiting {
		t.Fatalf("%+v %v", res, err)
	}
	stop()
	before := m.refs(t, r.ID())
	s := startServer("")
	defer s.kill()
	other := &machine{root: m.root, state: m.state}
	c.open(other, func(o *temporal.Options) { o.Client.HostPort = s.address })
	if _, err := other.Collect(t.Context(), hocket.Retention{}, false); err != nil { // as a worker does that starts
		t.Fatal(err)
	}
	if after := m.refs(t, r.ID()); after != before || before == "" {
		t.Errorf("refs %q, want %q", after, before)
	}
	if n := m.directories(t, r); n != 1 {
		t.Errorf("%d directories, want 1", n)
	}
	key := &machine{root: m.root, state: m.state}
	c.open(key, func(o *temporal.Options) { o.Key = bytes.Repeat([]byte("k"), 32) })
	if _, err := key.Collect(t.Context(), hocket.Retention{}, false); err != nil {
		t.Fatal(err)
	}
	if n := m.directories(t, r); n != 1 {
		t.Errorf("with a key without which the run began: %d directories, want 1", n)
	}
}

// silent is a run that waits, of which the store has nothing.
const silent = `name: build
steps:
  - {id: a, agent: shell, workspace: own, config: {command: echo x > made}}
  - {id: ok, human: "Go on?"}
  - {id: b, agent: shell, workspace: own, config: {command: cat made}}
`

// TestNotesOfDeletions: they are kept for some months.
func TestNotesOfDeletions(t *testing.T) {
	t.Parallel()
	needsServer(t)
	ctx, store, now := t.Context(), temporal.Folder(t.TempDir()), time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	o := options(fmt.Sprintf("w%d", worlds.Add(1)), store)
	o.Now = func() time.Time { return now }
	d := open(t, o)
	for _, key := range []string{"deleted/2025-09/old", "deleted/2025-10/late", "deleted/2026-03/new"} {
		if err := store.Put(ctx, key, []byte(`{"origin": "before"}`)); err != nil {
			t.Fatal(err)
		}
	}
	for run, want := range map[string]bool{"old": false, "late": true, "new": true, "never": false} {
		got, err := d.Deleted(ctx, run)
		if err != nil || (got != nil) != want || got != nil && got.Origin != "before" {
			t.Errorf("%s: %+v %v", run, got, err)
		}
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	go func() { _ = d.Work(working, driver.Worker{Name: "w"}, nil) }()
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		keys, err := store.List(ctx, "deleted")
		if err == nil && slices.Equal(keys, []string{"deleted/2025-10/late", "deleted/2026-03/new"}) {
			break
		}
		if time.Now().After(until) {
			t.Fatal(keys, err)
		}
	}
}

// TestForksKeepWhatTheyRepeat: a worker does the steps of a fork with what the first run has made there, also if that run was deleted, and the
// forks between them. It removes that when no fork is left.
func TestForksKeepWhatTheyRepeat(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]string{".hocket/workflows/build.yml": silent})
	starter, one := c.machine(nil), c.machine(nil)
	one.work(t, hocket.Worker{})
	first, wait := starter.start(t, "build", hocket.Front{})
	if res, err := wait(); err != nil || res.Status != engine.Waiting {
		t.Fatalf("%+v %v", res, err)
	}
	end := func(r *hocket.Run) {
		t.Helper()
		if _, err := r.Answer(t.Context(), "ok", hocket.Answer{Value: "yes"}); err != nil {
			t.Fatal(err)
		}
		if res := follow(t, r); res.Status != engine.Success {
			t.Fatalf("%+v", res)
		}
	}
	fork := func(r *hocket.Run) *hocket.Run {
		t.Helper()
		forked, err := r.Retry(t.Context(), "ok")
		if err != nil {
			t.Fatal(err)
		}
		return forked
	}
	collect := func() {
		t.Helper()
		if _, err := one.Collect(t.Context(), hocket.Retention{}, false); err != nil {
			t.Fatal(err)
		}
	}
	end(first)
	second := fork(first)
	third := fork(second)
	if _, err := second.Cancel(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if res := follow(t, second); res.Status != engine.Cancelled {
		t.Fatalf("%+v", res)
	}
	there, err := one.Run(t.Context(), second.ID())
	if err == nil {
		err = errors.Join(there.Delete(t.Context()), first.Delete(t.Context()))
	}
	if err != nil {
		t.Fatal(err)
	}
	collect()
	end(third)
	if err := third.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	collect()
	for _, r := range []*hocket.Run{first, second, third} {
		if left := one.refs(t, r.ID()); left != "" {
			t.Errorf("after all runs were deleted: %s", left)
		}
	}
}
