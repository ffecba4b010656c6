package flow

import "github.com/hocket-dev/hocket/workflow"

// Titled makes titles of the questions of drawn choices that have nothing to ask: their
// edges have conditions of their own, and no labels.
func Titled(g *workflow.Graph, drawn map[*workflow.Choice]bool) {
	if len(drawn) == 0 {
		return
	}
	labelled, decided := map[string]bool{}, map[string]bool{}
	for i := range g.Edges {
		e := &g.Edges[i]
		labelled[e.From] = labelled[e.From] || e.On == workflow.OnLabel
		decided[e.From] = decided[e.From] || e.On == workflow.OnWhen
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if c, ok := n.Step.(*workflow.Choice); ok && drawn[c] && decided[n.ID] && !labelled[n.ID] {
			n.Title, c.Ask = c.Ask.Prompt.Src.Text, nil
		}
		if body := n.Body(); body != nil {
			Titled(body, drawn)
		}
	}
}
