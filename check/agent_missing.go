package check

import (
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

var agentMissing = rule{
	code:     "agent-missing",
	severity: workflow.Error,
	summary:  "a task does not name an agent, and the project has no default agent",
	workflow: func(p *pass) {
		var all sharedMistakes
		var hints map[*node]string
		for _, n := range p.index.nodes {
			t, a := p.agentOf(n)
			if t == nil || t.Agent != "" || a.Found != Unknown {
				continue
			}
			detail := a.Install
			if len(a.Candidates) > 0 {
				detail = "name an agent, or set a default agent in config.yml; available agents: " + strings.Join(a.Candidates, ", ")
			}
			if hints == nil {
				hints = p.misspelt()
			}
			what, summary := "agent", " has no agent"
			if n.Kind() == "choice" {
				what, summary = "question "+n.ID, " asks a question, but there is no agent to answer it"
			} else if hint := hints[n]; hint != "" {
				what, detail = hint, hint+" Otherwise: "+detail
			}
			all.add(n, shared{what: what, replied: p.in.replied(n)}, summary, detail)
		}
		all.report(p)
	},
}

// misspelt suggests other nodes for those that are only ids: in a flowchart, an arrow to a
// misspelt id draws a new node. Many such nodes are not mistakes, but the way of the author.
func (p *pass) misspelt() map[*node]string {
	var bare []*node
	var ids []string
	for _, n := range p.index.nodes {
		if t, ok := n.Step.(*workflow.Task); ok && t.Agent == "" && t.Prompt.Src.Text == "" {
			bare = append(bare, n)
		} else {
			ids = append(ids, n.ID)
		}
	}
	hints := map[*node]string{}
	if len(bare) <= 10 {
		for _, n := range bare {
			hints[n] = workflow.DidYouMean(n.ID, ids)
		}
	}
	return hints
}
