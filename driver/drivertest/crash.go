package drivertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// Busy returns a workflow with everything that a crash can hit: parallel branches, a
// loop, a for_each, a called workflow and a join.
func Busy() *workflow.Bundle {
	loop := workflow.Node{ID: "loop", Step: &workflow.Loop{Max: 5, Body: workflow.Graph{
		Nodes: []workflow.Node{task("round", "round ${iteration}")},
		Edges: []workflow.Edge{
			{From: "round", To: workflow.Again, On: workflow.OnWhen, When: workflow.Expr{Text: "iteration < 3"}},
			{From: "round", To: "join", On: workflow.OnElse},
		},
	}}}
	each := workflow.Node{ID: "scan", Step: &workflow.Each{
		Items: workflow.Expr{Text: `inputs.items`},
		Body:  chain(task("scan", "item ${item}")),
	}}
	call := workflow.Node{ID: "child", Step: &workflow.Call{Workflow: "child"}}
	root := &workflow.Workflow{Name: "busy", Body: workflow.Graph{
		Nodes: []workflow.Node{task("first", "first"), loop, each, call, task("join", "${nodes.round.output} ${nodes.scan.output} ${nodes.child.output}"), task("last", "${nodes.join.output}!")},
		Edges: []workflow.Edge{
			{From: "first", To: "loop"}, {From: "first", To: "scan"}, {From: "first", To: "child"},
			{From: "scan", To: "join"}, {From: "child", To: "join"}, {From: "join", To: "last"},
		},
	}}
	child := &workflow.Workflow{Name: "child", Body: chain(task("in", "in"), task("out", "${nodes.in.output} and out"))}
	return &workflow.Bundle{Root: root, Called: map[string]*workflow.Workflow{"child": child}}
}

// BusyInputs returns the inputs of [Busy], with a number of items to scan.
func BusyInputs(items int) map[string]any {
	list := make([]any, items)
	for i := range list {
		list[i] = fmt.Sprint("i", i)
	}
	return map[string]any{"items": list}
}

// crash kills the driver at every attempt, before and after its work, and continues with
// a new one. The result is that of an undisturbed run, and no attempt whose result was
// recorded runs again.
func crash(t *scene, w World) {
	b := Busy()
	undisturbed := ""
	for point := 0; ; point++ {
		run := fmt.Sprintf("run-%d", point)
		res, killed := crashAt(t, w, b, run, (point+1)/2, point%2 == 0)
		switch {
		case point == 0:
			undisturbed = sorted(res)
			if res.Status != engine.Success || len(res.Steps) != 14 {
				t.Fatalf("undisturbed:\n%s", undisturbed)
			}
		case sorted(res) != undisturbed:
			t.Fatalf("killed at point %d:\n%s\nwant\n%s", point, sorted(res), undisturbed)
		case !killed:
			if point < 20 {
				t.Errorf("only %d points to kill at", point)
			}
			return
		}
	}
}

// sorted returns an outline whose steps are in the order of their addresses, since the
// order of parallel branches is random.
func sorted(res engine.Result) string {
	slices.SortFunc(res.Steps, func(a, b engine.StepResult) int { return strings.Compare(a.Address, b.Address) })
	return outline(res)
}

// crashAt runs the workflow and kills its driver at the n-th attempt, or never if n is
// zero.
func crashAt(t *scene, w World, b *workflow.Bundle, run string, n int, after bool) (res engine.Result, killed bool) {
	t.Helper()
	var seen calls
	var dead atomic.Bool
	var d *process
	d = open(t, w, func(ctx context.Context, task *engine.StartTask) Outcome {
		if dead.Load() {
			<-ctx.Done() // a killed process does nothing
			return Outcome{}
		}
		k := seen.note(task)
		out := echo(ctx, task)
		if k == n {
			if !after {
				out = Outcome{Output: "torn off"}
			}
			dead.Store(true)
			d.Kill()
		}
		return out
	})
	s := Start{Run: run, Bundle: b, Inputs: BusyInputs(5), Limits: limits}
	res, err := d.Start(t.Context(), s)
	if !dead.Load() {
		if err != nil {
			t.Fatalf("start: %v", err)
		}
		return res, false
	}
	if err == nil {
		t.Fatalf("a driver that was killed returned %s", outline(res))
	}
	next := open(t, w, func(ctx context.Context, task *engine.StartTask) Outcome {
		seen.note(task)
		return echo(ctx, task)
	})
	recorded, err := next.Events(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	before := seen.all()
	if res, err = next.Resume(t.Context(), run); err != nil {
		t.Fatalf("resume after a crash at attempt %d: %v", n, err)
	}
	for _, ev := range recorded {
		if ended, ok := ev.Event.(*engine.TaskEnded); ok && (ended.Fault == nil || ended.Fault.Kind != engine.FaultLost) {
			if key := fmt.Sprintf("%s@%d", ended.Address, ended.Attempt); seen.count(key) != 1 {
				t.Errorf("%s was recorded and made %d times (crash at attempt %d; before it: %v)", key, seen.count(key), n, before)
			}
		}
	}
	return res, true
}

// lost: a once-only task is not repeated without asking.
func lost(t *scene, w World) {
	n := task("deploy", "")
	n.Once = true
	b := bundle(chain(n))
	var d *process
	d = open(t, w, func(context.Context, *engine.StartTask) Outcome {
		d.Kill()
		return Outcome{}
	})
	if res, err := d.Start(t.Context(), starting(b)); err == nil {
		t.Fatalf("a driver that was killed returned %s", outline(res))
	}
	next := open(t, w, echo)
	if res := resume(t, next, b); res.Status != engine.Waiting {
		t.Fatalf("%s", outline(res))
	}
	if err := next.Answer(t.Context(), runID, "deploy", "done"); err != nil {
		t.Fatal(err)
	}
	if res := resume(t, next, b); res.Status != engine.Success {
		t.Errorf("%s", outline(res))
	}
}

// unsettled: the cost of a lost attempt is unknown, unless it was free.
func unsettled(t *scene, w World) {
	for run, may := range map[string]workflow.Budget{"free": workflow.Free, "costly": {CostUSD: workflow.AtMost(0.5), Tokens: workflow.AtMost(100)}} {
		s := starting(bundle(chain(task("a", "x"))))
		s.Run, s.Tasks = run, map[string]engine.TaskFacts{"demo/a": {May: may}}
		var d *process
		d = open(t, w, func(context.Context, *engine.StartTask) Outcome {
			d.Kill()
			return Outcome{}
		})
		if res, err := d.Start(t.Context(), s); err == nil {
			t.Fatalf("a driver that was killed returned %s", outline(res))
		}
		next := open(t, w, echo)
		res, err := next.Resume(t.Context(), run)
		if err != nil || res.Status != engine.Success || res.Usage.CostUnknown != (run == "costly") {
			t.Errorf("%s: %s, %+v, %v", run, outline(res), res.Usage, err)
		}
		evs, err := next.Events(t.Context(), run)
		recovered := slices.ContainsFunc(evs, func(e engine.Envelope) bool {
			switch ev := e.Event.(type) {
			case *engine.Recovered:
				return ev.Unsettled
			case *engine.TaskEnded: // a server knows which attempts were lost
				return ev.Fault != nil && ev.Fault.Kind == engine.FaultLost
			}
			return false
		})
		if err != nil || !recovered {
			t.Errorf("%s: it is not recorded that the cost of lost attempts is unknown: %v", run, err)
		}
	}
}

// leftRunning: programs that the attempts of a dead process left running are gone when
// these attempts run again.
func leftRunning(t *scene, w World) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells which programs an attempt has left running")
	}
	b := bundle(chain(task("a", "")))
	left := exec.Command("sleep", "1000")
	ended := make(chan error, 1)
	d := open(t, w, nil)
	d.work.Agents = attempts(func(run string, task *engine.StartTask, _ driver.Attempt) Outcome {
		left.Env = append(os.Environ(), "HOCKET_KEY="+task.Key(run))
		if err := left.Start(); err != nil {
			t.Error(err)
		}
		t.Cleanup(func() { _ = left.Process.Kill() })
		go func() { ended <- left.Wait() }()
		d.Kill()
		return Outcome{}
	})
	if res, err := d.Start(t.Context(), starting(b)); err == nil {
		t.Fatalf("a driver that was killed returned %s", outline(res))
	}
	next := open(t, w, func(context.Context, *engine.StartTask) Outcome {
		await(t, "the end of the program that the first try of the attempt left", ended)
		return Outcome{Output: "x"}
	})
	want(t, resume(t, next, b), `success "x"`, `a success "x"`)
}

// answerBeforeOnce: a once-only task was due to start when an answer was recorded and the
// run was not driven. It was not lost, because it had not started.
func answerBeforeOnce(t *scene, w World) {
	n := task("deploy", "deployed")
	n.Once = true
	b := bundle(chain(gate("ok", "yes"), n))
	var seen calls
	d := open(t, w, func(ctx context.Context, task *engine.StartTask) Outcome {
		seen.note(task)
		return echo(ctx, task)
	})
	if res := start(t, d, starting(b)); res.Status != engine.Waiting {
		t.Fatalf("%s", outline(res))
	}
	if err := d.Answer(t.Context(), runID, "ok", "yes"); err != nil {
		t.Fatal(err)
	}
	want(t, resume(t, d, b), `success "deployed"`, `ok success "yes"`, `deploy success "deployed"`)
	if got := seen.all(); len(got) != 1 {
		t.Errorf("attempts: %v", got)
	}
}
