package check

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Plan describes the most that a run of a bundle can do. Every number is an upper bound: branches
// that exclude each other are added up, and loops run as often as they are allowed to.
type Plan struct {
	Steps     workflow.Bound  `json:"steps"`    // task instances
	Attempts  workflow.Bound  `json:"attempts"` // of these, with retries
	Least     int             `json:"least"`    // task instances of every run in which nothing fails
	Parallel  workflow.Bound  `json:"parallel"` // attempts at the same time, within the limit
	Tokens    workflow.Bound  `json:"tokens"`
	CostUSD   workflow.Bound  `json:"cost_usd"`
	Open      []string        `json:"open"` // the reasons why bounds are not known
	Limits    workflow.Limits `json:"-"`    // of the run, with defaults filled in
	Workflows []WorkflowPlan  `json:"workflows"`
}

// WorkflowPlan is the plan of one workflow.
type WorkflowPlan struct {
	Name  string         `json:"name"`
	Steps workflow.Bound `json:"steps"` // of one run of this workflow, including the workflows it calls
	Nodes []PlanNode     `json:"nodes"`
}

// PlanNode is one node of a plan. A loop or for_each comes before the nodes in it.
type PlanNode struct {
	ID    string         `json:"id"`
	Kind  string         `json:"kind"`
	Uses  string         `json:"uses,omitempty"` // the agent of a task or a question, the workflow of a call
	Does  string         `json:"does,omitempty"` // what a merge, a pick or a landing does, and who decides
	Own   bool           `json:"own,omitempty"`  // it has its own workspace
	Why   string         `json:"why,omitempty"`  // why that agent was chosen, if the task does not name one
	Depth int            `json:"depth"`          // how many loops and for_each are around it
	Wave  int            `json:"wave"`           // nodes of one graph with the same wave may start together
	Times workflow.Bound `json:"times"`          // in one run of its workflow
}

// PlanOf returns bounds for what a run of a checked bundle may do. If in.Agents is nil, no cost
// is known.
func PlanOf(in Input) Plan {
	in.Limits = WithDefaults(in.Limits)
	sum := newBounder(&in, nil)
	t := sum.workflow(in.Bundle.Root)
	plan := Plan{Steps: t.steps, Attempts: t.tries, Least: t.least, Parallel: atMost(t.attempts, in.Limits.Parallel), Tokens: t.uses.Tokens, CostUSD: t.uses.CostUSD, Limits: in.Limits}
	for _, w := range Workflows(in.Bundle) {
		one := WorkflowPlan{Name: w.Name, Steps: sum.workflow(w).steps}
		plan.layout(&one, sum, w)
		plan.Workflows = append(plan.Workflows, one)
	}
	return plan
}

func newBounder(in *Input, indexes map[*workflow.Workflow]*index) *bounder {
	if indexes == nil {
		indexes = make(map[*workflow.Workflow]*index)
		for _, w := range Workflows(in.Bundle) {
			indexes[w] = newIndex(w)
		}
	}
	return &bounder{in: in, indexes: indexes, known: make(map[*workflow.Workflow]totals), active: make(map[*workflow.Workflow]bool)}
}

// layout adds the nodes of a workflow in the order in which they may run, and the reasons why
// some of them have no bound.
func (p *Plan) layout(one *WorkflowPlan, sum *bounder, w *workflow.Workflow) {
	var list func(s *scope, depth int, times workflow.Bound)
	list = func(s *scope, depth int, times workflow.Bound) {
		waves := s.waves()
		for _, n := range s.inOrder() {
			uses, inside, why := sum.describe(w, n)
			if why != "" {
				p.Open = append(p.Open, fmt.Sprintf("%s/%s: %s", w.Name, n.ID, why))
			}
			node := PlanNode{ID: n.ID, Kind: n.Kind(), Uses: uses, Depth: depth, Wave: waves[n.order], Times: times}
			if t, ok := n.Step.(*workflow.Task); ok {
				node.Does = t.Does()
			}
			node.Own = n.Workspace == workflow.WorkspaceOwn && !strings.HasPrefix(node.Does, "land")
			one.Nodes = append(one.Nodes, node)
			if n.body != nil {
				list(n.body, depth+1, times.Times(inside))
			}
		}
	}
	list(sum.indexes[w].root, 0, workflow.AtMost(1))
}

// describe returns what a node uses, how often its body runs each time, and why it has no bound,
// if it has none.
func (b *bounder) describe(w *workflow.Workflow, n *node) (uses string, inside workflow.Bound, why string) {
	if t := n.task(); t != nil {
		a := b.in.agent(w, n, t)
		if _, known := b.in.cost(n, a, t).CostUSD.Amount(); !known {
			why = "the cost of its agent is not known"
		} else if h := t.Handoffs; h != nil && b.handedOff(w, h).uses.CostUSD == (workflow.Bound{}) {
			why = "the cost of an agent that it may hand work off to is not known"
			if h.Detach {
				why = "it may detach work, for any amount"
			}
		}
		return cmp.Or(t.Agent, a.Name), workflow.Bound{}, why
	}
	switch step := n.Step.(type) {
	case *workflow.Call:
		return step.Workflow, workflow.Bound{}, ""
	case *workflow.Loop:
		return "", workflow.AtMost(iterations(step)), ""
	case *workflow.Each:
		count, known := items(step)
		if !known {
			why = "the number of items in " + step.Items.Text + " is not known"
		}
		return "", count, why
	case *workflow.Task, *workflow.Human, *workflow.Choice, *workflow.Combine:
	}
	return "", workflow.Bound{}, ""
}
