package draw

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Inline draws a picture that is part of a page: the style sheet of the page has its colours. Its nodes, frames
// and edges are marked with places, so that the page can show the state of a run without drawing again. A
// place is the address of a node without iterations and items.
type Inline struct {
	Bundle *workflow.Bundle
	Calls  int  // how many nodes of called workflows are drawn in place of the calls, see [Opened]
	Link   bool // nodes are links; Look says where they lead
	Fold   Fold
	Titles map[string]string   // of nodes, by their places, instead of those that the workflow gives them
	Unfold bool                // nodes that stand for several are links
	Handed map[string][]Handed // what steps have handed off, by their places
}

// MostCalled is how many nodes of called workflows a page shows. Four small files that call each other many times stand for
// a million of them.
const MostCalled = 2000

// Opened returns the places of the calls that are shown with the workflow that they call: the outer ones first, as long as
// these workflows have no more than most nodes.
func Opened(b *workflow.Bundle, most int) map[string]bool {
	type called struct {
		w      *workflow.Workflow
		prefix string
		depth  int
	}
	open, sizes := map[string]bool{}, map[string]int{}
	for name, w := range b.Called {
		w.Body.Walk(func(*workflow.Graph, *workflow.Node) { sizes[name]++ })
	}
	for queue := []called{{b.Root, "", 0}}; len(queue) > 0; queue = queue[1:] {
		in := queue[0]
		in.w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
			c, ok := n.Step.(*workflow.Call)
			if !ok || b.Called[c.Workflow] == nil || in.depth == deepest || sizes[c.Workflow] > most {
				return
			}
			most -= sizes[c.Workflow]
			place := in.prefix + n.ID
			open[place] = true
			queue = append(queue, called{b.Called[c.Workflow], place + "/", in.depth + 1})
		})
	}
	return open
}

// Picture is a drawing for a page. It can be shown any number of times, in different states.
type Picture struct {
	text  string
	slots []slot

	// Note says what is simpler than usual in a large drawing, or is "".
	Note string
	// Opened are the places of the first nodes of those that could be folded, but are open.
	Opened []string
}

// Look is the state in which a picture is shown. All functions may be nil.
type Look struct {
	Node   func(place string) string    // the classes of a node or a frame
	Edge   func(e Edge) string          // the classes of an edge
	Label  func(of []Edge) string       // the classes of a label that several edges share
	Fold   func(places []string) string // the classes of a node that stands for several
	Text   func(places []string) string // what such a node says; "": the names of the first and the last
	Link   func(place string) string    // where a node leads
	Unfold func(place string) string    // where a node leads that stands for several, by the place of the first
}

// Draw draws the picture. It has no style and no script. Draw fails only if the context is done.
func (o Inline) Draw(ctx context.Context) (*Picture, error) {
	out := &Picture{}
	if open := o.Fold.Open; open != nil {
		o.Fold.Open = func(place string) bool {
			yes := open(place)
			if yes && !slices.Contains(out.Opened, place) {
				out.Opened = append(out.Opened, place)
			}
			return yes
		}
	}
	s := &scene{called: o.Bundle.Called, open: Opened(o.Bundle, o.Calls), closed: new(int), fold: o.Fold, handed: o.Handed, titles: o.Titles}
	r := s.whole(o.Bundle.Root, wholeFrame, "")
	if err := r.layout(ctx); err != nil {
		return nil, err
	}
	p := &painter{inline: &o}
	p.frames.compact, p.wires.compact, p.marks.compact = true, true, true
	p.region(r, inlineMargin, inlineMargin)
	var text ink
	text.put(`<svg class="drawing" xmlns="http://www.w3.org/2000/svg" role="group" aria-label="Drawing of `).text(o.Bundle.Root.Name).put(`"`)
	text.size(r.width+2*inlineMargin, r.height+2*inlineMargin).put(">\n")
	for _, l := range []*layer{&p.frames, &p.wires, &p.marks} {
		for _, s := range l.slots {
			s.at += len(text)
			out.slots = append(out.slots, s)
		}
		text = append(text, l.ink...)
	}
	out.text, out.Note = string(*text.put("</svg>\n")), r.simpler()
	if n := *s.closed; n > 0 && o.Calls > 0 {
		out.Note = strings.TrimSpace(fmt.Sprintf("%s The steps of %d calls are not drawn: there are too many.", out.Note, n))
	}
	return out, nil
}

const inlineMargin = 8.0

// SVG returns the picture in a state.
func (p *Picture) SVG(look Look) string {
	var out strings.Builder
	out.Grow(len(p.text) + 12*len(p.slots))
	at := 0
	for _, s := range p.slots {
		out.WriteString(p.text[at:s.at])
		out.WriteString(look.of(s))
		at = s.at
	}
	out.WriteString(p.text[at:])
	return out.String()
}

// Edges yields the edges of the picture.
func (p *Picture) Edges() iter.Seq[Edge] {
	return func(yield func(Edge) bool) {
		for _, s := range p.slots {
			if s.edge != nil && !yield(*s.edge) {
				return
			}
		}
	}
}

// Folds yields the nodes that stand for several: their places, and those of the nodes.
func (p *Picture) Folds() iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) {
		for _, s := range p.slots {
			if s.folded != nil && s.kind == slotClasses && !yield(s.place, s.folded) {
				return
			}
		}
	}
}

// of returns what is in a slot.
func (l Look) of(s slot) string {
	switch s.kind {
	case slotClasses:
		if class := l.classes(s); class != "" {
			return " " + string(*new(ink).text(class))
		}
	case slotCount:
		text := ""
		if l.Text != nil {
			text = l.Text(s.folded)
		}
		if text == "" {
			text = s.place
		}
		return string(*new(ink).text(text))
	case slotLink:
		to, place := l.Link, s.place
		if s.folded != nil {
			to, place = l.Unfold, s.folded[0]
		}
		if to != nil {
			return string(*new(ink).put(` href="`).text(to(place)).put(`"`))
		}
	}
	return ""
}

func (l Look) classes(s slot) (class string) {
	switch {
	case s.edges != nil && l.Label != nil:
		class = l.Label(s.edges)
	case s.edge != nil && l.Edge != nil:
		class = l.Edge(*s.edge)
	case s.folded != nil && l.Fold != nil:
		class = l.Fold(s.folded)
	case s.edge == nil && s.edges == nil && s.folded == nil && l.Node != nil:
		class = l.Node(s.place)
	}
	return class
}

// begin opens an element around what is painted for a node, and returns what closes it.
func (p *painter) begin(to *layer, class string, b *box) (end string) {
	if p.inline == nil || b.place == "" {
		return ""
	}
	leads := p.inline.Link
	if b.folded != nil {
		class, leads = class+" fold", p.inline.Unfold
	}
	name := "g"
	if leads {
		name = "a"
	}
	to.put("<").put(name).put(` class="`).put(class)
	to.slot(slot{place: b.place, folded: b.folded})
	to.put(`" data-place="`).text(b.place).put(`"`)
	if b.folded != nil {
		to.put(` data-folded="`).places(b.folded).put(`"`)
	}
	if leads {
		to.slot(slot{kind: slotLink, place: b.place, folded: b.folded})
	}
	to.put(">")
	return "</" + name + ">\n"
}

// beginEdge opens an element around what is painted for an edge.
func (p *painter) beginEdge(l edgeLine) {
	to := &p.wires
	to.put(`<g class="edge`)
	if l.class != plainWire {
		to.put(" ").put(l.class)
	}
	to.slot(slot{edge: &l.edge})
	to.put(`" data-from="`).places(l.edge.From).put(`" data-to="`).text(l.edge.To).put(`"`)
	if l.edge.On != workflow.OnSuccess {
		to.put(` data-on="`).put(string(l.edge.On)).put(`"`)
	}
	if l.edge.Case != "" {
		to.put(` data-case="`).text(l.edge.Case).put(`"`)
	}
	to.put(">")
}

// places adds places to an attribute, one on each line.
func (i *ink) places(all []string) *ink {
	for n, place := range all {
		if n > 0 {
			i.put("&#10;")
		}
		i.text(place)
	}
	return i
}
