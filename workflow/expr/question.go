package expr

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Test is what the text of a drawn choice is.
type Test int

// The kinds of tests. Of a name alone, [Questions] finds out what it is.
const (
	QuestionTest Test = iota
	ConditionTest
	NameTest
)

// symbols are in no sentence. Text with one of them is a condition even where it does
// not parse: then it is a mistake, and no question.
var symbols = []string{"==", "!=", "<=", ">=", "&&", "||", "??", " = ", "startsWith", "endsWith"}

// TestOf tells the conditions among the texts of drawn choices from questions to
// people and agents: they have an operator or a marked reference.
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

// meant is what a text that does not parse was meant to be.
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

// Questions are those of the choices whose tests are no conditions but questions. Each
// is a name or a path, and a condition only if something defines what it begins with
// at the choice: a node upstream that writes it, the state, a declared input or, before
// a dot, a node. It is asked before [Resolve].
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

// defines says whether a written reference means anything but an input that nothing
// declares.
func (r *resolver) defines(ref *Ref, written bool) bool {
	if _, reserved := r.reserved(ref); reserved {
		return true
	}
	means := r.named(ref, written)
	return means.Kind != Inputs || r.inputs[means.Name]
}

// ReadsAsQuestion says whether a text is a question wherever it is drawn in a workflow
// that has the known names.
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

// KnownNames are the names that mean something somewhere in a workflow.
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
