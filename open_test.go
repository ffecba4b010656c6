package hocket_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

const gated = "name: gated\nsteps:\n  - {id: ask, human: {question: 'Go?', options: ['yes']}}\n"

// Reload picks up changes to the files, also for existing holders of the project.
// Workflows loaded before stay as they were.
func TestReload(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "w.yml"), "name: w\nsteps:\n  - {id: a, agent: late}\n")
	p := openDir(t, dir, hocket.Options{})
	before, err := p.Load("w.yml")
	if err != nil {
		t.Fatal(err)
	}
	ben := p.As("ben", "")
	writeFile(t, filepath.Join(dir, ".hocket", "agents", "late.yml"), "agent: shell\nsettings: {command: [echo, here]}\n")
	writeFile(t, filepath.Join(dir, ".hocket", "config.yml"), "model: a/b\n")
	if err := p.Reload(); err != nil {
		t.Fatal(err)
	}
	if model := ben.Config().Model; model != "a/b" {
		t.Errorf("the model is %q", model)
	}
	if found := before.Check(nil); !found.Errors() {
		t.Error("what was loaded has changed")
	}
	writeFile(t, filepath.Join(dir, ".hocket", "config.yml"), "model: [\n")
	var invalid *hocket.InvalidError
	if err := p.Reload(); !errors.As(err, &invalid) || p.Config().Model != "a/b" {
		t.Errorf("a file that cannot be read: %v, and the model is %q", err, p.Config().Model)
	}
	writeFile(t, filepath.Join(dir, ".hocket", "config.yml"), "model: a/b\n")
	if res := wait(t, start(t, ben, "w.yml", nil)); res.Output != "here" {
		t.Errorf("%+v", res)
	}
}

// Everything that a server does concurrently is safe. Run it with the race detector.
func TestOpenProjectIsShared(t *testing.T) {
	p := open(t, map[string]string{
		"w.yml":                          "name: w\nsteps:\n  - {id: a, agent: shell, config: {command: [echo, hi]}}\n",
		"other/v.yml":                    "name: v\nsteps:\n  - {id: a, agent: guest}\n",
		"other/.hocket/agents/guest.yml": "agent: shell\nsettings: {command: [echo, hi]}\n",
		".hocket/agents/own.yml":         "agent: shell\nsettings: {command: [echo, hi]}\n",
	}, hocket.Options{})
	w, err := p.Load("w.yml")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			if err := p.Reload(); err != nil {
				t.Error(err)
			}
			v, err := p.As(fmt.Sprint("user ", i), "http").Load("other/v.yml")
			if err != nil {
				t.Error(err)
				return
			}
			for _, one := range []*hocket.Workflow{v, w} {
				run, err := p.Start(context.Background(), one, nil)
				if err != nil {
					t.Error(err)
					continue
				}
				if res, err := run.Wait(context.Background()); err != nil || res.Output != "hi" {
					t.Errorf("%+v, %v", res, err)
				}
			}
			if p.Agents().Names(); p.Diagnostics().Errors() {
				t.Error(p.Diagnostics())
			}
			if d, _, _ := p.Agents().Resolve("guest"); d != nil {
				t.Error("an agent beside a workflow is known to the project")
			}
			if _, err := p.Powers(w); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// recorder is a driver that records what runs were started with.
type recorder struct {
	driver.Driver
	specs []driver.Spec
}

func (r *recorder) Start(ctx context.Context, s driver.Spec) (driver.Created, error) {
	r.specs = append(r.specs, s)
	return r.Driver.Start(ctx, s)
}

// A run is pinned to exactly the files that its workflow was read from.
func TestPinHoldsWhatWasLoaded(t *testing.T) {
	r := &recorder{}
	p := open(t, map[string]string{
		".hocket/config.yml":           "driver: recorder\n",
		".hocket/workflows/unused.yml": "name: unused\nsteps:\n  - {id: a, workflow: called}\n",
		"a.yml":                        gated,
		"b.yml":                        "name: b\nsteps:\n  - {id: c, workflow: called}\n",
		"called.yml":                   gated,
	}, hocket.Options{Drivers: map[string]hocket.OpenDriver{"recorder": func(s hocket.DriverSetup) (d driver.Driver, err error) {
		r.Driver, err = local.Open(s.State, local.Options{})
		return r, err
	}}})
	p.Workflows()
	for _, name := range []string{"a.yml", "b.yml"} {
		wait(t, start(t, p, name, nil))
	}
	for i, want := range []string{"a.yml config.yml", "b.yml called.yml config.yml"} {
		var files []string
		for file := range r.specs[i].Pin.Sources {
			files = append(files, filepath.Base(file))
		}
		slices.Sort(files)
		if got := strings.Join(files, " "); got != want {
			t.Errorf("pinned: %s, want %s", got, want)
		}
	}
}

// Every action records who did it and how.
func TestAs(t *testing.T) {
	ctx := context.Background()
	p := open(t, map[string]string{"w.yml": gated}, hocket.Options{By: "host", Via: "test"})
	ann := p.As("ann", "http")
	run := start(t, ann, "w.yml", nil)
	wait(t, run)
	as := func(by string) *hocket.Run {
		t.Helper()
		r, err := p.As(by, "").Run(ctx, run.ID())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	asked, err := run.Questions(ctx)
	if err != nil || len(asked) != 1 {
		t.Fatalf("%+v, %v", asked, err)
	}
	_, raised := as("ben").Raise(ctx, workflow.Limits{Steps: 200})
	fork, forked := as("cem").Retry(ctx, "ask")
	eve, err := ann.As("eve", "mcp").Run(ctx, run.ID())
	if err != nil {
		t.Fatal(err)
	}
	_, answered := eve.Answer(ctx, "ask", hocket.Answer{Value: "yes"})
	if err := errors.Join(raised, forked, answered); err != nil {
		t.Fatal(err)
	}
	if _, err := fork.Cancel(ctx, ""); err != nil {
		t.Fatal(err)
	}
	owner := func(r *hocket.Run) string {
		t.Helper()
		info, err := r.Info(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return info.Owner.By + " " + info.Owner.Via
	}
	got := []string{"started " + owner(run), "forked " + owner(fork)}
	for _, r := range []*hocket.Run{run, fork} {
		for e, err := range r.Recorded(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			switch ev := e.Event.(type) {
			case *engine.LimitRaised:
				if r == run {
					got = append(got, "raised "+ev.By+" "+ev.Via)
				}
			case *engine.Answered:
				got = append(got, "answered "+ev.By+" "+ev.Via)
				if ev.Digest != asked[0].Digest {
					t.Errorf("the answer is recorded with the digest %q, and the question has %q", ev.Digest, asked[0].Digest)
				}
			case *engine.CancelAsked:
				got = append(got, "cancelled "+ev.By+" "+ev.Via)
			}
		}
	}
	want := []string{"started ann http", "forked cem test", "raised ben test", "answered eve mcp", "cancelled cem test"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Waiting for a run that its process has only recorded lasts until the run has been taken
// and has ended, or that process has exited.
func TestWaitForRecordedRun(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "w.yml"), "name: w\nsteps:\n  - {id: a, agent: shell, config: {command: [echo, hi]}}\n")
	here := openDir(t, dir, hocket.Options{})
	ctx := context.Background()
	record := func(p *hocket.Project) (theirs, ours *hocket.Run) {
		t.Helper()
		w, err := p.Load("w.yml")
		if err != nil {
			t.Fatal(err)
		}
		if theirs, err = p.Record(ctx, w, nil, hocket.WithClaim()); err != nil {
			t.Fatal(err)
		}
		if ours, err = here.Run(ctx, theirs.ID()); err != nil {
			t.Fatal(err)
		}
		return theirs, ours
	}
	waiting := func(r *hocket.Run) <-chan engine.Result {
		came := make(chan engine.Result, 1)
		go func() {
			res, err := r.Wait(ctx)
			if err != nil {
				t.Error(err)
			}
			came <- res
		}()
		return came
	}
	elsewhere := openDir(t, dir, hocket.Options{})
	theirs, ours := record(elsewhere)
	came := waiting(ours)
	if err := ours.Resume(ctx); err != nil { // leaves the run to the other process
		t.Fatal(err)
	}
	also := waiting(ours)
	if _, err := theirs.Drive(ctx, hocket.Front{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if res := <-came; res.Status != engine.Success {
			t.Errorf("begun: %+v", res)
		}
		came = also
	}

	_, ours = record(elsewhere)
	came = waiting(ours)
	if err := elsewhere.Close(); err != nil {
		t.Fatal(err)
	}
	if res := <-came; res.Status != engine.Running {
		t.Errorf("abandoned: %+v", res)
	}
}

// A run can be resumed while its last drive is just ending.
func TestResumeWhileTheLastDriveEnds(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	var calls atomic.Int32
	own := agents{"slow": agent.Func(func(ctx context.Context, _ *agent.Task, _ agent.Log) (agent.Result, error) {
		if calls.Add(1) > 1 {
			return agent.Result{Output: "done"}, nil
		}
		close(began)
		<-ctx.Done()
		<-release
		return agent.Result{}, agent.Interrupted(ctx)
	})}
	p := open(t, map[string]string{"w.yml": "name: w\nsteps:\n  - {id: a, agent: slow, prompt: x}\n"}, hocket.Options{Agents: own})
	w, err := p.Load("w.yml")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	run, err := p.Start(ctx, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	<-began
	cancel()
	if err := run.Resume(context.Background()); err != nil {
		t.Fatal(err)
	}
	close(release)
	if res := wait(t, run); res.Status != engine.Success || calls.Load() != 2 {
		t.Errorf("%+v after %d attempts", res, calls.Load())
	}
}

// Close waits for a run that is driven in the foreground, and no other run starts.
func TestCloseWaitsForDrive(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	own := agents{"slow": agent.Func(func(context.Context, *agent.Task, agent.Log) (agent.Result, error) {
		close(began)
		<-release
		return agent.Result{Output: "done"}, nil
	})}
	p := open(t, map[string]string{"w.yml": "name: w\nsteps:\n  - {id: a, agent: slow, prompt: x}\n"}, hocket.Options{Agents: own})
	w, err := p.Load("w.yml")
	if err != nil {
		t.Fatal(err)
	}
	run, err := p.Record(context.Background(), w, nil, hocket.WithClaim())
	if err != nil {
		t.Fatal(err)
	}
	driven, closed := make(chan error), make(chan error)
	go func() {
		res, err := run.Drive(context.Background(), hocket.Front{})
		if err == nil && res.Status != engine.Success {
			err = fmt.Errorf("%+v", res)
		}
		driven <- err
	}()
	<-began
	go func() { closed <- p.Close() }()
	for err = nil; !errors.Is(err, hocket.ErrClosed); { // until Close has started
		_, err = p.Runs(context.Background(), hocket.Filter{})
	}
	if err := run.Resume(context.Background()); !errors.Is(err, hocket.ErrClosed) {
		t.Errorf("a drive was begun: %v", err)
	}
	select {
	case err := <-closed:
		t.Errorf("Close did not wait: %v", err)
	default:
	}
	close(release)
	if err := errors.Join(<-driven, <-closed); err != nil {
		t.Error(err)
	}
}

func TestLoadOfNothing(t *testing.T) {
	w, err := open(t, nil, hocket.Options{}).Load("nothing.yml")
	var unknown *hocket.UnknownWorkflowError
	if w != nil || !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &unknown) {
		t.Errorf("%v, %v", w, err)
	}
}

// An invalid limit is refused before anything is recorded, and so is a raise that does
// not raise the limit.
func TestLimitsAreChecked(t *testing.T) {
	p := open(t, map[string]string{"w.yml": "name: w\nsteps:\n  - {id: a, human: Go on}\n"}, hocket.Options{})
	w, err := p.Load("w.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []workflow.Limits{{Steps: -1}, {Parallel: -1}, {Depth: -1}, {Runtime: -1}, {CostUSD: -1}, {Tokens: -1}, {Replans: -1}} {
		if _, err := p.Start(t.Context(), w, nil, hocket.WithLimits(l)); err == nil {
			t.Errorf("%+v was taken", l)
		}
	}
	if runs, err := p.Runs(t.Context(), hocket.Filter{}); err != nil || len(runs) > 0 {
		t.Errorf("%d runs were recorded, %v", len(runs), err)
	}
	run, err := p.Record(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Raise(t.Context(), workflow.Limits{}); err == nil {
		t.Error("a raise of nothing was taken")
	}
}

// However often a run is resumed while it is driven, only one more drive is queued.
func TestResumeQueuesOnce(t *testing.T) {
	p := open(t, map[string]string{"w.yml": "name: w\nsteps:\n  - {id: a, agent: shell, config: {command: [sleep, \"1\"]}}\n"}, hocket.Options{})
	run := start(t, p, "w.yml", nil)
	before := runtime.NumGoroutine()
	for range 100 {
		if err := run.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if more := runtime.NumGoroutine() - before; more > 50 {
		t.Errorf("%d goroutines wait", more)
	}
	if res := wait(t, run); res.Status != engine.Success {
		t.Errorf("%+v", res)
	}
}

// A name is not a path, whatever files there are.
func TestLoadNamed(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, ".hocket", "workflows", "w.yml"), gated)
	writeFile(t, filepath.Join(dir, "w"), "name: other\nsteps:\n  - {id: a, human: Go?}\n")
	writeFile(t, filepath.Join(dir, "beside.yml"), gated)
	p := openDir(t, dir, hocket.Options{})
	w, err := p.LoadNamed("w")
	if err != nil || w.Model() == nil || w.Model().Name != "gated" {
		t.Fatalf("%+v, %v", w, err)
	}
	for name, hint := range map[string]string{"w.yml": "", "./w": "", "beside": "expected one of: w", "beside.yml": "expected one of: w", filepath.Join(dir, "beside.yml"): "expected one of: w", "../workflows/w": "", "": "expected one of: w"} {
		_, err := p.LoadNamed(name)
		var unknown *hocket.UnknownWorkflowError
		if !errors.As(err, &unknown) || !strings.Contains(unknown.Hint(), hint) || strings.Contains(unknown.Hint(), "path") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if state, err := w.State(); err != nil || state != hocket.Proposed {
		t.Errorf("%s, %v", state, err)
	}
	review, err := p.Review("w.yml") // however a person names it
	if err == nil {
		err = p.Approve(t.Context(), review.ID, review.Digest)
	}
	if err == nil {
		w, err = p.LoadNamed("w")
	}
	if err != nil {
		t.Fatal(err)
	}
	if state, err := w.State(); err != nil || state != hocket.Approved {
		t.Errorf("%s, %v", state, err)
	}
}
