package drivertest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// replies is a script that answers from maps and records its calls.
type replies struct {
	tasks, people map[string]string
	told          []string
}

func (r *replies) Task(address, node string, _ int, _ bool) (agent.Executor, bool) {
	r.told = append(r.told, "task "+address)
	out, ok := r.tasks[node]
	return agent.Func(func(context.Context, *agent.Task, agent.Log) (agent.Result, error) {
		return agent.Result{Output: out}, nil
	}), ok
}

func (r *replies) Person(address, node string) (string, time.Duration, bool) {
	r.told = append(r.told, "person "+address)
	out, ok := r.people[node]
	return out, time.Millisecond, ok
}

func (r *replies) Ended(address string) { r.told = append(r.told, "ended "+address) }

// scripted: a script answers before agents and people do, and sees every fact, also in
// another process. Required questions go to people, unless the script answers everything.
func scripted(t *scene, w World) {
	nodes := chain(task("a", "real a"), task("b", "real b"), gate("ok", "yes", "no"), gate("sure", "yes"))
	nodes.Nodes[3].Step.(*workflow.Human).Required = true
	b := bundle(nodes)
	script := func() *replies {
		return &replies{tasks: map[string]string{"a": "scripted"}, people: map[string]string{"ok": "no", "sure": "yes"}}
	}
	d := open(t, w, echo)
	first := script()
	d.work.Script = first
	want(t, start(t, d, starting(b)), `waiting null`, `a success "scripted"`, `b success "real b"`, `ok success "no"`, `sure waiting null`)
	const all = "task a, ended a, task b, ended b, person ok, ended ok"
	told := strings.Join(first.told, ", ")
	if w.Traits().Retells {
		told, _ = strings.CutSuffix(told, ", "+all)
	}
	if told != all {
		t.Errorf("the script was told %s", told)
	}
	d.Kill()
	next := open(t, w, echo)
	second := script()
	next.work.Script, next.work.ScriptAll = second, true
	if res := resume(t, next, b); res.Status != engine.Success {
		t.Errorf("%s", outline(res))
	}
	if again := strings.Join(second.told, ", "); !strings.HasPrefix(again, told) || !strings.HasSuffix(again, "person sure, ended sure") {
		t.Errorf("the script of the second process was told %s", again)
	}
}

// deadly is a script whose tasks kill the process.
type deadly struct {
	replies
	kill func()
}

func (d *deadly) Task(string, string, int, bool) (agent.Executor, bool) {
	return agent.Func(func(ctx context.Context, _ *agent.Task, _ agent.Log) (agent.Result, error) {
		d.kill()
		<-ctx.Done()
		return agent.Result{}, ctx.Err()
	}), true
}

// scriptedCrash: an attempt that was lost has had no reply of the script yet.
func scriptedCrash(t *scene, w World) {
	b := bundle(chain(task("a", "real a")))
	d := open(t, w, echo)
	d.work.Script = &deadly{kill: d.Kill}
	if res, err := d.Start(t.Context(), starting(b)); err == nil {
		t.Fatalf("a driver that was killed returned %s", outline(res))
	}
	next := open(t, w, echo)
	script := &replies{tasks: map[string]string{"a": "scripted"}}
	next.work.Script = script
	want(t, resume(t, next, b), `success "scripted"`, `a success "scripted"`)
	ended := 0
	for _, told := range script.told {
		if told == "ended a" {
			ended++
		}
	}
	if ended != 1 || script.told[0] != "task a" {
		t.Errorf("the script was told %s", strings.Join(script.told, ", "))
	}
}

// offersNothing: if a scripted answer is not one of the options, the question goes to
// people.
func offersNothing(t *scene, w World) {
	d := open(t, w, echo)
	script := func() *replies { return &replies{people: map[string]string{"ok": "perhaps"}} }
	d.work.Script = script()
	b := bundle(chain(gate("ok", "yes")))
	if res := start(t, d, starting(b)); res.Status != engine.Waiting {
		t.Errorf("nobody is here: %s", outline(res))
	}
	d.work.Script, d.work.Asker = script(), &person{ask: func(_ *engine.Question, answer func(engine.Answered) error, _ func()) bool {
		go answer(engine.Answered{Value: "yes"})
		return true
	}}
	want(t, resume(t, d, b), `success "yes"`, `ok success "yes"`)
}

// observed: an observer sees every fact in order, and all of them before Drive returns.
// The run does not wait for a slow observer.
func observed(t *scene, w World) {
	seen := &facts{until: make(chan struct{})}
	d := open(t, w, nil)
	d.work = driver.Work{Observer: seen, Agents: attempts(func(_ string, task *engine.StartTask, at driver.Attempt) Outcome {
		for range 5000 {
			at.Log([]byte("x"))
		}
		if at.Artifacts == "" {
			t.Error("an attempt has no place for its files")
		}
		if task.Node == "b" {
			close(seen.until)
		}
		return Outcome{}
	})}
	if res := start(t, d, starting(bundle(chain(task("a", ""), task("b", ""))))); res.Status != engine.Success {
		t.Errorf("%s", outline(res))
	}
	const all = "step_started a attempt_started a step_ended a step_started b attempt_started b step_ended b run_ended"
	if got := strings.Join(strings.Fields(seen.all), " "); got != all {
		t.Errorf("the observer saw %s", got)
	}
	if seen.printed == 0 {
		t.Error("the observer saw nothing of what was printed")
	}
}

// warned: what an attempt reports beside its result is recorded with it.
func warned(t *scene, w World) {
	d := open(t, w, func(context.Context, *engine.StartTask) Outcome {
		return Outcome{Output: "x", Warning: "careful \xff", Found: []workflow.Finding{{OK: true}, {Why: "missing \xff"}}}
	})
	s := starting(bundle(chain(task("a", "x"))))
	res := start(t, d, s)
	agree(t, d, s.Bundle, res)
	if !slices.Equal(res.Warnings, []string{"a: careful \ufffd"}) {
		t.Errorf("warnings %q", res.Warnings)
	}
	events, err := d.Events(t.Context(), runID)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if ev, ok := e.Event.(*engine.TaskEnded); ok && !slices.Equal(ev.Found, []workflow.Finding{{OK: true}, {Why: "missing \ufffd"}}) {
			t.Errorf("found %+v", ev.Found)
		}
	}
}
