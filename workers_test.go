package hocket_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
)

// working is a driver with workers that records what runs are started with.
type working struct {
	recorder
	worker driver.Worker
}

func (d *working) Work(_ context.Context, w driver.Worker, _ <-chan struct{}) error {
	d.worker = w
	return nil
}

// employed opens a project on workers.
func employed(t *testing.T, dir string, trusted bool) (*hocket.Project, *working) {
	t.Helper()
	d := &working{}
	p, err := hocket.Open(dir, hocket.Options{
		Drivers: map[string]hocket.OpenDriver{"temporal": func(s hocket.DriverSetup) (_ driver.Driver, err error) {
			d.Driver, err = local.Open(s.State, local.Options{})
			return d, err
		}},
		Trust: func(context.Context, *hocket.UntrustedError) (bool, error) { return trusted, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p, d
}

const onTemporal = "driver: temporal\ntemporal: {address: \"temporal.example.org:7233\", queue: shop}\n"

// Git is not asked about the files of a project before the user trusts it, and starts none of its programs.
func TestFilesAreComparedAfterTrust(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is missing")
	}
	mark := filepath.Join(t.TempDir(), "mark")
	dir := workshop(t, map[string]string{".hocket/config.yml": onTemporal, "w.yml": "name: w\n" + greeting, ".gitattributes": "* filter=x\n"}).Root()
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "first"}, {"config", "filter.x.clean", "touch " + mark + "; cat"},
	} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%s", out)
		}
	}
	put(t, dir, "w.yml", "name: w\n"+greeting+"\n")
	for _, trusted := range []bool{false, true} {
		p, d := employed(t, dir, trusted)
		w, err := p.Load("w.yml")
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Record(t.Context(), w, nil)
		if untrusted := errors.As(err, new(*hocket.UntrustedError)); untrusted == trusted || trusted && err != nil {
			t.Fatal(err)
		}
		if trusted && !strings.Contains(d.specs[0].Pin.Files, " with changes ") {
			t.Errorf("the files are %q", d.specs[0].Pin.Files)
		}
		if _, err := os.Stat(mark); err == nil {
			t.Fatalf("trusted %t: a program of the repository ran", trusted)
		}
	}
}

// A worker does only what could be started where it is: not what a model wrote and nobody has approved there, or
// somebody has rejected.
func TestWorkersNeedApprovals(t *testing.T) {
	dir := workshop(t, map[string]string{
		".hocket/config.yml": onTemporal, ".hocket/workflows/made.yml": "name: made\n" + greeting, ".hocket/workflows/mine.yml": "name: mine\n" + strings.ReplaceAll(greeting, "hello", "mine"),
	}).Root()
	p, d := employed(t, dir, true)
	for _, name := range []string{"made", "mine"} { // before it is known who wrote it
		w, err := p.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Record(t.Context(), w, nil); err != nil {
			t.Fatal(err)
		}
	}
	made, mine := d.specs[0].Pin, d.specs[1].Pin
	all, err := p.Powers()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Trust(all), p.Wrote(made.Bundle.Root, hocket.Origin{By: "claude-x"})); err != nil {
		t.Fatal(err)
	}
	if err := p.Work(t.Context(), hocket.Worker{}); err != nil {
		t.Fatal(err)
	}
	resolve := func(pin *driver.Pin) error {
		_, end, err := d.worker.Resolve(t.Context(), "run-1", pin)
		if err == nil {
			end()
		}
		return err
	}
	if err := resolve(mine); err != nil {
		t.Error(err)
	}
	other := *mine // with another agent for tasks that name none
	other.Agents = bytes.Replace(mine.Agents, []byte(`{"definitions"`), []byte(`{"default":"other","definitions"`), 1)
	if err := resolve(&other); !errors.As(err, new(*hocket.UnacceptedError)) {
		t.Errorf("with another default agent: %v", err)
	}
	if e := unapproved(t, resolve(made)); e.ID != "made" || e.State != hocket.Proposed {
		t.Errorf("%+v", e)
	}
	r, err := p.Review("made")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Approve(t.Context(), "made", r.Digest); err != nil {
		t.Fatal(err)
	}
	if err := resolve(made); err != nil {
		t.Error(err)
	}
	if err := p.Reject(t.Context(), "made", hocket.Approved); err != nil {
		t.Fatal(err)
	}
	for range 2 { // also a worker that is started later
		if e := unapproved(t, resolve(made)); e.State != hocket.Rejected {
			t.Errorf("%+v", e)
		}
		if err := p.Work(t.Context(), hocket.Worker{}); err != nil {
			t.Fatal(err)
		}
	}
}

// Work that is handed off is done where its agent can work, whatever the step calls that agent.
func TestSitesOfHandoffs(t *testing.T) {
	dir := workshop(t, map[string]string{
		".hocket/config.yml": onTemporal, ".hocket/agents/ann.yml": "agent: shell\nqueue: gpu\nrole: tester\nsettings: {command: id}\n",
		"w.yml": "name: w\nagents: [{name: Quality, role: tester}]\nsteps:\n  - {id: a, agent: shell, config: {command: id}, handoffs: {to: [ann, tester, Quality]}}\n",
	}).Root()
	p, d := employed(t, dir, true)
	w, err := p.Load("w.yml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Record(t.Context(), w, nil); err != nil {
		t.Fatal(err)
	}
	pin := d.specs[0].Pin
	for _, name := range []string{"ann", "tester", "Quality"} {
		got := pin.Site(&engine.StartTask{Place: &engine.Place{Workflow: "handoff", Node: "handoff-1", Agent: name}})
		if want := (driver.Site{Queue: "gpu", Stays: true}); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}
