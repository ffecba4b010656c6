package expr

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// activity computes under which decisions a node runs, to find out whether a node that may have
// run before another one certainly has. Paths alone are not enough: when two parallel branches
// meet, both have run, but of two alternatives only one has.
//
// The condition of a node is a formula over the decisions of the nodes before it. Where all
// alternatives of a decision meet again, the decision no longer matters and is dropped.
type activity struct {
	flow     *flow
	formulas []formula
	of       []int // by place: the formula under which it runs
	behind   []int // by place: the formula under which it runs and succeeds
	known    map[string]int
	choices  []int // by place: the number of its alternatives
}

// formula is a condition: always, one alternative of a decision that is made under another
// condition, any of several conditions, or unknown.
type formula struct {
	kind    formulaKind
	under   int   // alternative: the formula under which the decision is made
	source  int   // alternative: the place that decides
	members []int // anyOf: sorted
}

type formulaKind int

const (
	always formulaKind = iota
	alternative
	anyOf
	unknown // too large to compute; nothing is claimed about it
)

// The formulas that every activity contains.
const (
	alwaysFormula = iota
	unknownFormula
)

// maxMembers and maxSteps limit the size of formulas in complicated graphs.
const (
	maxMembers = 64
	maxSteps   = 1000
)

func newActivity(f *flow) *activity {
	a := &activity{
		flow: f, formulas: []formula{{kind: always}, {kind: unknown}},
		of: make([]int, len(f.places)), behind: make([]int, len(f.places)),
		known: map[string]int{}, choices: make([]int, len(f.places)),
	}
	incoming := make([][]int, len(f.places))
	for _, i := range f.order {
		if len(incoming[i]) > 0 {
			a.of[i] = a.any(incoming[i])
		}
		number := a.alternatives(i)
		a.behind[i] = a.success(i, number)
		for _, l := range f.places[i].links {
			if !l.back {
				incoming[l.to] = append(incoming[l.to], a.along(i, l.edge, number))
			}
		}
	}
	return a
}

// alternatives numbers the possible decisions of a node. Repeating the loop is not an
// alternative, because in the end the loop is left.
func (a *activity) alternatives(i int) map[string]int {
	edges := a.flow.places[i].edges
	if len(edges) < 2 && !slices.ContainsFunc(edges, isFailure) {
		return nil
	}
	number := map[string]int{}
	for _, e := range edges {
		if e.To != workflow.Again {
			addKey(number, decisionKey(e, edges))
		}
	}
	if !slices.ContainsFunc(edges, func(e *workflow.Edge) bool { return !isFailure(e) }) {
		addKey(number, "ok")
	}
	a.choices[i] = len(number)
	return number
}

func addKey(number map[string]int, key string) {
	if _, ok := number[key]; !ok {
		number[key] = len(number)
	}
}

func isFailure(e *workflow.Edge) bool {
	return e.On == workflow.OnFailure || e.On == workflow.OnTimeout
}

// decisionKey returns the same key for edges that are taken together. A plain edge next to labels
// and conditions counts as their else.
func decisionKey(e *workflow.Edge, all []*workflow.Edge) string {
	switch e.On {
	case workflow.OnLabel:
		return "label " + e.Label
	case workflow.OnWhen:
		return "when " + e.When.Text
	case workflow.OnElse:
		return "else"
	case workflow.OnFailure, workflow.OnTimeout:
		return string(e.On)
	case workflow.OnSuccess:
	}
	if slices.ContainsFunc(all, func(e *workflow.Edge) bool { return e.On == workflow.OnLabel || e.On == workflow.OnWhen }) {
		return "else"
	}
	return "ok"
}

// along returns the condition under which an edge is taken.
func (a *activity) along(from int, e *workflow.Edge, number map[string]int) int {
	if e == nil || a.choices[from] < 2 {
		return a.of[from]
	}
	return a.choose(from, number[decisionKey(e, a.flow.places[from].edges)])
}

// choose returns the condition under which a node takes one of its alternatives.
func (a *activity) choose(from, choice int) int {
	if a.choices[from] < 2 || a.of[from] == unknownFormula {
		return a.of[from]
	}
	key := strconv.Itoa(a.of[from]) + " " + strconv.Itoa(from) + " " + strconv.Itoa(choice)
	return a.add(key, formula{kind: alternative, under: a.of[from], source: from})
}

// success returns the condition under which a node runs and does not fail.
func (a *activity) success(i int, number map[string]int) int {
	var good []int
	for key, choice := range number {
		if key != string(workflow.OnFailure) && key != string(workflow.OnTimeout) {
			good = append(good, a.choose(i, choice))
		}
	}
	if len(good) == 0 || len(good) == len(number) {
		return a.of[i]
	}
	return a.any(good)
}

// at returns the condition under which a text is evaluated at a point.
func (a *activity) at(p point) int {
	if p.behind {
		return a.behind[p.place]
	}
	return a.of[p.place]
}

func (a *activity) add(key string, f formula) int {
	if i, ok := a.known[key]; ok {
		return i
	}
	a.formulas = append(a.formulas, f)
	a.known[key] = len(a.formulas) - 1
	return len(a.formulas) - 1
}

// any returns the condition that at least one of several holds.
func (a *activity) any(list []int) int {
	first := list[0]
	if !slices.ContainsFunc(list, func(f int) bool { return f != first }) {
		return first
	}
	set := map[int]bool{}
	met := map[decision]int{}
	for len(list) > 0 {
		f := list[len(list)-1]
		list = list[:len(list)-1]
		if set[f] {
			continue
		}
		set[f] = true
		switch one := a.formulas[f]; one.kind {
		case always, unknown:
			return f
		case anyOf:
			delete(set, f)
			list = append(list, one.members...)
		case alternative:
			d := decision{one.under, one.source}
			if met[d]++; met[d] == a.choices[one.source] {
				list = append(list, one.under)
			}
		}
	}
	return a.collect(set)
}

type decision struct{ under, source int }

// collect combines the members that no other member implies into one formula.
func (a *activity) collect(set map[int]bool) int {
	var members []int
	for f := range set {
		if !a.covered(f, set) {
			members = append(members, f)
		}
	}
	switch {
	case len(members) == 1:
		return members[0]
	case len(members) > maxMembers:
		return unknownFormula
	}
	slices.Sort(members)
	var key strings.Builder
	for _, m := range members {
		key.WriteByte('|')
		key.WriteString(strconv.Itoa(m))
	}
	return a.add(key.String(), formula{kind: anyOf, members: members})
}

// covered reports whether the set also contains a condition under which f is decided.
func (a *activity) covered(f int, set map[int]bool) bool {
	for range maxSteps {
		if a.formulas[f].kind != alternative {
			return false
		}
		f = a.formulas[f].under
		if set[f] {
			return true
		}
	}
	return false
}

// implies reports whether g certainly holds if f does. It returns true if that takes too long to
// find out, because a false warning is worse than none.
func (a *activity) implies(f, g int) bool {
	steps := maxSteps
	return a.follows(f, g, &steps)
}

func (a *activity) follows(f, g int, steps *int) bool {
	if *steps--; *steps < 0 || f == g {
		return true
	}
	have, want := a.formulas[f], a.formulas[g]
	if have.kind == unknown || want.kind == unknown || want.kind == always {
		return true
	}
	if have.kind == anyOf {
		return !slices.ContainsFunc(have.members, func(m int) bool { return !a.follows(m, g, steps) })
	}
	if want.kind == anyOf && slices.ContainsFunc(want.members, func(m int) bool { return a.follows(f, m, steps) }) {
		return true
	}
	return have.kind == alternative && a.follows(have.under, g, steps)
}
