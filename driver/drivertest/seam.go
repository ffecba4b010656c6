package drivertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// startKey: a request that is repeated, after a lost reply or by two clients at once,
// starts one run.
func startKey(t *scene, w World) {
	d := open(t, w, echo).raw
	spec := Start{Bundle: bundle(chain(task("a", "x"))), Limits: limits}.spec()
	spec.Key, spec.Request = "order 66", "sha256:1"
	first, err := d.Start(t.Context(), spec)
	if err != nil || first.Existed || first.Run == "" {
		t.Fatalf("%+v, %v", first, err)
	}
	for range 2 {
		again, err := open(t, w, echo).raw.Start(t.Context(), spec)
		if err != nil || !again.Existed || again.Run != first.Run {
			t.Errorf("the same request again: %+v, %v", again, err)
		}
	}
	other := spec
	other.Request = "sha256:2"
	var wrong *driver.KeyError
	if made, err := d.Start(t.Context(), other); !errors.As(err, &wrong) || wrong.Run != first.Run {
		t.Errorf("another request with the same key: %+v, %v", made, err)
	}
	if run, err := d.StartedWith(t.Context(), spec.Key, spec.Request); err != nil || run != first.Run {
		t.Errorf("the key has started %q, %v", run, err)
	}
	if run, err := d.StartedWith(t.Context(), spec.Key, other.Request); !errors.As(err, &wrong) || run != "" {
		t.Errorf("for another request, the key has started %q, %v", run, err)
	}
	if run, err := d.StartedWith(t.Context(), "order 1", spec.Request); err != nil || run != "" {
		t.Errorf("a new key has started %q, %v", run, err)
	}
	other.Key = ""
	if made, err := d.Start(t.Context(), other); err != nil || made.Run == first.Run {
		t.Errorf("without a key: %+v, %v", made, err)
	}
	wantRuns(t, d, 2)
}

// startKeyDeleted: with a run, its key is deleted, which can then be used for anything.
func startKeyDeleted(t *scene, w World) {
	d := open(t, w, echo)
	b := bundle(chain(task("a", "x")))
	spec := starting(b).spec()
	spec.Key, spec.Request = "order 68", "sha256:1"
	for _, spec.Request = range []string{"sha256:1", "sha256:2"} {
		if run, err := d.raw.StartedWith(t.Context(), spec.Key, spec.Request); err != nil || run != "" {
			t.Errorf("the key has started %q, %v", run, err)
		}
		if made, err := d.raw.Start(t.Context(), spec); err != nil || made.Existed {
			t.Fatalf("%+v, %v", made, err)
		}
		resume(t, d, b)
		if err := d.raw.Delete(t.Context(), runID); err != nil {
			t.Fatal(err)
		}
	}
}

// startKeyRace: of many processes that start with one key at once, only one starts a run.
func startKeyRace(t *scene, w World) {
	const starters = 6
	spec := Start{Bundle: bundle(chain(task("a", "x"))), Limits: limits}.spec()
	spec.Key, spec.Request = "order 67", "sha256:1"
	made := make([]driver.Created, starters)
	var all sync.WaitGroup
	for i := range starters {
		d := open(t, w, echo).raw
		all.Go(func() {
			var err error
			if made[i], err = d.Start(context.Background(), spec); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	fresh := 0
	for _, m := range made {
		if m.Run != made[0].Run {
			t.Errorf("one key started %s and %s", m.Run, made[0].Run)
		}
		if !m.Existed {
			fresh++
		}
	}
	if fresh != 1 {
		t.Errorf("%d say that they started the run", fresh)
	}
	wantRuns(t, open(t, w, echo).raw, 1)
}

// wantRuns waits until a driver lists so many runs: a cluster may list one a moment after it was started.
func wantRuns(t *scene, d driver.Driver, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d runs in the list", n), func() bool {
		runs, err := d.Runs(t.Context(), driver.Filter{})
		if err != nil || len(runs) > n {
			t.Fatalf("%d runs, %v, want %d", len(runs), err, n)
		}
		return len(runs) == n
	})
}

// claim: lists show who has claimed a run, and select it by its labels. If the process that has claimed it dies,
// another one takes it.
func claim(t *scene, w World) {
	d, next := open(t, w, echo), open(t, w, echo)
	spec := starting(bundle(chain(task("a", "x")))).spec()
	spec.Owner = driver.Owner{By: "ann", Via: "test", Claimed: true, Labels: map[string]string{"team": "web", "x.y": "1"}}
	if _, err := d.raw.Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	i, err := next.raw.Info(t.Context(), runID)
	if err != nil || !reflect.DeepEqual(i.Owner, spec.Owner) || i.Status != engine.Running {
		t.Errorf("%+v, %v", i, err)
	}
	wantRuns(t, next.raw, 1)
	for label, n := range map[string]int{"team": 1, "x.y": 1, "web": 0, "x": 0} {
		if runs, err := next.raw.Runs(t.Context(), driver.Filter{Label: label}); err != nil || len(runs) != n {
			t.Errorf("label %s: %d runs, %v, want %d", label, len(runs), err, n)
		}
		if runs, err := next.raw.Runs(t.Context(), driver.Filter{Without: label}); err != nil || len(runs) != 1-n {
			t.Errorf("without label %s: %d runs, %v, want %d", label, len(runs), err, 1-n)
		}
	}
	d.Kill()
	want(t, resume(t, next, spec.Pin.Bundle), `success "x"`, `a success "x"`)
}

// claimEnds: a process that was interrupted but is still alive has no more claim to its runs than
// others, however early it was interrupted.
func claimEnds(t *scene, w World) {
	for _, early := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		d := open(t, w, func(ctx context.Context, task *engine.StartTask) Outcome {
			cancel()
			return untilDone(ctx, task)
		})
		if early {
			cancel()
		}
		s := starting(bundle(chain(task("a", "x"))))
		s.Run = fmt.Sprint("early-", early)
		spec := s.spec()
		spec.Owner.Claimed = true
		if _, err := d.raw.Start(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		if res, err := d.Resume(ctx, s.Run); !errors.As(err, new(*driver.InterruptedError)) {
			t.Errorf("interrupted: %s, %v", outline(res), err)
		}
		next := open(t, w, echo)
		if i, err := next.raw.Info(t.Context(), s.Run); err != nil || i.Pending || i.Driven {
			t.Errorf("after it was interrupted: %+v, %v", i, err)
		}
		if res, err := next.Resume(t.Context(), s.Run); err != nil || res.Status != engine.Success {
			t.Errorf("another process took it up: %s, %v", outline(res), err)
		}
	}
}

// pending: a recorded run waits for a process to take it, unless a process has claimed it. Followers of its output
// wait too.
func pending(t *scene, w World) {
	d, other := open(t, w, echo), open(t, w, echo)
	made := func(id string, claimed bool) {
		t.Helper()
		s := starting(bundle(chain(task("a", "x"))))
		s.Run = id
		spec := s.spec()
		spec.Owner.Claimed = claimed
		if _, err := d.raw.Start(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	is := func(id string, want bool) {
		t.Helper()
		if i, err := other.raw.Info(t.Context(), id); err != nil || i.Pending != want {
			t.Errorf("%+v, %v", i, err)
		}
	}
	made("free", false)
	made("claimed", true)
	is("free", true)
	is("claimed", false)
	read := make(chan error, 1)
	go func() {
		for _, err := range other.raw.Read(t.Context(), driver.AttemptID{Run: "free", Address: "a", Attempt: 1}, driver.Output, 0, true) {
			if err != nil {
				t.Error(err)
			}
		}
		i, err := other.raw.Info(t.Context(), "free")
		if err == nil && i.Pending {
			err = errors.New("reading ended before the run was taken up")
		}
		read <- err
	}()
	if _, err := d.Resume(t.Context(), "claimed"); err != nil {
		t.Fatal(err)
	}
	is("claimed", false)
	fork, err := d.raw.Fork(t.Context(), driver.ForkSpec{From: "claimed", Address: "a"})
	if err != nil {
		t.Fatal(err)
	}
	is(fork.Run, true)
	for _, id := range []string{"free", fork.Run} {
		if _, err := other.Resume(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		is(id, false)
	}
	if err := await(t, "the end of the output", read); err != nil {
		t.Error(err)
	}
}

// begun: a run that was recorded but never started loses nothing: its once-only task has
// not run.
func begun(t *scene, w World) {
	n := task("deploy", "x")
	n.Once = true
	spec := starting(bundle(chain(n))).spec()
	d := open(t, w, echo)
	if _, err := d.raw.Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	d.Kill()
	want(t, resume(t, open(t, w, echo), spec.Pin.Bundle), `success "x"`, `deploy success "x"`)
}

// find: ids, prefixes, lists and pins.
func find(t *scene, w World) {
	p := open(t, w, echo)
	d := p.raw
	for _, id := range []string{"alpha-1", "alpha-2", "beta-1"} {
		s := starting(bundle(chain(task("a", id))))
		s.Run = id
		if _, err := d.Start(t.Context(), s.spec()); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Start(t.Context(), s.spec()); !errors.As(err, new(*driver.ExistsError)) {
			t.Errorf("an id that is taken: %v", err)
		}
	}
	for prefix, id := range map[string]string{"b": "beta-1", "alpha-1": "alpha-1", "alpha": "", "gamma": "", "": ""} {
		found, err := d.Find(t.Context(), prefix)
		if found != id || (err != nil) != (id == "") || err != nil && !errors.As(err, new(*driver.UnknownRunError)) {
			t.Errorf("%q finds %q, %v", prefix, found, err)
		}
	}
	if _, err := d.Drive(t.Context(), "b", driver.Work{}); !errors.As(err, new(*driver.UnknownRunError)) {
		t.Errorf("driving a prefix: %v", err)
	}
	if pin, err := d.Pin(t.Context(), "alpha-2"); err != nil || pin.Bundle.Root.Name != "demo" {
		t.Errorf("pin %+v, %v", pin, err)
	}
	runs, err := d.Runs(t.Context(), driver.Filter{Limit: 1, Before: "beta-1"})
	if err != nil || len(runs) != 1 || runs[0].ID != "alpha-2" {
		t.Errorf("the page before beta-1: %+v, %v", runs, err)
	}
	gated := starting(bundle(chain(gate("ok", "yes"))))
	gated.Run = "gated"
	if _, err := d.Start(t.Context(), gated.spec()); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"alpha-1", "gated"} {
		if _, err := p.Resume(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	for since, created := range map[time.Time]int{{}: 4, time.Now().Add(time.Hour): 0} {
		if n, err := d.Count(t.Context(), since); err != nil || n.Active != 3 || n.Created != created || n.Questions != 1 {
			t.Errorf("counted %+v, %v", n, err)
		}
	}
}

// deleted: a finished run is deleted with everything stored for it; a run that is driven
// is not.
func deleted(t *scene, w World) {
	began, release := make(chan struct{}), make(chan struct{})
	d := open(t, w, func(_ context.Context, task *engine.StartTask) Outcome {
		close(began)
		<-release
		return Outcome{Output: task.Prompt}
	})
	s := starting(bundle(chain(task("a", "x"))))
	call := goStart(t, d, s)
	await(t, "the attempt", began)
	other := open(t, w, echo)
	if err := other.raw.Delete(t.Context(), runID); !errors.As(err, new(*driver.HeldError)) {
		t.Errorf("a run that is driven was deleted: %v", err)
	}
	close(release)
	if _, err := call.wait(t); err != nil {
		t.Fatal(err)
	}
	d.Kill()
	for range 2 {
		if err := other.raw.Delete(t.Context(), runID); err != nil {
			t.Fatal(err)
		}
		_, find := other.raw.Info(t.Context(), runID)
		_, pin := other.raw.Pin(t.Context(), runID)
		_, events := other.Events(t.Context(), runID)
		for _, err := range []error{find, pin, events, other.raw.Delete(t.Context(), runID)} {
			if !errors.As(err, new(*driver.UnknownRunError)) {
				t.Errorf("a deleted run gives %v", err)
			}
		}
		want(t, start(t, other, s), `success "x"`, `a success "x"`) // the id is free again
	}
}

// collected: the runs that ended first are removed, and no others.
func collected(t *scene, w World) {
	d := open(t, w, echo)
	run := func(id string, nodes ...workflow.Node) {
		t.Helper()
		spec := starting(bundle(chain(nodes...))).spec()
		spec.Run, spec.Owner.Claimed = id, true
		_, err := d.raw.Start(t.Context(), spec)
		if err == nil {
			_, err = d.raw.Drive(t.Context(), id, d.work)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	run("first", task("a", "x"))
	run("waits", gate("ok", "yes"))
	for _, id := range []string{"second", "third", "fourth"} {
		run(id, task("a", "x"))
	}
	eventually(t, "all that are over are old", func() bool {
		old, err := d.raw.Collect(t.Context(), driver.Retention{Age: time.Millisecond}, nil, true)
		return err == nil && len(old) == 4
	})
	for _, c := range []struct {
		keep    driver.Retention
		also    string
		removes string
	}{
		{driver.Retention{}, "", ""},
		{driver.Retention{Age: time.Hour, Runs: 5, Size: 1 << 30}, "", ""},
		{driver.Retention{Runs: 4}, "", "first"},
		{driver.Retention{Runs: 3}, "second", "third"},
		{driver.Retention{Size: 1}, "", "second"},
		{driver.Retention{Age: time.Millisecond, Runs: 1, Size: 1}, "fourth", ""},
		{driver.Retention{Age: time.Millisecond}, "", "fourth"},
		{driver.Retention{Age: time.Millisecond, Runs: 1, Size: 1}, "", ""},
	} {
		for _, dry := range []bool{true, false} {
			removed, err := d.raw.Collect(t.Context(), c.keep, []string{c.also}, dry)
			ids := ""
			for _, r := range removed {
				ids += r.ID
				if r.Size <= 0 {
					t.Errorf("%s took %d bytes", r.ID, r.Size)
				}
			}
			if err != nil || ids != c.removes {
				t.Errorf("%+v removes %q, %v, want %q", c.keep, ids, err, c.removes)
			}
		}
	}
	if err := d.raw.Compact(t.Context()); err != nil {
		t.Error(err)
	}
	wantRuns(t, d.raw, 1)
	if _, err := d.raw.Info(t.Context(), "waits"); err != nil {
		t.Error(err)
	}
}

// forked: a fork repeats what came before a step, and runs the step again.
func forked(t *scene, w World) {
	var seen calls
	d := open(t, w, func(_ context.Context, task *engine.StartTask) Outcome {
		seen.note(task)
		return Outcome{Output: task.Prompt}
	})
	b := bundle(chain(task("a", "one"), task("b", "two ${nodes.a.output}"), task("c", "three ${nodes.b.output}")))
	start(t, d, starting(b))
	output := "deux"
	for _, c := range []struct {
		output *string
		want   string
		calls  int
	}{{nil, "three two one", 2}, {&output, "three deux", 1}} {
		before := len(seen.all())
		made, err := d.raw.Fork(t.Context(), driver.ForkSpec{From: runID, Address: "b", Output: c.output, Owner: driver.Owner{By: "ann"}})
		if err != nil {
			t.Fatal(err)
		}
		res, err := d.Resume(t.Context(), made.Run)
		if err != nil || res.Output != c.want || len(seen.all())-before != c.calls {
			t.Errorf("%s, %v after %d attempts", outline(res), err, len(seen.all())-before)
		}
		if i, err := d.raw.Info(t.Context(), made.Run); err != nil || i.Origin != runID || i.Owner.By != "ann" {
			t.Errorf("%+v, %v", i, err)
		}
	}
	made, err := d.raw.Fork(t.Context(), driver.ForkSpec{From: runID, Address: "c"})
	if err := errors.Join(err, d.raw.Delete(t.Context(), runID)); err != nil {
		t.Fatal(err)
	}
	if res, err := d.Resume(t.Context(), made.Run); err != nil || res.Output != "three two one" {
		t.Errorf("a fork of a run that was deleted: %s, %v", outline(res), err)
	}
	if made, err := d.raw.Fork(t.Context(), driver.ForkSpec{From: made.Run, Address: "nowhere"}); !errors.As(err, new(*driver.RefusedError)) {
		t.Errorf("forked at a step that does not exist: %+v, %v", made, err)
	}
}

// spent: what every attempt has cost is counted once, with who did it and when, also after a fork.
func spent(t *scene, w World) {
	before := time.Now().Add(-time.Minute)
	d := open(t, w, nil)
	d.work.Agents = attempts(func(_ string, task *engine.StartTask, at driver.Attempt) Outcome {
		if task.Node == "free" {
			return Outcome{Output: "x", Agent: "shell"}
		}
		at.Note("", "m-1")
		return Outcome{Output: "x", Agent: "ann", Usage: engine.Usage{CostUSD: 0.5, TokensIn: 3, TokensOut: 2}}
	})
	start(t, d, starting(bundle(chain(task("a", ""), task("free", ""), task("b", "")))))
	made, err := d.raw.Fork(t.Context(), driver.ForkSpec{From: runID, Address: "b"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Resume(t.Context(), made.Run); err != nil {
		t.Fatal(err)
	}
	all, err := d.raw.Spent(t.Context(), before)
	if err != nil {
		t.Fatal(err)
	}
	// At midnight, the attempts of a run may be on two days.
	counted := map[string]int{}
	for _, s := range all {
		n := float64(s.Attempts)
		if s.Agent != "ann" || s.Model != "m-1" || s.Usage != (engine.Usage{CostUSD: 0.5 * n, TokensIn: 3 * int64(n), TokensOut: 2 * int64(n)}) || s.Workflow == "" || s.Day < before.Format(time.DateOnly) || s.Day > time.Now().Add(time.Minute).Format(time.DateOnly) {
			t.Errorf("%+v", s)
		}
		counted[s.Run] += s.Attempts
	}
	if want := map[string]int{runID: 2, made.Run: 1}; !maps.Equal(counted, want) {
		t.Errorf("%v, want %v", counted, want)
	}
	if later, err := d.raw.Spent(t.Context(), time.Now().Add(time.Hour)); err != nil || len(later) > 0 {
		t.Errorf("%v, %v", later, err)
	}
}
