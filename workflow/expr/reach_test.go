package expr

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hocket-dev/hocket/workflow"
)

// maker generates random workflows: acyclic graphs with loops and for_eachs, whose nodes write a
// few variables.
type maker struct {
	*rand.Rand
	left int // nodes still to be made
	made int
}

func (m *maker) graph(depth int, exits []string) workflow.Graph {
	var g workflow.Graph
	for n := 1 + m.IntN(12); n > 0 && m.left > 0; n-- {
		g.Nodes = append(g.Nodes, m.node(depth))
	}
	for i := range g.Nodes {
		for j := i + 1; j < len(g.Nodes); j++ {
			if _, isLoop := g.Nodes[i].Step.(*workflow.Loop); !isLoop && m.IntN(len(g.Nodes)) < 2 {
				g.Edges = append(g.Edges, workflow.Edge{From: g.Nodes[i].ID, To: g.Nodes[j].ID, On: m.on()})
			}
		}
		m.exits(&g, i)
	}
	for _, exit := range exits {
		g.Edges = append(g.Edges, workflow.Edge{From: g.Nodes[m.IntN(len(g.Nodes))].ID, To: exit})
	}
	return g
}

func (m *maker) on() workflow.On {
	return []workflow.On{workflow.OnSuccess, workflow.OnSuccess, workflow.OnElse, workflow.OnFailure}[m.IntN(4)]
}

// exits adds an edge from a loop to a later node of its graph.
func (m *maker) exits(g *workflow.Graph, i int) {
	loop, ok := g.Nodes[i].Step.(*workflow.Loop)
	if !ok || i+1 == len(g.Nodes) {
		return
	}
	to := g.Nodes[i+1+m.IntN(len(g.Nodes)-i-1)].ID
	from := loop.Body.Nodes[m.IntN(len(loop.Body.Nodes))].ID
	loop.Body.Edges = append(loop.Body.Edges, workflow.Edge{From: from, To: to, On: m.on()})
}

func (m *maker) node(depth int) workflow.Node {
	m.left--
	m.made++
	n := workflow.Node{ID: fmt.Sprintf("n%d", m.made), Step: &workflow.Task{}, Output: workflow.Output{Var: m.variable()}}
	if depth > 0 && m.left > 0 {
		switch m.IntN(5) {
		case 0:
			n.Output.Var = ""
			n.Step = &workflow.Loop{Body: m.graph(depth-1, []string{workflow.Again})}
		case 1:
			n.Step = &workflow.Each{As: m.variable(), Body: m.graph(depth-1, nil)}
		}
	}
	return n
}

func (m *maker) variable() string {
	return []string{"", "", "x", "y", fmt.Sprintf("v%d", m.made)}[m.IntN(5)]
}

// brute reports for every place whether a path leads there from a node along links of the given
// kinds; from a loop with both kinds, along its exits.
func (f *flow) brute(node int, round bool, starts ...linkKind) []bool {
	reached := make([]bool, len(f.places))
	var visit func(int)
	visit = func(i int) {
		if reached[i] {
			return
		}
		reached[i] = true
		for _, l := range f.places[i].links {
			if round || !l.back {
				visit(l.to)
			}
		}
	}
	for _, l := range f.places[node].links {
		for _, kind := range starts {
			if l.kind == kind && (round || !l.back) {
				visit(l.to)
			}
		}
	}
	if _, isLoop := f.places[node].node.Step.(*workflow.Loop); isLoop && len(starts) == 2 {
		f.bruteExits(node, visit)
	}
	return reached
}

// bruteExits visits the targets of the links that leave a loop, at which the loop is done.
func (f *flow) bruteExits(loop int, visit func(int)) {
	for i := range f.end {
		for _, l := range f.places[i].links {
			if f.inside(i, loop) && l.to != loop && !f.inside(l.to, loop) {
				visit(l.to)
			}
		}
	}
}

func TestAskAgreesWithSearch(t *testing.T) {
	for seed := range uint64(200) {
		m := &maker{Rand: rand.New(rand.NewPCG(seed, 1)), left: 40}
		checkAsk(t, seed, &workflow.Workflow{Body: m.graph(3, nil)})
	}
}

// TestAskManyFacts has more facts than fit into one batch.
func TestAskManyFacts(t *testing.T) {
	m := &maker{Rand: rand.New(rand.NewPCG(7, 7)), left: 1 << 20}
	w := &workflow.Workflow{}
	for len(w.Body.Nodes) < 200 {
		g := m.graph(2, nil)
		w.Body.Nodes, w.Body.Edges = append(w.Body.Nodes, g.Nodes...), append(w.Body.Edges, g.Edges...)
	}
	for i := range w.Body.Nodes[1:] {
		if _, isLoop := w.Body.Nodes[i].Step.(*workflow.Loop); !isLoop {
			w.Body.Edges = append(w.Body.Edges, workflow.Edge{From: w.Body.Nodes[i].ID, To: w.Body.Nodes[i+1].ID})
		}
	}
	if n, _ := count(&w.Body); n < batch*64 {
		t.Fatalf("only %d nodes", n)
	}
	checkAsk(t, 7, w)
}

// checkAsk queries every node and variable at some places, and compares the answers with a plain
// search.
func checkAsk(t *testing.T, seed uint64, w *workflow.Workflow) {
	t.Helper()
	f := newFlow(w)
	var queries []*query
	var want []bool
	step := 1 + f.end/50
	for _, round := range []bool{true, false} {
		for node := range f.end {
			reached := f.brute(node, round, taken, failed)
			for at := node % step; at < f.end; at += step {
				queries = append(queries, &query{at: point{place: at}, node: node, forward: !round})
				want = append(want, reached[at])
			}
		}
		for _, name := range f.writers.names() {
			writers := f.writers.of(name)
			reached := make([]bool, len(f.places))
			for _, i := range writers {
				kinds := []linkKind{}
				if f.places[i].node.Output.Var == name {
					kinds = append(kinds, taken)
				}
				if asOf(f.places[i].node) == name {
					kinds = append(kinds, enter)
				}
				for at, yes := range f.brute(i, round, kinds...) {
					reached[at] = reached[at] || yes
				}
			}
			for at := 0; at < f.end; at += step {
				queries = append(queries, &query{at: point{place: at}, node: none, variable: name, forward: !round})
				want = append(want, reached[at])
			}
		}
	}
	f.ask(queries)
	for i, q := range queries {
		if i%(1+len(queries)/40) == 0 { // alone, so that only part of the flow is visited
			q = &query{at: q.at, node: q.node, variable: q.variable, forward: q.forward}
			f.ask([]*query{q})
		}
		if q.holds != want[i] {
			t.Fatalf("seed %d: %+v, want %t\n%s", seed, *q, want[i], workflow.Print(w))
		}
	}
}

// TestActivityAgreesWithEveryDecision compares what is implied with what
// happens under every combination of decisions.
func TestActivityAgreesWithEveryDecision(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := &workflow.Workflow{}
		for i := range 9 {
			w.Body.Nodes = append(w.Body.Nodes, workflow.Node{ID: fmt.Sprintf("n%d", i), Step: &workflow.Choice{}})
			for range r.IntN(3) {
				if i == 0 {
					break
				}
				on := []workflow.On{workflow.OnSuccess, workflow.OnLabel, workflow.OnLabel, workflow.OnElse}[r.IntN(4)]
				w.Body.Edges = append(w.Body.Edges, workflow.Edge{From: fmt.Sprintf("n%d", r.IntN(i)), To: fmt.Sprintf("n%d", i), On: on, Label: "l"})
			}
		}
		f := newFlow(w)
		a := newActivity(f)
		runs := f.everyRun(a)
		for i := range f.end {
			for j := range f.end {
				surely := true
				for _, ran := range runs {
					surely = surely && (!ran[i] || ran[j])
				}
				if a.implies(a.of[i], a.of[j]) && !surely {
					t.Fatalf("seed %d: n%d need not have run when n%d runs\n%s", seed, j, i, workflow.Print(w))
				}
			}
		}
	}
}

// everyRun returns which nodes run, for every combination of decisions.
func (f *flow) everyRun(a *activity) [][]bool {
	var runs [][]bool
	picks := make([]int, f.end)
	for {
		runs = append(runs, f.oneRun(a, picks))
		i := 0
		for ; i < f.end; i++ {
			if picks[i]++; picks[i] < a.choices[i] {
				break
			}
			picks[i] = 0
		}
		if i == f.end {
			return runs
		}
	}
}

func (f *flow) oneRun(a *activity, picks []int) []bool {
	ran := make([]bool, len(f.places))
	for _, i := range f.order {
		ran[i] = ran[i] || f.places[i].in == 0
		number := a.alternatives(i)
		for _, l := range f.places[i].links {
			chosen := len(number) < 2 || number[decisionKey(l.edge, f.places[i].edges)] == picks[i]
			ran[l.to] = ran[l.to] || ran[i] && chosen
		}
	}
	return ran
}
