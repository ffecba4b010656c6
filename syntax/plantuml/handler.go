package plantuml

import (
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// handle leads every failure that nothing else handles to one step: from every working node that
// has no error edge and that the handler does not lead to.
func (r *reader) handle(handler *target) {
	h := r.byID[handler.name]
	if h == nil || h.Step == nil {
		r.report(workflow.Errorf(handler.pos, codeTarget, r.suggest(handler.name), "unknown step %q", handler.name))
		return
	}
	reached := r.behind(h)
	handled := false
	for _, p := range r.parts {
		if p.Step == nil || p.inEach() || p.Kind() == "choice" || p.Kind() == "loop" {
			continue
		}
		isFailure := func(a arrow) bool { return a.on == workflow.OnFailure }
		switch {
		case slices.ContainsFunc(p.out, isFailure):
			handled = true
		case !reached[p]:
			handled = true
			at := slices.IndexFunc(p.out, func(a arrow) bool { return a.on == workflow.OnTimeout })
			if at < 0 {
				at = len(p.out)
			}
			p.out = slices.Insert(p.out, at, arrow{to: h, on: workflow.OnFailure, pos: handler.pos})
		}
	}
	if !handled {
		r.report(workflow.Warningf(handler.pos, codeDetached, "move it to the end: a handler handles failures of the steps before it", "%q handles nothing: every other step comes after it", h.ID))
	}
}

// inEach reports whether a node is repeated for the items of a list.
func (n *node) inEach() bool {
	for in := n.in; in != nil; in = in.in {
		if in.Step != nil && in.Kind() == "each" {
			return true
		}
	}
	return false
}

// behind returns the nodes that can be reached from a node, including itself. An edge into a loop
// reaches everything in it.
func (r *reader) behind(from *node) map[*node]bool {
	inside := map[*node][]*node{}
	for _, p := range r.parts {
		if p.in != nil {
			inside[p.in] = append(inside[p.in], p)
		}
	}
	reached, todo := map[*node]bool{}, []*node{from}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if reached[p] {
			continue
		}
		reached[p] = true
		todo = append(todo, inside[p]...)
		for i := range p.out {
			if to := p.out[i].to; to != nil {
				todo = append(todo, to)
			}
		}
	}
	return reached
}
