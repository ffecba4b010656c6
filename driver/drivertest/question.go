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

// asked lists the open questions of a run as "id kind", and those of all runs.
func asked(t *scene, d driver.Driver, run string) (list []string, open []driver.Question) {
	t.Helper()
	open, err := d.Questions(t.Context(), driver.QuestionFilter{Run: run})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range open {
		if q.Text == "" || q.Digest == "" || q.Asked.IsZero() || len(q.Options) == 0 && !q.Custom {
			t.Errorf("the question %s does not say what it asks: %+v", q.ID, q)
		}
		list = append(list, q.ID+" "+string(q.Kind))
	}
	return list, open
}

func wantAsked(t *scene, d driver.Driver, run string, want ...string) {
	t.Helper()
	if got, _ := asked(t, d, run); strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("%q asks %q, want %q", run, got, want)
	}
}

// kinds: everything that a run waits for a person to decide is a question, listed and
// answered in the same way across all runs of the project.
func kinds(t *scene, w World) {
	d := open(t, w, func(_ context.Context, task *engine.StartTask) Outcome {
		return Outcome{Output: task.Node, Usage: engine.Usage{CostUSD: 1}}
	})
	starts := map[string]Start{
		"gate-1":   {Bundle: bundle(chain(gate("ok", "yes", "no"))), Limits: limits},
		"budget-1": {Bundle: bundle(chain(task("costly", "x"))), Limits: limits, Tasks: map[string]engine.TaskFacts{"demo/costly": {}}},
	}
	for _, id := range []string{"gate-1", "budget-1"} {
		s := starts[id]
		s.Run, s.Limits.CostUSD = id, 5
		if res, err := d.Start(t.Context(), s); err != nil || res.Status != engine.Waiting {
			t.Fatalf("%s: %s, %v", id, outline(res), err)
		}
		if i, err := d.raw.Info(t.Context(), id); err != nil || i.Open != 1 {
			t.Errorf("%s: %+v, %v", id, i, err)
		}
	}
	other := open(t, w, echo).raw
	wantAsked(t, other, "gate-1", "ok gate")
	wantAsked(t, other, "budget-1", "costly budget")
	wantAsked(t, other, "", "ok gate", "costly budget")
	for _, page := range []struct {
		f    driver.QuestionFilter
		want string
	}{
		{driver.QuestionFilter{Limit: 1}, "gate-1/ok"},
		{driver.QuestionFilter{After: driver.Asked{Run: "gate-1", ID: "ok"}, Limit: 1}, "budget-1/costly"},
		{driver.QuestionFilter{After: driver.Asked{Run: "gate-1", ID: "answered"}}, "gate-1/ok budget-1/costly"},
		{driver.QuestionFilter{After: driver.Asked{Run: "budget-1", ID: "costly"}}, ""},
		{driver.QuestionFilter{Run: "gate-1", After: driver.Asked{Run: "gate-1", ID: "ok"}}, ""},
	} {
		open, err := other.Questions(t.Context(), page.f)
		var got []string
		for _, q := range open {
			got = append(got, q.Run+"/"+q.ID)
		}
		if strings.Join(got, " ") != page.want || err != nil {
			t.Errorf("%+v: %q, want %q (%v)", page.f, got, page.want, err)
		}
	}
	if _, err := other.Questions(t.Context(), driver.QuestionFilter{After: driver.Asked{Run: "gone-1"}}); !errors.As(err, new(*driver.UnknownRunError)) {
		t.Errorf("after a question of an unknown run: %v", err)
	}

	_, gates := asked(t, other, "gate-1")
	stale := &engine.Answered{ID: "ok", Value: "yes", Digest: "of another question"}
	if _, err := other.Act(t.Context(), "gate-1", stale); !errors.As(err, new(*driver.RefusedError)) {
		t.Errorf("an answer to what is not asked was taken: %v", err)
	}
	answers := map[string]*engine.Answered{
		"gate-1":   {ID: "ok", Value: "yes", By: "ann", Via: "test", Comment: "looks fine", Digest: gates[0].Digest},
		"budget-1": {ID: "costly", Value: engine.Allow},
	}
	for id, a := range answers {
		if receipt, err := other.Act(t.Context(), id, a); err != nil || receipt.Driven {
			t.Fatalf("%s: %+v, %v", id, receipt, err)
		}
		res, err := d.Resume(t.Context(), id)
		if err != nil || res.Status != engine.Success {
			t.Errorf("%s: %s, %v", id, outline(res), err)
		}
	}
	wantAsked(t, other, "")
	for e, err := range other.Events(t.Context(), "gate-1", 0, false) {
		if a, ok := e.Event.(*engine.Answered); err != nil || ok && *a != *answers["gate-1"] {
			t.Errorf("recorded %+v, %v", a, err)
		}
	}
}

// asking is an agent whose attempts ask before they work.
type asking struct{ text string }

func (a asking) Run(ctx context.Context, _ string, task *engine.StartTask, at driver.Attempt) Outcome {
	value, err := at.Ask(ctx, agent.Question{Text: a.text, Detail: "rm -rf build", Options: []string{"allow", "deny"}})
	if err != nil {
		return Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: err.Error(), Permanent: true}}
	}
	return Outcome{Output: fmt.Sprint(task.Node, " ", value)}
}

// permission: an attempt's question is answered from another process while the attempt
// waits.
func permission(t *scene, w World) {
	d := open(t, w, nil)
	d.work = driver.Work{Agents: asking{"May I?"}, Elsewhere: true}
	s := starting(bundle(chain(task("a", "x"))))
	call := goStart(t, d, s)
	other := open(t, w, echo)
	eventually(t, "the question", func() bool {
		list, _ := asked(t, other.raw, "")
		return len(list) == 1 && list[0] == "a@1 permission"
	})
	if err := other.Answer(t.Context(), runID, "a@1", "perhaps"); !errors.As(err, new(*driver.RefusedError)) {
		t.Errorf("an answer that is not offered: %v", err)
	}
	if err := other.Answer(t.Context(), runID, "a@1", "deny"); err != nil {
		t.Fatal(err)
	}
	res, err := call.wait(t)
	if err != nil {
		t.Fatal(err)
	}
	agree(t, d, s.Bundle, res)
	want(t, res, `success "a deny"`, `a success "a deny"`)
	wantAsked(t, other.raw, runID)
}

// orphan: a question outlives the process whose attempt asked it. An answer given in the
// meantime is used once, by the next attempt if it asks the same.
func orphan(t *scene, w World) {
	for i, c := range []struct {
		asks, then string
		unused     bool
	}{
		{"May I?", "a allow", false},
		{"Must I?", "a deny", true},
	} {
		s := starting(bundle(chain(task("a", "x"))))
		s.Run = fmt.Sprint("run-", i)
		d := open(t, w, nil)
		d.work = driver.Work{Agents: asking{"May I?"}, Elsewhere: true}
		call := goStart(t, d, s)
		next := open(t, w, nil)
		next.work = driver.Work{Agents: asking{c.asks}, Elsewhere: true}
		eventually(t, "the question", func() bool {
			open, err := next.raw.Questions(t.Context(), driver.QuestionFilter{Run: s.Run})
			return err == nil && len(open) == 1
		})
		d.Kill()
		if res, err := call.wait(t); err == nil {
			t.Fatalf("a driver that was killed returned %s", outline(res))
		}
		wantAsked(t, next.raw, s.Run, "a@1 permission")
		if err := next.Answer(t.Context(), s.Run, "a@1", "allow"); err != nil {
			t.Fatal(err)
		}
		wantAsked(t, next.raw, s.Run)
		if err := next.Answer(t.Context(), s.Run, "a@1", "deny"); !errors.As(err, new(*driver.RefusedError)) {
			t.Errorf("it was answered twice: %v", err)
		}
		var seen facts
		next.work.Observer = &seen
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			if c.unused {
				answerWhenAsked(t, open(t, w, echo), s.Run, "a@2", "deny")
			}
		}()
		res, err := next.Resume(t.Context(), s.Run)
		await(t, "the answer", answered)
		if err != nil || res.Output != c.then {
			t.Errorf("%s, %v", outline(res), err)
		}
		if got := strings.Contains(seen.all, string(engine.AnswerUnused)); got != c.unused {
			t.Errorf("that the answer was not used is reported: %v; all facts:%s", got, seen.all)
		}
	}
}

// answerWhenAsked answers a question once it is open.
func answerWhenAsked(t *scene, d *process, run, id, value string) {
	eventually(t, "the question "+id, func() bool {
		list, _ := asked(t, d.raw, run)
		return len(list) == 1 && strings.HasPrefix(list[0], id+" ")
	})
	if err := d.Answer(t.Context(), run, id, value); err != nil {
		t.Error(err)
	}
}

// facts records what an observer has seen.
type facts struct {
	until   chan struct{} // blocks the observer until closed; nil does not block
	all     string
	printed int
}

func (f *facts) Fact(fact engine.Fact) {
	if f.until != nil {
		<-f.until
	}
	f.all += "\n" + string(fact.Kind) + " " + fact.Address
}

func (f *facts) Log(_ string, _ int, piece []byte) { f.printed += len(piece) }

// lostQuestion: what happened to a lost once-only attempt is a question too.
func lostQuestion(t *scene, w World) {
	n := task("deploy", "")
	n.Once = true
	b := &workflow.Bundle{Root: &workflow.Workflow{Name: "demo", Body: chain(n)}}
	var d *process
	d = open(t, w, func(context.Context, *engine.StartTask) Outcome {
		d.Kill()
		return Outcome{}
	})
	if res, err := d.Start(t.Context(), starting(b)); err == nil {
		t.Fatalf("a driver that was killed returned %s", outline(res))
	}
	next := open(t, w, echo)
	resume(t, next, b)
	wantAsked(t, next.raw, runID, "deploy lost")
	if err := next.Answer(t.Context(), runID, "deploy", engine.Fail); err != nil {
		t.Fatal(err)
	}
	if res := resume(t, next, b); res.Status != engine.Failed {
		t.Errorf("%s", outline(res))
	}
}
