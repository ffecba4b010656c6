package check

import (
	"math"
	"strconv"

	"github.com/hocket-dev/hocket/workflow"
)

// Bound is the most that can happen, when that is known before a run. It prints
// in JSON as a number, or as null.
type Bound struct {
	N    int64
	Open bool // no bound is known; N says nothing
}

var open = Bound{Open: true}

func (b Bound) String() string {
	if b.Open {
		return "unknown"
	}
	return strconv.FormatInt(b.N, 10)
}

// MarshalJSON writes a number, or null for an open bound.
func (b Bound) MarshalJSON() ([]byte, error) {
	if b.Open {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, b.N, 10), nil
}

// Over says whether the bound is known and above a limit that is set.
func (b Bound) Over(limit int64) bool { return limit > 0 && !b.Open && b.N > limit }

func (b Bound) plus(c Bound) Bound {
	switch {
	case b.Open || c.Open:
		return open
	case b.N > math.MaxInt64-c.N:
		return Bound{N: math.MaxInt64}
	}
	return Bound{N: b.N + c.N}
}

func (b Bound) times(c Bound) Bound {
	switch {
	case !b.Open && b.N == 0 || !c.Open && c.N == 0:
		return Bound{}
	case b.Open || c.Open:
		return open
	case b.N > math.MaxInt64/c.N:
		return Bound{N: math.MaxInt64}
	}
	return Bound{N: b.N * c.N}
}

func (b Bound) atMost(limit int) Bound {
	if limit > 0 && (b.Open || b.N > int64(limit)) {
		return Bound{N: int64(limit)}
	}
	return b
}

// totals is what one run of a node, a graph or a workflow does at most, and
// how many tasks it starts at least when nothing fails.
type totals struct {
	steps    Bound
	least    int64
	attempts Bound // at once
	tokens   Bound
	usd      float64
	usdOpen  bool // usd says nothing
}

func (t totals) repeated(times Bound) totals {
	t.steps = t.steps.times(times)
	t.tokens = t.tokens.times(times)
	t.usdOpen = t.usdOpen || times.Open && t.usd > 0
	t.usd *= float64(times.N)
	return t
}

// plus adds what a node does, which may be certain to run. What is done at once is
// left out: it does not add up.
func (t totals) plus(node totals, certain bool) totals {
	t.steps = t.steps.plus(node.steps)
	t.tokens = t.tokens.plus(node.tokens)
	t.usd += node.usd
	t.usdOpen = t.usdOpen || node.usdOpen
	if certain {
		t.least += node.least
	}
	return t
}

// bounder adds up workflows. A called workflow is added up once.
type bounder struct {
	in      *Input
	indexes map[*workflow.Workflow]*index
	known   map[*workflow.Workflow]totals
	active  map[*workflow.Workflow]bool // being added up: a call of it is a cycle
}

func (b *bounder) workflow(w *workflow.Workflow) totals {
	if t, ok := b.known[w]; ok {
		return t
	}
	if b.active[w] {
		return totals{steps: open, attempts: open, tokens: open, usdOpen: true}
	}
	b.active[w] = true
	t := b.graph(w, b.indexes[w].root)
	delete(b.active, w)
	b.known[w] = t
	return t
}

func (b *bounder) graph(w *workflow.Workflow, s *scope) totals {
	var sum totals
	each := make([]totals, len(s.nodes))
	certain := s.certain()
	for i, n := range s.nodes {
		each[i] = b.node(w, n)
		sum = sum.plus(each[i], certain[i])
	}
	sum.attempts = s.width(func(n *node) Bound { return each[n.order].attempts })
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
		return b.graph(w, n.body).repeated(Bound{N: int64(iterations(step))})
	case *workflow.Each:
		count, _ := items(step)
		t := b.graph(w, n.body)
		width := t.attempts.times(count.atMost(step.Parallel))
		t.least *= count.N
		t = t.repeated(count)
		t.attempts = width
		return t
	case *workflow.Human, *workflow.Choice, *workflow.Combine:
	}
	return totals{}
}

func (b *bounder) task(w *workflow.Workflow, n *node, step *workflow.Task) totals {
	t := totals{steps: Bound{N: 1}, least: 1, attempts: Bound{N: 1}}
	by := b.in.agent(w, n, step)
	tries := Bound{N: int64(max(n.Retry.Attempts, 1))}
	if n.Retry.Attempts == 0 {
		tries.N = int64(max(by.Attempts, 1))
	}
	cost := by.cost(step)
	t.usd, t.usdOpen = cost.USD*float64(tries.N), cost.USD == 0 && !cost.Free
	if t.tokens = (Bound{N: cost.Tokens}).times(tries); cost.Tokens == 0 && !cost.Free {
		t.tokens = open
	}
	return t
}

func iterations(l *workflow.Loop) int {
	if l.Max > 0 {
		return l.Max
	}
	return workflow.DefaultMaxIterations
}

// certain says of each node whether it runs whenever nothing fails: it is an
// entry, or a plain edge of such a node leads to it. Of nodes behind a choice or
// a loop it says no: that depends on the run.
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
