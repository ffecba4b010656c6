package check

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

var agentUnknown = rule{
	code:     "agent-unknown",
	severity: workflow.Error,
	summary:  "a task names an agent that does not exist",
	workflow: func(p *pass) {
		var all sharedMistakes
		for _, n := range p.index.nodes {
			if t, a := p.agentOf(n); t != nil && t.Agent != "" && a.Found == Unknown {
				all.add(n, shared{what: t.Agent, replied: p.in.replied(n)}, "unknown agent "+strconv.Quote(t.Agent), suggestAgent(t.Agent, a.Candidates))
			}
		}
		all.report(p)
	},
}

// task returns the task that an agent may have to do at a node: its own, or the question of a
// choice.
func (n *node) task() *workflow.Task {
	if n.scope.tasks == nil {
		n.scope.tasks = n.scope.graph.Tasks()
	}
	return n.scope.tasks[n.order]
}

// agentOf returns the task of a node and its agent, or nil if the node has no task or agents are
// not checked.
func (p *pass) agentOf(n *node) (*workflow.Task, *Agent) {
	t := n.task()
	if t == nil || p.in.Agents == nil {
		return nil, nil
	}
	return t, p.in.agent(p.w, n, t)
}

// reportAgent reports that no agent can do a task. For a task with a scripted reply this is only
// a warning, because the reply is used instead. If other steps have replies, the hint for a
// choice's question says how to add one.
func (p *pass) reportAgent(n *node, pos workflow.Pos, detail, summary string, args ...any) {
	report := p.errorf
	labels := n.labels().list
	switch {
	case p.in.replied(n):
		report = p.warnf
		detail, _, _ = strings.Cut(detail, "; or give the step a reply") // it has one
		detail = strings.TrimSuffix("its reply is used instead; "+detail, "; ")
	case p.in.Replied != nil && n.Kind() == "choice" && len(labels) > 0:
		detail = fmt.Sprintf("add `%s: %s` to the replies; its answers are %s; `\"*\"` answers tasks only", n.ID, labels[0], strings.Join(labels, ", "))
	}
	report(pos, detail, summary, args...)
}

// agentPos returns the position at which a task names its agent.
func agentPos(n *node) workflow.Pos {
	if t := n.Task(); t != nil && t.Pos != (workflow.Pos{}) {
		return t.Pos
	}
	return n.Pos
}

// callPos returns the position at which a call names its workflow.
func callPos(n *node) workflow.Pos {
	if c, ok := n.Step.(*workflow.Call); ok && c.Pos != (workflow.Pos{}) {
		return c.Pos
	}
	return n.Pos
}

func suggestAgent(written string, names []string) string {
	if hint := workflow.DidYouMean(written, names); hint != "" {
		return hint
	}
	return "available: " + strings.Join(names, ", ")
}
