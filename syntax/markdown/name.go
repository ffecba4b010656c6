package markdown

import (
	"slices"
	"strconv"

	"github.com/hocket-dev/hocket/workflow"
)

// checkNames reports duplicate ids, and gives the second node a new name, so that ids are always
// unique. A for_each over a single node may have the same id as that node; then its frame keeps
// the drawn id in the drawing.
func (r *reader) checkNames() {
	if !r.renamed {
		return
	}
	taken := make(map[string]workflow.Pos, len(r.vertices)+len(r.frames))
	k := 0
	for i := range r.vertices {
		v := &r.vertices[i]
		if r.chart.Nodes[i].Group >= 0 || v.mark {
			continue
		}
		n := &r.drawing.Nodes[k].Node
		if other, ok := taken[v.name]; ok {
			r.duplicate(v.name, n.Pos, other)
			v.name = free(taken, v.name)
			setID(n, v.name)
		}
		taken[v.name] = n.Pos
		k++
	}
	var shared []int
	for i := range r.frames {
		f, pos := &r.frames[i], r.drawing.Frames[i].Pos
		f.id = f.name
		if other, ok := taken[f.name]; ok {
			if r.repeats(i) {
				shared = append(shared, i)
				continue
			}
			r.duplicate(f.name, pos, other)
			f.name = free(taken, f.name)
			f.id = f.name
		}
		taken[f.id] = pos
	}
	for _, i := range shared {
		f := &r.frames[i]
		f.id = free(taken, f.name)
		taken[f.id] = r.drawing.Frames[i].Pos
	}
}

// repeats reports whether a subgraph is a for_each over the one node that has its
// name.
func (r *reader) repeats(frame int) bool {
	_, isEach := r.drawing.Frames[frame].Step.(*workflow.Each)
	inner := r.chart.Subgraphs[frame].Nodes
	if !isEach || len(inner) != 1 {
		return false
	}
	v := r.vertex(r.index()[inner[0]])
	return v != nil && v.name == r.frames[frame].name
}

func (r *reader) duplicate(id string, pos, other workflow.Pos) {
	r.report(workflow.Errorf(pos, codeDuplicateID, "it is also used at "+other.String()+"; rename one of them", "id %q is used twice", id))
}

// free returns a name with the first number that makes it unique.
func free(taken map[string]workflow.Pos, name string) string {
	for i := 2; ; i++ {
		id := name + "-" + strconv.Itoa(i)
		if _, ok := taken[id]; !ok {
			return id
		}
	}
}

// setID sets the id of a node, and of the node that it repeats.
func setID(n *workflow.Node, id string) {
	if body := n.Body(); body != nil && len(body.Nodes) == 1 && body.Nodes[0].ID == n.ID {
		body.Nodes[0].ID = id
	}
	n.ID = id
}

// rename sets the ids of frames that share an id with their node.
func (r *reader) rename() {
	if !slices.ContainsFunc(r.frames, func(f frame) bool { return f.id != f.name }) {
		return
	}
	names := make(map[string]string, len(r.frames))
	for _, f := range r.frames {
		names[f.id] = f.name
	}
	var in func(g *workflow.Graph)
	in = func(g *workflow.Graph) {
		for i := range g.Nodes {
			n := &g.Nodes[i]
			if body := n.Body(); body != nil {
				in(body)
			}
			n.ID = orElse(names[n.ID], n.ID)
		}
		for i := range g.Edges {
			e := &g.Edges[i]
			e.From, e.To = orElse(names[e.From], e.From), orElse(names[e.To], e.To)
		}
	}
	in(&r.w.Body)
}

// ids returns the ids of the nodes in the order in which they are drawn.
func (r *reader) ids() []string {
	ids := make([]string, len(r.drawing.Nodes))
	for i := range r.drawing.Nodes {
		ids[i] = r.drawing.Nodes[i].ID
	}
	return ids
}
