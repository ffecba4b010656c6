package drivertest

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// replanOver: a run that is over gets a new plan and goes on. What is done and unchanged does not
// run again. Lists, the pin and the events are those of the new plan, in every process.
func replanOver(t *scene, w World) {
	var seen calls
	fails := true
	worker := func(ctx context.Context, task *engine.StartTask) Outcome {
		seen.note(task)
		if task.Node == "b" && fails {
			return Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: "boom"}}
		}
		return echo(ctx, task)
	}
	d := open(t, w, worker)
	b := bundle(chain(task("a", "one"), task("b", "${nodes.a.output} two")))
	if res := start(t, d, starting(b)); res.Status != engine.Failed {
		t.Fatalf("%s", outline(res))
	}
	fails = false
	plan := bundle(chain(task("a", "one"), task("b", "${nodes.a.output} two"), task("c", "${nodes.b.output} three")))
	other := open(t, w, worker)
	planning := map[string]engine.Usage{"planner": {CostUSD: 0.5, TokensIn: 7}}
	for range 2 { // as if two people had approved it at the same time
		receipt, err := other.raw.Replan(t.Context(), runID, driver.Replan{Pin: &driver.Pin{Bundle: plan, Dir: "there"}, Words: "add c", Planning: planning, By: "ann"})
		if err != nil || receipt.Driven || receipt.Status.Done() {
			t.Fatalf("%+v, %v", receipt, err)
		}
	}
	for _, p := range []*process{d, other} {
		i, err := p.raw.Info(t.Context(), runID)
		if err != nil || i.Status != engine.Running || i.Driven || i.Digest != workflow.Digest(plan.Root) || i.Usage.Planning != planning["planner"] {
			t.Errorf("%+v, %v", i, err)
		}
		if pin, err := p.raw.Pin(t.Context(), runID); err != nil || pin.Dir != "there" || len(pin.Bundle.Root.Body.Nodes) != 3 {
			t.Errorf("%+v, %v", pin, err)
		}
		if first, err := p.raw.FirstPin(t.Context(), runID); err != nil || len(first.Bundle.Root.Body.Nodes) != 2 {
			t.Errorf("%+v, %v", first, err)
		}
	}
	want(t, resume(t, other, b), `success "one two three"`, `a success "one"`, `b success "one two"`, `c success "one two three"`)
	if got := seen.all(); !slices.Equal(got, []string{"a@1", "b@1", "b@2", "c@1"}) {
		t.Errorf("attempts: %v", got)
	}
	replannedFork(t, other, &seen)
}

// replannedFork: a fork of a run with a new plan repeats that too, and outlives the run.
func replannedFork(t *scene, d *process, seen *calls) {
	made, err := d.raw.Fork(t.Context(), driver.ForkSpec{From: runID, Address: "c", Run: "other"})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.raw.Delete(t.Context(), runID); err != nil {
		t.Fatal(err)
	}
	res, err := d.Resume(t.Context(), made.Run)
	if err != nil {
		t.Fatal(err)
	}
	want(t, res, `success "one two three"`, `a success "one"`, `b success "one two"`, `c success "one two three"`)
	if got := seen.all(); len(got) != 5 || got[4] != "c@1" {
		t.Errorf("attempts: %v", got)
	}
}

// replanBetween: a run gets a new plan after a process has prepared to drive it, and before it does.
// The process drives it with the agents of the new plan, or not at all.
func replanBetween(t *scene, w World) {
	d := open(t, w, func(context.Context, *engine.StartTask) Outcome {
		return Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: "boom"}}
	})
	if res := start(t, d, starting(bundle(chain(task("a", "one"))))); res.Status != engine.Failed {
		t.Fatalf("%s", outline(res))
	}
	before, err := d.raw.Pin(t.Context(), runID)
	if err != nil {
		t.Fatal(err)
	}
	replan := driver.Replan{Pin: &driver.Pin{Bundle: bundle(chain(task("a", "two"))), Dir: "there"}}
	if _, err := open(t, w, nil).raw.Replan(t.Context(), runID, replan); err != nil {
		t.Fatal(err)
	}
	d.work.Pin = before
	missing := errors.New("there are no such agents here")
	d.work.Replan = func(*driver.Pin) (driver.Work, error) { return driver.Work{}, missing }
	if _, err := d.Resume(t.Context(), runID); !errors.Is(err, missing) {
		t.Errorf("without agents: %v", err)
	}
	if i, err := d.raw.Info(t.Context(), runID); err != nil || i.Driven {
		t.Errorf("%+v, %v", i, err)
	}
	d.work.Replan = func(p *driver.Pin) (driver.Work, error) {
		if p.Dir != "there" {
			t.Errorf("asked for the agents of %+v", p)
		}
		return driver.Work{Agents: agents(echo)}, nil
	}
	res, err := d.Resume(t.Context(), runID)
	if err != nil {
		t.Fatal(err)
	}
	want(t, res, `success "two"`, `a success "two"`)
	d.work.Pin, d.work.Replan = replan.Pin, func(*driver.Pin) (driver.Work, error) { return driver.Work{}, missing }
	if _, err := d.Resume(t.Context(), runID); err != nil {
		t.Errorf("with the same plan: %v", err)
	}
}

// replanDriven: the process that drives a run continues with a new plan. An attempt that is
// unchanged goes on, one that is not part of it any more is cancelled, and the agents are those of
// the new plan.
func replanDriven(t *scene, w World) {
	began, release := make(chan string, 2), make(chan struct{})
	var seen calls
	d := open(t, w, func(ctx context.Context, task *engine.StartTask) Outcome {
		seen.note(task)
		began <- task.Node
		select {
		case <-release:
			return echo(ctx, task)
		case <-ctx.Done():
			return Outcome{Fault: &engine.Fault{Kind: engine.FaultCancelled, Message: "told to stop"}}
		}
	})
	d.work.Replan = func(p *driver.Pin) (driver.Work, error) {
		if p.Dir != "there" {
			return driver.Work{}, errors.New("there are no such agents here")
		}
		return driver.Work{Agents: agents(func(ctx context.Context, task *engine.StartTask) Outcome {
			seen.note(task)
			out := echo(ctx, task)
			out.Output += " by another"
			return out
		})}, nil
	}
	stays, goes, comes := task("stays", "stays"), task("goes", "goes"), task("comes", "comes")
	b := bundle(workflow.Graph{Nodes: []workflow.Node{stays, goes}})
	call := goStart(t, d, starting(b))
	for range 2 {
		await(t, "both attempts", began)
	}
	plan := bundle(workflow.Graph{Nodes: []workflow.Node{stays, comes}})
	other := open(t, w, nil)
	refused := func(what string, r driver.Replan) {
		t.Helper()
		var no *driver.RefusedError
		if receipt, err := other.raw.Replan(t.Context(), runID, r); !errors.As(err, &no) {
			t.Errorf("%s: %+v, %v", what, receipt, err)
		}
	}
	refused("without agents", driver.Replan{Pin: &driver.Pin{Bundle: plan}})
	needs := *plan.Root
	needs.Inputs = []workflow.Param{{Name: "more", Required: true}}
	refused("without an input", driver.Replan{Pin: &driver.Pin{Bundle: &workflow.Bundle{Root: &needs}, Dir: "there"}})
	if receipt, err := other.raw.Replan(t.Context(), runID, driver.Replan{Pin: &driver.Pin{Bundle: plan, Dir: "there"}}); err != nil || !receipt.Driven {
		t.Errorf("%+v, %v", receipt, err)
	}
	eventually(t, "the end of the attempt that was cancelled", func() bool {
		return slices.ContainsFunc(events(t, other), func(e engine.Envelope) bool {
			ended, ok := e.Event.(*engine.TaskEnded)
			return ok && ended.Address == "goes" && ended.Fault != nil
		})
	})
	close(release)
	res, err := call.wait(t)
	if err != nil {
		t.Fatal(err)
	}
	agree(t, d, b, res)
	want(t, res, `success {"comes":"comes by another","stays":"stays"}`, `stays success "stays"`, `comes success "comes by another"`)
	got := seen.all()
	if slices.Sort(got); strings.Join(got, " ") != "comes@1 goes@1 stays@1" {
		t.Errorf("attempts: %v", got)
	}
}

// replanCrash: a process dies before, or after, a new plan was recorded. The run continues with the
// old plan, or the new one, and repeats nothing that was recorded.
func replanCrash(t *scene, w World) {
	b := bundle(chain(task("a", "one"), task("b", "two"), task("c", "three")))
	plan := bundle(chain(task("a", "one"), task("b", "two"), task("d", "four")))
	for _, after := range []bool{false, true} {
		s := starting(b)
		if s.Run = "before"; after {
			s.Run = "after"
		}
		var seen calls
		var d *process
		d = open(t, w, func(ctx context.Context, task *engine.StartTask) Outcome {
			seen.note(task)
			if task.Node == "b" {
				if after {
					if _, err := open(t, w, nil).raw.Replan(ctx, s.Run, driver.Replan{Pin: &driver.Pin{Bundle: plan}}); err != nil {
						t.Error(err)
					}
				}
				d.Kill()
			}
			return echo(ctx, task)
		})
		if res, err := d.Start(t.Context(), s); err == nil {
			t.Fatalf("a driver that was killed returned %s", outline(res))
		}
		next := open(t, w, func(ctx context.Context, task *engine.StartTask) Outcome {
			seen.note(task)
			return echo(ctx, task)
		})
		if !after {
			if _, err := next.raw.Replan(t.Context(), s.Run, driver.Replan{Pin: &driver.Pin{Bundle: plan}}); err != nil {
				t.Fatal(err)
			}
		}
		res, err := next.Resume(t.Context(), s.Run)
		if err != nil {
			t.Fatal(err)
		}
		want(t, res, `success "four"`, `a success "one"`, `b success "two"`, `d success "four"`)
		if seen.count("a@1") != 1 || seen.count("c@1") != 0 || seen.count("d@1") != 1 {
			t.Errorf("%s: attempts: %v", s.Run, seen.all())
		}
	}
}
