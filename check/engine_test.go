package check_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// TestEngineAcceptsWhatPasses breaks workflows at random, and checks that no rule panics and that the
// engine accepts every bundle in which no rule finds an error.
func TestEngineAcceptsWhatPasses(t *testing.T) {
	roots := fixtures(t)
	passed := 0
	for seed := range uint64(2000) {
		s := &spoiler{rand.New(rand.NewPCG(seed, 1))}
		b, what := s.bundle(t, roots)
		found := check.Run(check.Input{Bundle: b, Agents: cast{}})
		check.PlanOf(check.Input{Bundle: b, Agents: cast{}})
		if found.Errors() {
			continue
		}
		passed++
		if _, err := engine.New(&b); err != nil {
			t.Fatalf("seed %d, %s: no error was found, but: %v", seed, what, err)
		}
	}
	if passed < 100 {
		t.Errorf("only %d bundles passed: the test shows nothing", passed)
	}
}

// spoiler changes definitions at random.
type spoiler struct{ *rand.Rand }

// bundle returns a valid bundle, or a fixture, with a few changes.
func (s *spoiler) bundle(t *testing.T, roots []string) (workflow.Bundle, string) {
	t.Helper()
	b, from := sound(), "sound"
	if s.IntN(2) == 0 {
		from = roots[s.IntN(len(roots))]
		if _, err := os.Stat(from); err != nil {
			t.Fatal(err)
		}
		b, _ = load(t, from, ".yml", make(wants))
	}
	for range s.IntN(4) {
		graphs := graphsOf(&b.Root.Body)
		s.spoil(graphs[s.IntN(len(graphs))], b.Root)
	}
	return b, fmt.Sprintf("%s:\n%s", from, workflow.Print(b.Root))
}

func graphsOf(g *workflow.Graph) []*workflow.Graph {
	list := []*workflow.Graph{g}
	g.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		if body := n.Body(); body != nil {
			list = append(list, body)
		}
	})
	return list
}

func (s *spoiler) spoil(g *workflow.Graph, w *workflow.Workflow) {
	switch s.IntN(9) {
	case 0:
		g.Edges = append(g.Edges, workflow.Edge{From: s.id(&w.Body), To: s.target(w), On: s.kind(), Label: "x", When: workflow.Expr{Text: "true"}})
	case 1:
		g.Edges = append(g.Edges, workflow.Edge{From: s.id(g), To: s.target(w)})
	case 2:
		g.Edges = append(g.Edges, workflow.Edge{From: s.id(g), To: s.target(w), On: workflow.OnLabel, Label: "x"})
	case 3:
		if i := len(g.Edges); i > 0 {
			g.Edges = slices.Delete(g.Edges, s.IntN(i), i)
		}
	case 4:
		if i := len(g.Nodes); i > 0 {
			g.Nodes = slices.Delete(g.Nodes, i-1, i)
		}
	case 5:
		if i := len(g.Nodes); i > 0 {
			g.Nodes[s.IntN(i)].ID = s.id(&w.Body)
		}
	case 6:
		if i := len(g.Nodes); i > 0 {
			g.Nodes[s.IntN(i)].Step = s.step()
		}
	case 7:
		if i := len(g.Nodes); i > 0 {
			g.Nodes[s.IntN(i)].Join.Need = s.IntN(3)
		}
	case 8:
		if i := len(g.Nodes); i > 0 {
			g.Nodes[s.IntN(i)].Output = workflow.Output{Var: "v", Mode: workflow.Regex, Pattern: "("}
		}
	}
}

func (s *spoiler) step() workflow.Step {
	texts := []string{"vars.v", "nodes.a.output", "item", "inputs.topic", "a ==", "iteration", "[1, 2]"}
	text := workflow.Expr{Text: texts[s.IntN(len(texts))]}
	switch s.IntN(6) {
	case 0:
		return &workflow.Task{Agent: "writer", Prompt: workflow.Template{Text: "${" + text.Text + "}"}}
	case 1:
		return &workflow.Choice{On: text}
	case 2:
		return &workflow.Each{Items: text}
	case 3:
		return &workflow.Combine{Strategy: workflow.First, Inputs: []workflow.Expr{text}}
	case 4:
		return &workflow.Call{Workflow: "child", Inputs: []workflow.Binding{{Name: "x", Value: "${" + text.Text + "}"}}}
	}
	return nil
}

func (s *spoiler) kind() workflow.On {
	kinds := []workflow.On{workflow.OnSuccess, workflow.OnLabel, workflow.OnWhen, workflow.OnElse, workflow.OnFailure, workflow.OnTimeout, "odd"}
	return kinds[s.IntN(len(kinds))]
}

// id returns the id of some node in a graph or below it.
func (s *spoiler) id(g *workflow.Graph) string {
	ids := []string{"nobody"}
	g.Walk(func(_ *workflow.Graph, n *workflow.Node) { ids = append(ids, n.ID) })
	return ids[s.IntN(len(ids))]
}

func (s *spoiler) target(w *workflow.Workflow) string {
	switch s.IntN(6) {
	case 0:
		return workflow.End
	case 1:
		return workflow.Again
	}
	return s.id(&w.Body)
}
