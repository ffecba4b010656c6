package protocol

import (
	"fmt"
	"strings"

	"github.com/hocket-dev/hocket/handoff/protocol/internal/xsd"
)

// Get returns the texts of a field, in the order of the document. A field is a path of elements
// below the request, such as mode, constraints/constraint or deliverables/file/@path; the last part
// may be an attribute. An element from another namespace is named by a prefix that the request
// declares, or by its URI in braces, as in {urn:qa}coverage. If the path has only one part,
// elements at any depth match.
func (q *Request) Get(field string) ([]string, error) {
	parts, err := q.path(field)
	if err != nil {
		return nil, err
	}
	at := []element{q.root}
	if p := parts[0]; len(parts) == 1 && (p.Space != "" || p.prefixed) && !p.attribute {
		return texts(q.root.descendants(p)), nil
	}
	for _, p := range parts {
		if p.attribute {
			var values []string
			for _, e := range at {
				for a := range e.Attrs() {
					if a.Name() == p.written {
						values = append(values, a.Value())
					}
				}
			}
			return values, nil
		}
		var next []element
		for _, e := range at {
			for _, c := range e.children() {
				if p.is(c) {
					next = append(next, c)
				}
			}
		}
		at = next
	}
	return texts(at), nil
}

// step is a part of a path.
type step struct {
	xsd.Name
	written   string
	attribute bool
	prefixed  bool // only the prefixed name is known, not the namespace
}

func (s step) is(e element) bool {
	if s.prefixed {
		return e.Name() == s.written
	}
	return e.name() == s.Name
}

// path splits the path of a field. It also accepts a path that begins like XPath, with // or the
// name of the root.
func (q *Request) path(field string) ([]step, error) {
	rest := strings.TrimPrefix(strings.TrimLeft(field, "/"), root+"/")
	var steps []step
	for rest != "" {
		var s step
		if s.attribute = strings.HasPrefix(rest, "@"); s.attribute {
			rest = rest[1:]
		}
		if address, after, ok := strings.Cut(strings.TrimPrefix(rest, "{"), "}"); ok && strings.HasPrefix(rest, "{") {
			s.Space, rest = address, after
		}
		s.written, rest, _ = strings.Cut(rest, "/")
		s.Local = s.written
		if prefix, local, ok := strings.Cut(s.written, ":"); ok && !s.attribute {
			s.Name = q.root.scope.Resolve(prefix, local)
			s.prefixed = s.Space == "" // the prefix may be declared on an inner element
		}
		if s.Space == Namespace {
			s.Space = ""
		}
		if s.Local == "" || s.attribute && rest != "" {
			return nil, fmt.Errorf("%q is not a field: write a path such as mode, constraints/constraint or deliverables/file/@path", field)
		}
		steps = append(steps, s)
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("%q is not a field: write a path such as mode, constraints/constraint or deliverables/file/@path", field)
	}
	return steps, nil
}

// descendants returns the elements inside an element that match a step.
func (e element) descendants(s step) []element {
	var all []element
	for _, c := range e.children() {
		if s.is(c) {
			all = append(all, c)
		}
		all = append(all, c.descendants(s)...)
	}
	return all
}

func texts(of []element) []string {
	var all []string
	for _, e := range of {
		if !e.First().Exists() {
			all = append(all, e.Text())
			continue
		}
		for _, c := range e.children() { // an element without text, such as constraints: its content
			all = append(all, texts([]element{c})...)
		}
	}
	return all
}
