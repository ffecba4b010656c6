package plantuml

import (
	"cmp"
	"sort"

	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// sortEdges sorts the edges of a node by their kinds, and answers by their position in the text:
// the way out of a loop is tied after the way back.
func sortEdges(edges []arrow) {
	if len(edges) > 1 {
		sort.SliceStable(edges, func(i, j int) bool {
			a, b := edges[i], edges[j]
			if a.on == workflow.OnLabel && b.on == workflow.OnLabel {
				return cmp.Or(a.pos.Line-b.pos.Line, a.pos.Column-b.pos.Column) < 0
			}
			return yaml.Rank(a.on) < yaml.Rank(b.on)
		})
	}
}

// dropUnreached removes what the flow cannot reach, and reports it once for steps that follow
// each other.
func (r *reader) dropUnreached() {
	r.reach()
	said := false
	kept := r.parts[:0]
	for _, p := range r.parts {
		if p.reached || p.isFrame && p.Step == nil {
			kept, said = append(kept, p), said && p.isFrame
			continue
		}
		if !said {
			r.report(workflow.Warningf(p.Pos, codeDead, "add a path to it, or remove it", "nothing leads to %q, so it is ignored", p.ID))
		}
		said = true
	}
	r.parts = kept
}

// reach finds what the flow can reach: from where it begins along the edges, and into frames.
func (r *reader) reach() {
	var todo []*node
	for _, p := range r.parts {
		if !p.entered {
			continue
		}
		if home := p.home(); home != nil {
			home.firsts = append(home.firsts, p)
		} else {
			todo = append(todo, p)
		}
	}
	if len(todo) == 0 {
		todo = r.unled()
	}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if p.reached {
			continue
		}
		p.reached = true
		todo = append(todo, p.firsts...)
		for i := range p.out {
			if to := p.out[i].to; to != nil && !to.reached {
				todo = append(todo, to)
			}
		}
	}
}

// unled returns the nodes outside frames that no edge leads to.
func (r *reader) unled() []*node {
	led := map[*node]bool{}
	for _, p := range r.parts {
		for i := range p.out {
			led[p.out[i].to] = true
		}
	}
	var list []*node
	for _, p := range r.parts {
		if p.home() == nil && p.Step != nil && !led[p] {
			list = append(list, p)
		}
	}
	return list
}
