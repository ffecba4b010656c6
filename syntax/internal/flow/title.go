package flow

import (
	"cmp"
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// Titled turns the questions of drawn choices that do not ask anything into titles.
func Titled(g *workflow.Graph, drawn map[*workflow.Choice]bool) {
	if len(drawn) == 0 {
		return
	}
	edges := map[string][]workflow.Edge{}
	for _, e := range g.Edges {
		edges[e.From] = append(edges[e.From], e)
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if c, ok := n.Step.(*workflow.Choice); ok && drawn[c] && AsksNothing(edges[n.ID]) {
			n.Title, c.Ask = cmp.Or(n.Title, c.Ask.Prompt.Src.Text), nil
		}
		if body := n.Body(); body != nil {
			Titled(body, drawn)
		}
	}
}

// AsksNothing reports whether the edges of a choice have their own conditions and no labels, so
// that its text is only a title.
func AsksNothing(edges []workflow.Edge) bool {
	has := func(on workflow.On) bool {
		return slices.ContainsFunc(edges, func(e workflow.Edge) bool { return e.On == on })
	}
	return has(workflow.OnWhen) && !has(workflow.OnLabel)
}
