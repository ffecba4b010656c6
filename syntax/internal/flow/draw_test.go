package flow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/syntax/internal/modelgen"
	"github.com/hocket-dev/hocket/workflow"
)

// A drawing represents everything in a model, with all frames or with few.
func TestDrawKeepsTheMeaning(t *testing.T) {
	often(t, func(t *rapid.T) {
		w := modelgen.Workflow().Draw(t, "workflow")
		if rapid.Bool().Draw(t, "bare") {
			bareLoops(t, &w.Body)
		}
		d := Draw(&w.Body)
		d.Max = rapid.SampledFrom([]int{0, 0, 3}).Draw(t, "max")
		keeps(t, w, d)
		d.Simplify()
		keeps(t, w, d)
	})
}

// often runs ten times as many checks as rapid does.
func often(t *testing.T, check func(*rapid.T)) {
	for i := range 10 {
		t.Run(fmt.Sprint(i), func(t *testing.T) { rapid.Check(t, check) })
	}
}

func keeps(t *rapid.T, w *workflow.Workflow, d *Drawing) {
	t.Helper()
	again := *w
	var found []string
	again.Body, found = lift(d)
	if len(found) > 0 {
		t.Fatalf("%s\nfound %q", showDrawing(d), found)
	}
	if diff := cmp.Diff(workflow.Print(w), workflow.Print(&again)); diff != "" {
		t.Fatalf("%s\n%s\n-want +got:\n%s", show(&w.Body), showDrawing(d), diff)
	}
}

// bareLoops removes from loops what only a frame can express, including their names, so that most
// of them need no frame.
func bareLoops(t *rapid.T, g *workflow.Graph) {
	taken, loops := map[string]bool{}, []*workflow.Node{}
	g.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		if n.Kind() == "loop" {
			loops = append(loops, n)
		} else {
			taken[n.ID] = true
		}
	})
	if rapid.Bool().Draw(t, "backwards") {
		for i, j := 0, len(loops)-1; i < j; i, j = i+1, j-1 {
			loops[i], loops[j] = loops[j], loops[i]
		}
	}
	names, renamed := namer{taken: taken, last: map[string]int{}}, map[string]string{}
	for _, n := range loops {
		old := n.ID
		*n = workflow.Node{ID: names.name("loop"), Step: n.Step}
		renamed[old] = n.ID
		n.Step.(*workflow.Loop).Max = rapid.SampledFrom([]int{0, 0, 0, 50, 3}).Draw(t, "bound")
	}
	eachGraph(g, func(g *workflow.Graph) {
		for i := range g.Edges {
			if id, ok := renamed[g.Edges[i].To]; ok {
				g.Edges[i].To = id
			}
		}
	})
}

func eachGraph(g *workflow.Graph, visit func(*workflow.Graph)) {
	visit(g)
	g.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		if body := n.Body(); body != nil {
			visit(body)
		}
	})
}

// Lift turns every drawing into a valid graph, or reports an error. The result can be drawn and
// simplified again.
func TestLiftMakesSoundGraphs(t *testing.T) {
	often(t, func(t *rapid.T) { sound(t, drawing(t)) })
}

func sound(t *rapid.T, d *Drawing) {
	t.Helper()
	text := showDrawing(d)
	g, found := lift(d)
	w := &workflow.Workflow{Name: "w", Body: g}
	failed := strings.Contains(strings.Join(found, "\n"), "error ")
	for _, f := range check.Run(check.Input{Bundle: workflow.Bundle{Root: w}}) {
		switch f.Code {
		case "graph-cycle", "edge-target-unknown", "edge-again-outside-loop", "edge-twice", "duplicate-id", "model-invalid":
			t.Fatalf("%s\n%s\n%s", text, show(&g), f)
		case "loop-two-entries", "edge-leaves-each":
			t.Fatalf("%s\n%s\n%s", text, show(&g), f)
		}
	}
	again := Draw(&g)
	if failed {
		return
	}
	keeps(t, w, again)
	again.Simplify()
	keeps(t, w, again)
	before := len(found)
	d.Simplify()
	w2, found := lift(d)
	if len(found) != before || workflow.Print(&workflow.Workflow{Name: "w", Body: w2}) != workflow.Print(w) {
		t.Fatalf("%s\nsimplified: %s\n%q\n got %s\nwant %s", text, showDrawing(d), found, show(&w2), show(&g))
	}
}

// drawing is any drawing.
func drawing(t *rapid.T) *Drawing {
	number := func(low, high int) int { return rapid.IntRange(low, high).Draw(t, "n") }
	d := &Drawing{}
	var ids, frames []string
	frames = append(frames, "")
	for i := range number(0, 4) {
		f := Frame{Node: workflow.Node{ID: fmt.Sprintf("F%d", i)}, Frame: frames[number(0, len(frames)-1)]}
		switch number(0, 3) {
		case 0, 1:
		case 2:
			f.Step = &workflow.Loop{}
		case 3:
			f.Step = &workflow.Each{Items: workflow.Expr{Text: "inputs.list"}}
		}
		d.Frames = append(d.Frames, f)
		frames, ids = append(frames, f.ID), append(ids, f.ID)
	}
	for i := range number(1, 9) {
		n := Node{Node: workflow.Node{ID: fmt.Sprintf("n%d", i), Step: &workflow.Task{}}, Frame: frames[number(0, len(frames)-1)]}
		d.Nodes = append(d.Nodes, n)
		ids = append(ids, n.ID, n.ID)
	}
	for range number(0, 14) {
		from, to := ids[number(0, len(ids)-1)], append(ids, workflow.End)[number(0, len(ids))]
		d.Edges = append(d.Edges, edge(from, to, []string{"", "", "yes", "no", "else", "error"}[number(0, 5)]))
	}
	for range max(0, number(-4, 2)) {
		d.Entry = append(d.Entry, ids[number(0, len(ids)-1)])
	}
	return d
}
