package flow

import (
	"testing"

	"github.com/hocket-dev/hocket/workflow"
)

func TestDraw(t *testing.T) {
	g, _ := lift(sketch("a->b b-x->b b-y->a b->L L:loop{ c->E E:each{ d->e } E->L } c-out->f"))
	const want = "loop{ loop-2{ b } a choice } L{ E{ d e } c } f | a->loop-2 b-x->loop-2 b-y->choice b->L choice->loop c->E c-out->f E->L d->e"
	if got := showDrawing(Draw(&g)); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// A node and the for_each that repeats it count as one node.
func TestDrawOfARepeatedNode(t *testing.T) {
	each := func(id string) workflow.Graph {
		body := workflow.Graph{Nodes: []workflow.Node{{ID: id, Step: &workflow.Task{Agent: "a"}}}}
		return workflow.Graph{Nodes: []workflow.Node{{ID: "scan", Step: &workflow.Each{Items: workflow.Expr{Text: "inputs.list"}, Body: body}}}}
	}
	same, other := each("scan"), each("look")
	if d := Draw(&same); len(d.Frames) != 0 || len(d.Nodes) != 1 || d.Nodes[0].Body().Nodes[0].Kind() != "task" {
		t.Errorf("got %s", showDrawing(d))
	}
	if d := Draw(&other); len(d.Frames) != 1 || len(d.Nodes) != 1 || d.Nodes[0].Frame != "scan" {
		t.Errorf("got %s", showDrawing(d))
	}
}

func TestSimplify(t *testing.T) {
	for _, c := range []struct{ name, drawn, want string }{
		{"nothing to do", "a->b", "a b | a->b"},
		{"loop", "a->b->c c-bad->b c->d", "a b c d | a->b b->c c-bad->b c->d"},
		{"self-loop", "a-more->a a->b", "a b | a-more->a a->b"},
		{"nested", "a->b->c c-x->b c->d d-y->a d->e", "a b c d e | a->b b->c c-x->b c->d d-y->a d->e"},
		{"a loop behind a loop", "a-x->a a->b b-y->b b->c", "a b c | a-x->a a->b b-y->b b->c"},
		{"bound of drawn loops", "=3 a loop:loop=3{ b-x->loop } a->loop b->c", "a b c | a->b b-x->b b->c"},
		{"another bound", "a loop:loop=3{ b-x->loop } a->loop b->c", "loop{ b } a c | a->loop b-x->b b->c"},
		{"a name of its own", "a->Retry Retry:loop{ b->c c-x->Retry } c->d", "Retry{ b c } a d | a->Retry b->c c-x->b c->d"},
		{"a name out of order", "loop_2:loop{ a-x->loop_2 } a->b b-x->b b->c", "loop-2{ a } b c | a-x->a a->b b-x->b b->c"},
		{"the last of three names", "Retry:loop{ a-x->Retry } a->b b-x->b b->c c-x->c c->d", "Retry{ a } b c d | a-x->a a->b b-x->b b->c c-x->c c->d"},
		{"no next round", "loop:loop{ a->b } b->c", "loop{ a b } c | a->b b->c"},
		{"dead end in the frame", "loop:loop{ a->b a->log b-x->loop } b->c", "loop{ a b log } c | a->b a->log b-x->a b->c"},
		{"dead end outside", "loop:loop{ a->b b-x->loop } a->log b->c", "loop{ a b } log c | a->b a->log b-x->a b->c"},
		{"entry that is not declared first", "loop:loop{ b-x->loop a->b } b->c", "loop{ b a } c | b-x->loop b->c a->b"},
		{"two entries", "loop:loop{ a->c b->c c-x->loop } c->d", "loop{ a c b } d | a->c c-x->loop c->d b->c"},
		{"beside another entry", "loop:loop{ a->b b-x->loop } b->d c->d", "loop{ a b } d c | a->b b-x->a b->d c->d"},
		{"loops that begin together", "loop:loop{ loop2:loop{ a-x->loop2 } a->b b-y->loop } b->c", "loop2{ a } b c | a-x->a a->b b-y->loop2 b->c"},
		{"loop in a for_each", "E:each{ a->b b-x->a b->c }", "E{ a b c } | a->b b-x->a b->c"},
		{"edge from the frame", "loop:loop{ a-x->loop } loop->b", "a b | a-x->a a->b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			drawn := sketch(c.drawn)
			g, found := lift(drawn)
			d := Draw(&g)
			d.Max = drawn.Max
			d.Simplify()
			if got := showDrawing(d); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.drawn, got, c.want)
			}
			if again, _ := lift(d); show(&again) != show(&g) {
				t.Errorf("%s\n got %s\nwant %s, %q", c.drawn, show(&again), show(&g), found)
			}
		})
	}
}
