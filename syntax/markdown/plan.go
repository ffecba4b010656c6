package markdown

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/flow"
	"github.com/hocket-dev/hocket/syntax/markdown/internal/mermaid"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// plan says how a model is drawn: which frames remain, where failures lead, and the ids in the
// flowchart.
type plan struct {
	w       *workflow.Workflow // with its texts in the dialect of the file
	drawing *flow.Drawing
	onError workflow.OnError // of most nodes
	handler string           // where failures without an arrow lead, or ""
	entry   string           // named in the front matter; "" if the drawing shows it
	starts  []string         // after a drawn start
	loops   bool             // some loops are drawn by arrows
	retry   workflow.Retry   // of most tasks and questions
	works   map[string]bool  // nodes that are tasks or ask a question
	known   map[string]bool  // names that mean something in a condition

	ids     map[string]string // drawn ids of nodes and frames
	inner   map[string]string // drawn ids of nodes that share their id with the frame around them
	taken   map[string]bool   // drawn ids
	begin   string            // drawn id of the start
	finish  string            // drawn id of the end
	carried map[string]bool   // nodes whose edges are written as keys
}

// form is a way to write a model. The first one that means the same is used.
type form struct {
	arrows  bool // loops are drawn by arrows, if possible
	handler bool // one key leads failures to where most of them lead
}

var forms = []form{{true, true}, {true, false}, {false, false}}

func newPlan(w *workflow.Workflow, f form) *plan {
	p := &plan{w: yaml.InDialect(w, expr.Braces), onError: yaml.MostOnError(&w.Body), retry: mostRetry(&w.Body), works: map[string]bool{}, known: expr.KnownNames(w), carried: map[string]bool{}}
	w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) { p.works[n.ID] = p.works[n.ID] || n.Task() != nil })
	d := flow.Draw(&p.w.Body)
	d.Entry = entries(&w.Body)
	if f.handler {
		p.handler = dropHandled(d)
	}
	if f.arrows {
		frames := len(d.Frames)
		d.Max = commonMax(d)
		d.Simplify()
		p.loops = len(d.Frames) < frames
	}
	p.drawing = d
	p.enter(d.Entry)
	p.nameAll()
	return p
}

// entries returns the nodes that no edge leads to.
func entries(g *workflow.Graph) []string {
	led := make(map[string]bool, len(g.Edges))
	var look func(g *workflow.Graph)
	look = func(g *workflow.Graph) {
		for i := range g.Edges {
			led[g.Edges[i].To] = true
		}
		for i := range g.Nodes {
			if body := g.Nodes[i].Body(); body != nil {
				look(body)
			}
		}
	}
	look(g)
	var ids []string
	for i := range g.Nodes {
		if !led[g.Nodes[i].ID] {
			ids = append(ids, g.Nodes[i].ID)
		}
	}
	return ids
}

// mostRetry returns how most tasks retry, or the zero Retry if fewer than half of them do.
func mostRetry(g *workflow.Graph) workflow.Retry {
	count, tasks := map[workflow.Retry]int{}, 0
	var most workflow.Retry
	g.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		if n.Task() == nil {
			return
		}
		tasks++
		if count[n.Retry]++; n.Retry.Attempts > 1 && count[n.Retry] > count[most] {
			most = n.Retry
		}
	})
	if count[most] < 2 || 2*count[most] < tasks {
		return workflow.Retry{}
	}
	return most
}

// dropHandled removes the arrows that a handler of the file replaces, and returns the handler:
// the node to which most failures lead, if there are several.
func dropHandled(d *flow.Drawing) string {
	count, best := map[string]int{}, ""
	for i := range d.Edges {
		if d.Edges[i].On == workflow.OnFailure {
			count[d.Edges[i].To]++
		}
	}
	for i := range d.Nodes {
		if id := d.Nodes[i].ID; count[id] > 1 && count[id] > count[best] {
			best = id
		}
	}
	if best != "" {
		d.Edges = slices.DeleteFunc(d.Edges, func(e workflow.Edge) bool { return e.On == workflow.OnFailure && e.To == best })
	}
	return best
}

// commonMax returns the maximum of the loops that need no frame, if it is the same for all.
func commonMax(d *flow.Drawing) int {
	most := -1
	for i := range d.Frames {
		if l, ok := d.Frames[i].Step.(*workflow.Loop); ok {
			if most >= 0 && l.Max != most {
				return 0
			}
			most = l.Max
		}
	}
	return max(most, 0)
}

// enter finds out how the drawing shows where the flow begins: by itself, with a key in the front
// matter, or with a start.
func (p *plan) enter(entries []string) {
	want := p.lifted(entries)
	switch {
	case p.lifted(nil) == want:
	case len(entries) == 1:
		p.entry = entries[0]
	default:
		p.starts = entries
	}
}

// lifted returns the meaning of the drawing with these entries.
func (p *plan) lifted(entries []string) string {
	d := *p.drawing
	d.Edges = slices.Clone(d.Edges)
	if d.Entry = entries; p.handler != "" {
		d.Handle(p.handler, workflow.Pos{})
	}
	return workflow.Print(&workflow.Workflow{Body: d.Lift(func(workflow.Diagnostic) {})})
}

// nameAll gives everything an id that can be drawn: its own if possible.
func (p *plan) nameAll() {
	p.split()
	d := p.drawing
	p.ids = make(map[string]string, len(d.Nodes)+len(d.Frames))
	p.taken = make(map[string]bool, len(d.Nodes)+len(d.Frames))
	var rest []string
	keep := func(id string) {
		if !mermaid.SafeID(id) || p.taken[id] {
			rest = append(rest, id)
			return
		}
		p.ids[id] = p.take(id)
	}
	for i := range d.Nodes {
		keep(d.Nodes[i].ID)
	}
	for i := range d.Frames {
		if p.inner[d.Frames[i].ID] == "" {
			keep(d.Frames[i].ID)
		}
	}
	for _, id := range rest {
		p.ids[id] = p.take(p.free(safe(id)))
	}
	for i := range d.Frames {
		if f := &d.Frames[i]; p.inner[f.ID] != "" {
			p.inner[f.ID] = p.ids[f.ID]
			p.ids[f.ID] = p.take(p.free(safe("each_" + f.ID)))
		}
	}
}

// split draws a frame around a repeated node that is neither a task nor a call, because keys
// could not repeat it. Both have the same id in the model.
func (p *plan) split() {
	p.inner = map[string]string{}
	for i := range p.drawing.Nodes {
		n := &p.drawing.Nodes[i]
		each, ok := n.Step.(*workflow.Each)
		if !ok || yaml.IsRepeat(&n.Node) {
			continue
		}
		around := n.Node
		around.Step = &workflow.Each{Items: each.Items, As: each.As, Parallel: each.Parallel}
		p.drawing.Frames = append(p.drawing.Frames, flow.Frame{Node: around, Frame: n.Frame})
		n.Node, n.Frame = each.Body.Nodes[0], n.ID
		p.inner[n.ID] = n.ID
	}
}

func (p *plan) take(id string) string {
	p.taken[id] = true
	return id
}

// free returns an id, with the first number that makes it unique.
func (p *plan) free(id string) string {
	unique := id
	for i := 2; p.taken[unique] || !mermaid.SafeID(unique); i++ {
		unique = id + "_" + strconv.Itoa(i)
	}
	return unique
}

// safe turns an id into letters, digits and underscores.
func safe(id string) string {
	made := strings.Map(func(c rune) rune {
		if c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, id)
	if made == "" || made[0] >= '0' && made[0] <= '9' {
		return "n" + made
	}
	return made
}

// drawnNode returns the id under which a node is drawn.
func (p *plan) drawnNode(n *flow.Node) string {
	if id := p.inner[n.ID]; id != "" && n.Frame == n.ID {
		return id
	}
	return p.ids[n.ID]
}

// isID reports whether a heading with this title begins a section.
func (p *plan) isID(title string) bool { return p.taken[title] }
