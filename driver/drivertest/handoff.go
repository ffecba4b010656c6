package drivertest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// crew has two agents: lead does the work of the run and hands some of it off to helper.
type crew struct {
	lead, helper func(ctx context.Context, task *agent.Task) (string, error)
}

func (c crew) Run(ctx context.Context, run string, task *engine.StartTask, at driver.Attempt) Outcome {
	work := c.lead
	if task.Agent == "helper" {
		work = c.helper
	}
	exec := agent.Func(func(ctx context.Context, t *agent.Task, _ agent.Log) (agent.Result, error) {
		out, err := work(ctx, t)
		return agent.Result{Output: out, Usage: engine.Usage{CostUSD: 1}}, err
	})
	return driver.Execute(ctx, exec, &agent.Definition{Name: task.Agent}, "", run, task, at)
}

// repeats answers with its prompt and its settings.
func repeats(_ context.Context, task *agent.Task) (string, error) {
	return task.Prompt + " " + workflow.FormatJSON(task.Settings), nil
}

// handing returns a run of one task that may hand work off. Only one attempt runs at a time.
func handing() Start {
	n := task("a", "")
	n.Step.(*workflow.Task).Handoffs = &workflow.Handoffs{To: []string{"helper"}, Max: 3, Depth: 1}
	s := starting(bundle(chain(n)))
	s.Limits.Parallel = 1
	return s
}

// handoff: an attempt hands off work and gets the result, and gives up the only slot meanwhile.
// Work that it does not wait for continues after it has ended. It gets an error for work that it
// may not hand off.
func handoff(t *scene, w World) {
	d := open(t, w, nil)
	awkward := "${inputs.x} $${y} <&> \xff"
	d.work.Agents = crew{helper: repeats, lead: func(ctx context.Context, task *agent.Task) (string, error) {
		got, err := task.HandOff(ctx, agent.Handoff{To: "helper", Prompt: awkward, Settings: map[string]any{"n": 1, "ask": map[string]any{"${z}": "${z}"}}, Blocking: true})
		if err != nil || got.ID != "a/handoff-1" || got.Running {
			t.Errorf("%+v, %v", got, err)
		}
		spawned, err := task.HandOff(ctx, agent.Handoff{To: "helper", Prompt: "later"})
		if err != nil || spawned.ID != "a/handoff-2" || !spawned.Running {
			t.Errorf("%+v, %v", spawned, err)
		}
		if _, err = task.HandOff(ctx, agent.Handoff{To: "boss", Prompt: "do it"}); err == nil || !strings.Contains(err.Error(), `"boss"`) {
			t.Errorf("work for another agent: %v", err)
		}
		return got.Output, nil
	}}
	s := handing()
	res := start(t, d, s)
	agree(t, d, s.Bundle, res)
	out := workflow.FormatJSON("${inputs.x} $${y} <&> � {\"ask\":{\"${z}\":\"${z}\"},\"n\":1}")
	want(t, res, `success `+out, `a success `+out, `a/handoff-1 success `+out, `a/handoff-2 success "later null"`)
	if res.Usage.CostUSD != 3 || res.Usage.Steps != 3 {
		t.Errorf("the run used %+v", res.Usage)
	}
}

// handoffFails: if the work fails, the attempt that waits for it gets that as a result. Asking for the
// result by id does not repeat the work.
func handoffFails(t *scene, w World) {
	d := open(t, w, nil)
	tries := 0
	fails := func(_ context.Context, task *agent.Task) (string, error) {
		if task.HandOff != nil {
			t.Error("a receiver may hand work off beyond the depth")
		}
		tries++
		return "", fmt.Errorf("failure %d", tries)
	}
	d.work.Agents = crew{helper: fails, lead: func(ctx context.Context, task *agent.Task) (string, error) {
		got, err := task.HandOff(ctx, agent.Handoff{To: "helper", Prompt: "try", Attempts: 2, Blocking: true})
		if again, lost := task.HandOff(ctx, agent.Handoff{ID: got.ID, Blocking: true}); lost != nil || again.ID != got.ID || again.Error != got.Error {
			t.Errorf("the result by its id: %+v, %v", again, lost)
		}
		return got.Error, err
	}}
	res := start(t, d, handing())
	if res.Status != engine.Success || res.Output != "failure 2" {
		t.Errorf("%s", outline(res))
	}
}

// handoffCrash: handoffs survive the process. The next attempt is told about them, and the same
// work is not done again.
func handoffCrash(t *scene, w World) {
	asks := func(ctx context.Context, task *agent.Task) (string, error) {
		var all []string
		for _, h := range task.Handed {
			all = append(all, fmt.Sprintf("%s %s %q %t", h.ID, h.To, h.Prompt, h.Running))
			if again, err := task.HandOff(ctx, h.Handoff); err != nil || again.ID != h.ID || again.Running {
				t.Errorf("the result of %s: %+v, %v", h.ID, again, err)
			}
		}
		for _, prompt := range []string{"one", "two"} {
			got, err := task.HandOff(ctx, agent.Handoff{To: "helper", Prompt: prompt, Blocking: true})
			if err != nil {
				return "", err
			}
			all = append(all, got.Output)
		}
		return strings.Join(all, "\n"), nil
	}
	d := open(t, w, nil)
	d.work.Agents = crew{asks, func(ctx context.Context, task *agent.Task) (string, error) {
		if task.Prompt == "two" {
			d.Kill()
			<-ctx.Done()
		}
		return task.Prompt + " by the first", nil
	}}
	s := handing()
	if res, err := d.Start(t.Context(), s); err == nil {
		t.Fatalf("a driver that was killed returned %s", outline(res))
	}
	next := open(t, w, nil)
	next.work.Agents = crew{asks, func(_ context.Context, task *agent.Task) (string, error) { return task.Prompt + " by the second", nil }}
	res := resume(t, next, s.Bundle)
	const all = "a/handoff-1 helper \"one\" false\na/handoff-2 helper \"two\" true\none by the first\ntwo by the second"
	// If the loss of the attempt is noticed after that of the work, the work may have been done again before.
	got := strings.ReplaceAll(fmt.Sprint(res.Output), `"two" false`, `"two" true`)
	if res.Status != engine.Success || got != all {
		t.Errorf("%s", outline(res))
	}
}

// handoffLeft: an attempt that gives up waiting continues, and so does the work it handed off.
func handoffLeft(t *scene, w World) {
	d := open(t, w, nil)
	begun, end := make(chan struct{}), make(chan struct{})
	d.work.Agents = crew{helper: func(ctx context.Context, _ *agent.Task) (string, error) {
		close(begun)
		await(t, "the attempt to give up", end)
		return "there", nil
	}, lead: func(ctx context.Context, task *agent.Task) (string, error) {
		work := agent.Handoff{To: "helper", Prompt: "slow", Blocking: true}
		short, cancel := context.WithCancel(ctx)
		go func() {
			<-begun
			cancel()
		}()
		if _, err := task.HandOff(short, work); !errors.Is(err, context.Canceled) {
			t.Errorf("the attempt that gave up waiting is told %v", err)
		}
		eventually(t, "that to be recorded", func() bool { return count[*engine.Withdrawn](t, d) == 1 })
		close(end)
		got, err := task.HandOff(ctx, work)
		return got.Output, err
	}}
	s := handing()
	res := start(t, d, s)
	agree(t, d, s.Bundle, res)
	want(t, res, `success "there"`, `a success "there"`, `a/handoff-1 success "there"`)
}

// handoffWaits: if an attempt waits for work that waits for a person, and nobody is there, the
// process ends and the run waits.
func handoffWaits(t *scene, w World) {
	d := open(t, w, nil)
	d.work.Agents = expensive{crew{helper: repeats, lead: func(ctx context.Context, task *agent.Task) (string, error) {
		got, err := task.HandOff(ctx, agent.Handoff{To: "helper", Prompt: "expensive", Blocking: true})
		return got.Output, err
	}}}
	s := handing()
	s.Limits.CostUSD = 5
	want(t, start(t, d, s), `waiting null`, `a running null`, `a/handoff-1 waiting null`)
	wantAsked(t, d.raw, runID, "a/handoff-1 budget")
	if err := d.Raise(t.Context(), runID, workflow.Limits{CostUSD: 50}); err != nil {
		t.Fatal(err)
	}
	want(t, resume(t, d, s.Bundle), `success "expensive null"`, `a success "expensive null"`, `a/handoff-1 success "expensive null"`)
}

// handoffDetached: detached work is only started in the run, and its amount counts as spent there. A
// lost attempt is repeated with the same key and does not count twice: the budget has room for only
// one.
func handoffDetached(t *scene, w World) {
	amount := workflow.Budget{CostUSD: workflow.AtMost(2), Tokens: workflow.AtMost(0)}
	lead := func(ctx context.Context, task *agent.Task) (string, error) {
		got, err := task.HandOff(ctx, agent.Handoff{To: "helper", Prompt: "audit", Blocking: true, Detach: true, May: &amount})
		return got.Output, err
	}
	started := map[string]int{}
	d := open(t, w, nil)
	d.work.Agents = starter{crew{lead: lead, helper: func(_ context.Context, task *agent.Task) (string, error) {
		started[task.Key]++
		d.Kill()
		return "session-1", nil
	}}}
	s := handing()
	s.Bundle.Root.Body.Nodes[0].Step.(*workflow.Task).Handoffs.Detach = true
	s.Limits.CostUSD = 3
	if res, err := d.Start(t.Context(), s); err == nil {
		t.Fatalf("a driver that was killed returned %s", outline(res))
	}
	next := open(t, w, nil)
	next.work.Agents = starter{crew{lead: lead, helper: func(_ context.Context, task *agent.Task) (string, error) {
		started[task.Key]++
		return "session-1", nil
	}}}
	res := resume(t, next, s.Bundle)
	want(t, res, `success "session-1"`, `a success "session-1"`, `a/handoff-1 success "session-1"`)
	if len(started) != 1 || started[runID+"/a/handoff-1@1"] != 2 || res.Usage.CostUSD != 2 {
		t.Errorf("started %v, used %+v", started, res.Usage)
	}
}

// starter is a crew whose lead costs nothing, and whose helper uses the reserved amount.
type starter struct{ crew }

func (c starter) Run(ctx context.Context, run string, task *engine.StartTask, at driver.Attempt) Outcome {
	out := c.crew.Run(ctx, run, task, at)
	cost, _ := task.May.CostUSD.Amount()
	out.Usage = engine.Usage{CostUSD: cost}
	return out
}

// expensive says that the work may cost a lot.
type expensive struct{ driver.Agents }

func (x expensive) Run(ctx context.Context, run string, task *engine.StartTask, at driver.Attempt) Outcome {
	handOff := at.HandOff
	at.HandOff = func(ctx context.Context, ev *engine.HandoffAsked) (*engine.Return, error) {
		ev.Facts = &engine.TaskFacts{May: workflow.Budget{CostUSD: workflow.AtMost(10), Tokens: workflow.AtMost(0)}}
		return handOff(ctx, ev)
	}
	return x.Agents.Run(ctx, run, task, at)
}
