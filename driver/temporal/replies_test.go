package temporal_test

import (
	"context"
	"strings"
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

// record records a run of a workflow with replies, which nobody drives.
func (m *machine) record(ctx context.Context, t *testing.T, name, replies string) *hocket.Run {
	t.Helper()
	w, err := m.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	read, found := hocket.ReadReplies("replies.yml", []byte(replies))
	if found.Errors() {
		t.Fatal(found)
	}
	r, err := m.Record(ctx, w, nil, hocket.WithReplies(read))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// asks waits until a run asks a question.
func asks(ctx context.Context, t *testing.T, r *hocket.Run, address string) {
	t.Helper()
	for {
		open, err := r.Questions(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(open) == 1 && open[0].Address == address {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Workers answer from the script of a run that has waited for a person, also if nobody else follows it.
func TestScriptAfterAPerson(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]string{".hocket/workflows/gates.yml": "name: gates\nsteps: [{id: own, human: \"Really?\"}, {id: first, human: \"Fine?\"}, {id: other, human: \"Well?\"}, {id: last, human: \"Done?\"}]\n"})
	m := c.machine(nil)
	m.work(t, hocket.Worker{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r := m.record(ctx, t, "gates", "first: approve\nlast: approve\n")
	for _, address := range []string{"own", "other"} {
		asks(ctx, t, r, address)
		time.Sleep(time.Second) // the script has nothing to do
		answers(ctx, t, r, "approve")
	}
	if res, err := r.Wait(ctx); err != nil || res.Status != engine.Success {
		t.Errorf("%s %v", outline(res), err)
	}
}

// When the worker leaves that follows the script of a run, another one does, whether it was there before or comes later.
func TestScriptOfAnotherWorker(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(begin [2]func() (stop func()), asked func()){
		"the first leaves":  func(begin [2]func() func(), asked func()) { stop := begin[0](); begin[1](); asked(); stop() },
		"the second leaves": func(begin [2]func() func(), asked func()) { begin[0](); stop := begin[1](); asked(); stop() },
		"one comes later":   func(begin [2]func() func(), asked func()) { stop := begin[0](); asked(); stop(); begin[1]() },
		"it is restarted":   func(begin [2]func() func(), asked func()) { stop := begin[0](); asked(); stop(); begin[0]() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, map[string]string{".hocket/workflows/gates.yml": "name: gates\nsteps:\n  - {id: first, human: \"Fine?\"}\n  - {id: b, agent: shell, config: {command: exit 1}}\n"})
			one, two := c.machine(nil), c.machine(nil)
			begin := func(m *machine) func() func() {
				return func() func() {
					ready := make(chan struct{})
					stop := m.work(t, hocket.Worker{Ready: func([]string) { close(ready) }})
					<-ready
					return stop
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var r *hocket.Run
			play([2]func() func(){begin(one), begin(two)}, func() {
				r = one.record(ctx, t, "gates", "b: fine\nfirst: {output: approve, delay: 5s}\n")
				asks(ctx, t, r, "first")
			})
			for answered := false; !answered; time.Sleep(200 * time.Millisecond) { // Wait would make a worker run the workflow
				for e, err := range r.Recorded(ctx) {
					if err != nil {
						t.Fatal(err)
					}
					_, is := e.Event.(*engine.Answered)
					answered = answered || is
				}
			}
			if res, err := r.Wait(ctx); err != nil || res.Status != engine.Success {
				t.Errorf("%s %v", outline(res), err)
			}
		})
	}
}

// After a new plan, the script answers what that asks: not what only a person may answer, because now there is a step without
// a reply.
func TestScriptOfANewPlan(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]string{
		".hocket/workflows/gates.yml": "name: gates\nsteps: [{id: first, human: \"Fine?\"}]\n",
		".hocket/workflows/more.yml":  "name: more\nsteps:\n  - {id: last, human: \"Done?\"}\n  - {id: b, agent: shell, config: {command: echo real}}\n  - {id: publish, human: {question: \"Publish?\", required: true}}\n",
	})
	m := c.machine(nil)
	m.work(t, hocket.Worker{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for name, r := range map[string]*hocket.Run{
		"nobody follows it": m.record(ctx, t, "gates", "first: {output: approve, delay: 20s}\nlast: approve\npublish: approve\n"),
		"followed":          m.startWith(ctx, t, "gates", "first: {output: approve, delay: 20s}\nlast: approve\npublish: approve\n"),
	} {
		asks(ctx, t, r, "first")
		w, err := m.Load("more")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Replan(ctx, w, hocket.Replan{}); err != nil {
			t.Fatal(err)
		}
		asks(ctx, t, r, "publish")
		time.Sleep(3 * time.Second) // an outdated script would answer
		asks(ctx, t, r, "publish")
		answers(ctx, t, r, "approve")
		if res, err := r.Wait(ctx); err != nil || res.Status != engine.Success {
			t.Errorf("%s: %s %v", name, outline(res), err)
		}
	}
}

// Several workers and a client follow the script of a run, and each of its entries is used once.
func TestScriptOnManyWorkers(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]string{
		".hocket/workflows/flaky.yml": "name: flaky\nsteps:\n  - {id: a, agent: roaming, for_each: \"[1,2,3]\", max_parallel: 1, retry: {attempts: 4, delay: 1ms}}\n  - {id: ok, human: \"Fine?\"}\n",
		".hocket/agents/roaming.yml":  "agent: shell\nplace: any\nsettings: {command: exit 1}\n",
	})
	m := c.machine(nil)
	for range 3 {
		c.machine(nil).work(t, hocket.Worker{})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r := m.startWith(ctx, t, "flaky", "a: [{error: boom}, one, {error: boom}, {error: boom}, two, three]\nok: approve\n")
	res, err := r.Wait(ctx)
	if err != nil || res.Status != engine.Success {
		t.Fatalf("%s %v", outline(res), err)
	}
	if got := outline(res); !strings.Contains(got, "×2 one") || !strings.Contains(got, "×3 two") || !strings.Contains(got, "×1 three") {
		t.Error(got)
	}
}

// A worker gives no answers from replies after the trust in its project was revoked, and gives them when the project is trusted again.
func TestAnswersAfterRevocation(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]string{".hocket/workflows/gates.yml": "name: gates\nsteps:\n  - {id: first, human: \"Fine?\"}\n  - {id: second, human: \"Really?\"}\n"})
	starter, m := c.machine(nil), c.machine(nil)
	m.work(t, hocket.Worker{})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r := starter.record(ctx, t, "gates", "first: approve\nsecond: {output: approve, delay: 4s}\n")
	asks := func() string {
		open, err := r.Questions(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(open) == 0 {
			return ""
		}
		return open[0].Address
	}
	for asks() != "second" {
		time.Sleep(20 * time.Millisecond)
	}
	if _, err := m.Approvals().Revoke(m.Root(), time.Now()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(6 * time.Second)
	if asks() != "second" {
		t.Fatal("a worker that is not trusted has answered")
	}
	powers, err := m.Powers()
	if err == nil {
		err = m.Trust(powers)
	}
	if err != nil {
		t.Fatal(err)
	}
	for asks() != "" {
		time.Sleep(100 * time.Millisecond)
	}
	if res := follow(t, r); res.Status != engine.Success {
		t.Errorf("%+v", res)
	}
}
