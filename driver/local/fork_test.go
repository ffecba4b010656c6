package local_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
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
