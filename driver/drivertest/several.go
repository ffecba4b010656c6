package drivertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
)

// twoDrivers: one drives the run, and the other reports that it is taken. A run that a living process has claimed
// is taken too.
func twoDrivers(t *scene, w World) {
	if !w.Traits().Exclusive {
		t.Skip("several processes work for a run")
	}
	twoDrive(t, w)
	claimHolds(t, w)
}

func twoDrive(t *scene, w World) {
	began, release := make(chan struct{}), make(chan struct{})
	d := open(t, w, func(_ context.Context, task *engine.StartTask) Outcome {
		close(began)
		<-release
		return Outcome{Output: task.Node}
	})
	b := bundle(chain(task("a", "")))
	call := goStart(t, d, starting(b))
	await(t, "the attempt", began)
	second := open(t, w, func(context.Context, *engine.StartTask) Outcome {
		t.Error("the second driver begins an attempt")
		return Outcome{}
	})
	if res, err := second.Resume(t.Context(), runID); err == nil {
		t.Errorf("a second driver returned %s", outline(res))
	} else if errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(release)
	res, err := call.wait(t)
	if err != nil {
		t.Fatal(err)
	}
	agree(t, d, b, res)
	want(t, res, `success "a"`, `a success "a"`)
}

// claimHolds: while the process that has claimed a run is alive, the run counts as driven, and no other process takes
// it. Watchers are told when the process dies.
func claimHolds(t *scene, w World) {
	d, other := open(t, w, echo), open(t, w, echo)
	s := starting(bundle(chain(task("a", "x"))))
	s.Run = "left"
	spec := s.spec()
	spec.Owner.Claimed = true
	if _, err := d.raw.Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if i, err := other.raw.Info(t.Context(), s.Run); err != nil || i.Pending || !i.Driven {
		t.Errorf("%+v, %v", i, err)
	}
	if res, err := other.Resume(t.Context(), s.Run); !errors.As(err, new(*driver.HeldError)) {
		t.Errorf("another process took a claimed run up: %s, %v", outline(res), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	changes := make(chan driver.Change, 100)
	go func() {
		for c, err := range other.raw.Watch(ctx, 0) {
			if err != nil {
				t.Error(err)
			}
			changes <- c
		}
	}()
	until := waitFor(t, changes)
	until("claimed", func(c driver.Change) bool { return c.Run == s.Run && c.Info.Driven })
	seen, err := other.raw.Count(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	d.Kill()
	until("abandoned", func(c driver.Change) bool { return c.Run == s.Run && !c.Info.Driven && !c.Info.Pending })
	wantSince(t, other.raw, seen.Version, "changed "+s.Run)
}

// severalDrive: a run whose processes die one after the other is finished by the last one, whether they share its work
// or take turns, and no attempt whose result was recorded runs again.
func severalDrive(t *scene, w World) {
	var seen calls
	s := Start{Run: runID, Bundle: Busy(), Inputs: BusyInputs(5), Limits: limits}
	reader := open(t, w, echo)
	if _, err := reader.raw.Start(t.Context(), s.spec()); err != nil {
		t.Fatal(err)
	}
	mortal := func() {
		var d *process
		var mu sync.Mutex
		made := 0
		d = open(t, w, func(ctx context.Context, task *engine.StartTask) Outcome {
			mu.Lock()
			made++
			n := made
			mu.Unlock()
			if n > 4 {
				<-ctx.Done() // a killed process does nothing
				return Outcome{}
			}
			seen.note(task)
			if n == 4 {
				d.Kill()
			}
			return echo(ctx, task)
		})
		if res, err := d.whenFree(t, runID); err == nil && !res.Status.Done() {
			t.Errorf("a driver that was killed returned %s", outline(res))
		}
	}
	recorded := map[string]int{} // how often an attempt was made by the time at which its end was recorded
	note := func() {
		for _, ev := range events(t, reader) {
			if ended, ok := ev.Event.(*engine.TaskEnded); ok && (ended.Fault == nil || ended.Fault.Kind != engine.FaultLost) {
				key := fmt.Sprintf("%s@%d", ended.Address, ended.Attempt)
				if _, known := recorded[key]; !known {
					recorded[key] = seen.count(key)
				}
			}
		}
	}
	var dying sync.WaitGroup
	for range 2 {
		dying.Go(mortal)
	}
	dying.Wait()
	note()
	last := open(t, w, func(ctx context.Context, task *engine.StartTask) Outcome {
		seen.note(task)
		return echo(ctx, task)
	})
	res, err := last.whenFree(t, runID)
	if err != nil || res.Status != engine.Success || len(res.Steps) != 14 {
		t.Fatalf("%s, %v", outline(res), err)
	}
	agree(t, last, s.Bundle, res)
	for key, n := range recorded {
		if seen.count(key) != n {
			t.Errorf("%s was recorded and made again; all: %v", key, seen.all())
		}
	}
	if len(recorded) == 0 {
		t.Error("the processes died before anything was recorded")
	}
}

// whenFree drives a run as soon as no other process does, if only one can.
func (p *process) whenFree(t *scene, run string) (engine.Result, error) {
	for {
		res, err := p.Resume(t.Context(), run)
		if !errors.As(err, new(*driver.HeldError)) {
			return res, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// away: if the place of a run cannot be reached for a while, the run waits and then goes on.
func away(t *scene, w World) {
	var seen calls
	began, mayEnd := make(chan struct{}), make(chan struct{})
	d := open(t, w, func(_ context.Context, task *engine.StartTask) Outcome {
		if seen.note(task); task.Node == "b" && seen.count("b@1") == 1 {
			close(began)
			<-mayEnd
		}
		return Outcome{Output: task.Node}
	})
	s := starting(bundle(chain(task("a", ""), task("b", ""), task("c", ""))))
	call := goStart(t, d, s)
	await(t, "the attempt", began)
	back := w.Away(t)
	close(mayEnd)
	time.Sleep(300 * time.Millisecond) // long enough for an impatient driver to give up
	back()
	res, err := call.wait(t)
	if err != nil {
		t.Fatal(err)
	}
	agree(t, d, s.Bundle, res)
	want(t, res, `success "c"`, `a success "a"`, `b success "b"`, `c success "c"`)
	for _, key := range []string{"a@1", "c@1"} {
		if seen.count(key) != 1 {
			t.Errorf("%s was made %d times; all: %v", key, seen.count(key), seen.all())
		}
	}
}
