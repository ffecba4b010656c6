package xsd

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/xmltext"
)

// Kind is the kind of a violation.
type Kind string

// The kinds of violations.
const (
	UnknownRoot      Kind = "unknown root"      // the root is not declared
	Unexpected       Kind = "unexpected"        // the element may not be here
	Missing          Kind = "missing"           // Expected must come in or before At
	BadText          Kind = "bad text"          // the text is not a value of the type
	NoText           Kind = "no text"           // there is text between elements
	NoElements       Kind = "no elements"       // there are elements in a text
	MissingAttribute Kind = "missing attribute" // Name is required
	UnknownAttribute Kind = "unknown attribute" // Name is not declared
	BadAttribute     Kind = "bad attribute"     // the value of Name is not a value of its type
)

// Violation is a place where a document does not match its schema.
type Violation struct {
	Kind     Kind
	At       xmltext.Element
	Name     string       // of the attribute
	Attr     xmltext.Attr // of BadAttribute and UnknownAttribute
	Value    string       // that was found
	Expected []string     // names of elements, or the values of an enumeration
	Type     string       // of the value; "" if it has no name
}

// maxViolations bounds what is reported about one document.
const maxViolations = 100

// Validate compares a document with the schema. It is valid if there is no violation.
func (s *Schema) Validate(root xmltext.Element) []Violation {
	v := &validator{schema: s}
	scope := v.scope(nil, root)
	declared, ok := s.elements[scope.element(root).local]
	if !ok || declared.name != scope.element(root) {
		return []Violation{{Kind: UnknownRoot, At: root}}
	}
	v.element(scope, root, declared.typ)
	return v.found
}

type validator struct {
	schema *Schema
	found  []Violation
}

func (v *validator) report(found Violation) {
	if len(v.found) < maxViolations {
		v.found = append(v.found, found)
	}
}

// scope is the namespaces that are declared at an element and around it.
type scope struct {
	outer  *scope
	spaces map[string]string
}

// scope returns the scope in an element.
func (v *validator) scope(outer *scope, e xmltext.Element) *scope {
	var spaces map[string]string
	for a := range e.Attrs() {
		if prefix, ok := strings.CutPrefix(a.Name(), "xmlns"); ok && (prefix == "" || prefix[0] == ':') {
			if spaces == nil {
				spaces = map[string]string{}
			}
			spaces[strings.TrimPrefix(prefix, ":")] = a.Value()
		}
	}
	if spaces == nil && outer != nil {
		return outer
	}
	return &scope{outer, spaces}
}

func (s *scope) space(prefix string) string {
	for ; s != nil; s = s.outer {
		if space, ok := s.spaces[prefix]; ok {
			return space
		}
	}
	if prefix == "xml" {
		return "http://www.w3.org/XML/1998/namespace"
	}
	return ""
}

func (s *scope) element(e xmltext.Element) name {
	if prefix, local, ok := strings.Cut(e.Name(), ":"); ok {
		return name{s.space(prefix), local}
	}
	return name{s.space(""), e.Name()}
}

// attribute resolves the name of an attribute: one without a prefix is in no namespace.
func (s *scope) attribute(a xmltext.Attr) name {
	if prefix, local, ok := strings.Cut(a.Name(), ":"); ok {
		return name{s.space(prefix), local}
	}
	return name{"", a.Name()}
}

func (v *validator) element(in *scope, e xmltext.Element, t *typ) {
	v.attributes(in, e, t)
	if t.text != nil {
		if e.First().Exists() {
			v.report(Violation{Kind: NoElements, At: e.First()})
		} else if text := e.Chars(); !t.text.accepts(text) {
			v.report(Violation{Kind: BadText, At: e, Value: text, Expected: t.text.values, Type: t.text.name})
		}
		return
	}
	if strings.Trim(e.Chars(), layout) != "" {
		v.report(Violation{Kind: NoText, At: e})
	}
	switch {
	case t.all != nil:
		v.unordered(in, e, t)
	case t.model != nil:
		v.ordered(in, e, t.model)
	case e.First().Exists():
		v.report(Violation{Kind: Unexpected, At: e.First()})
	}
}

const instance = "http://www.w3.org/2001/XMLSchema-instance"

func (v *validator) attributes(in *scope, e xmltext.Element, t *typ) {
	seen := map[name]bool{}
	for a := range e.Attrs() {
		if a.Name() == "xmlns" || strings.HasPrefix(a.Name(), "xmlns:") {
			continue
		}
		n := in.attribute(a)
		seen[n] = true
		declared, ok := t.attributes[n]
		switch {
		case ok:
			if !declared.typ.accepts(a.Value()) {
				v.report(Violation{Kind: BadAttribute, At: e, Name: a.Name(), Attr: a, Value: a.Value(), Expected: declared.typ.values, Type: declared.typ.name})
			}
		case n.space == instance && strings.HasSuffix(strings.ToLower(n.local), "schemalocation"):
		case n.space == instance || t.any == nil || !t.any.accepts(n.space):
			v.report(Violation{Kind: UnknownAttribute, At: e, Name: a.Name(), Attr: a})
		}
	}
	var missing []string
	for n, declared := range t.attributes {
		if declared.required && !seen[n] {
			missing = append(missing, n.local)
		}
	}
	slices.Sort(missing)
	for _, local := range missing {
		v.report(Violation{Kind: MissingAttribute, At: e, Name: local})
	}
}

func (v *validator) ordered(in *scope, e xmltext.Element, m *model) {
	state := start
	for c := range e.Children() {
		inner := v.scope(in, c)
		n := inner.element(c)
		next, ok := m.step(state, n)
		if !ok {
			expected := m.expected(state)
			var missing []string
			if next, missing, ok = m.skip(state, n); !ok {
				v.report(Violation{Kind: Unexpected, At: c, Expected: expected})
				continue
			}
			v.report(Violation{Kind: Missing, At: c, Expected: missing})
		}
		state = next
		v.term(inner, c, m.terms[state])
	}
	for n := 0; !m.ends(state) && n <= len(m.terms); n++ {
		v.report(Violation{Kind: Missing, At: e, Expected: m.expected(state)})
		after := m.next(state)
		state = after[len(after)-1]
	}
}

// term checks an element that a place of the content model accepted.
func (v *validator) term(in *scope, e xmltext.Element, t term) {
	if t.element != nil {
		v.element(in, e, t.element.typ)
		return
	}
	v.lax(in, e)
}

// lax checks an element of which the schema may know nothing, and those in it.
func (v *validator) lax(in *scope, e xmltext.Element) {
	if n := in.element(e); n.space == v.schema.target {
		if declared, ok := v.schema.elements[n.local]; ok {
			v.element(in, e, declared.typ)
			return
		}
	}
	for c := range e.Children() {
		v.lax(v.scope(in, c), c)
	}
}

func (v *validator) unordered(in *scope, e xmltext.Element, t *typ) {
	seen := map[name]bool{}
	for c := range e.Children() {
		inner := v.scope(in, c)
		n := inner.element(c)
		at := slices.IndexFunc(t.all, func(a allOf) bool { return a.element.name == n })
		if at < 0 || seen[n] {
			v.report(Violation{Kind: Unexpected, At: c})
			continue
		}
		seen[n] = true
		v.element(inner, c, t.all[at].element.typ)
	}
	for _, a := range t.all {
		if a.required && !seen[a.element.name] {
			v.report(Violation{Kind: Missing, At: e, Expected: []string{a.element.name.local}})
		}
	}
}
