package flow

import (
	"fmt"
	"testing"

	"github.com/hocket-dev/hocket/workflow"
)

// shapes returns drawings of about n nodes.
var shapes = []struct {
	name string
	draw func(b *builder, n int)
}{
	{"chain", func(b *builder, n int) {
		for i := range n {
			b.node(i, "")
			b.edge(i, i+1, n, "")
		}
	}},
	{"handler", func(b *builder, n int) { // the last node handles the failures of all
		for i := range n {
			b.node(i, "")
			b.edge(i, i+1, n, "")
			b.edge(i, n-1, n, "error")
		}
	}},
	{"fan", func(b *builder, n int) {
		for i := range n {
			b.node(i, "")
			b.edge(0, i, n, "")
			b.edge(i, n-1, n, "")
		}
	}},
	{"loops", func(b *builder, n int) { // of five nodes, one after the other
		for i := range n {
			b.node(i, "")
			b.edge(i, i+1, n, "")
			if i%5 == 4 {
				b.edge(i, i-4, n, "bad")
			}
		}
	}},
	{"nested", func(b *builder, n int) { // fifty nested loops, repeated
		for i := range n {
			b.node(i, "")
			b.edge(i, i+1, n, "")
			if k := i % 100; k >= 50 {
				b.edge(i, i-2*(k-50)-1, n, "bad")
			}
		}
	}},
	{"toodeep", func(b *builder, n int) {
		for i := range n {
			b.node(i, "")
			b.edge(i, i+1, n, "")
			if k := n - 1 - i; k < i {
				b.edge(i, k, n, "bad")
			}
		}
	}},
	{"frames", func(b *builder, n int) { // of ten nodes with a loop and a dead end, in one large frame
		b.frame("all", "")
		for i := range n {
			f := fmt.Sprint("F", i/10)
			if i%10 == 0 {
				b.frame(f, "all")
				if i > 0 {
					b.Edges = append(b.Edges, workflow.Edge{From: fmt.Sprint("F", i/10-1), To: f})
				}
			}
			b.node(i, f)
			if i%10 < 8 {
				b.edge(i, i+1, n, "")
			}
			if i%10 == 8 {
				b.edge(i, i-8, n, "bad")
				b.edge(i-3, i+1, n, "")
			}
		}
	}},
}

type builder struct{ Drawing }

func (b *builder) node(i int, frame string) {
	b.Nodes = append(b.Nodes, Node{Node: workflow.Node{ID: fmt.Sprint("n", i), Step: &workflow.Task{}}, Frame: frame})
}

func (b *builder) frame(id, around string) {
	b.Frames = append(b.Frames, Frame{Node: workflow.Node{ID: id}, Frame: around})
}

func (b *builder) edge(from, to, n int, way string) {
	if to < n && from != to {
		b.Edges = append(b.Edges, edge(fmt.Sprint("n", from), fmt.Sprint("n", to), way))
	}
}

func BenchmarkLift(b *testing.B) {
	for _, shape := range shapes {
		for _, n := range []int{1_000, 10_000, 100_000} {
			d := &builder{}
			shape.draw(d, n)
			b.Run(fmt.Sprintf("%s/%d", shape.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					d.Lift(func(workflow.Diagnostic) {})
				}
			})
		}
	}
}

func BenchmarkSimplify(b *testing.B) {
	for _, shape := range shapes {
		if shape.name != "loops" && shape.name != "nested" {
			continue
		}
		for _, n := range []int{1_000, 10_000, 100_000} {
			d := &builder{}
			shape.draw(d, n)
			g := d.Lift(func(workflow.Diagnostic) {})
			b.Run(fmt.Sprintf("%s/%d", shape.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					Draw(&g).Simplify()
				}
			})
		}
	}
}
