package expr

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Resolve rewrites every text of a parsed workflow into canonical form, in place. steps are the
// ids of the nodes by the index that `steps[0]` uses.
//
// A name means, in this order: a reserved word; a variable that a node upstream writes; state; a
// declared input; before a dot also a node. A name that nothing defines is an input or, on the
// right of a comparison, text. Text that does not parse is left unchanged for Problems to report.
// Resolving a resolved workflow again, in the Canonical dialect, changes nothing.
func Resolve(w *workflow.Workflow, d Dialect, steps []string) {
	f := newFlow(w)
	r := &resolver{flow: f, dialect: d, steps: steps, texts: f.texts(d, true), free: map[string]bool{}}
	r.resolveAll()
	for i := range r.texts {
		r.store(&r.texts[i])
	}
}

type resolver struct {
	*flow
	dialect Dialect
	steps   []string
	texts   []parsed
	free    map[string]bool // inputs that references use
	whole   []*Ref          // references to {{input}}, resolved once free is complete
}

// resolveAll makes the references of all texts canonical.
func (r *resolver) resolveAll() {
	upstream := r.findUpstream()
	for i := range r.texts {
		for _, ref := range r.texts[i].refs() {
			written := false
			if len(upstream) > 0 && upstream[0].ref == ref {
				written, upstream = upstream[0].holds, upstream[1:]
			}
			r.resolve(ref, written)
		}
	}
	r.resolveInput()
}

// findUpstream finds out which of the variables that bare names may mean are written upstream of
// the name. The answers are in the order of the references.
func (r *resolver) findUpstream() []variableQuery {
	var list []variableQuery
	var queries []*query
	var spare slab
	for i := range r.texts {
		at := r.texts[i].at
		for _, ref := range r.texts[i].refs() {
			if ref.Kind != Unresolved {
				continue
			}
			name := ref.Path[0].Name
			if writers := r.writers.of(name); writers != nil {
				q := spare.query(query{at: at, node: none, variable: name, writers: writers})
				list, queries = append(list, variableQuery{ref, q}), append(queries, q)
			}
		}
	}
	r.ask(queries)
	return list
}

// variableQuery is the query about the first name of a reference.
type variableQuery struct {
	ref *Ref
	*query
}

// resolve makes a reference canonical in place. written says whether a variable of its name is
// written upstream.
func (r *resolver) resolve(ref *Ref, written bool) {
	if ref.Kind == Unresolved {
		resolved, ok := r.reserved(ref)
		if !ok {
			resolved = r.named(ref, written)
		}
		resolved.From, resolved.To, resolved.guarded = ref.From, ref.To, ref.guarded
		resolved.word = ref.compare && resolved.Kind == Inputs && !r.inputs[resolved.Name]
		*ref = resolved
	}
	if ref.Kind == Inputs && ref.Name != "" && !ref.word {
		r.free[ref.Name] = true
	}
}

// alias returns the canonical form of a word that begins a path, or "".
func alias(word string) string {
	switch word {
	case "context":
		return "inputs"
	case "state":
		return "vars"
	case "parallel_group":
		return "groups"
	case "steps":
		return "nodes"
	}
	return ""
}

// reserved resolves references that begin with a reserved word.
func (r *resolver) reserved(ref *Ref) (Ref, bool) {
	word, rest := ref.Path[0].Name, ref.Path[1:]
	switch {
	case word == "output":
		return Ref{Kind: Previous, Field: "output", Path: rest}, true
	case word == "input":
		if !r.inputs["input"] {
			r.whole = append(r.whole, ref)
			return *ref, true
		}
	case word == "steps" && len(rest) > 0 && rest[0].IsIndex:
		return r.step(*ref, rest), true
	case word == "state" && len(rest) > 0 && rest[0].Name == roots[Repeats] && r.writers.of(rest[0].Name) == nil:
		return classified(rest), true // the rest alone decides
	case len(rest) > 0 && !rest[0].IsIndex && alias(word) != "":
		ref.Path[0].Name = alias(word) // changes the reference itself
		return classified(ref.Path), true
	}
	return Ref{}, false
}

// step resolves steps[i]. An index without a step is left unchanged.
func (r *resolver) step(ref Ref, rest []Key) Ref {
	if rest[0].Index >= len(r.steps) {
		return ref
	}
	return classified(slices.Concat([]Key{{Name: "nodes"}, {Name: r.steps[rest[0].Index]}}, rest[1:]))
}

// named resolves a name that is not a reserved word.
func (r *resolver) named(ref *Ref, written bool) Ref {
	name, rest := ref.Path[0].Name, ref.Path[1:]
	if len(rest) == 0 {
		rest = nil
	}
	_, isState := r.w.State[name]
	switch {
	case written, isState:
		return Ref{Kind: Vars, Name: name, Path: rest}
	case r.inputs[name]:
		return Ref{Kind: Inputs, Name: name, Path: rest}
	case len(rest) > 0 && r.byID.of(name) != nil:
		return r.nodePath(name, rest)
	}
	if id, ok := r.agentResult(name); ok {
		return Ref{Kind: Nodes, Name: id, Field: "output", Path: rest}
	}
	return Ref{Kind: Inputs, Name: name, Path: rest}
}

// nodePath resolves `id.name`: the node's output by the name of its variable, one of its fields,
// or a part of its output.
func (r *resolver) nodePath(id string, rest []Key) Ref {
	ref := Ref{Kind: Nodes, Name: id, Field: "output", Path: rest}
	first := rest[0]
	isVar := slices.ContainsFunc(r.byID.of(id), func(i int) bool { return r.places[i].node.Output.Var == first.Name })
	switch {
	case first.IsIndex:
	case isVar:
		ref.Path = rest[1:]
	case slices.Contains(NodeFields(), first.Name):
		ref.Field, ref.Path = first.Name, rest[1:]
	}
	if len(ref.Path) == 0 {
		ref.Path = nil
	}
	return ref
}

// agentResult resolves agent_1_result: the node 1, the node agent_1, or else the first step.
// There may be no such step: an input is never called that.
func (r *resolver) agentResult(name string) (string, bool) {
	agent, ok := strings.CutSuffix(name, "_result")
	number, isAgent := strings.CutPrefix(agent, "agent_")
	if !ok || !isAgent {
		return "", false
	}
	for _, id := range []string{number, agent} {
		if r.byID.of(id) != nil {
			return id, true
		}
	}
	if id, ok := r.numbered(number); ok {
		return id, true
	}
	return number, number != "" && strings.Trim(number, "0123456789") == ""
}

func (r *resolver) numbered(number string) (string, bool) {
	n := 0
	for i := range len(number) {
		if !isDigit(number[i]) || n > len(r.steps) {
			return "", false
		}
		n = n*10 + int(number[i]-'0')
	}
	if n < 1 || n > len(r.steps) {
		return "", false
	}
	return r.steps[n-1], true
}

// resolveInput resolves {{input}}: the only declared input, all inputs or, if there are none, the
// input named input.
func (r *resolver) resolveInput() {
	calls := false
	r.w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		_, isCall := n.Step.(*workflow.Call)
		calls = calls || isCall
	})
	alone := len(r.w.Inputs) == 0 && len(r.free) == 0 && !calls
	for _, ref := range r.whole {
		resolved := r.input(ref.Path[1:], alone)
		resolved.From, resolved.To, resolved.guarded = ref.From, ref.To, ref.guarded
		*ref = resolved
	}
}

func (r *resolver) input(rest []Key, alone bool) Ref {
	named := len(rest) > 0 && !rest[0].IsIndex
	switch {
	case alone:
		return Ref{Kind: Inputs, Name: "input", Path: rest}
	case named && r.inputs[rest[0].Name]:
		return Ref{Kind: Inputs, Name: rest[0].Name, Path: rest[1:]}
	case len(r.w.Inputs) == 1:
		return Ref{Kind: Inputs, Name: r.w.Inputs[0].Name, Path: rest}
	}
	return classified(slices.Concat([]Key{{Name: "inputs"}}, rest))
}

// store stores the canonical text. A template that did not parse is marked as broken.
func (r *resolver) store(p *parsed) {
	switch {
	case p.err == nil:
		p.text = p.canonical()
	case p.isText && r.dialect != Canonical:
		p.text = brokenMark + p.text
	default:
		return
	}
	p.slot.set(p.text)
}
