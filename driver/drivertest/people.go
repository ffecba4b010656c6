package drivertest

import (
	"context"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

func answerWhileIdle(t *scene, w World) {
	var seen calls
	count := func(_ context.Context, task *engine.StartTask) Outcome {
		seen.note(task)
		return Outcome{Output: task.Prompt}
	}
	d := open(t, w, count)
	b := bundle(chain(task("a", "x"), gate("ok", "yes", "no"), task("b", "answer ${nodes.ok.output}")))
	for _, res := range []engine.Result{start(t, d, starting(b)), resume(t, d, b)} { // still waiting after Resume
		want(t, res, `waiting null`, `a success "x"`, `ok waiting null`)
	}
	for _, wrong := range [][2]string{{"ok", "perhaps"}, {"nowhere", "yes"}, {"a", "yes"}} {
		if err := d.Answer(t.Context(), runID, wrong[0], wrong[1]); err == nil {
			t.Errorf("%q was taken as an answer to %q", wrong[1], wrong[0])
		}
	}
	if err := d.Answer(t.Context(), runID, "ok", "yes"); err != nil {
		t.Fatal(err)
	}
	if err := d.Answer(t.Context(), runID, "ok", "no"); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second answer gives %v", err)
	}
	d.Kill()
	next := open(t, w, count)
	want(t, resume(t, next, b), `success "answer yes"`, `a success "x"`, `ok success "yes"`, `b success "answer yes"`)
	if n := len(seen.all()); n != 2 {
		t.Errorf("%d attempts were made, want 2", n)
	}
}

// answerWhileDriven: a process that drives the run picks up the answer and continues by
// itself.
func answerWhileDriven(t *scene, w World) {
	release := make(chan struct{})
	d := open(t, w, func(_ context.Context, task *engine.StartTask) Outcome {
		switch task.Node {
		case "long":
			<-release
		case "after":
			close(release)
		}
		return Outcome{Output: task.Node}
	})
	b := bundle(workflow.Graph{
		Nodes: []workflow.Node{task("long", ""), gate("ok", "yes", "no"), task("after", "")},
		Edges: []workflow.Edge{{From: "ok", To: "after"}},
	})
	call := goStart(t, d, starting(b))
	other := open(t, w, echo)
	eventually(t, "the question", func() bool {
		return other.Answer(t.Context(), runID, "ok", "perhaps") != nil && len(eventsOrNone(other)) > 0
	})
	if err := other.Answer(t.Context(), runID, "ok", "yes"); err != nil {
		t.Fatal(err)
	}
	res, err := call.wait(t)
	if err != nil {
		t.Fatal(err)
	}
	agree(t, d, b, res)
	if res.Status != engine.Success {
		t.Errorf("%s", outline(res))
	}
}

func eventsOrNone(d *process) []engine.Envelope {
	evs, err := d.Events(context.Background(), runID)
	if err != nil {
		return nil
	}
	return evs
}

// nobodyAnswers: a question has a deadline, and an edge for it, also if nobody drove the run before that.
func nobodyAnswers(t *scene, w World) {
	d := open(t, w, echo)
	ok := gate("ok", "yes")
	ok.Timeout = 50 * time.Millisecond
	b := bundle(workflow.Graph{
		Nodes: []workflow.Node{ok, task("late", "nobody came")},
		Edges: []workflow.Edge{{From: "ok", To: workflow.End}, {From: "ok", To: "late", On: workflow.OnTimeout}},
	})
	late := starting(b)
	late.Run = "late"
	if _, err := d.raw.Start(t.Context(), late.spec()); err != nil {
		t.Fatal(err)
	}
	first := start(t, d, starting(b))
	second, err := d.Resume(t.Context(), late.Run)
	if err != nil {
		t.Fatal(err)
	}
	for _, res := range []engine.Result{first, second} {
		if res.Status != engine.Success || res.Output != "nobody came" || res.Steps[0].Status != engine.TimedOut {
			t.Errorf("%s", outline(res))
		}
	}
}

func budget(t *scene, w World) {
	var seen calls
	d := open(t, w, func(_ context.Context, task *engine.StartTask) Outcome {
		seen.note(task)
		return Outcome{Output: task.Node, Usage: engine.Usage{CostUSD: 0.4, TokensIn: 10}}
	})
	s := starting(bundle(chain(task("a", ""), task("b", ""), task("c", ""))))
	s.Limits.CostUSD = 1
	half := workflow.Budget{CostUSD: workflow.AtMost(0.5), Tokens: workflow.AtMost(0)}
	s.Tasks = map[string]engine.TaskFacts{"demo/a": {May: half}, "demo/b": {May: half}, "demo/c": {May: half}}
	res := start(t, d, s)
	if res.Status != engine.Waiting || len(seen.all()) != 2 {
		t.Fatalf("%s", outline(res))
	}
	if err := d.Raise(t.Context(), runID, workflow.Limits{CostUSD: 2}); err != nil {
		t.Fatal(err)
	}
	res = resume(t, d, s.Bundle)
	want(t, res, `success "c"`, `a success "a"`, `b success "b"`, `c success "c"`)
	if res.Usage.CostUSD < 1.19 || res.Usage.CostUSD > 1.21 || res.Usage.TokensIn != 30 {
		t.Errorf("usage %+v", res.Usage)
	}
}

func unknownCost(t *scene, w World) {
	d := open(t, w, echo)
	s := starting(bundle(chain(task("a", "x"))))
	s.Limits.CostUSD = 1
	s.Tasks = map[string]engine.TaskFacts{"demo/a": {}}
	if res := start(t, d, s); res.Status != engine.Waiting {
		t.Fatalf("%s", outline(res))
	}
	if err := d.Raise(t.Context(), runID, workflow.Limits{CostUSD: 1}); err != nil {
		t.Fatal(err)
	}
	want(t, resume(t, d, s.Bundle), `success "x"`, `a success "x"`)
}
