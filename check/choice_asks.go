package check

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// choiceAsks shows who answers the question of a choice, because a drawing does not show it.
var choiceAsks = rule{
	code:     "choice-asks",
	severity: workflow.Note,
	summary:  "shows who is asked the question of a choice",
	node: func(p *pass, n *node) {
		c, ok := n.Step.(*workflow.Choice)
		if !ok || c.Ask == nil || p.in.replied(n) {
			return
		}
		who, detail := "agent "+c.Ask.Agent, "unless the output of the step before it is one of its labels; `agent:` names another agent"
		switch {
		case n.task() == nil:
			edges := n.scope.graph.Edges
			first := slices.IndexFunc(edges, func(e workflow.Edge) bool { return e.To == n.ID })
			who, detail = "the person at "+edges[first].From, "its labels are the answers to choose from"
		case p.in.agent(p.w, n, n.task()).Found != Resolved:
			return // another rule reports that there is no agent to ask
		case c.Ask.Agent == "":
			who = strings.TrimSpace("the project's default agent " + p.in.agent(p.w, n, n.task()).Name)
		}
		pos := n.Pos
		if c.Ask.Prompt.Text != "" {
			pos = placeOr(c.Ask.Prompt.Src.Pos, pos)
		}
		p.notef(pos, detail, "%s is asked %q", who, shorten(c.Ask.Prompt.Text))
	},
}
