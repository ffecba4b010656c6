package plantuml

import (
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/syntax/plantuml/internal/activity"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// places are the labels and the connectors of a diagram.
type places struct {
	labels     map[string]*place
	connectors map[string]*place
	order      []*place
}

// place is the target of jumps.
type place struct {
	name    string
	known   bool // it is drawn, not only jumped to
	pos     workflow.Pos
	from    []tail  // what jumps here
	targets []*node // what follows; nil for the end
}

func (r *reader) place(in *map[string]*place, name string, pos workflow.Pos) *place {
	if *in == nil {
		*in = map[string]*place{}
	}
	p := (*in)[name]
	if p == nil {
		p = &place{name: name, pos: pos}
		(*in)[name] = p
		r.order = append(r.order, p)
	}
	return p
}

func (r *reader) jump(e *activity.Goto) {
	p := r.place(&r.labels, e.Name.Raw, r.pos(e.Name.Span))
	p.from = append(p.from, r.open...)
	r.open = nil
}

func (r *reader) land(e *activity.Label) {
	p := r.place(&r.labels, e.Name.Raw, r.pos(e.Name.Span))
	p.known = true
	r.open = append(r.open, tail{jump: p})
}

// connect draws a connector: all circles with the same letter are the same place.
func (r *reader) connect(e *activity.Connector) {
	p := r.place(&r.connectors, e.Name.Raw, r.pos(e.Name.Span))
	p.known = true
	p.from = append(p.from, r.open...)
	r.open = []tail{{jump: p}}
	if e.Kill != nil {
		r.open = nil
	}
}

// jumpAll ties the jumps to what follows their places. A place may directly follow another one.
func (r *reader) jumpAll() {
	for _, p := range r.order {
		if !p.known {
			var names []string
			for _, other := range r.order {
				if other.known {
					names = append(names, other.name)
				}
			}
			r.report(workflow.Errorf(p.pos, codeLabel, orElse(workflow.DidYouMean(p.name, names), "write `label "+p.name+"` where it should lead"), "there is no label %q", p.name))
		}
		seen := map[*place]bool{}
		for _, t := range p.from {
			r.jumpTo(t, p, seen)
			clear(seen)
		}
	}
}

func (r *reader) jumpTo(t tail, p *place, seen map[*place]bool) {
	if t.jump != nil {
		r.through(t.jump, p, seen)
		return
	}
	for _, to := range p.targets {
		r.tie(t, to)
	}
	if len(p.targets) == 0 && p.known {
		r.tie(t, nil)
	}
}

// through redirects everything that leads to one place to another.
func (r *reader) through(from, to *place, seen map[*place]bool) {
	if seen[from] || from == to {
		return
	}
	seen[from] = true
	for _, t := range from.from {
		r.jumpTo(t, to, seen)
	}
}

// leadAll adds the edges that keys set.
func (r *reader) leadAll() {
	for _, p := range r.parts {
		r.routesLeft(p)
		sortEdges(p.out)
		if p.ways != nil {
			r.leadWords(p)
		}
		p.out = p.withoutSoleEnd()
	}
}

// leadWords adds the edges that the keys of a node set.
func (r *reader) leadWords(p *node) {
	for _, e := range p.ways.edges {
		to, ok := r.find(p, e)
		if !ok {
			continue
		}
		a := arrow{to: r.byID[to], on: e.On, label: e.Label, pos: e.Pos}
		if e.On == workflow.OnWhen {
			a.when = &e.When
		}
		p.out = append(p.out, a)
		if p.guard != nil && e.On == workflow.OnSuccess {
			a.on = workflow.OnElse
			p.guard.out = append(p.guard.out, a)
		}
	}
	if p.guard != nil && p.ways.leads && len(p.guard.out) == 1 {
		p.guard.out = append(p.guard.out, arrow{on: workflow.OnElse, pos: p.Pos})
	}
	if !p.ways.leads {
		sortEdges(p.out)
	}
}

// find returns the id of the step that an edge of a node names, or the word for the end or the
// next iteration.
func (r *reader) find(p *node, e workflow.Edge) (string, bool) {
	if r.byID[e.To] != nil {
		return e.To, true
	}
	switch yaml.Mark(e.To) {
	case workflow.End:
		return workflow.End, true
	case workflow.Again:
		if l := p.home(); l != nil && l.Kind() == "loop" {
			return l.ID, true
		}
		r.report(workflow.Errorf(e.Pos, codeAgain, "put the step into a repeat, a while or a partition with <<loop>>", "%q is outside a loop", p.ID))
		return "", false
	}
	r.report(workflow.Errorf(e.Pos, codeTarget, r.suggest(e.To), "unknown step %q", e.To))
	return "", false
}

func (r *reader) suggest(written string) string {
	names := []string{"end", "again"}
	for _, p := range r.parts {
		if !p.isFrame || p.Step != nil {
			names = append(names, p.ID)
		}
	}
	return orElse(workflow.DidYouMean(written, names), "write the id of a step: the one in its note, or its text with - for spaces")
}

// routesLeft leads to the targets of routes that do not directly follow the router, and reports
// those that do not exist.
func (r *reader) routesLeft(p *node) {
	for i, done := range p.routes {
		if done {
			continue
		}
		rt := p.ways.routes[i]
		if to := r.byID[rt.target.name]; to != nil {
			r.tie(tail{from: p, on: workflow.OnLabel, label: rt.category, pos: rt.target.pos}, to)
			continue
		}
		names := make([]string, 0, len(r.diagram.Lanes)+len(r.parts))
		for _, l := range r.diagram.Lanes {
			names = append(names, strings.TrimSpace(l.Name))
		}
		for _, n := range r.parts {
			names = append(names, n.ID)
		}
		r.report(workflow.Errorf(rt.target.pos, codeRoute, orElse(workflow.DidYouMean(rt.target.name, names), "name the lane of a branch after the router, or the id of a step"),
			"category %q leads to %q, which is not a branch", rt.category, rt.target.name))
	}
}

// withoutSoleEnd removes the only plain edge of a node if it leads to the end, unless it is in a
// loop.
func (n *node) withoutSoleEnd() []arrow {
	if l := n.home(); l != nil && l.Kind() == "loop" {
		return n.out
	}
	plain, end := 0, -1
	for i := range n.out {
		if n.out[i].on == workflow.OnSuccess {
			plain++
			if n.out[i].to == nil {
				end = i
			}
		}
	}
	if plain != 1 || end < 0 {
		return n.out
	}
	return append(n.out[:end:end], n.out[end+1:]...)
}

// openerOf returns the line that opens a block.
func openerOf(e activity.Element) source.Span {
	switch e := e.(type) {
	case *activity.While:
		return e.Opener
	case *activity.Repeat:
		return e.Opener
	case *activity.Group:
		return e.Opener
	default:
		return e.Common().Span
	}
}
