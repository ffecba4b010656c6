package workflow

import "strings"

// Bundle is a workflow with all the workflows that it calls, directly or indirectly, by the names
// used in the calls. A run stores its bundle when it starts.
type Bundle struct {
	Root   *Workflow
	Called map[string]*Workflow
}

// At returns the node at a place, or nil. A place is the id of the node after those of the calls that lead
// to it, with slashes between them: the address of a step without items and iterations.
func (b *Bundle) At(place string) *Node {
	w := b.Root
	for w != nil {
		id, rest, more := strings.Cut(place, "/")
		found := w.Body.find(id)
		if found == nil || !more {
			return found
		}
		call, ok := found.Repeats().Step.(*Call)
		if !ok {
			return nil
		}
		w, place = b.Called[call.Workflow], rest
	}
	return nil
}

// Isolates reports whether steps have workspaces of their own.
func (b *Bundle) Isolates() (found bool) {
	visit := func(_ *Graph, n *Node) { found = found || n.Workspace == WorkspaceOwn }
	b.Root.Body.Walk(visit)
	for _, w := range b.Called {
		w.Body.Walk(visit)
	}
	return found
}

// find returns the first node with an id in this graph and in the bodies in it.
func (g *Graph) find(id string) (found *Node) {
	g.Walk(func(_ *Graph, n *Node) {
		if found == nil && n.ID == id {
			found = n
		}
	})
	return found
}

// Repeats returns the node that a for_each repeats under its own id, and any other node itself.
func (n *Node) Repeats() *Node {
	if each, ok := n.Step.(*Each); ok {
		if body := each.Body.Node(n.ID); body != nil {
			return body
		}
	}
	return n
}
