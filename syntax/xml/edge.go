package xml

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// maxEdges limits what a short text can create: n steps in a loop, and m steps that depend on the
// loop, need n·m edges.
const maxEdges = 200_000

// nameSteps gives an id to every step that has none: a base name, or the base name with -2, -3, …
// It reports duplicate ids.
func (r *reader) nameSteps() {
	r.byID = make(map[string]int32, len(r.steps))
	var left []int32 // steps that need an id
	for i := range r.steps {
		s := &r.steps[i]
		first, twice := r.byID[s.node.ID]
		switch {
		case s.node.ID == "":
			left = append(left, int32(i))
		case !twice:
			r.byID[s.node.ID] = int32(i)
		case s.outer == first && r.repeats(first):
		default:
			r.report(workflow.Errorf(s.node.Pos, codeDuplicateID,
				"it is also used at "+r.steps[first].node.Pos.String()+"; rename one of them", "id %q is used twice", s.node.ID))
			left = append(left, int32(i))
		}
	}
	if len(left) == 0 {
		return
	}
	names := yaml.NewNamer()
	for id := range r.byID {
		names.Take(id)
	}
	for _, i := range left {
		s := &r.steps[i]
		s.setID(names.Name(yaml.Slug(base(s.node))))
		r.byID[s.node.ID] = i
	}
}

// repeats reports whether a step is an each around a single step, which may have the same id.
func (r *reader) repeats(at int32) bool {
	each, ok := r.steps[at].node.Step.(*workflow.Each)
	return ok && len(each.Body.Nodes) == 1
}

// setID sets the id of a step, and of the node that it repeats.
func (s *step) setID(id string) {
	if each, ok := s.node.Step.(*workflow.Each); ok && s.kind != "each" && len(each.Body.Nodes) == 1 {
		each.Body.Nodes[0].ID = id
	}
	s.node.ID = id
}

// base returns the base name for a generated id.
func base(n *workflow.Node) string {
	switch s := n.Step.(type) {
	case *workflow.Task:
		if s.Agent != "" {
			return s.Agent
		}
	case *workflow.Call:
		return s.Workflow
	case *workflow.Each:
		if yaml.IsRepeat(n) {
			return base(&s.Body.Nodes[0])
		}
	case *workflow.Human, *workflow.Choice, *workflow.Combine, *workflow.Loop:
	}
	return n.Kind()
}

// bond means that one step waits for another.
type bond struct {
	from, to int32
	pos      workflow.Pos
}

// link turns dependencies and ways into the edges of the graphs. The edges of a step come in the
// order of the steps that depend on it, followed by those that it sets itself.
func (r *reader) link(w *workflow.Workflow) {
	r.dropUnknown()
	l := &linker{reader: r, bonds: r.bonds(), tested: map[int32]bool{}}
	l.sort()
	l.findExits()
	l.write()
	if !l.forward() {
		r.breakCycles(w)
	}
	if l.count > maxEdges {
		r.report(workflow.Errorf(w.Pos, codeTooMany, "put a step between large groups, so that each waits for one", "the steps need more than %d edges", maxEdges))
	}
}

// forward reports whether every edge leads to a step that is written below, as most do: then
// there is no cycle.
func (l *linker) forward() bool {
	for _, b := range l.bonds {
		if b.from > b.to {
			return false
		}
	}
	for i := range l.steps {
		for _, e := range l.steps[i].edges {
			if to, ok := l.byID[e.To]; ok && to <= int32(i) {
				return false
			}
		}
	}
	return true
}

// dropUnknown reports and removes unknown targets, and replaces the others by their names in the
// model.
func (r *reader) dropUnknown() {
	for i := range r.steps {
		kept := r.steps[i].edges[:0]
		for _, e := range r.steps[i].edges {
			if _, known := r.byID[e.To]; !known {
				mark := yaml.Mark(e.To)
				if mark == "" {
					r.report(workflow.Errorf(e.Pos, codeEdgeTarget, r.suggest(e.To, "end", "again"), "unknown step %q", e.To))
					continue
				}
				e.To = mark
			}
			kept = append(kept, e)
		}
		r.steps[i].edges = kept
	}
}

// suggest suggests the step that was probably meant.
func (r *reader) suggest(written string, others ...string) string {
	names := others
	for i := range r.steps {
		names = append(names, r.steps[i].node.ID)
	}
	if hint := workflow.DidYouMean(written, names); hint != "" {
		return hint
	}
	return "write the id of a step in this file"
}

// bonds returns all dependencies, in the order of the steps that depend on others.
func (r *reader) bonds() []bond {
	n := 0
	for i := range r.steps {
		n += len(r.steps[i].depends)
	}
	bonds := make([]bond, 0, n)
	for i := range r.steps {
		for k, t := range r.steps[i].depends {
			if b, ok := r.bond(int32(i), k, t); ok {
				bonds = append(bonds, b)
			}
		}
	}
	return bonds
}

// bond finds the two ends of a dependency. A dependency on a step outside a loop or an each
// applies to all of the loop or each, and one on a step inside an each waits for all of the each.
func (r *reader) bond(at int32, k int, t target) (bond, bool) {
	from, known := r.byID[t.name]
	switch {
	case !known:
		r.report(workflow.Errorf(t.pos, codeUnknownStep, r.suggest(t.name), "there is no step %q", t.name))
		return bond{}, false
	case r.dependsBefore(at, k, t.name):
		r.needless(at, k, workflow.Errorf(t.pos, codeDepends, "name it once", "%q depends on %q twice", r.steps[at].node.ID, t.name))
		return bond{}, false
	case r.within(at, from):
		r.needless(at, k, workflow.Errorf(t.pos, codeDepends, "remove it", "a step cannot depend on itself: %s → %s", r.steps[at].node.ID, t.name))
		return bond{}, false
	}
	to := at
	for !r.around(to, from) {
		to = r.steps[to].outer
	}
	for r.steps[from].graph != r.steps[to].graph && !r.onlyLoops(from, to) {
		from = r.steps[from].outer
	}
	return bond{from, to, t.pos}, true
}

// needless reports a dependency that can be fixed by removing it.
func (r *reader) needless(at int32, k int, d workflow.Diagnostic) {
	s := &r.steps[at]
	if s.list.Exists() {
		var names []string
		for i, t := range s.depends {
			if i != k {
				names = append(names, t.name)
			}
		}
		d.Fix = &workflow.Fix{Edits: []workflow.Edit{r.doc.Edit(s.list.Raw(), strings.Join(names, ","))}}
	}
	r.report(d)
}

// dependsBefore reports whether a step has already named another.
func (r *reader) dependsBefore(at int32, k int, name string) bool {
	list := r.steps[at].depends
	if k > 16 { // use a map for long lists
		if r.seen == nil || r.seenOf != at {
			r.seen, r.seenOf = map[string]int{}, at
			for i, t := range list {
				if _, ok := r.seen[t.name]; !ok {
					r.seen[t.name] = i
				}
			}
		}
		return r.seen[name] < k
	}
	for _, t := range list[:k] {
		if t.name == name {
			return true
		}
	}
	return false
}

// within reports whether a step is another one, or is inside it.
func (r *reader) within(at, outer int32) bool {
	for ; at >= 0; at = r.steps[at].outer {
		if at == outer {
			return true
		}
	}
	return false
}

// around reports whether the graph of a step contains another step, directly or in a nested
// graph.
func (r *reader) around(at, inner int32) bool {
	for ; inner >= 0; inner = r.steps[inner].outer {
		if r.steps[inner].graph == r.steps[at].graph {
			return true
		}
	}
	return false
}

// onlyLoops reports whether there are only loops between a step and the graph of another, so that
// an edge can lead out.
func (r *reader) onlyLoops(at, to int32) bool {
	for r.steps[at].graph != r.steps[to].graph {
		if at = r.steps[at].outer; r.steps[at].kind != "loop" {
			return false
		}
	}
	return true
}

// linker writes edges.
type linker struct {
	*reader
	bonds  []bond // sorted by the step that others wait for
	starts []int32
	exits  map[int32][]bond // where the steps of each loop continue after it
	tested map[int32]bool   // tests of loops that some edge leads to
	count  int
}

// sort sorts the dependencies by the step that others wait for, and keeps the order of those that
// wait.
func (l *linker) sort() {
	l.starts = make([]int32, len(l.steps)+1)
	for _, b := range l.bonds {
		l.starts[b.from+1]++
	}
	for i := range l.steps {
		l.starts[i+1] += l.starts[i]
	}
	if slices.IsSortedFunc(l.bonds, func(a, b bond) int { return int(a.from) - int(b.from) }) {
		return
	}
	sorted, next := make([]bond, len(l.bonds)), make([]int32, len(l.steps))
	for _, b := range l.bonds {
		at := l.starts[b.from] + next[b.from]
		sorted[at] = b
		next[b.from]++
	}
	l.bonds = sorted
}

// waiting returns the dependencies on a step.
func (l *linker) waiting(at int32) []bond { return l.bonds[l.starts[at]:l.starts[at+1]] }

func (l *linker) isLoop(at int32) bool { return l.steps[at].kind == "loop" }

// findExits finds where loops continue: at the steps that depend on the loop or, if there are
// none, where the loop around it continues.
func (l *linker) findExits() {
	for i := range l.steps {
		at := int32(i)
		if !l.isLoop(at) {
			continue
		}
		to := l.waiting(at)
		if len(to) == 0 && l.inLoop(at) {
			to = l.behind(l.steps[at].outer, at)
		}
		if len(to) > 0 {
			if l.exits == nil {
				l.exits = map[int32][]bond{}
			}
			l.exits[at] = to
		}
	}
}

func (l *linker) inLoop(at int32) bool {
	outer := l.steps[at].outer
	return outer >= 0 && l.isLoop(outer)
}

// write adds the edges of every step to its graph.
func (l *linker) write() {
	l.reserve()
	l.writeTests()
	led := map[exit]bool{}
	for i := range l.steps {
		at := int32(i)
		s := &l.steps[i]
		if l.isLoop(at) {
			continue
		}
		to := l.waiting(at)
		if len(to) == 0 && !s.leads && l.inLoop(at) {
			to = l.behind(s.outer, at)
		}
		l.count += len(to) + len(s.edges)
		if l.count > maxEdges {
			return
		}
		l.leave(s, to, l.inLoop(at))
		for outer := s.outer; outer >= 0 && len(l.exits) > 0; outer = l.steps[outer].outer {
			l.markLed(led, outer, s)
		}
	}
	l.checkExits(led)
	l.checkTests()
}

// exit says that something in a loop leads to a step.
type exit struct{ loop, to int32 }

// reserve allocates the edges of the workflow's own graph.
func (l *linker) reserve() {
	for i := range l.steps {
		if g := l.steps[i].graph; g.Edges == nil && l.steps[i].outer < 0 {
			g.Edges = make([]workflow.Edge, 0, len(l.bonds))
			return
		}
	}
}

// leave adds the edges of a step. It leaves out edges that a dependency already creates, and a
// single plain edge to the end, unless it is in a loop.
func (l *linker) leave(s *step, to []bond, inLoop bool) {
	var said map[string]bool
	if len(to) > 0 && len(s.edges) > 0 {
		said = make(map[string]bool, len(to))
	}
	for _, b := range to {
		e := workflow.Edge{From: s.node.ID, To: l.steps[b.to].node.ID, Pos: b.pos}
		s.graph.Edges = append(s.graph.Edges, e)
		if said != nil {
			said[e.To] = true
		}
	}
	plain := len(to)
	for _, e := range s.edges {
		if e.On == workflow.OnSuccess {
			plain++
		}
	}
	for _, e := range s.edges {
		e.From = s.node.ID
		if e.On == workflow.OnSuccess && (said[e.To] || e.To == workflow.End && plain == 1 && !inLoop) {
			continue
		}
		s.graph.Edges = append(s.graph.Edges, e)
	}
}

// markLed records which steps outside a loop a step in it leads to.
func (l *linker) markLed(led map[exit]bool, loop int32, s *step) {
	for i := len(s.graph.Edges) - 1; i >= 0 && s.graph.Edges[i].From == s.node.ID; i-- {
		if to, ok := l.byID[s.graph.Edges[i].To]; ok {
			led[exit{loop, to}] = true
		}
	}
}

// checkExits reports a step that depends on a loop from which no edge leads to it.
func (l *linker) checkExits(led map[exit]bool) {
	for i := range l.steps {
		at := int32(i)
		if !l.isLoop(at) {
			continue
		}
		for _, b := range l.waiting(at) {
			if !led[exit{at, b.to}] {
				l.report(workflow.Errorf(b.pos, codeDepends, "add a route to it from a step of the loop: <route … to=\""+l.steps[b.to].node.ID+"\"/>",
					"no step of %q leads to %q", l.steps[at].node.ID, l.steps[b.to].node.ID))
			}
		}
	}
}
