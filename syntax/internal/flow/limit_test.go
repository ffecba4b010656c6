package flow

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/workflow"
)

func TestADrawnLoopIsBare(t *testing.T) {
	d := sketch("=7 a->b b-x->b b-y->a b->c")
	for i := range d.Nodes {
		d.Nodes[i].Pos = workflow.Pos{Line: i + 1}
	}
	for i := range d.Edges {
		d.Edges[i].Pos = workflow.Pos{Line: 10 + i}
	}
	g, _ := lift(d)
	outer := g.Nodes[0]
	body := &outer.Step.(*workflow.Loop).Body
	inner, choice := body.Nodes[1], body.Nodes[2]
	if outer.Step.(*workflow.Loop).Max != 7 || inner.Step.(*workflow.Loop).Max != 7 {
		t.Errorf("the loops are bounded otherwise: %v", g)
	}
	if outer.Pos.Line != 1 || inner.Pos.Line != 2 || choice.Pos.Line != 12 || body.Edges[1].Pos.Line != 12 {
		t.Errorf("something stands elsewhere: %v", g)
	}
	if len(d.Nodes) != 3 || d.Edges[1].To != "b" {
		t.Errorf("the drawing has changed: %s", showDrawing(d))
	}
}

func TestPlaces(t *testing.T) {
	d := sketch(">nowhere >b L:loop{ a->b b->L } x->b b->y")
	d.EntryPos = []workflow.Pos{{Line: 1}, {Line: 2}}
	for i := range d.Edges {
		d.Edges[i].Pos = workflow.Pos{Line: 10 + i}
	}
	for i := range d.Nodes {
		d.Nodes[i].Pos = workflow.Pos{Line: 20 + i}
	}
	var got []string
	d.Lift(func(d workflow.Diagnostic) { got = append(got, fmt.Sprint(d.Line, " ", d.Code)) })
	want := []string{"12 loop-two-entries", "1 edge-target-unknown", "2 loop-two-entries", "22 unreachable-node"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTooManyEdges(t *testing.T) {
	var a, b []string
	for i := range 1_001 {
		a, b = append(a, fmt.Sprint("a", i)), append(b, fmt.Sprint("b", i))
	}
	_, found := lift(sketch("F{ " + strings.Join(a, " ") + " } G{ " + strings.Join(b, " ") + " } F->G"))
	if want := []string{"error too-many-edges: the frames are joined by more than 200000 edges"}; !slices.Equal(found, want) {
		t.Errorf("found %q", found)
	}
}

// Many edges to one large frame exceed the limit before they are expanded one by one.
func TestManyEdgesToALargeFrame(t *testing.T) {
	d := &Drawing{Frames: []Frame{{Node: workflow.Node{ID: "F"}}}}
	for i := range 10_000 {
		d.Nodes = append(d.Nodes,
			Node{Node: workflow.Node{ID: fmt.Sprint("a", i), Step: &workflow.Task{}}},
			Node{Node: workflow.Node{ID: fmt.Sprint("b", i), Step: &workflow.Task{}}, Frame: "F"})
		d.Edges = append(d.Edges, edge(fmt.Sprint("a", i), "F", ""), edge("F", fmt.Sprint("a", i), ""))
	}
	if _, found := lift(d); len(found) != 1 || !strings.Contains(found[0], "too-many-edges") {
		t.Errorf("found %d, first %.1q", len(found), found)
	}
}

func TestDeepFrames(t *testing.T) {
	nest := func(depth int) *Drawing {
		return sketch(strings.Repeat("F:loop{ ", depth) + "a " + strings.Repeat("} ", depth))
	}
	number := func(d *Drawing) *Drawing {
		for i := range d.Frames {
			d.Frames[i].ID = fmt.Sprint("F", i)
			if i > 0 {
				d.Frames[i].Frame = fmt.Sprint("F", i-1)
			}
		}
		d.Nodes[0].Frame = fmt.Sprint("F", len(d.Frames)-1)
		return d
	}
	g, found := lift(number(nest(100)))
	if depth := strings.Count(show(&g), "{"); depth != 100 || found != nil {
		t.Errorf("%d deep, found %q", depth, found)
	}
	g, found = lift(number(nest(350)))
	if depth := strings.Count(show(&g), "{"); depth > 100 || len(found) != 1 || found[0] != "error nested-too-deep: frames are nested more than 100 levels deep" {
		t.Errorf("%d deep, found %q", depth, found)
	}
}

func TestDeepLoops(t *testing.T) {
	nest := func(depth int) *Drawing {
		b := &builder{}
		for i := range 2 * depth {
			b.node(i, "")
			b.edge(i, i+1, 2*depth, "")
			if i >= depth {
				b.edge(i, 2*depth-1-i, 2*depth, "bad")
			}
		}
		return &b.Drawing
	}
	g, found := lift(nest(100))
	if depth := strings.Count(show(&g), "{"); depth != 100 || found != nil {
		t.Errorf("%d deep, found %q", depth, found)
	}
	g, found = lift(nest(5_000))
	if depth := strings.Count(show(&g), "{"); depth != 100 || len(found) != 1 || found[0] != "error nested-too-deep: loops are nested more than 100 levels deep" {
		t.Errorf("%d deep, found %q", depth, found)
	}
}

// Drawings that no parser produces do no harm.
func TestBrokenDrawings(t *testing.T) {
	frame := func(id, around string) Frame { return Frame{Node: workflow.Node{ID: id}, Frame: around} }
	for _, d := range []*Drawing{
		{Frames: []Frame{frame("A", "B"), frame("B", "C"), frame("C", "A")}, Nodes: []Node{{Node: workflow.Node{ID: "a"}, Frame: "B"}}},
		{Frames: []Frame{frame("A", "A")}, Edges: []workflow.Edge{{From: "A", To: "A"}}},
		{Frames: []Frame{frame("", ""), frame("", "")}, Edges: []workflow.Edge{{}}},
		{Nodes: []Node{{Node: workflow.Node{ID: "a"}, Frame: "a"}, {Node: workflow.Node{ID: "a"}}}, Edges: []workflow.Edge{{From: "a", To: "a"}}},
		{Nodes: []Node{{}}, Entry: []string{"", "x"}},
		{Edges: []workflow.Edge{{From: workflow.End, To: workflow.Again}}},
	} {
		d.Lift(func(workflow.Diagnostic) {})
		d.Simplify()
	}
}
