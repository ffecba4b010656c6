package expr

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Test is the kind of text in a drawn choice.
type Test int

// The kinds of tests. For a single name, [Questions] finds out which it is.
const (
	QuestionTest Test = iota
	ConditionTest
	NameTest
)

// symbols do not occur in sentences. A text with one of them is a condition even if it does not
// parse: then it is a mistake, not a question.
var symbols = []string{"==", "!=", "<=", ">=", "&&", "||", "??", " = ", "startsWith", "endsWith"}

// TestOf distinguishes conditions from questions to people and agents in the texts of drawn
// choices: conditions have an operator or a marked reference.
func TestOf(text string, d Dialect) Test {
	e, err := ParseExpr(text, d)
	if err != nil {
		return meant(strings.TrimSpace(text))
	}
	switch root := e.root.(type) {
	case *Ref:
		if root.Kind == Unresolved && root.To-root.From == len(strings.TrimRight(strings.TrimSpace(text), " ?")) && isNameStart(text[root.From]) {
			return NameTest
		}
	case *literalNode:
		if _, ok := root.value.(bool); !ok {
			return QuestionTest
		}
	case listNode:
		return QuestionTest
	case *compareNode, *notNode, andNode, orNode, elseNode:
	}
	return ConditionTest
}

// meant returns what a text that does not parse was probably meant to be.
func meant(text string) Test {
	if slices.ContainsFunc(symbols, func(s string) bool { return strings.Contains(text, s) }) {
		return ConditionTest
	}
	for _, marks := range [][2]string{{"{{", "}}"}, {"${", "}"}} {
		if inner, ok := strings.CutPrefix(text, marks[0]); ok {
			_, rest, _ := strings.Cut(inner, marks[1])
			if rest = strings.TrimLeft(rest, " "); rest != "" && strings.ContainsRune("=<>!", rune(rest[0])) {
				return ConditionTest
			}
		}
	}
	return QuestionTest
}

// Questions returns the choices whose tests are questions, not conditions. Each test is a name or
// a path. It is a condition only if something defines its first name at the choice: a node
// upstream that writes it, the state, a declared input or, before a dot, a node. Call it before
// [Resolve].
func Questions(w *workflow.Workflow, d Dialect, names map[*workflow.Choice]string) map[*workflow.Choice]bool {
	if len(names) == 0 {
		return nil
	}
	r := &resolver{flow: newFlow(w), dialect: d}
	refs := map[*workflow.Choice]*Ref{}
	written := map[*workflow.Choice]*query{}
	var queries []*query
	for i := range r.places {
		c, _ := r.places[i].node.Step.(*workflow.Choice)
		if e, err := ParseExpr(names[c], d); c != nil && err == nil {
			refs[c], _ = e.root.(*Ref)
			written[c] = &query{at: point{place: i}, node: none, variable: refs[c].Path[0].Name}
			queries = append(queries, written[c])
		}
	}
	r.ask(queries)
	questions := map[*workflow.Choice]bool{}
	for c, ref := range refs {
		questions[c] = !r.defines(ref, written[c].holds)
	}
	return questions
}

// defines reports whether a written reference means something other than an undeclared input.
func (r *resolver) defines(ref *Ref, written bool) bool {
	if _, reserved := r.reserved(ref); reserved {
		return true
	}
	means := r.named(ref, written)
	return means.Kind != Inputs || r.inputs[means.Name]
}

// ReadsAsQuestion reports whether a text is a question wherever it is drawn in a workflow that
// has the known names.
func ReadsAsQuestion(text string, d Dialect, known map[string]bool) bool {
	test := TestOf(text, d)
	if test != NameTest {
		return test == QuestionTest
	}
	e, _ := ParseExpr(text, d)
	ref := e.root.(*Ref)
	name := ref.Path[0].Name
	return !known[name] && name != "output" && name != "input" && alias(name) == "" && !strings.HasPrefix(name, "agent_")
}

// KnownNames returns the names that mean something anywhere in a workflow.
func KnownNames(w *workflow.Workflow) map[string]bool {
	known := map[string]bool{}
	for _, in := range w.Inputs {
		known[in.Name] = true
	}
	for name := range w.State {
		known[name] = true
	}
	w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		known[n.ID], known[n.Output.Var], known[asOf(n)] = true, true, true
	})
	return known
}
