package plantuml

import (
	"errors"
	"slices"
	"strconv"

	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// Format draws a model: with blocks if its edges allow it, otherwise with the edges in notes. It
// parses the result again to make sure that it has the digest of the model.
func Format(w *workflow.Workflow) ([]byte, error) {
	text, _, err := format(w)
	return text, err
}

// format returns the text and the plan that led to it.
func format(w *workflow.Workflow) ([]byte, *plan, error) {
	digest, written := workflow.Digest(w), yaml.InDialect(w, expr.PlantUML)
	for _, form := range []plan{{}, {framed: true}, {framed: true, hard: true}, {flat: true, hard: true}} {
		p := form
		p.w, p.written, p.carried = w, written, map[string]bool{}
		p.carryKnown()
		for range 6 {
			text := p.write()
			again, found := Parse("", text)
			if !found.Errors() && workflow.Digest(again) == digest {
				return text, &p, nil
			}
			if again == nil || !p.carryMore(again) {
				break
			}
		}
	}
	return nil, nil, errors.New("plantuml: the workflow " + strconv.Quote(w.Name) + " cannot be written in PlantUML")
}

// plan says how a model is drawn.
type plan struct {
	w, written *workflow.Workflow
	flat       bool            // without blocks
	framed     bool            // loops are frames, unless a choice at one of their ends leaves them
	hard       bool            // all texts are in quotes
	carried    map[string]bool // nodes whose edges are in their notes
	noted      []string        // those of them that the drawing could not show, in order
	frames     map[string]bool // loops that are drawn as frames
}

// carryMore finds the nodes that were read with other edges than they have, and reports whether
// any of them is not carried yet. Nodes that were left out come last: they may be read correctly
// when the others are.
func (p *plan) carryMore(again *workflow.Workflow) bool {
	got, want := edgesOf(&again.Body), edgesOf(&p.w.Body)
	there := map[string]bool{}
	again.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) { there[n.ID], there[n.ID+"[]"] = true, true })
	before := len(p.carried)
	for _, missing := range []bool{false, true} {
		for id, edges := range want {
			if there[id] != missing && !sameEdges(got[id], edges) {
				p.carried[id] = true
			}
		}
		for id := range got {
			if len(want[id]) == 0 {
				p.carried[id] = true
			}
		}
		if len(p.carried) > before {
			return true
		}
	}
	for id := range want {
		p.carried[id] = true // edges drawn wrongly may form a loop in which they look right
	}
	return len(p.carried) > before
}

// carryKnown finds the nodes whose edges no block can show.
func (p *plan) carryKnown() {
	edges := edgesOf(&p.w.Body)
	var look func(g *workflow.Graph, owner *workflow.Node)
	look = func(g *workflow.Graph, owner *workflow.Node) {
		for i := range g.Nodes {
			n := &g.Nodes[i]
			key := keyIn(owner, n.ID)
			if ways, _ := waysOf(edges[key]); !canShow(n, ways) {
				p.carried[key] = true
			}
			if body := n.Body(); body != nil {
				look(body, n)
			}
		}
	}
	look(&p.w.Body, nil)
}

// canShow reports whether the ways of a node can be drawn.
func canShow(n *workflow.Node, ways []way) bool {
	kind := yaml.Kind(n)
	switch {
	case len(ways) == 0 || len(ways) == 1 && ways[0].on == workflow.OnSuccess:
		return true
	case kind == "choice" && len(ways) == 2 && ways[0].on == workflow.OnWhen && ways[1].on == workflow.OnElse && n.Task() == nil:
		return isSafeTest(ways[0].when)
	case kind != "choice" && kind != "task" && kind != "human":
		return false
	}
	return !slices.ContainsFunc(ways, func(w way) bool {
		return w.on != workflow.OnElse && (w.on != workflow.OnLabel || !isSafeLabel(w.label)) || len(w.to) > 1
	})
}

// edgesOf returns the edges of all nodes, by the keys of their sources.
func edgesOf(g *workflow.Graph) map[string][]workflow.Edge {
	out := map[string][]workflow.Edge{}
	var collect func(g *workflow.Graph, owner *workflow.Node)
	collect = func(g *workflow.Graph, owner *workflow.Node) {
		for _, e := range g.Edges {
			key := keyIn(owner, e.From)
			out[key] = append(out[key], e)
		}
		for i := range g.Nodes {
			if body := g.Nodes[i].Body(); body != nil {
				collect(body, &g.Nodes[i])
			}
		}
	}
	collect(g, nil)
	return out
}

// keyIn returns a unique key for a node: its id, except for the only node of a for_each, which
// may share the id of the for_each.
func keyIn(owner *workflow.Node, id string) string {
	if owner != nil && owner.ID == id {
		return id + "[]"
	}
	return id
}

func sameEdges(a, b []workflow.Edge) bool {
	return slices.EqualFunc(a, b, func(x, y workflow.Edge) bool {
		return x.To == y.To && x.On == y.On && x.Label == y.Label && x.When.Text == y.When.Text
	})
}

// write draws the model.
func (p *plan) write() []byte {
	out := &writer{plan: p, style: yaml.Style{Hard: p.hard}, edges: edgesOf(&p.written.Body)}
	out.known, out.echoes = expr.KnownNames(p.w), map[string]bool{}
	p.written.Body.Walk(func(g *workflow.Graph, n *workflow.Node) {
		if behind := g.AskedBehind(n); behind != nil {
			text := behind.Task().Prompt.Text
			out.echoes[behind.ID] = text == n.Step.(*workflow.Human).Question.Text || text == n.Title || text == out.text(n)
		}
	})
	p.noted, p.frames = nil, map[string]bool{}
	body := p.shape(&p.written.Body, nil, workflow.End).whole(workflow.End)
	out.takeIDs(body)
	out.file(body)
	return out.b.Bytes()
}
