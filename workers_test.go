package hocket_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/trust"
)

// working is a driver with workers that records what runs are started with.
type working struct {
	recorder
	worker  driver.Worker
	origins map[string]string // of runs, whatever they say
	bases   map[string]string // of runs that it does not know
	deleted map[string]*driver.Deletion
}

func (d *working) Work(_ context.Context, w driver.Worker, _ <-chan struct{}) error {
	d.worker = w
	return nil
}

// errAway is the error of a server that does not answer.
var errAway = errors.New("the server does not answer")

func (d *working) Place() string { return "here" }

func (d *working) Reserve(context.Context, string, int, []byte) error { return nil }

func (d *working) Reserved(context.Context, string) ([][]byte, error) { return nil, nil }

var _ driver.Workers = (*working)(nil)

func (d *working) Deleted(_ context.Context, run string) (*driver.Deletion, error) {
	return d.deleted[run], nil
}

func (d *working) Away(err error) bool { return errors.Is(err, errAway) }

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
	begun, end, err := d.worker.Resolve(t.Context(), "run-1", made)
	if err != nil || !begun.Stands() {
		t.Fatal(err)
	}
	defer end()
	if err := p.Reject(t.Context(), "made", hocket.Approved); err != nil {
		t.Fatal(err)
	}
	if begun.Stands() {
		t.Error("a worker goes on with a workflow that was rejected")
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

// A worker does a workflow of a file outside of .hocket/workflows if its user has trusted that file, with that content, and
// until the user revokes it.
func TestWorkersNeedTrustInFiles(t *testing.T) {
	const sub = "name: sub\n" + greeting
	p := workshop(t, map[string]string{".hocket/config.yml": onTemporal, "ci/build.yml": "name: build\nsteps: [{id: a, workflow: sub}]\n", "ci/sub.yml": sub, "ci/a b.yml": "name: ab\n" + greeting, ".hocket/agents/ann.yml": "agent: shell\nsettings: {command: [id]}\n"})
	dir := p.Root()
	p, d := employed(t, dir, true)
	load := func(file string) *hocket.Workflow {
		t.Helper()
		w, err := p.Load(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	record := func(file string) *driver.Pin {
		t.Helper()
		if _, err := p.Record(t.Context(), load(file), nil); err != nil {
			t.Fatal(err)
		}
		return d.specs[len(d.specs)-1].Pin
	}
	approve := func(files ...string) {
		t.Helper()
		var all []*hocket.Workflow
		for _, file := range files {
			all = append(all, load(file))
		}
		powers, err := p.Powers(all...)
		if err == nil {
			err = p.Trust(powers)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	refused := func(name string, pin *driver.Pin, want string) {
		t.Helper()
		_, end, err := d.worker.Resolve(t.Context(), "run-1", pin)
		if err == nil {
			end()
		}
		if got := ""; err != nil {
			if got = err.Error(); want == "" || !strings.Contains(got, want) {
				t.Errorf("%s: %v", name, err)
			}
		} else if want != "" {
			t.Errorf("%s: it is accepted", name)
		}
	}
	begin := func() {
		t.Helper()
		if err := p.Work(t.Context(), hocket.Worker{Name: "w"}); err != nil {
			t.Fatal(err)
		}
	}
	const other, untrusted = "worker w has other workflows or agents than run run-1 uses", "but its user has not trusted this file: trust it on that machine with `hocket trust ci/build.yml`"
	pin := record("ci/build.yml")
	begin()
	approve()
	refused("before trust", pin, untrusted)
	refused("of an odd name", record("ci/a b.yml"), "with `hocket trust FILE`")
	approve("ci/build.yml")
	const unusable = "worker w works only for workflow files of the project, and run run-1 names "
	put(t, dir, ".git/build.yml", sub)
	put(t, dir, "ci/build", sub)
	for file, want := range map[string]string{
		"../" + filepath.Base(dir) + "/ci/build.yml": unusable, filepath.Join(dir, "ci/build.yml"): unusable, "ci": unusable, "ci/build": unusable, ".git/build.yml": unusable,
		"ci/none.yml": other, "ci/sub.yml": other,
	} {
		at := *pin
		at.File = file
		refused(file, &at, want)
	}
	const unfiled = "the workflow is in no file of the project"
	task, inputs, err := p.LoadTask(hocket.Task{Prompt: "hello", Agent: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := p.LoadText("stdin.yml", []byte("name: text\n"+greeting))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		w      *hocket.Workflow
		inputs map[string]any
		want   bool
	}{{task, inputs, true}, {text, nil, true}, {load("ci/build.yml"), nil, false}} {
		r, err := p.Record(t.Context(), c.w, c.inputs)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.Join(r.Notes, "\n"), unfiled) != c.want {
			t.Errorf("%s: %q", c.w.Model().Name, r.Notes)
		}
	}
	refused("a task", d.specs[len(d.specs)-3].Pin, "works only for workflows in files")
	none := *pin
	none.File = ""
	refused("without a file", &none, "works only for workflows in files")
	refused("trusted", pin, "")
	put(t, dir, "ci/sub.yml", sub+"\n  - {id: more, agent: shell, config: {command: [id]}}\n")
	changed := record("ci/build.yml")
	refused("changed", changed, untrusted)
	begin()
	refused("trusted before", pin, "")
	approve("ci/build.yml")
	refused("changed and trusted", changed, "")
	if _, err := p.Approvals().Revoke(p.Root(), time.Now()); err != nil {
		t.Fatal(err)
	}
	approve()
	refused("revoked", changed, untrusted)
	begin()
	refused("revoked, and asked again", changed, untrusted)
	approve("ci/build.yml")
	refused("trusted again", changed, "")
	begin()
	refused("trusted again, and asked again", changed, "")
	refused("revoked, and not trusted again", pin, other)
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "link/out.yml", "name: out\n"+greeting)
	out := *record("ci/a b.yml")
	out.File = "link/out.yml"
	refused("outside", &out, unusable)
}

// While a worker reads the file that a run names, it works for others: whoever started the run has chosen the file.
func TestWorkersReadFilesWithoutLock(t *testing.T) {
	p := workshop(t, map[string]string{
		".hocket/config.yml": onTemporal, ".hocket/workflows/mine.yml": "name: mine\n" + greeting, "large.yml": "name: large\n" + greeting + strings.Repeat("  - {agent: shell, config: {command: id}}\n", 100_000),
	})
	p, d := employed(t, p.Root(), true)
	w, err := p.Load("mine")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Record(t.Context(), w, nil); err != nil {
		t.Fatal(err)
	}
	all, err := p.Powers()
	if err == nil {
		err = errors.Join(p.Trust(all), p.Work(t.Context(), hocket.Worker{}))
	}
	if err != nil {
		t.Fatal(err)
	}
	mine := d.specs[0].Pin
	resolve := func(pin *driver.Pin) error {
		_, end, err := d.worker.Resolve(t.Context(), "run-1", pin)
		if err == nil {
			end()
		}
		return err
	}
	if err := resolve(mine); err != nil {
		t.Fatal(err)
	}
	slow := *mine
	slow.File, slow.Agents = "large.yml", bytes.Replace(mine.Agents, []byte(`{"definitions"`), []byte(`{"default":"other","definitions"`), 1)
	over := make(chan error, 1)
	go func() { over <- resolve(&slow) }()
	for range 10 {
		if err := resolve(mine); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Millisecond)
	}
	select {
	case err := <-over:
		t.Fatal("the file was read before other runs were accepted", err)
	default:
	}
	if err := <-over; !errors.As(err, new(*hocket.UnacceptedError)) {
		t.Error(err)
	}
}

// The digest of all that a person trusts with a file allows to run it.
func TestTrustDigestOfFiles(t *testing.T) {
	dir := workshop(t, map[string]string{".hocket/config.yml": onTemporal, "w.yml": "name: w\n" + greeting}).Root()
	p, _ := employed(t, dir, false)
	w, err := p.Load(filepath.Join(dir, "w.yml"))
	if err != nil {
		t.Fatal(err)
	}
	powers, err := p.Powers(w)
	if err != nil || !slices.ContainsFunc(powers, func(p trust.Power) bool { return p.Kind == trust.Worker }) {
		t.Fatal(powers, err)
	}
	for digest, want := range map[string]bool{powers.Digest(): true, powers[:1].Digest(): len(powers) == 2, "sha256:0": false} {
		d := &working{}
		p, err := hocket.Open(dir, hocket.Options{TrustDigest: digest, Drivers: map[string]hocket.OpenDriver{"temporal": func(s hocket.DriverSetup) (_ driver.Driver, err error) {
			d.Driver, err = local.Open(s.State, local.Options{})
			return d, err
		}}})
		if err != nil {
			t.Fatal(err)
		}
		w, err := p.Load(filepath.Join(dir, "w.yml"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Record(t.Context(), w, nil); (err == nil) != want {
			t.Errorf("%s: %v", digest, err)
		}
		p.Close()
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

// A worker refuses replies that change files: a step after them, which is real, would work with what somebody else has
// written. Its user can accept exactly these.
func TestWorkersRefuseFilesOfReplies(t *testing.T) {
	dir := workshop(t, map[string]string{
		".hocket/config.yml":       onTemporal,
		".hocket/workflows/w.yml":  "name: w\nsteps:\n  - {id: edit, agent: shell, workspace: own, config: {command: id}}\n  - {id: test, agent: shell, workspace: own, config: {command: ./test}}\n",
		".hocket/workflows/w2.yml": "name: w2\nsteps:\n  - {id: edit, agent: shell, workspace: own, config: {command: id}}\n",
	}).Root()
	p, d := employed(t, dir, true)
	record := func(name, replies string) (*driver.Pin, string) {
		t.Helper()
		w, err := p.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		r, wrong := hocket.ReadReplies("r.yml", []byte(replies))
		if wrong.Errors() {
			t.Fatal(wrong)
		}
		run, err := p.Record(t.Context(), w, nil, hocket.WithReplies(r))
		if err != nil {
			t.Fatal(err)
		}
		return d.specs[len(d.specs)-1].Pin, strings.Join(run.Notes, "\n")
	}
	all, err := p.Powers()
	if err == nil {
		err = p.Trust(all)
	}
	if err != nil {
		t.Fatal(err)
	}
	const text = "edit: done"
	plain, note := record("w", text)
	if strings.Contains(note, "change files") {
		t.Error(note)
	}
	writing, note := record("w", "edit: [done, {output: done, files: {test: 'evil'}}]")
	others, _ := record("w", "edit: {output: done, files: {test: 'worse'}}")
	another, _ := record("w2", "edit: [done, {output: done, files: {test: 'evil'}}]")
	resolve := func(pin *driver.Pin) error {
		_, end, err := d.worker.Resolve(t.Context(), "run-1", pin)
		if err == nil {
			end()
		}
		return err
	}
	work := func(w hocket.Worker) {
		t.Helper()
		if err := p.Work(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	work(hocket.Worker{Name: "w"})
	if err := resolve(plain); err != nil {
		t.Error(err)
	}
	var refused *hocket.UnacceptedError
	err = resolve(writing)
	if !errors.As(err, &refused) || !refused.Replies || !strings.Contains(err.Error(), "the replies of run run-1 change files") || !strings.Contains(note, "--accept "+refused.Digest) {
		t.Fatalf("%v; %s", err, note)
	}
	work(hocket.Worker{Accept: []string{refused.Digest}})
	if err := resolve(writing); err != nil {
		t.Errorf("accepted: %v", err)
	}
	for name, pin := range map[string]*driver.Pin{"other replies": others, "another workflow": another} {
		if err := resolve(pin); !errors.As(err, new(*hocket.UnacceptedError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	work(hocket.Worker{})
	if err := resolve(writing); !errors.As(err, new(*hocket.UnacceptedError)) {
		t.Errorf("with another worker: %v", err)
	}
	work(hocket.Worker{AcceptAny: true})
	if err := resolve(others); err != nil {
		t.Errorf("accepting all: %v", err)
	}
}

// A worker learns that the trust in its project was revoked, also if it accepts everything, and that it was given again.
func TestWorkersSeeRevocations(t *testing.T) {
	p := workshop(t, map[string]string{".hocket/config.yml": onTemporal, ".hocket/workflows/w.yml": "name: w\n" + greeting})
	p, d := employed(t, p.Root(), true)
	w, err := p.Load("w")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Record(t.Context(), w, nil); err != nil {
		t.Fatal(err)
	}
	trusts := func() {
		t.Helper()
		all, err := p.Powers()
		if err == nil {
			err = p.Trust(all)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, everything := range []bool{false, true} {
		trusts()
		if err := p.Work(t.Context(), hocket.Worker{AcceptAny: everything}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			work, end, err := d.worker.Resolve(t.Context(), "run-1", d.specs[0].Pin)
			if err != nil {
				t.Fatal(err)
			}
			if !work.Stands() {
				t.Error("nothing was revoked")
			}
			if _, err := p.Approvals().Revoke(p.Root(), time.Now()); err != nil {
				t.Fatal(err)
			}
			if work.Stands() {
				t.Error("a worker goes on after the trust was revoked")
			}
			end()
			if _, _, err := d.worker.Resolve(t.Context(), "run-2", d.specs[0].Pin); !errors.As(err, new(*hocket.UntrustedError)) {
				t.Errorf("a new run: %v", err)
			}
			trusts()
			if work.Stands() {
				t.Error("what was decided before does not count again")
			}
		}
	}
}

// flaky is a driver with workers whose server is away the first times that it is asked.
type flaky struct {
	working
	away atomic.Int32
}

func (d *flaky) silent() bool { return d.away.Add(-1) >= 0 }

func (d *flaky) Watch(ctx context.Context, since int64) iter.Seq2[driver.Change, error] {
	if !d.silent() {
		return d.working.Watch(ctx, since)
	}
	return func(yield func(driver.Change, error) bool) { yield(driver.Change{}, fmt.Errorf("list: %w", errAway)) }
}

func (d *flaky) Info(ctx context.Context, run string) (driver.Info, error) {
	if d.silent() {
		return driver.Info{}, errAway
	}
	return d.working.Info(ctx, run)
}

// Who waits for a run on workers goes on when the server is back, and until then can be told to stop.
func TestWaitWhileTheServerIsAway(t *testing.T) {
	dir := workshop(t, map[string]string{".hocket/config.yml": onTemporal, "w.yml": "name: w\nsteps: [{id: ok, human: \"Fine?\"}]\n"}).Root()
	d := &flaky{}
	p := openDir(t, dir, hocket.Options{
		Drivers: map[string]hocket.OpenDriver{"temporal": func(s hocket.DriverSetup) (_ driver.Driver, err error) {
			d.Driver, err = local.Open(s.State, local.Options{})
			return d, err
		}},
		Trust: func(context.Context, *hocket.UntrustedError) (bool, error) { return true, nil },
	})
	r, err := p.Run(t.Context(), start(t, p, "w.yml", nil).ID())
	if err != nil {
		t.Fatal(err)
	}
	d.away.Store(3)
	if res, err := r.Wait(t.Context()); err != nil || res.Status != engine.Waiting {
		t.Errorf("%s %v", res.Status, err)
	}
	d.away.Store(1000)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := r.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want that the time is over", err)
	}
}

// A worker refuses a workflow from standard input. The start of the run and the refusal name the same digest, which its user can accept.
func TestWorkersAcceptStandardInput(t *testing.T) {
	dir := workshop(t, map[string]string{".hocket/config.yml": onTemporal}).Root()
	p, d := employed(t, dir, true)
	w, err := p.LoadText("-", []byte("name: piped\n"+greeting))
	if err != nil {
		t.Fatal(err)
	}
	all, err := p.Powers(w)
	if err == nil {
		err = p.Trust(all)
	}
	if err != nil {
		t.Fatal(err)
	}
	run, err := p.Record(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	resolve := func(w hocket.Worker) error {
		t.Helper()
		if err := p.Work(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		_, end, err := d.worker.Resolve(t.Context(), "run-1", d.specs[0].Pin)
		if err == nil {
			end()
		}
		return err
	}
	var refused *hocket.UnacceptedError
	if err := resolve(hocket.Worker{}); !errors.As(err, &refused) {
		t.Fatalf("%v, want a refusal", err)
	}
	option, note := "--accept "+refused.Digest, strings.Join(run.Notes, "\n")
	if !strings.Contains(refused.Error(), "that of run run-1 is from standard input") || !strings.HasSuffix(refused.Error(), option) || !strings.Contains(note, option) {
		t.Errorf("%v; %s", refused, note)
	}
	if err := resolve(hocket.Worker{Accept: []string{refused.Digest}}); err != nil {
		t.Error(err)
	}
}
