package hocket_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/session"
)

// blind is a driver that cannot read a run.
type blind struct {
	driver.Driver
	run *string
}

func (d blind) damaged(i driver.Info) driver.Info {
	if i.ID == *d.run {
		i = driver.Info{ID: i.ID, Status: driver.Damaged}
	}
	return i
}

func (d blind) Info(ctx context.Context, run string) (driver.Info, error) {
	i, err := d.Driver.Info(ctx, run)
	return d.damaged(i), err
}

func (d blind) Runs(ctx context.Context, f driver.Filter) (kept []driver.Info, err error) {
	all, err := d.Driver.Runs(ctx, driver.Filter{})
	for _, i := range all {
		if i = d.damaged(i); len(f.Status) == 0 || i.Status == f.Status[0] || i.Status == f.Status[1] {
			kept = append(kept, i)
		}
	}
	return kept, err
}

// Directories are removed only of runs that are known to have ended: not of those of another driver of the project, which this one does not
// know, and not of a run that cannot be read.
func TestDirectoriesOfOthersStay(t *testing.T) {
	const flow = "name: w\nsteps:\n  - {id: a, agent: shell, workspace: own, config: {command: echo x > made}}\n  - {id: ok, human: \"Go on?\"}\n"
	elsewhere, hidden := t.TempDir(), ""
	options := hocket.Options{
		Drivers: map[string]hocket.OpenDriver{"temporal": func(hocket.DriverSetup) (driver.Driver, error) {
			d, err := local.Open(elsewhere, local.Options{})
			return blind{d, &hidden}, err
		}},
		Trust: func(context.Context, *hocket.UntrustedError) (bool, error) { return true, nil },
	}
	there, dir := repository(t, map[string]string{
		".hocket/config.yml": onTemporal, ".hocket/workflows/w.yml": flow,
		".hocket/workflows/short.yml": "name: short\nsteps:\n  - {id: a, agent: shell, workspace: own, config: {command: id}}\n",
	}, options)
	options.Local = true
	here := openDir(t, dir, options)
	waits := func(p *hocket.Project) string {
		t.Helper()
		r := start(t, p, "w", nil)
		if res := wait(t, r); res.Status != engine.Waiting {
			t.Fatalf("%+v", res)
		}
		return r.ID()
	}
	has := func(what string, runs ...string) {
		t.Helper()
		all, err := here.Workspaces(t.Context())
		if err != nil || len(all) != len(runs) {
			t.Errorf("%s: %+v %v, want those of %q", what, all, err, runs)
		}
	}
	one, two := waits(there), waits(here)
	inbox := session.OpenInbox(filepath.Join(dir, ".state"))
	received := func(more bool) int {
		t.Helper()
		got, err := inbox.Take("ann", one, "task", more)
		if err != nil {
			t.Fatal(err)
		}
		return len(got)
	}
	if _, err := inbox.Put("ann", "1", []byte("hello")); err != nil || received(true) != 1 {
		t.Fatal(err)
	}
	if err := inbox.Received("ann", one, "task"); err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*hocket.Project{"here": here, "there": there} {
		if res := wait(t, start(t, p, "short", nil)); res.Status != engine.Success {
			t.Fatalf("%+v", res)
		}
		if _, err := p.Collect(t.Context(), hocket.Retention{Age: 30 * 24 * time.Hour}, false); err != nil {
			t.Fatal(err)
		}
		has("after a run and hocket gc "+name, one, two)
	}
	hidden = one
	if _, err := there.Collect(t.Context(), hocket.Retention{}, false); err != nil {
		t.Fatal(err)
	}
	has("if one cannot be read", one, two)
	hidden = ""
	if n := received(false); n != 1 {
		t.Errorf("the run in progress has %d messages, want the one that it has taken", n)
	}
	three := waits(there)
	if _, err := here.RemoveWorkspaces(t.Context(), three); err != nil {
		t.Fatal(err)
	}
	has("after a run that is not known here was named", one, two)
	for run, p := range map[string]*hocket.Project{one: there, two: here, three: there} {
		r, err := p.Run(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Cancel(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Collect(t.Context(), hocket.Retention{}, false); err != nil {
			t.Fatal(err)
		}
	}
	has("after they have ended")
	if n := received(false); n != 0 {
		t.Errorf("%d messages after the run has ended", n)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".state", "workspaces", "places", "*", "*")); left != nil {
		t.Errorf("places of runs that nothing is left of: %q", left)
	}
}
