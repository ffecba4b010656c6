package temporal_test

import (
	"context"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	hocketagent "github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
)

// startWith starts a run of a workflow with replies.
func (m *machine) startWith(ctx context.Context, t *testing.T, name, replies string) *hocket.Run {
	t.Helper()
	w, err := m.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	read, found := hocket.ReadReplies("replies.yml", []byte(replies))
	if found.Errors() {
		t.Fatal(found)
	}
	r, err := m.Start(ctx, w, nil, hocket.WithReplies(read))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// answers answers the only open question of a run.
func answers(ctx context.Context, t *testing.T, r *hocket.Run, value string) {
	t.Helper()
	open, err := r.Questions(ctx)
	if err != nil || len(open) != 1 {
		t.Fatalf("open questions: %+v %v", open, err)
	}
	if _, err := r.Answer(ctx, open[0].ID, hocket.Answer{Value: value, Digest: open[0].Digest}); err != nil {
		t.Fatal(err)
	}
}

// Who waits for a run with a script is told when a person has to answer, and not when the script does.
func TestWaitForScript(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]string{".hocket/workflows/gates.yml": `
name: gates
steps:
  - {id: a, agent: shell, config: {command: exit 1}}
  - {id: first, human: "Fine?"}
  - {id: own, human: "Really?"}
  - {id: b, agent: shell, config: {command: echo real}}
  - {id: last, human: "Done?"}
  - {id: publish, human: {question: "Publish?", required: true}}
`})
	m := c.machine(nil)
	m.work(t, hocket.Worker{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r := m.startWith(ctx, t, "gates", "a: fine\nfirst: {output: approve, delay: 2s}\nlast: {output: approve, delay: 2s}\npublish: approve\n")
	other, err := m.Run(ctx, r.ID())
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"own", "publish"} {
		for who, r := range map[string]*hocket.Run{"who started it": r, "another handle": other} {
			res, err := r.Wait(ctx)
			if err != nil || res.Status != engine.Waiting {
				t.Fatalf("%s at %s: %s %v", who, address, outline(res), err)
			}
		}
		if open, err := r.Questions(ctx); err != nil || len(open) != 1 || open[0].Address != address {
			t.Fatalf("asked %+v %v, want %s", open, err, address)
		}
		answers(ctx, t, r, "approve")
	}
	if res, err := r.Wait(ctx); err != nil || res.Status != engine.Success {
		t.Errorf("in the end: %s %v", outline(res), err)
	}
}

// An attempt for which the script has no reply is made by its agent. If that asks, who waits is told so.
func TestWaitForAttemptBesideScript(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]string{".hocket/workflows/ask.yml": "name: ask\nsteps:\n  - {id: a, agent: shell, config: {command: exit 1}}\n  - {id: b, agent: asker, prompt: x}\n"})
	c.agents = map[string]hocketagent.Executor{"asker": hocketagent.Func(func(ctx context.Context, task *hocketagent.Task, _ hocketagent.Log) (hocketagent.Result, error) {
		said, err := task.Ask(ctx, hocketagent.Question{Text: "May I?", Options: []string{"yes"}})
		return hocketagent.Result{Output: said}, err
	})}
	m := c.machine(nil)
	m.work(t, hocket.Worker{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r := m.startWith(ctx, t, "ask", "a: fine\n")
	if res, err := r.Wait(ctx); err != nil || res.Status != engine.Waiting {
		t.Fatalf("%s %v", outline(res), err)
	}
	answers(ctx, t, r, "yes")
	if res, err := r.Wait(ctx); err != nil || res.Status != engine.Success || res.Output != "yes" {
		t.Errorf("after the answer: %s %v", outline(res), err)
	}
}
