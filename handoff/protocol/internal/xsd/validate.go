package xsd

import (
	"slices"
	"sort"
	"strings"

	"github.com/hocket-dev/hocket/internal/xmltext"
)

// Kind is the kind of a violation.
type Kind string

// The kinds of violations.
const (
	UnknownRoot      Kind = "unknown root"      // the root is not declared
	Unexpected       Kind = "unexpected"        // the element is not allowed here
	Missing          Kind = "missing"           // Expected must come in or before At; nil if the schema does not name it
	BadText          Kind = "bad text"          // the text is not a value of the type
	NoText           Kind = "no text"           // there is text between elements
	NoElements       Kind = "no elements"       // there are elements in a text
	MissingAttribute Kind = "missing attribute" // Name is required
	UnknownAttribute Kind = "unknown attribute" // Name is not declared
	BadAttribute     Kind = "bad attribute"     // the value of Name is not a value of its type

	// Only lenient validation reports these, and it accepts them.
	Moved  Kind = "moved"  // the element should come earlier
	Folded Kind = "folded" // the value equals Expected except for letter case and white space
)

// Accepted reports whether the document is valid despite the violation.
func (k Kind) Accepted() bool { return k == Moved || k == Folded }

// Violation is a place where a document does not match its schema.
type Violation struct {
	Kind     Kind
	At       xmltext.Element
	Name     string       // of the attribute
	Attr     xmltext.Attr // of BadAttribute and UnknownAttribute
	Value    string       // the value that was found
	Expected []string     // names of elements, or the values of an enumeration
	Type     string       // of the value; "" if it has no name
}

// maxViolations limits how many violations of a document are reported.
const maxViolations = 100

// Validate checks a document against the schema. The document is valid if there is no violation.
// Lenient validation accepts elements in any order and the values of enumerations in any letter
// case, but reports them.
func (s *Schema) Validate(root xmltext.Element, lenient bool) []Violation {
	v := &validator{schema: s, lenient: lenient}
	scope := (*Scope)(nil).In(root)
	declared, ok := s.elements[scope.Element(root).Local]
	if !ok || declared.name != scope.Element(root) {
		return []Violation{{Kind: UnknownRoot, At: root}}
	}
	v.element(scope, root, declared.typ)
	return v.found
}

type validator struct {
	schema  *Schema
	lenient bool
	found   []Violation
}

func (v *validator) report(found Violation) {
	if len(v.found) < maxViolations {
		v.found = append(v.found, found)
	}
}

// Scope has the namespaces that an element and its ancestors declare. The nil Scope is outside the
// root.
type Scope struct {
	outer  *Scope
	spaces map[string]string
}

// In returns the scope inside an element.
func (s *Scope) In(e xmltext.Element) *Scope {
	var spaces map[string]string
	for a := range e.Attrs() {
		if prefix, ok := strings.CutPrefix(a.Name(), "xmlns"); ok && (prefix == "" || prefix[0] == ':') {
			if spaces == nil {
				spaces = map[string]string{}
			}
			spaces[strings.TrimPrefix(prefix, ":")] = a.Value()
		}
	}
	if spaces == nil {
		return s
	}
	return &Scope{s, spaces}
}

func (s *Scope) space(prefix string) string {
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

// Element resolves the name of an element in this scope, which includes its own declarations.
func (s *Scope) Element(e xmltext.Element) Name {
	if prefix, local, ok := strings.Cut(e.Name(), ":"); ok {
		return Name{s.space(prefix), local}
	}
	return Name{s.space(""), e.Name()}
}

// attribute resolves the name of an attribute. Without a prefix, it has no namespace.
func (s *Scope) attribute(a xmltext.Attr) Name {
	if prefix, local, ok := strings.Cut(a.Name(), ":"); ok {
		return Name{s.space(prefix), local}
	}
	return Name{"", a.Name()}
}

func (v *validator) element(in *Scope, e xmltext.Element, t *typ) {
	v.attributes(in, e, t)
	if t.text != nil {
		if e.First().Exists() {
			v.report(Violation{Kind: NoElements, At: e.First()})
		} else {
			v.value(t.text, Violation{Kind: BadText, At: e, Value: e.Chars()})
		}
		return
	}
	// Like xmllint, and unlike the standard, a CDATA section counts as text even if it is blank.
	if e.HasCDATA() || strings.Trim(e.Chars(), layout) != "" {
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

// value checks a text, and completes and reports the given violation if it is invalid.
func (v *validator) value(t *simple, wrong Violation) {
	if t.accepts(wrong.Value) {
		return
	}
	wrong.Expected, wrong.Type = t.values, t.name
	if v.lenient {
		bare := strings.Trim(wrong.Value, layout)
		if i := slices.IndexFunc(t.values, func(value string) bool { return strings.EqualFold(value, bare) }); i >= 0 {
			wrong.Kind, wrong.Expected = Folded, t.values[i:i+1]
		}
	}
	v.report(wrong)
}

const instance = "http://www.w3.org/2001/XMLSchema-instance"

// These attributes would change what an element may contain. They are not supported, so they are
// refused, even on elements that the schema does not know.
var typeAttribute, nilAttribute = Name{instance, "type"}, Name{instance, "nil"}

func (v *validator) attributes(in *Scope, e xmltext.Element, t *typ) {
	seen := map[Name]bool{}
	for a := range e.Attrs() {
		if a.Name() == "xmlns" || strings.HasPrefix(a.Name(), "xmlns:") {
			continue
		}
		n := in.attribute(a)
		seen[n] = true
		declared, ok := t.attributes[n]
		switch {
		case ok:
			v.value(declared.typ, Violation{Kind: BadAttribute, At: e, Name: a.Name(), Attr: a, Value: a.Value()})
		case n.Space == instance && (n.Local == "schemaLocation" || n.Local == "noNamespaceSchemaLocation"):
		case n == typeAttribute || n == nilAttribute || t.any == nil || !t.any.accepts(n.Space):
			v.report(Violation{Kind: UnknownAttribute, At: e, Name: a.Name(), Attr: a})
		}
	}
	var missing []string
	for n, declared := range t.attributes {
		if declared.required && !seen[n] {
			missing = append(missing, n.Local)
		}
	}
	slices.Sort(missing)
	for _, local := range missing {
		v.report(Violation{Kind: MissingAttribute, At: e, Name: local})
	}
}

func (v *validator) ordered(in *Scope, e xmltext.Element, m *model) {
	state := start
	for _, c := range v.children(in, e, m) {
		inner := in.In(c)
		n := inner.Element(c)
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
		if len(after) == 0 {
			return // nothing matches an empty choice
		}
		state = after[len(after)-1]
	}
}

// children returns the children of an element. In lenient mode, it sorts them in the order of the
// schema.
func (v *validator) children(in *Scope, e xmltext.Element, m *model) []xmltext.Element {
	children := slices.Collect(e.Children())
	if !v.lenient {
		return children
	}
	names := make([]Name, len(children))
	for i, c := range children {
		names[i] = in.In(c).Element(c)
	}
	if m.accepts(names) {
		return children
	}
	ranks := make(map[xmltext.Element]int, len(children))
	highest := 0
	for i, c := range children {
		rank := m.rank(names[i])
		switch ranks[c] = rank; {
		case rank < highest:
			v.report(Violation{Kind: Moved, At: c})
		case rank < len(m.terms):
			highest = rank
		}
	}
	sort.SliceStable(children, func(i, j int) bool { return ranks[children[i]] < ranks[children[j]] })
	return children
}

// term checks an element that was accepted by a position of the content model.
func (v *validator) term(in *Scope, e xmltext.Element, t term) {
	if t.element != nil {
		v.element(in, e, t.element.typ)
		return
	}
	if !t.any.skip {
		v.lax(in, e)
	}
}

// lax checks an element and its content, as far as the schema knows them.
func (v *validator) lax(in *Scope, e xmltext.Element) {
	if n := in.Element(e); n.Space == v.schema.target {
		if declared, ok := v.schema.elements[n.Local]; ok {
			v.element(in, e, declared.typ)
			return
		}
	}
	for a := range e.Attrs() {
		if in.attribute(a) == typeAttribute {
			v.report(Violation{Kind: UnknownAttribute, At: e, Name: a.Name(), Attr: a})
		}
	}
	for c := range e.Children() {
		v.lax(in.In(c), c)
	}
}

func (v *validator) unordered(in *Scope, e xmltext.Element, t *typ) {
	seen := map[Name]bool{}
	for c := range e.Children() {
		inner := in.In(c)
		n := inner.Element(c)
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
			v.report(Violation{Kind: Missing, At: e, Expected: []string{a.element.name.Local}})
		}
	}
}

// Resolve returns the full name for a prefix and a local name in this scope. Its space is "" if the
// prefix is not declared.
func (s *Scope) Resolve(prefix, local string) Name { return Name{s.space(prefix), local} }
