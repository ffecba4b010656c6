package local_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/workflow"
)

// made records which nodes were worked on.
type made struct{ nodes []string }

func (m *made) Run(_ context.Context, _ string, task *engine.StartTask, _ driver.Attempt) driver.Outcome {
	m.nodes = append(m.nodes, task.Node)
	return driver.Outcome{Output: task.Prompt}
}

func TestFork(t *testing.T) {
	ptr := func(s string) *string { return &s }
	cases := []struct {
		name string
		spec driver.ForkSpec
		made string // nodes that the new run works on
		want string // its output; "" if it waits
	}{
		{"retry the middle", driver.ForkSpec{Address: "b"}, "b c", "c b a yes"},
		{"another output", driver.ForkSpec{Address: "b", Output: ptr("B")}, "c", "c B"},
		{"another answer", driver.ForkSpec{Address: "ok", Output: ptr("no")}, "b c", "c b a no"},
		{"ask again", driver.ForkSpec{Address: "ok"}, "", ""},
		{"retry what must happen once", driver.ForkSpec{Address: "c"}, "c", "c b a yes"},
		{"another prompt", driver.ForkSpec{Address: "b", Edit: engine.Edit{Prompt: ptr("B!")}}, "b c", "c B!"},
		{"give what must happen once", driver.ForkSpec{Address: "c", Output: ptr("C")}, "", "C"},
	}
	s := openStore(t)
	once := task("c", "c ${nodes.b.output}")
	once.Once = true
	b := chain(task("a", "a"), gate("ok", "yes", "no"), task("b", "b ${nodes.a.output} ${nodes.ok.output}"), once)
	start(t, s, b, work{Agents: echo})
	if _, err := answerRun(t.Context(), s, "demo-1", "ok", "yes", ""); err != nil {
		t.Fatal(err)
	}
	if res := resume(t, s, work{Agents: echo}); res.Output != "c b a yes" {
		t.Fatalf("%s %v", res.Status, res.Output)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.spec.From = "demo-1"
			id, err := forkRun(t.Context(), s, c.spec)
			if err != nil {
				t.Fatal(err)
			}
			info, err := s.Find(t.Context(), id)
			if err != nil || info.Origin != "demo-1" || !strings.HasPrefix(id, "demo-") {
				t.Errorf("forked run %s: %+v, %v", id, info, err)
			}
			var m made
			res, err := driveRun(t.Context(), s, id, work{Agents: &m})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(m.nodes, " "); got != c.made {
				t.Errorf("the new run works on %q, want %q", got, c.made)
			}
			if output, _ := res.Output.(string); output != c.want || (c.want == "") != (res.Status == engine.Waiting) {
				t.Errorf("%s %v", res.Status, res.Output)
			}
		})
	}
	old, _, err := loadRun(t.Context(), s, "demo-1")
	if err != nil || old.Result().Output != "c b a yes" {
		t.Errorf("the old run changed: %v", err)
	}
}

func TestForkThatIsRefused(t *testing.T) {
	s := openStore(t)
	start(t, s, chain(task("build", "x"), task("test", "y"), gate("ok", "yes")), work{Agents: echo})
	answer := "perhaps"
	for _, spec := range []driver.ForkSpec{
		{From: "demo-1", Address: "biuld"},
		{From: "demo-1", Address: "ok", Output: &answer}, // not answered yet
		{From: "demo-1", Address: "ok", Edit: engine.Edit{Comment: "no"}},
	} {
		_, err := forkRun(t.Context(), s, spec)
		var refused *driver.RefusedError
		if !errors.As(err, &refused) {
			t.Errorf("fork from %q gives %v", spec.Address, err)
		}
	}
	runs, err := s.List(t.Context(), driver.Filter{})
	if err != nil || len(runs) != 1 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

// Another once-only task that was running when the run was forked may have happened, so a
// person is asked.
func TestForkAsksAboutOtherTasks(t *testing.T) {
	s := openStore(t)
	deploy := task("deploy", "")
	deploy.Once = true
	b := &workflow.Bundle{Root: &workflow.Workflow{Name: "demo", Body: workflow.Graph{Nodes: []workflow.Node{task("a", "x"), deploy}}}}
	ctx, cancel := context.WithCancel(t.Context())
	began := make(chan struct{})
	_, err := startRun(ctx, s, spec(b), work{Agents: agentFunc(func(ctx context.Context, task *engine.StartTask, _ agent.Log) driver.Outcome {
		if task.Node == "deploy" {
			close(began)
			<-ctx.Done()
			return driver.Outcome{}
		}
		<-began
		return driver.Outcome{Output: "x"}
	}), Observer: stopAt{"step_ended", cancel}})
	if err == nil {
		t.Fatal("the driver was not interrupted")
	}
	id, err := forkRun(t.Context(), s, driver.ForkSpec{From: "demo-1", Address: "a"})
	if err != nil {
		t.Fatal(err)
	}
	var m made
	res, err := driveRun(t.Context(), s, id, work{Agents: &m})
	if err != nil || res.Status != engine.Waiting || strings.Join(m.nodes, " ") != "a" {
		t.Errorf("%s %v, worked on %v", res.Status, err, m.nodes)
	}
}

// A run recorded by one process and driven by another starts as if one process did both.
func TestRecordedByOneDrivenByAnother(t *testing.T) {
	s := openStore(t)
	once := task("deploy", "deployed")
	once.Once = true
	started := engine.Envelope{Time: time.Now().UTC(), Unattended: true, Event: &engine.Started{Run: "demo-1", Version: engine.Version}}
	w, err := s.Create(journal.NewRun{ID: "demo-1", Pin: &driver.Pin{Bundle: chain(once)}, Created: started.Time, Events: []engine.Envelope{started}})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if res := resume(t, s, work{Agents: echo}); res.Status != engine.Success || res.Output != "deployed" {
		t.Errorf("%s %v", res.Status, res.Output)
	}
}

// stopAt calls stop at the first fact of a kind.
type stopAt struct {
	kind engine.FactKind
	stop func()
}

func (s stopAt) Fact(f engine.Fact) {
	if f.Kind == s.kind {
		s.stop()
	}
}

func (stopAt) Log(string, int, []byte) {}

// Other steps can be repeated too, those that do not exist are ignored, and limits replace those of
// the other run.
func TestForkOfSeveralSteps(t *testing.T) {
	s := openStore(t)
	b := beside(task("a", "a"), task("b", "b"), task("c", "c"))
	start(t, s, b, work{Agents: echo})
	run, err := forkRun(t.Context(), s, driver.ForkSpec{From: "demo-1", Address: "a", Also: []string{"b", "nowhere"}, Limits: workflow.Limits{Parallel: 1, Steps: 2}})
	if err != nil {
		t.Fatal(err)
	}
	var m made
	res, err := driveRun(t.Context(), s, run, work{Agents: &m})
	slices.Sort(m.nodes)
	if got := strings.Join(m.nodes, " "); err != nil || got != "a b" && got != "a" && got != "b" {
		t.Errorf("%s, %v: the new run works on %q", res.Status, err, got)
	}
	_, events, err := loadRun(t.Context(), s, run)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if forked, ok := e.Event.(*engine.Forked); ok && forked.Address == "a" && forked.Limits != (workflow.Limits{Parallel: 1, Steps: 2}) {
			t.Errorf("%+v", forked)
		}
	}
}

// A fork with an output records who gave it, as text that the journal can store.
func TestForkWithAnOutput(t *testing.T) {
	s := openStore(t)
	custom, sure := gate("ok"), gate("sure", "yes")
	custom.Step.(*workflow.Human).Custom = true
	sure.Step.(*workflow.Human).Required = true
	each := workflow.Node{ID: "each", Step: &workflow.Call{Workflow: "child"}}
	b := chain(task("a", "a"), custom, each, sure)
	b.Called = map[string]*workflow.Workflow{"child": chain(task("inner", "inner")).Root}
	start(t, s, b, work{Agents: echo, Asker: says("yes", func(error) {})})
	given := "given \xff"
	for address, want := range map[string]string{"a": "", "ok": "", "each": "is neither a task nor a question", "sure": "must be answered by a person"} {
		run, err := forkRun(t.Context(), s, driver.ForkSpec{From: "demo-1", Address: address, Output: &given})
		if want != "" {
			if !errors.As(err, new(*driver.RefusedError)) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", address, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		_, events, err := loadRun(t.Context(), s, run)
		if err != nil {
			t.Fatal(err)
		}
		last := events[len(events)-1]
		switch ev := last.Event.(type) {
		case *engine.TaskEnded:
			if ev.Output != "given \ufffd" || ev.Address != "a" {
				t.Errorf("%+v", ev)
			}
		case *engine.Answered:
			if ev.Value != "given \ufffd" || ev.ID != "ok" || !strings.Contains(ev.By, "forked") {
				t.Errorf("%+v", ev)
			}
		default:
			t.Errorf("%s: %T", address, ev)
		}
		if !last.Unattended {
			t.Errorf("%s: a process attended it", address)
		}
	}
}

// An observer of a run that another process recorded sees its beginning, and of one that was begun
// only what is new.
func TestObserverOfARecordedRun(t *testing.T) {
	s := openStore(t)
	d := openDriver(t, s.Dir())
	if _, err := d.Start(t.Context(), spec(chain(gate("ok", "yes"), task("b", "y")))); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"step_started ok, asked ok",
		"step_started b, attempt_started b, step_ended b, run_ended ",
	} {
		r := &recorder{}
		if _, err := d.Drive(t.Context(), "demo-1", driver.Work{Agents: echo, Observer: r}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(r.seen, ", "); got != want {
			t.Errorf("seen are %s, want %s", got, want)
		}
		if i == 0 {
			if _, err := d.Act(t.Context(), "demo-1", &engine.Answered{ID: "ok", Value: "yes"}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// An observer of a run that another process recorded sees once that its first steps start. If that
// process had begun the run and died, the attempt is lost, and the observer sees the next one too.
func TestObserverOfTheFirstAttempts(t *testing.T) {
	for claimed, want := range map[bool]string{
		false: "step_started ok, asked ok, step_started a, attempt_started a, step_ended a",
		true:  "step_started a, attempt_started a, step_started ok, asked ok, attempt_failed a, attempt_started a, step_ended a",
	} {
		s := openStore(t)
		began := spec(beside(task("a", "x"), gate("ok", "yes")))
		began.Owner.Claimed = claimed
		if err := with(s, work{}, func(d *local.Driver) error {
			_, err := d.Start(t.Context(), began)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		r := &recorder{}
		if res := resume(t, s, work{Agents: echo, Observer: r}); res.Status != engine.Waiting {
			t.Errorf("%s: %v", res.Status, res.Output)
		}
		if got := strings.Join(r.seen, ", "); got != want {
			t.Errorf("claimed: %v: seen are %s, want %s", claimed, got, want)
		}
	}
}
