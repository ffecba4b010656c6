package chaos

import (
	"math/rand/v2"
	"slices"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/internal/oracle"
	"github.com/hocket-dev/hocket/workflow"
)

// sound returns a random workflow that passes the checks, with those that it calls.
func sound(random *rand.Rand) *workflow.Bundle {
	for {
		g := &oracle.Generator{Rand: random}
		b := g.Bundle()
		var wishes []wish
		for _, w := range check.Workflows(*b) {
			w.Limits.Runtime /= hurry
			wishes = append(wishes, simplify(&w.Output.Text, "")...)
			wishes = append(wishes, tidy(&w.Body, false)...)
		}
		passes := func() bool { return !check.Run(check.Input{Bundle: *b}).Errors() }
		if !passes() {
			continue
		}
		for _, fulfil := range wishes {
			if withdraw := fulfil(); !passes() {
				withdraw()
			}
		}
		return b
	}
}

// hurry is how much faster time passes here than in the simulation.
const hurry = 100

// wish restores a text that a workflow should have if the checks allow it. The text may
// refer to values that are unknown at its place.
type wish func() (withdraw func())

// simplify replaces a text with one that is valid everywhere, and returns a wish to
// restore it.
func simplify[T any](at *T, plain T) []wish {
	wished := *at
	*at = plain
	return []wish{func() func() {
		*at = wished
		return func() { *at = plain }
	}}
}

func simplifyInputs(inputs []workflow.Binding) (wishes []wish) {
	for i := range inputs {
		wishes = append(wishes, simplify(&inputs[i].Value, any("so ${vars.v0}"))...)
	}
	return wishes
}

// tidy changes a graph into one that a file can express and the checks allow.
func tidy(g *workflow.Graph, inLoop bool) (wishes []wish) {
	into := map[string]int{}
	g.Walk(func(inner *workflow.Graph, _ *workflow.Node) { // visits an inner graph once per node, which is more than enough
		for _, e := range inner.Edges {
			into[e.To]++
		}
	})
	for i := range g.Nodes {
		n := &g.Nodes[i]
		n.Timeout /= hurry
		n.Retry.Delay, n.Retry.MaxDelay = n.Retry.Delay/hurry, n.Retry.MaxDelay/hurry
		if into[n.ID] < n.Join.Need {
			n.Join = workflow.Join{}
		}
		switch s := n.Step.(type) {
		case *workflow.Task:
			wishes = append(wishes, simplify(&s.Prompt.Text, "go on")...)
			wishes = append(wishes, simplifyInputs(s.Inputs)...)
			s.Branches = workflow.OneBranch // a merge asks its agent only if files conflict, so it would not follow the replies
		case *workflow.Human:
			n.Workspace = workflow.WorkspaceAround
		case *workflow.Choice:
			n.Workspace = workflow.WorkspaceAround
			wishes = append(wishes, simplify(&s.On.Text, "")...)
		case *workflow.Call:
			wishes = append(wishes, simplifyInputs(s.Inputs)...)
		case *workflow.Combine:
			n.Workspace = workflow.WorkspaceAround
			plain := s.Inputs
			if len(plain) > 0 || into[n.ID] == 0 {
				plain = []workflow.Expr{{Text: "vars.v0"}}
			}
			wishes = append(wishes, simplify(&s.Inputs, plain)...)
		case *workflow.Each:
			wishes = append(wishes, simplify(&s.Items.Text, "inputs.items")...)
			wishes = append(wishes, tidy(&s.Body, false)...)
		case *workflow.Loop:
			wishes = append(wishes, tidy(&s.Body, true)...)
		}
	}
	return append(wishes, tidyEdges(g, inLoop)...)
}

func tidyEdges(g *workflow.Graph, inLoop bool) (wishes []wish) {
	from := map[string][]workflow.Edge{}
	for _, e := range g.Edges {
		from[e.From] = append(from[e.From], e)
	}
	g.Edges = slices.DeleteFunc(g.Edges, func(e workflow.Edge) bool { // a single plain edge to the end is implicit
		return !inLoop && e.To == workflow.End && e.On == workflow.OnSuccess && !slices.ContainsFunc(from[e.From], func(other workflow.Edge) bool {
			return other != e && other.On != workflow.OnFailure && other.On != workflow.OnTimeout
		})
	})
	for i := range g.Edges {
		switch when := &g.Edges[i].When.Text; *when {
		case `vars.v1 == "b"`:
			wishes = append(wishes, simplify(when, `vars.v0 == "b"`)...)
		case "iteration < 3":
			wishes = append(wishes, simplify(when, `vars.v0 != "c"`)...)
		}
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		on := func(on workflow.On) bool {
			return slices.ContainsFunc(from[n.ID], func(e workflow.Edge) bool { return e.On == on })
		}
		if n.OnError == workflow.Continue && on(workflow.OnLabel) && !on(workflow.OnElse) && !on(workflow.OnFailure) {
			n.OnError = workflow.Stop
		}
	}
	return wishes
}
