package scripted

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Problems returns the replies that people in a workflow, or in those it calls, cannot
// give: an error, or an answer that their question does not offer. If a key matches several
// nodes, a reply is valid if it is valid for one of them.
func (r *Replies) Problems(b *workflow.Bundle) workflow.Diagnostics {
	tasks, gates := map[string]bool{}, map[string][]gate{}
	for _, body := range bodies(b) {
		body.Walk(func(g *workflow.Graph, n *workflow.Node) {
			if h, ok := n.Step.(*workflow.Human); ok {
				gates[n.ID] = append(gates[n.ID], gate{g.Offered(n), h.Custom})
			}
		})
		body.WalkTasks(func(n *workflow.Node, _ *workflow.Task) { tasks[n.ID] = true })
	}
	var found workflow.Diagnostics
	for _, key := range r.Keys() {
		node := nodeOf(key)
		if key == others || tasks[node] || len(gates[node]) == 0 {
			continue
		}
		for i, reply := range r.lists[key] {
			found = append(found, problem(node, reply, gates[node], r.place(key, i))...)
		}
	}
	return found.Sort()
}

// At returns the position of a key, as far as it is known.
func (r *Replies) At(key string) workflow.Pos { return r.keys[key] }

// place returns the position of an entry, as far as it is known.
func (r *Replies) place(key string, i int) workflow.Pos {
	if i < len(r.places[key]) {
		return r.places[key][i]
	}
	return workflow.Pos{}
}

// problem returns what is wrong with an answer for each of some questions, if anything.
func problem(node string, reply Reply, gates []gate, at workflow.Pos) workflow.Diagnostics {
	switch {
	case reply.Error != "":
		return workflow.Diagnostics{workflow.Errorf(at, CodeReplies, "write an answer: people cannot fail", "%q asks a person, but its reply is an error", node)}
	case slices.ContainsFunc(gates, func(g gate) bool { return g.takes(reply.Output) }):
		return nil
	}
	var offered []string
	for _, g := range gates {
		offered = append(offered, g.values()...)
	}
	return workflow.Diagnostics{workflow.Errorf(at, CodeReplies, "it offers "+strings.Join(offered, ", "), "%q does not offer the answer %q", node, reply.Output)}
}

// gate is what a person may answer to a question.
type gate struct {
	options []workflow.Option
	custom  bool
}

func (g gate) values() []string {
	var values []string
	for _, o := range g.options {
		if !slices.Contains(values, o.Value) {
			values = append(values, o.Value)
		}
	}
	return values
}

// takes reports whether a question accepts an answer.
func (g gate) takes(answer string) bool {
	_, offered := workflow.Chosen(g.options, answer)
	return offered || g.custom
}

// Takes reports whether a question at an address has replies that it accepts, whichever is the next one.
func (r *Replies) Takes(address, node string, options []workflow.Option, custom bool) bool {
	key, ok := r.key(address, node)
	return ok && !slices.ContainsFunc(r.lists[key], func(reply Reply) bool { return !gate{options, custom}.takes(reply.Output) })
}
