package check

import (
	"strconv"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/internal/growth"
	"github.com/hocket-dev/hocket/workflow"
)

// chart returns a workflow of tasks drawn as "a>b>c d>c", in which each word is a chain.
func chart(text string) *workflow.Workflow {
	w := &workflow.Workflow{Name: "chart"}
	known := make(map[string]bool)
	for chain := range strings.FieldsSeq(text) {
		ids := strings.Split(chain, ">")
		for i, id := range ids {
			if !known[id] {
				known[id] = true
				w.Body.Nodes = append(w.Body.Nodes, workflow.Node{ID: id, Step: &workflow.Task{Agent: "writer"}})
			}
			if i > 0 {
				w.Body.Edges = append(w.Body.Edges, workflow.Edge{From: ids[i-1], To: id})
			}
		}
	}
	return w
}

func TestWidth(t *testing.T) {
	for _, tc := range []struct {
		name, chart string
		want        int64
	}{
		{"one", "a", 1},
		{"chain", "a>b>c", 1},
		{"apart", "a b c", 3},
		{"diamond", "a>b>d a>c>d", 2},
		{"two fans in a row", "a>b>e a>c>e a>d>e e>f e>g e>h", 3},
		{"fan after a fan", "a>b a>c b>d b>e c>f c>g", 4},
		{"branches of two", "a>b>c>f a>d>e>f", 2},
		{"two fans after a fan", "a>b>f a>c>f a>d>f a>e>f f>g>i g>j f>h>k h>l", 4},
		{"ladder", "a>b>c x>y>z a>y b>z", 2},
		{"shortcut", "a>b>c a>c", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newIndex(chart(tc.chart)).root
			got := s.width(func(*node) workflow.Bound { return workflow.AtMost(1) })
			if got != workflow.AtMost(tc.want) {
				t.Errorf("width of %q is %v, want %d", tc.chart, got, tc.want)
			}
		})
	}
}

func TestWavesPutANodeAfterItsLastPredecessor(t *testing.T) {
	s := newIndex(chart("a>b>c a>c d")).root
	var got []string
	for i, wave := range s.waves() {
		got = append(got, s.nodes[i].ID+string(rune('0'+wave)))
	}
	if want := "a1 b2 c3 d1"; strings.Join(got, " ") != want {
		t.Errorf("waves %v, want %s", got, want)
	}
}

func TestOrderLeavesOutCycles(t *testing.T) {
	s := newIndex(chart("a>b>c>b c>d x")).root
	var got []string
	for _, n := range s.inOrder() {
		got = append(got, n.ID)
	}
	if want := "a x"; strings.Join(got, " ") != want {
		t.Errorf("order %v, want %s", got, want)
	}
}

// A cycle is shown from the node that is declared first.
func TestCycle(t *testing.T) {
	var got []string
	for _, e := range newIndex(chart("x c>a>c a>x")).root.cycle() {
		got = append(got, e.From+">"+e.To)
	}
	if want := "c>a a>c"; strings.Join(got, " ") != want {
		t.Errorf("cycle %v, want %s", got, want)
	}
}

// Decisions are computed once for each node, not once for each of its edges.
func TestDecisionsAreLinear(t *testing.T) {
	input := func(n int) Input {
		w := chart("a>b")
		h := &workflow.Human{Question: workflow.Template{Text: "?"}}
		w.Body.Nodes[0].Step, w.Body.Edges = h, nil
		for i := range n {
			label := "l" + strconv.Itoa(i)
			h.Options = append(h.Options, workflow.Option{Value: label})
			w.Body.Edges = append(w.Body.Edges, workflow.Edge{From: "a", To: "b", On: workflow.OnLabel, Label: label})
		}
		return Input{Bundle: workflow.Bundle{Root: w}}
	}
	growth.Linear(t, 200, input, func(in Input) { Run(in) })
}
