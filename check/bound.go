package check

import "github.com/hocket-dev/hocket/workflow"

// totals holds upper bounds for one run of a node, a graph or a workflow, and the minimum number of
// tasks that it starts if nothing fails.
type totals struct {
	steps    workflow.Bound
	tries    workflow.Bound // attempts of these steps, with retries
	least    int
	attempts workflow.Bound // that run at the same time
	spawned  workflow.Bound // handoffs that may still run when the node has ended
	uses     workflow.Budget
}

var nothing = totals{steps: workflow.AtMost(0), tries: workflow.AtMost(0), attempts: workflow.AtMost(0), spawned: workflow.AtMost(0), uses: workflow.Free}

// closed returns the totals of a scope, which ends after everything that was handed off in it.
func (t totals) closed() totals {
	t.attempts, t.spawned = t.attempts.Plus(t.spawned), nothing.spawned
	return t
}

func (t totals) repeated(times workflow.Bound) totals {
	t.steps, t.tries = t.steps.Times(times), t.tries.Times(times)
	t.spawned = t.spawned.Times(times)
	t.uses.CostUSD = t.uses.CostUSD.Times(times)
	t.uses.Tokens = t.uses.Tokens.Times(times)
	return t
}

// plus adds the totals of a node; certain says that the node always runs. The parallel attempts
// are not added: [scope.width] bounds them.
func (t totals) plus(node totals, certain bool) totals {
	t.steps, t.tries = t.steps.Plus(node.steps), t.tries.Plus(node.tries)
	t.spawned = t.spawned.Plus(node.spawned)
	t.uses.CostUSD = t.uses.CostUSD.Plus(node.uses.CostUSD)
	t.uses.Tokens = t.uses.Tokens.Plus(node.uses.Tokens)
	if certain {
		t.least += node.least
	}
	return t
}

// bounder computes the totals of workflows, each once.
type bounder struct {
	in      *Input
	indexes map[*workflow.Workflow]*index
	known   map[*workflow.Workflow]totals
	active  map[*workflow.Workflow]bool // being computed: a call of one of these is a cycle
	written bool                        // count only limits written in the workflow: a loop without max is unbounded
}

func (b *bounder) workflow(w *workflow.Workflow) totals {
	if t, ok := b.known[w]; ok {
		return t
	}
	if b.active[w] {
		return totals{}
	}
	b.active[w] = true
	t := b.graph(w, b.indexes[w].root).closed()
	delete(b.active, w)
	b.known[w] = t
	return t
}

func (b *bounder) graph(w *workflow.Workflow, s *scope) totals {
	sum := nothing
	each := make([]totals, len(s.nodes))
	certain := s.certain()
	for i, n := range s.nodes {
		each[i] = b.node(w, n)
		sum = sum.plus(each[i], certain[i])
	}
	sum.attempts = s.width(func(n *node) workflow.Bound { return each[n.order].attempts })
	return sum
}

func (b *bounder) node(w *workflow.Workflow, n *node) totals {
	switch step := n.Step.(type) {
	case *workflow.Task:
		return b.task(w, n, step)
	case *workflow.Call:
		if child := b.in.Bundle.Called[step.Workflow]; child != nil {
			return b.workflow(child)
		}
	case *workflow.Loop:
		rounds := workflow.AtMost(iterations(step))
		if b.written && rounds == workflow.AtMost(workflow.DefaultMaxIterations) {
			rounds = workflow.Bound{}
		}
		return b.graph(w, n.body).repeated(rounds)
	case *workflow.Each:
		count, _ := items(step)
		t := b.graph(w, n.body).closed()
		width := t.attempts.Times(atMost(count, step.Parallel))
		n, _ := count.Amount()
		t.least *= int(n)
		t = t.repeated(count)
		t.attempts = width
		return t
	case *workflow.Choice:
		if ask := n.task(); ask != nil {
			t := b.task(w, n, ask)
			t.least = 0 // an earlier step may already have answered it
			return t
		}
	case *workflow.Human, *workflow.Combine:
	}
	return nothing
}

// atMost returns the lower of a bound and a limit, if that is set.
func atMost(b workflow.Bound, limit int) workflow.Bound {
	if limit == 0 {
		return b
	}
	return b.Lower(workflow.AtMost(limit))
}

func (b *bounder) task(w *workflow.Workflow, n *node, step *workflow.Task) totals {
	by := b.in.agent(w, n, step)
	tries := n.Retry.Attempts
	if tries == 0 {
		tries = by.Attempts
	}
	t := attempts(tries, b.in.cost(n, by, step))
	t.least = 1
	if step.Handoffs != nil { // a reply may hand work off too
		t = t.plus(b.handedOff(w, step.Handoffs), false)
	}
	return t
}

// attempts returns the totals of a task. Retries do not count as steps.
func attempts(tries int, uses workflow.Budget) totals {
	one := totals{tries: workflow.AtMost(1), uses: uses}
	t := one.repeated(workflow.AtMost(max(tries, 1)))
	t.steps, t.attempts, t.spawned = workflow.AtMost(1), workflow.AtMost(1), nothing.spawned
	return t
}

// handedOff returns the totals of everything that a task may hand off: each time to the agent that
// uses most.
func (b *bounder) handedOff(w *workflow.Workflow, h *workflow.Handoffs) totals {
	worst := nothing
	for _, name := range h.To {
		by := b.in.resolve(name, w.RoleOf(name))
		t := attempts(by.Attempts, by.budget(nil))
		worst.steps, worst.tries = t.steps, worst.tries.Higher(t.tries)
		worst.uses = workflow.Budget{CostUSD: worst.uses.CostUSD.Higher(t.uses.CostUSD), Tokens: worst.uses.Tokens.Higher(t.uses.Tokens)}
	}
	if h.Detach { // a request names any amount
		worst.uses = workflow.Budget{}
	}
	most, _ := h.Limits()
	t := worst.repeated(workflow.AtMost(most))
	t.spawned = t.steps
	return t
}

func iterations(l *workflow.Loop) int {
	if l.Max > 0 {
		return l.Max
	}
	return workflow.DefaultMaxIterations
}

// certain reports for each node whether it always runs if nothing fails: it is an entry, or a
// plain edge leads to it from such a node. Whether nodes after a choice or a loop run depends on
// the run, so they are not certain.
func (s *scope) certain() []bool {
	certain := make([]bool, len(s.nodes))
	for _, n := range s.inOrder() {
		certain[n.order] = len(n.in) == 0
		for _, e := range n.in {
			plain := e.On == workflow.OnSuccess && e.source == e.from && !e.from.has(workflow.OnLabel, workflow.OnWhen)
			if plain && certain[e.from.order] && n.Join.Need <= 1 {
				certain[n.order] = true
			}
		}
	}
	return certain
}
