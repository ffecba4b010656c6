package xsd

import (
	"slices"
	"sync"
)

// term is what one position of a content model accepts: an element, or any element of certain
// namespaces.
type term struct {
	element *element
	any     *wildcard
}

func (t term) accepts(n Name) bool {
	if t.any != nil {
		return t.any.accepts(n.Space)
	}
	return t.element.name == n
}

// model is a content model as an automaton: its states are the occurrences of terms in the schema.
// Schemas are required to be deterministic, so at most one next state fits.
type model struct {
	terms    []term
	first    []int
	follow   [][]int
	last     map[int]bool
	optional bool // the content may be empty

	linked [][]bool // follow, while the model is built
	links  int
	ranks  func() []int
}

// part is a piece of a model that is being built.
type part struct {
	first, last []int
	optional    bool
}

// one adds a term.
func (m *model) one(t term) part {
	m.terms, m.follow, m.linked = append(m.terms, t), append(m.follow, nil), append(m.linked, nil)
	at := len(m.terms) - 1
	return part{first: []int{at}, last: []int{at}}
}

// then is a followed by b.
func (m *model) then(a, b part) part {
	m.link(a.last, b.first)
	p := part{first: a.first, last: b.last, optional: a.optional && b.optional}
	if a.optional {
		p.first = slices.Concat(a.first, b.first)
	}
	if b.optional {
		p.last = slices.Concat(a.last, b.last)
	}
	return p
}

// or is a or b.
func (m *model) or(a, b part) part {
	return part{first: slices.Concat(a.first, b.first), last: slices.Concat(a.last, b.last), optional: a.optional || b.optional}
}

// repeated is a part that may occur again and again.
func (m *model) repeated(p part) part {
	m.link(p.last, p.first)
	return p
}

func (m *model) link(from, to []int) {
	for _, at := range from {
		if m.linked[at] == nil {
			m.linked[at] = make([]bool, maxParts)
		}
		for _, next := range to {
			if !m.linked[at][next] {
				m.linked[at][next] = true
				m.follow[at] = append(m.follow[at], next)
				m.links++
			}
		}
	}
}

// finish makes a part the whole model.
func (m *model) finish(p part) *model {
	m.first, m.optional, m.last = p.first, p.optional, map[int]bool{}
	for _, at := range p.last {
		m.last[at] = true
	}
	m.linked = nil
	m.ranks = sync.OnceValue(m.findRanks)
	return m
}

const start = -1

// next returns the states that may follow a state.
func (m *model) next(state int) []int {
	if state == start {
		return m.first
	}
	return m.follow[state]
}

// ends reports whether the content may end in a state.
func (m *model) ends(state int) bool {
	return state == start && m.optional || m.last[state]
}

// step finds the state after an element.
func (m *model) step(state int, n Name) (next int, ok bool) {
	for _, at := range m.next(state) {
		if m.terms[at].accepts(n) {
			return at, true
		}
	}
	return state, false
}

// skip finds the state after an element that comes too early, and returns the elements that are
// missing before it.
func (m *model) skip(state int, n Name) (next int, missing []string, ok bool) {
	for len(missing) <= len(m.terms) {
		if next, ok = m.step(state, n); ok {
			return next, missing, true
		}
		after := m.next(state)
		// The one that is required comes last: those before it are optional.
		if len(after) == 0 || m.terms[after[len(after)-1]].element == nil {
			return state, nil, false
		}
		state = after[len(after)-1]
		missing = append(missing, m.terms[state].element.name.Local)
	}
	return state, nil, false
}

// expected lists the elements that may come in a state.
func (m *model) expected(state int) []string {
	var names []string
	for _, at := range m.next(state) {
		if e := m.terms[at].element; e != nil && !slices.Contains(names, e.name.Local) {
			names = append(names, e.name.Local)
		}
	}
	return names
}

// accepts reports whether a sequence of elements with these names is valid and complete.
func (m *model) accepts(names []Name) bool {
	state, ok := start, true
	for _, n := range names {
		if state, ok = m.step(state, n); !ok {
			return false
		}
	}
	return m.ends(state)
}

// rank orders the elements of the model: those that must come before others have lower ranks, and
// those that may come in any order have the same rank. Unknown elements come last.
func (m *model) rank(n Name) int {
	at := slices.IndexFunc(m.terms, func(t term) bool { return t.accepts(n) })
	if at < 0 {
		return len(m.terms)
	}
	return m.ranks()[at]
}

// findRanks counts, for each term, the terms that must come before it.
func (m *model) findRanks() []int {
	after := make([][]bool, len(m.terms))
	for at := range m.terms {
		after[at] = m.after(at)
	}
	ranks := make([]int, len(m.terms))
	for at := range ranks {
		for before := range after {
			if after[before][at] && !after[at][before] {
				ranks[at]++
			}
		}
	}
	return ranks
}

// after returns which terms can come after one.
func (m *model) after(from int) []bool {
	seen := make([]bool, len(m.terms))
	for open := []int{from}; len(open) > 0; {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		for _, next := range m.follow[at] {
			if !seen[next] {
				seen[next] = true
				open = append(open, next)
			}
		}
	}
	return seen
}
