package temporal_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
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
		if gone, err := d.Deleted(t.Context(), deleted.ID()); gone != want || err != nil {
			t.Errorf("deleted: %t %v, want %t", gone, err, want)
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
	if gone, err := d.Deleted(t.Context(), deleted.ID()); gone || err == nil {
		t.Errorf("without the store: deleted %t, %v", gone, err)
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
