package scripted

import (
	"slices"
	"strings"
	"unicode"

	"github.com/hocket-dev/hocket/workflow"
)

// Problems are the replies that the people of a workflow, and of those it calls,
// cannot give: an error, or an answer that their question does not offer. Where a
// key fits several nodes, a reply is right if it is for one of them.
func (r *Replies) Problems(b *workflow.Bundle) workflow.Diagnostics {
	tasks, gates := map[string]bool{}, map[string][]gate{}
	walk(b, func(g *workflow.Graph, n *workflow.Node) {
		switch step := n.Step.(type) {
		case *workflow.Task:
			tasks[n.ID] = true
		case *workflow.Human:
			gates[n.ID] = append(gates[n.ID], gateOf(g, n.ID, step))
		case *workflow.Call, *workflow.Choice, *workflow.Combine, *workflow.Each, *workflow.Loop: // no script answers them
		}
	})
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

// place is where an entry stands, as far as that is known.
func (r *Replies) place(key string, i int) workflow.Pos {
	if i < len(r.places[key]) {
		return r.places[key][i]
	}
	return workflow.Pos{}
}

// problem is what is wrong with an answer to each of some questions, if anything.
func problem(node string, reply Reply, gates []gate, at workflow.Pos) workflow.Diagnostics {
	switch {
	case reply.Error != "":
		return workflow.Diagnostics{workflow.Errorf(at, CodeReplies, "write an answer; a person does not fail", "%q asks a person, and this is an error", node)}
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

// gateOf are the answers to a question: its own options, else the labels of its
// edges, else approve and reject.
func gateOf(g *workflow.Graph, id string, step *workflow.Human) gate {
	options := step.Options
	if len(options) == 0 {
		for _, e := range g.Edges {
			if e.From == id && e.On == workflow.OnLabel {
				options = append(options, workflow.Option{Value: e.Label})
			}
		}
	}
	if len(options) == 0 && !step.Custom {
		options = []workflow.Option{{Value: "approve"}, {Value: "reject"}}
	}
	return gate{options, step.Custom}
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

// takes says whether a question accepts an answer, by the rules of the engine.
func (g gate) takes(answer string) bool {
	said := bare(answer)
	same := func(o workflow.Option) bool {
		return answer == o.Value || said != "" && (said == bare(o.Value) || said == bare(o.Label))
	}
	if g.custom || slices.ContainsFunc(g.options, same) {
		return true
	}
	return slices.Equal(g.values(), []string{"approve", "reject"}) && isSynonym(said)
}

// isSynonym says whether a word means approve or reject.
func isSynonym(word string) bool {
	switch word {
	case "yes", "y", "ok", "true", "approved", "no", "n", "false", "rejected":
		return true
	}
	return false
}

// bare is an answer as it is compared: without case and surrounding punctuation.
func bare(s string) string {
	return strings.ToLower(strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.IsSymbol(r)
	}))
}
