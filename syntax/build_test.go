package syntax_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/syntax/internal/modelgen"
	"github.com/hocket-dev/hocket/workflow"
)

// A program can build every model.
func TestBuilderBuildsEveryModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := modelgen.Workflow().Draw(t, "workflow")
		for name, build := range map[string]func(string, ...*workflow.Job) *workflow.Workflow{"Steps": workflow.Steps, "Sequence": workflow.Sequence} {
			got := build(want.Name, jobs(&want.Body)...)
			got.Description, got.Inputs, got.State = want.Description, want.Inputs, want.State
			got.Agents, got.Limits, got.Output = want.Agents, want.Limits, want.Output
			if workflow.Digest(got) != workflow.Digest(want) {
				t.Fatalf("%s (-want +got):\n%s", name, cmp.Diff(workflow.Print(want), workflow.Print(got)))
			}
			if len(got.Mistakes) > 0 {
				t.Fatal(got.Mistakes)
			}
			if diff := cmp.Diff(titlesOf(want), titlesOf(got)); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

func titlesOf(w *workflow.Workflow) (titles []string) {
	w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) { titles = append(titles, n.Title) })
	return titles
}

// jobs returns the program that builds a graph, with a separate call for every property.
func jobs(g *workflow.Graph) []*workflow.Job {
	list := make([]*workflow.Job, len(g.Nodes))
	for i := range g.Nodes {
		n := &g.Nodes[i]
		list[i] = job(n).ID(n.ID)
		edges := slices.DeleteFunc(slices.Clone(g.Edges), func(e workflow.Edge) bool { return e.From != n.ID })
		if n.Kind() != "loop" {
			lead(list[i], edges)
		}
	}
	return list
}

func lead(j *workflow.Job, edges []workflow.Edge) {
	j.Then()
	for _, e := range edges {
		switch e.On {
		case workflow.OnSuccess:
			j.Then(e.To)
		case workflow.OnLabel:
			j.OnLabel(e.Label, e.To)
		case workflow.OnWhen:
			j.When(e.When.Text, e.To)
		case workflow.OnElse:
			j.Else(e.To)
		case workflow.OnFailure:
			j.OnFailure(e.To)
		case workflow.OnTimeout:
			j.OnTimeout(e.To)
		}
	}
}

func job(n *workflow.Node) *workflow.Job {
	j := step(n).Title(n.Title).Group(n.Group).Join(n.Join.Need).Retry(n.Retry).Timeout(n.Timeout).OnError(n.OnError).
		Output(n.Output.Var).Extract(n.Output.Mode, n.Output.Pattern).Schema(n.Output.Schema)
	if n.Join.Keep {
		j.KeepRest()
	}
	if n.Once {
		j.Once()
	}
	for name, value := range n.Labels {
		j.Label(name, value)
	}
	if n.Workspace != workflow.WorkspaceAround {
		j.Workspace(n.Workspace)
	}
	return j
}

func step(n *workflow.Node) *workflow.Job {
	switch s := n.Step.(type) {
	case *workflow.Task:
		build := map[workflow.Branches]func(agent, prompt string) *workflow.Job{
			workflow.OneBranch: workflow.Agent, workflow.MergeBranches: workflow.MergeWorkspaces, workflow.PickBranch: workflow.PickWorkspace,
		}[s.Branches]
		j := bind(build(s.Agent, s.Prompt.Text), s.Inputs).Context(s.Context)
		for _, name := range slices.Sorted(maps.Keys(s.Settings)) {
			j.Setting(name, s.Settings[name])
		}
		if s.Handoffs != nil {
			j.Handoffs(*s.Handoffs)
		}
		return j
	case *workflow.Human:
		return ask(s)
	case *workflow.Call:
		return bind(workflow.Invoke(s.Workflow), s.Inputs)
	case *workflow.Choice:
		if s.Ask == nil {
			return workflow.Decide(s.On.Text)
		}
		j := workflow.Question(s.Ask.Agent, s.Ask.Prompt.Text)
		for _, name := range slices.Sorted(maps.Keys(s.Ask.Settings)) {
			j.Setting(name, s.Ask.Settings[name])
		}
		return j
	case *workflow.Combine:
		var refs []string
		for _, in := range s.Inputs {
			refs = append(refs, in.Text)
		}
		return workflow.Gather(s.Strategy, refs...).Separator(s.Separator)
	case *workflow.Loop:
		return workflow.Repeat(s.Max, jobs(&s.Body)...)
	case *workflow.Each:
		body := jobs(&s.Body)
		if len(body) == 1 && s.Body.Nodes[0].ID == n.ID {
			body[0].ID("")
		}
		return workflow.ForEach(s.Items.Text, body...).As(s.As).Parallel(s.Parallel)
	}
	return nil
}

func ask(h *workflow.Human) *workflow.Job {
	j := workflow.Ask(h.Question.Text)
	for _, o := range h.Options {
		j.Option(o)
	}
	if h.Custom {
		j.Custom()
	}
	if h.Required {
		j.Required()
	}
	return j
}

func bind(j *workflow.Job, inputs []workflow.Binding) *workflow.Job {
	for _, in := range inputs {
		j.Input(in.Name, in.Value)
	}
	return j
}

// Workspaces, merges and landings that a program builds are those of YAML.
func TestBuiltWorkspaces(t *testing.T) {
	built := workflow.Sequence("built",
		workflow.Agent("coder", "A").ID("a").Group("both").Workspace(workflow.WorkspaceOwn),
		workflow.Agent("coder", "B").ID("b").Group("both").Workspace(workflow.WorkspaceOwn),
		workflow.MergeWorkspaces(workflow.MergeAgent, "").ID("all"),
		workflow.PickWorkspace("judge", "Which?").ID("best"),
		workflow.Land("branch").ID("ship").Setting("branch", "feature"),
		workflow.Ask("Good?").ID("ask").Workspace(workflow.WorkspaceOwn))
	text := `name: built
steps:
  - {id: a, agent: coder, prompt: A, parallel_group: both, workspace: own}
  - {id: b, agent: coder, prompt: B, parallel_group: both, workspace: own}
  - {id: all, merge: {}}
  - {id: best, merge: {pick: {agent: judge, prompt: "Which?"}}}
  - {id: ship, land: branch, branch: feature}
  - {id: ask, human: "Good?"}
`
	written, found := syntax.Parse("built.yml", []byte(text))
	if found.Errors() || workflow.Print(built) != workflow.Print(written) {
		t.Errorf("%v\nbuilt:\n%s\nwritten:\n%s", found, workflow.Print(built), workflow.Print(written))
	}
	if got := built.Mistakes.String(); !strings.Contains(got, "Workspace does not apply to Ask") {
		t.Errorf("got %q", got)
	}
}
