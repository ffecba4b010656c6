package flow

import (
	"fmt"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// sketch reads a drawing from a line of words:
//
//	a->b           an edge; nodes are declared where they are first named
//	a-yes->b       with a label; -else->, -error-> and -?x-> (a condition x)
//	a->.           to the end
//	f{ a b }       a frame around nodes and frames
//	f:loop{ a b }  of a loop, or of an each; f:loop=3{ bounds it
//	>a             the flow begins at a
//	=3             the bound of drawn loops
//	a~             a skips its dependents when it fails
//	a_2            is a-2
func sketch(text string) *Drawing {
	d := &Drawing{}
	s := sketcher{d, map[string]bool{}}
	var frames []string
	frame := func() string {
		if len(frames) == 0 {
			return ""
		}
		return frames[len(frames)-1]
	}
	for word := range strings.FieldsSeq(text) {
		switch {
		case word == "}":
			frames = frames[:len(frames)-1]
		case strings.HasSuffix(word, "{"):
			f := s.frame(strings.TrimSuffix(word, "{"), frame())
			d.Frames = append(d.Frames, f)
			frames = append(frames, f.ID)
		case word[0] == '>':
			d.Entry = append(d.Entry, word[1:])
		case word[0] == '=':
			fmt.Sscan(word[1:], &d.Max)
		default:
			s.chain(word, frame())
		}
	}
	return d
}

type sketcher struct {
	*Drawing
	known map[string]bool
}

func (s sketcher) frame(word, around string) Frame {
	id, step, _ := strings.Cut(dashed(word), ":")
	f := Frame{Node: workflow.Node{ID: id}, Frame: around}
	step, limit, _ := strings.Cut(step, "=")
	switch step {
	case "loop":
		loop := &workflow.Loop{}
		fmt.Sscan(limit, &loop.Max)
		f.Step = loop
	case "each":
		f.Step = &workflow.Each{Items: workflow.Expr{Text: "inputs.list"}}
	}
	s.known[id] = true
	return f
}

// chain reads a word of nodes and arrows.
func (s sketcher) chain(word, frame string) {
	var from, way string
	for i, part := range strings.Split(word, "->") {
		id, next, _ := strings.Cut(part, "-")
		id = s.name(id, frame)
		if i > 0 {
			s.Edges = append(s.Edges, edge(from, id, way))
		}
		from, way = id, next
	}
}

// name declares a node. A name with a capital letter belongs to a frame that is drawn later.
func (s sketcher) name(id, frame string) string {
	id, skips := strings.CutSuffix(dashed(id), "~")
	switch {
	case id == ".":
		return workflow.End
	case id[0] >= 'A' && id[0] <= 'Z' || s.known[id]:
		return id
	}
	s.known[id] = true
	n := Node{Node: workflow.Node{ID: id, Step: &workflow.Task{}}, Frame: frame}
	if skips {
		n.OnError = workflow.SkipDependents
	}
	s.Nodes = append(s.Nodes, n)
	return id
}

func dashed(id string) string { return strings.ReplaceAll(id, "_", "-") }

func edge(from, to, way string) workflow.Edge {
	e := workflow.Edge{From: from, To: to}
	switch {
	case way == "":
	case way == "else" || way == "error":
		e.On = workflow.On(way)
	case way[0] == '?':
		e.On, e.When = workflow.OnWhen, workflow.Expr{Text: way[1:]}
	default:
		e.On, e.Label = workflow.OnLabel, way
	}
	return e
}

// show writes a graph in the syntax of sketch, with bodies in braces and the edges of each graph
// after its nodes.
func show(g *workflow.Graph) string {
	var words []string
	for i := range g.Nodes {
		n := &g.Nodes[i]
		word := n.ID
		if body := n.Body(); body != nil {
			word += "{ " + show(body) + " }"
		}
		words = append(words, word)
	}
	if len(g.Edges) > 0 {
		words = append(words, "|")
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		way := e.Label
		switch e.On {
		case workflow.OnSuccess, workflow.OnLabel:
		case workflow.OnElse, workflow.OnFailure, workflow.OnTimeout:
			way = string(e.On)
		case workflow.OnWhen:
			way = "?" + e.When.Text
		}
		if way != "" {
			way = "-" + way
		}
		words = append(words, e.From+way+"->"+strings.Replace(e.To, workflow.End, ".", 1))
	}
	return strings.Join(words, " ")
}

// showDrawing writes a drawing in the syntax of sketch, frames first.
func showDrawing(d *Drawing) string {
	var words []string
	var inside func(frame string)
	inside = func(frame string) {
		for i := range d.Frames {
			if f := &d.Frames[i]; f.Frame == frame {
				words = append(words, f.ID+"{")
				inside(f.ID)
				words = append(words, "}")
			}
		}
		for i := range d.Nodes {
			if n := &d.Nodes[i]; n.Frame == frame {
				words = append(words, n.ID)
			}
		}
	}
	inside("")
	g := show(&workflow.Graph{Edges: d.Edges})
	return strings.Join(append(words, g), " ")
}

// lift lifts a drawing, and returns its diagnostics, each as one word and a summary.
func lift(d *Drawing) (workflow.Graph, []string) {
	var found []string
	g := d.Lift(func(d workflow.Diagnostic) {
		found = append(found, fmt.Sprintf("%s %s: %s", d.Severity, d.Code, d.Summary))
	})
	return g, found
}
