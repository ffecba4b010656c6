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
	want := []hocket.NodeChange{{Workflow: "w", Node: "a", Kind: hocket.StepKept}, {Workflow: "w", Node: "b", Kind: hocket.StepChanged, Diff: c.Nodes[1].Diff}, {Workflow: "w", Node: "c", Kind: hocket.StepAdded}}
	if !slices.Equal(c.Nodes, want) || !slices.Equal(c.Kept, []string{"a"}) || !slices.Equal(c.Again, []string{"b"}) {
		t.Errorf("%+v", c)
	}
	if diff := strings.Split(c.Nodes[1].Diff, "\n"); len(diff) != 2 || !strings.Contains(diff[0], "exit 1") || diff[0][0] != '-' || !strings.Contains(diff[1], "echo b") || diff[1][0] != '+' {
		t.Errorf("b differs in %q", diff)
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

// A plan that changes nothing is the same. One that would let the run go on in another way is not.
func TestSamePlan(t *testing.T) {
	ends := counted + "  - {id: b, agent: helper, config: {command: 'echo b'}}\n"
	fails := counted + "  - {id: b, agent: shell, config: {command: 'exit 1'}}\n"
	p := open(t, map[string]string{
		"ends.yml": ends, "again.yml": "# the same\n" + ends, "output.yml": ends + "output: '${steps.a.output}'\n",
		"fails.yml": fails, ".hocket/agents/helper.yml": "agent: shell\n",
	}, hocket.Options{})
	ended, failed := start(t, p, "ends.yml", nil), start(t, p, "fails.yml", nil)
	wait(t, ended)
	wait(t, failed)
	same := func(run *hocket.Run, file string, want bool) *hocket.Comparison {
		t.Helper()
		c, err := run.Compare(t.Context(), load(t, p, file))
		if err != nil || c.Same != want {
			t.Fatalf("%s: %+v, %v", file, c, err)
		}
		return c
	}
	same(ended, "again.yml", true)
	same(failed, "fails.yml", false) // b is tried again
	if c := same(ended, "output.yml", false); !strings.Contains(c.Head, "+") || !strings.Contains(c.Head, "output") {
		t.Errorf("the head differs in %q", c.Head)
	}
	if err := os.WriteFile(filepath.Join(p.Root(), ".hocket/agents/helper.yml"), []byte("agent: shell\ntimeout: 7s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Reload(); err != nil {
		t.Fatal(err)
	}
	same(ended, "again.yml", false) // the agent has changed
}

// What a person is shown of a changed step is where it differs, and not all of a long text.
func TestDiffIsBounded(t *testing.T) {
	long := func(word string, n int) string {
		return "name: w\nsteps:\n  - {id: a, agent: shell, prompt: '" + strings.Repeat("many words ", 500) + word + strings.Repeat(" more", n) + "', config: {command: echo}}\n"
	}
	p := open(t, map[string]string{"old.yml": long("old", 1), "new.yml": long("new", 1), "much.yml": long("new", 5000)}, hocket.Options{})
	run := start(t, p, "old.yml", nil)
	wait(t, run)
	for file, lines := range map[string]int{"new.yml": 2, "much.yml": 17} {
		c, err := run.Compare(t.Context(), load(t, p, file))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Split(c.Nodes[0].Diff, "\n"); len(got) != lines || len(c.Nodes[0].Diff) > 2000 || !strings.Contains(got[0], "old") {
			t.Errorf("%s: %s", file, c.Nodes[0].Diff)
		}
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
