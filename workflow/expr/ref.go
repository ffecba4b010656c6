package expr

import (
	"slices"
	"strconv"
	"strings"
)

// Kind is the kind of thing that a reference refers to.
type Kind int

// The kinds of references. In all but Unresolved, Path is what follows the
// reference proper: in `nodes.a.output.issues[0]` it is `.issues[0]`.
const (
	Unresolved Kind = iota // as written: Path holds everything
	Inputs                 // inputs.NAME; NAME "" is all inputs
	Vars                   // vars.NAME
	Nodes                  // nodes.NAME.FIELD, FIELD one of NodeFields
	Groups                 // groups.NAME.FIELD, FIELD one of GroupFields
	Previous               // previous.FIELD, FIELD one of PreviousFields
	Failure                // failure.FIELD, FIELD one of FailureFields
	Item                   // item
	Index                  // index
	Iteration              // iteration
	Repeats                // _iteration_count: iteration, from 0
)

// NodeFields returns the fields of a node's result.
func NodeFields() []string {
	return []string{"output", "status", "error", "duration_ms", "attempts", "workspace"}
}

// GroupFields returns the fields of a parallel group.
func GroupFields() []string { return []string{"outputs", "succeeded", "failed", "status"} }

// PreviousFields returns the fields of previous: the output of the step that leads to a node, and
// the decision of a router, a person or a question in between, with its reason.
func PreviousFields() []string { return []string{"output", "decision", "reason"} }

// FailureFields returns the fields of the failure that led to a node.
func FailureFields() []string { return []string{"node", "error", "status"} }

// roots are the first words of canonical references, by kind.
var roots = [...]string{
	Inputs: "inputs", Vars: "vars", Nodes: "nodes", Groups: "groups", Previous: "previous",
	Failure: "failure", Item: "item", Index: "index", Iteration: "iteration",
	Repeats: "_iteration_count",
}

// rootKind returns the kind of reference that a word begins, or Unresolved.
func rootKind(word string) Kind { return Kind(max(slices.Index(roots[:], word), int(Unresolved))) }

// Ref is a reference in an expression.
type Ref struct {
	Kind     Kind
	Name     string // of the input, variable, node or group
	Field    string
	Path     []Key
	From, To int // byte range in the parsed text, including ${ }, {{ }} or $

	guarded bool // it has a ?? default
	compare bool // it is a single name, without marks, on the right of a comparison
	word    bool // nothing defines the name, so it is text
}

// Key is one step of a path: a name or an index.
type Key struct {
	Name    string
	Index   int
	IsIndex bool
}

// Guarded reports whether the reference has a `??` default, so that it may be
// missing.
func (r *Ref) Guarded() bool { return r.guarded }

// String returns the canonical text of a reference.
func (r *Ref) String() string {
	var b strings.Builder
	r.print(&b, looseLevel)
	return b.String()
}

func (r *Ref) print(b *strings.Builder, _ level) {
	if r.word {
		printString(b, r.Name)
		return
	}
	path := r.Path
	if r.Kind == Unresolved {
		b.WriteString(path[0].Name)
		path = path[1:]
	} else {
		b.WriteString(roots[r.Kind])
	}
	if r.Name != "" {
		Key{Name: r.Name}.print(b)
	}
	if r.Field != "" {
		Key{Name: r.Field}.print(b)
	}
	for _, k := range path {
		k.print(b)
	}
}

func (k Key) print(b *strings.Builder) {
	switch {
	case k.IsIndex:
		b.WriteByte('[')
		b.WriteString(strconv.Itoa(k.Index))
		b.WriteByte(']')
	case IsName(k.Name):
		b.WriteByte('.')
		b.WriteString(k.Name)
	default:
		b.WriteByte('[')
		printString(b, k.Name)
		b.WriteByte(']')
	}
}

// IsName reports whether s can appear in a path without quotes:
// [A-Za-z_][A-Za-z0-9_-]*.
func IsName(s string) bool {
	return s != "" && isNameStart(s[0]) && nameEnd(s, 0) == len(s)
}

func isNameStart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isNamePart(c byte) bool { return isNameStart(c) || isDigit(c) || c == '-' }

// nameEnd returns the offset after the name that begins at from.
func nameEnd(s string, from int) int {
	for from < len(s) && isNamePart(s[from]) {
		from++
	}
	return from
}

// classify parses a path as a canonical reference, and leaves it unresolved if its first name
// does not begin one. A node alone means its output, a group alone its outputs. A field that does
// not exist is kept; Problems reports it.
//
// The rest of the path is returned separately instead of in Path: the path may be in memory that
// is reused, and then only the rest has to be copied.
func classify(path []Key) (r Ref, rest []Key) {
	r.Kind = rootKind(path[0].Name)
	if r.Kind == Unresolved {
		return r, path
	}
	rest = path[1:]
	switch r.Kind {
	case Inputs, Vars:
		r.Name, rest = cutName(rest, "")
	case Nodes:
		if r.Name, rest = cutName(rest, ""); r.Name != "" {
			r.Field, rest = cutName(rest, "output")
		}
	case Groups:
		if r.Name, rest = cutName(rest, ""); r.Name != "" {
			r.Field, rest = cutName(rest, "outputs")
		}
	case Previous:
		r.Field, rest = cutName(rest, "output")
	case Failure:
		r.Field, rest = cutName(rest, "")
	case Item, Index, Iteration, Repeats, Unresolved:
	}
	if len(rest) == 0 {
		rest = nil
	}
	return r, rest
}

// classified is like classify, but for a path that the reference may keep.
func classified(path []Key) Ref {
	r, rest := classify(path)
	r.Path = rest
	return r
}

// cutName removes a name from the start of the path, or returns the default if there is none.
func cutName(path []Key, byDefault string) (string, []Key) {
	if len(path) == 0 || path[0].IsIndex || path[0].Name == "" {
		return byDefault, path
	}
	return path[0].Name, path[1:]
}

// walk follows the path into a value. It returns nil if there is nothing at the path.
func walk(v any, path []Key) any {
	for _, k := range path {
		switch parent := v.(type) {
		case map[string]any:
			if k.IsIndex {
				return nil
			}
			v = parent[k.Name]
		case []any:
			if !k.IsIndex || k.Index >= len(parent) {
				return nil
			}
			v = parent[k.Index]
		default:
			return nil
		}
	}
	return v
}
