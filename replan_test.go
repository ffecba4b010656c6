package hocket_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

const counted = "name: w\nsteps:\n  - {id: a, agent: shell, config: {command: 'echo a >> trace; echo a'}}\n"

func load(t *testing.T, p *hocket.Project, file string) *hocket.Workflow {
	t.Helper()
	w, err := p.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func trace(t *testing.T, p *hocket.Project) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.Root(), "trace"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

// A run that is over continues with a new plan, which keeps what is done.
func TestReplan(t *testing.T) {
	p := open(t, map[string]string{
		"old.yml":   counted + "  - {id: b, agent: shell, config: {command: 'echo b >> trace; exit 1'}}\n",
		"new.yml":   counted + "  - {id: b, agent: shell, config: {command: 'echo b >> trace; echo b'}}\n  - {id: c, agent: shell, config: {command: 'echo c >> trace; echo c'}}\n",
		"wrong.yml": "name: w\nsteps:\n  - {id: a, agent: nobody}\n",
		"needs.yml": "name: w\ninputs: {x: {required: true}}\nsteps:\n  - {id: a, agent: shell, config: {command: 'echo a'}}\n",
	}, hocket.Options{})
	run := start(t, p, "old.yml", nil)
	if res := wait(t, run); res.Status != engine.Failed {
		t.Fatalf("%+v", res)
	}
	for _, file := range []string{"wrong.yml", "needs.yml"} {
		var invalid *hocket.InvalidError
		if _, err := run.Replan(t.Context(), load(t, p, file), hocket.Replan{}); !errors.As(err, &invalid) {
			t.Errorf("%s: %v", file, err)
		}
	}
	w := load(t, p, "new.yml")
	c, err := run.Compare(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	want := []hocket.NodeChange{{Workflow: "w", Node: "a", Kind: hocket.StepKept}, {Workflow: "w", Node: "b", Kind: hocket.StepChanged}, {Workflow: "w", Node: "c", Kind: hocket.StepAdded}}
	if !slices.Equal(c.Nodes, want) || !slices.Equal(c.Kept, []string{"a"}) || !slices.Equal(c.Again, []string{"b"}) {
		t.Errorf("%+v", c)
	}
	if info, err := run.Info(t.Context()); err != nil || info.Status != engine.Failed {
		t.Errorf("a comparison changed the run: %+v, %v", info, err)
	}
	receipt, err := run.Replan(t.Context(), w, hocket.Replan{Words: "fix b, add c"})
	if err != nil || receipt.Driven {
		t.Fatalf("%+v, %v", receipt, err)
	}
	if err := run.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if res := wait(t, run); res.Status != engine.Success || res.Output != "c" {
		t.Errorf("%+v", res)
	}
	if got := trace(t, p); got != "a b b c" {
		t.Errorf("the steps ran as %s", got)
	}
	s, err := run.State(t.Context())
	if err != nil || s.Digest != workflow.Digest(w.Model()) || len(s.Bundle.Root.Body.Nodes) != 3 {
		t.Errorf("%+v, %v", s, err)
	}
}

// planner writes the same plan every time.
type planner struct {
	t     *testing.T
	file  string
	words []string
}

func (p *planner) plan(_ context.Context, r *hocket.Run, words string) (*hocket.Workflow, *hocket.Origin, error) {
	p.words = append(p.words, words)
	if p.file == "" {
		return nil, nil, errors.New("no idea")
	}
	project, err := hocket.Open(filepath.Dir(p.file), hocket.Options{})
	if err != nil {
		return nil, nil, err
	}
	p.t.Cleanup(func() { _ = project.Close() })
	w, err := project.Load(filepath.Base(p.file))
	return w, nil, err
}

// A planner is asked for a new plan when a step with on_error: replan has failed, as often as the
// limits allow.
func TestPlanner(t *testing.T) {
	fails := counted + "  - {id: b, agent: shell, on_error: replan, config: {command: 'echo b >> trace; exit 1'}}\n"
	files := map[string]string{"w.yml": fails, "same.yml": fails, "good.yml": counted}
	for file, want := range map[string]struct {
		status engine.Status
		trace  string
		asked  int
	}{"": {engine.Waiting, "a b", 1}, "same.yml": {engine.Failed, "a b b b", 2}, "good.yml": {engine.Success, "a b", 1}} {
		plans := &planner{t: t}
		p := open(t, files, hocket.Options{Planner: plans.plan})
		if file != "" {
			plans.file = filepath.Join(p.Root(), file)
		}
		run, err := p.Record(t.Context(), load(t, p, "w.yml"), nil, hocket.WithClaim())
		if err != nil {
			t.Fatal(err)
		}
		res, err := run.Drive(t.Context(), hocket.Front{})
		if (err != nil) != (file == "") || res.Status != want.status || len(plans.words) != want.asked || plans.words[0] != "b: exit status 1" {
			t.Errorf("%q: %s, %q, %v", file, res.Status, plans.words, err)
		}
		if got := trace(t, p); got != want.trace {
			t.Errorf("%q: the steps ran as %s", file, got)
		}
	}
}

// Replies for the model that plans are used only if a failure may lead to a new plan.
func TestRepliesOfThePlanner(t *testing.T) {
	replies, found := hocket.ReadReplies("replies.yml", []byte("a: A\nreplan: new\ncorrect-2: better\n"))
	if found.Errors() {
		t.Fatal(found)
	}
	for onError, unused := range map[workflow.OnError]int{workflow.Replan: 0, workflow.Stop: 2} {
		n := workflow.Node{ID: "a", OnError: onError, Step: &workflow.Task{Agent: "x"}}
		b := &workflow.Bundle{Root: &workflow.Workflow{Name: "w", Body: workflow.Graph{Nodes: []workflow.Node{n}}}}
		if found := hocket.CheckReplies(replies, b, "replies.yml"); len(found) != unused {
			t.Errorf("%s: %s", onError, found)
		}
	}
}
