package yaml

import (
	"iter"
	"slices"
	"sync"

	"github.com/hocket-dev/hocket/workflow"
)

// maxEdges limits what a short text can create: two groups of n steps, one after the other, need
// n² edges.
const maxEdges = 200_000

// resolver turns steps into a graph. Format also uses it, to find out what need not be written.
type resolver struct {
	settings
	body   *block
	w      *workflow.Workflow
	report func(workflow.Diagnostic)

	byID  map[string]*step // without the ids of choices
	edges int
}

// flow is what the resolver finds out about a step.
type flow struct {
	named  bool     // an edge names it, so it has no position in the order
	routed bool     // an edge with a condition names it, so nothing else may start it
	above  bool     // it is above the current step
	after  []*step  // steps that wait for it because of needs or a reference
	follow []target // where its plain edges go
}

func newResolver(body *block, byID map[string]*step, s settings, w *workflow.Workflow, report func(workflow.Diagnostic)) *resolver {
	body.each(func(s *step) { s.flow = flow{} })
	return &resolver{settings: s, body: body, w: w, report: report, byID: byID}
}

func (r *resolver) resolve() workflow.Graph {
	r.findFlow()
	g := r.graph(r.body)
	if r.handler != nil {
		r.handle(&g)
		r.edges = 0
		g = r.graph(r.body)
	}
	r.warnDetached(&g)
	if r.edges > maxEdges {
		r.report(workflow.Errorf(r.w.Pos, codeTooManyEdges, "put a step between large groups, so that each waits for one", "the steps need more than %d edges", maxEdges))
	}
	return g
}

// findFlow finds out what follows each step.
func (r *resolver) findFlow() {
	r.dropUnknown()
	r.body.each(r.markNamed)
	r.findDependents()
	r.order(r.body, nil)
}

// dropUnknown reports and removes unknown targets.
func (r *resolver) dropUnknown() {
	r.body.each(func(s *step) {
		if s.next != nil {
			*s.next = r.known(*s.next)
		}
		for i := range s.ways {
			s.ways[i].to = r.known(s.ways[i].to)
		}
	})
	if r.handler != nil && r.byID[r.handler.name] == nil {
		r.report(workflow.Errorf(r.handler.pos, codeEdgeTarget, r.suggest(r.handler.name), "unknown step %q", r.handler.name))
		r.handler = nil
	}
}

func (r *resolver) known(targets []target) []target {
	kept := make([]target, 0, len(targets))
	for _, t := range targets {
		if r.byID[t.name] == nil && mark(t.name) == "" {
			r.report(workflow.Errorf(t.pos, codeEdgeTarget, r.suggest(t.name, "end", "again"), "unknown step %q", t.name))
			continue
		}
		kept = append(kept, t)
	}
	return kept
}

// mark returns the model's word for a target that is not a step, or "".
func mark(name string) string {
	switch name {
	case "end", workflow.End:
		return workflow.End
	case "again", workflow.Again:
		return workflow.Again
	}
	return ""
}

// suggest suggests the step that was probably meant.
func (r *resolver) suggest(written string, others ...string) string {
	var ids []string
	r.body.each(func(s *step) { ids = append(ids, s.node.ID) })
	if hint := workflow.DidYouMean(written, append(ids, others...)); hint != "" {
		return hint
	}
	return "write the id of a step in this file"
}

// markNamed records which steps the edges of a step name.
func (r *resolver) markNamed(s *step) {
	if s.next != nil {
		r.name(*s.next, false)
	}
	for _, way := range s.ways {
		r.name(way.to, way.on != workflow.OnSuccess)
	}
	if r.handler != nil && s.node.ID == r.handler.name {
		s.named, s.routed = true, true
	}
}

func (r *resolver) name(targets []target, conditionally bool) {
	for _, t := range targets {
		if s := r.byID[t.name]; s != nil {
			s.named, s.routed = true, s.routed || conditionally
		}
	}
}

// order finds where the plain edges of every step lead. After the last step of a block, the flow
// continues with what follows the block.
func (r *resolver) order(b *block, behind []target) {
	defaults := r.defaults(b, behind)
	for i, s := range b.steps {
		to := defaults[i]
		switch {
		case s.next != nil:
			to = r.entries(*s.next)
		case s.branches():
			to = nil
		}
		if len(s.after) > 0 {
			to = append(make([]target, 0, len(to)+len(s.after)), to...)
		}
		for _, d := range s.after {
			to = append(to, target{name: d.entry(), pos: d.node.Pos})
		}
		if to = distinct(to); len(to) == 0 && s.next == nil && !s.branches() && r.mode != sequential {
			to = behind
		}
		s.follow = to
		r.edges += len(to)
		if s.body != nil {
			r.order(s.body, r.behind(s))
		}
		if r.edges > maxEdges {
			return
		}
	}
}

// behind returns where a body continues after its steps: at the loop's test, otherwise with what
// follows the loop. The items of a for_each lead nowhere.
func (r *resolver) behind(s *step) []target {
	switch {
	case !s.isLoop():
		return nil
	case s.test != "":
		return []target{{name: s.test}}
	}
	return r.exits(s)
}

// exits returns the targets of a loop's exits, or of the edge that skips a step.
func (r *resolver) exits(s *step) []target {
	if to := s.follow; len(to) > 0 {
		return to
	}
	return []target{{name: workflow.End}}
}

// defaults returns where the steps of a block lead by default. Only a sequential block has such
// an order: each step leads to the next position after it.
func (r *resolver) defaults(b *block, behind []target) [][]target {
	to := make([][]target, len(b.steps))
	if r.mode != sequential {
		return to
	}
	held, starts := positions(b)
	entries := entriesOf(held)
	next, p := behind, len(starts)
	for i := len(b.steps) - 1; i >= 0; i-- {
		for p > 0 && held[starts[p-1]].index > i {
			p--
			next = slices.Clip(entries[starts[p]:end(starts, p, len(held))])
		}
		to[i] = next
	}
	return to
}

// positions returns the steps that no edge names, one after the other, and the index at which
// each position starts: adjacent steps of the same group share one.
func positions(b *block) (held []*step, starts []int) {
	held, starts = make([]*step, 0, len(b.steps)), make([]int, 0, len(b.steps))
	for _, s := range b.steps {
		if s.named {
			continue
		}
		if n := len(held); n == 0 || s.group == "" || held[n-1].group != s.group {
			starts = append(starts, n)
		}
		held = append(held, s)
	}
	return held, starts
}

// end returns where the position after p starts.
func end(starts []int, p, behind int) int {
	if p+1 < len(starts) {
		return starts[p+1]
	}
	return behind
}

// branches reports whether a step itself says what follows its success.
func (s *step) branches() bool {
	for _, w := range s.ways {
		switch w.on {
		case workflow.OnSuccess, workflow.OnLabel, workflow.OnWhen, workflow.OnElse:
			return true
		case workflow.OnFailure, workflow.OnTimeout:
		}
	}
	return false
}

// entry returns the id that an edge to the step uses: that of the choice of its `when`, if it has
// one.
func (s *step) entry() string { return orElse(s.guard, s.node.ID) }

func entriesOf(steps []*step) []target {
	targets := make([]target, len(steps))
	for i, s := range steps {
		targets[i] = target{name: s.entry()}
	}
	return targets
}

// entries turns names that an author wrote into the ids of the model.
func (r *resolver) entries(names []target) []target {
	targets := make([]target, len(names))
	for i, t := range names {
		targets[i] = t
		if s := r.byID[t.name]; s != nil {
			targets[i].name = s.entry()
		} else {
			targets[i].name = mark(t.name)
		}
	}
	return distinct(targets)
}

// distinct removes duplicate targets.
func distinct(targets []target) []target {
	if len(targets) < 2 || len(targets) <= 8 && !anyTwice(targets) {
		return targets
	}
	seen := make(map[string]bool, len(targets))
	kept := make([]target, 0, len(targets))
	for _, t := range targets {
		if !seen[t.name] {
			seen[t.name] = true
			kept = append(kept, t)
		}
	}
	return kept
}

func anyTwice(targets []target) bool {
	for i, t := range targets {
		if slices.ContainsFunc(targets[:i], func(other target) bool { return other.name == t.name }) {
			return true
		}
	}
	return false
}

// warnDetached reports steps that nothing leads to although their author meant them to wait:
// steps with a position in a sequential workflow, and the tests of loops.
func (r *resolver) warnDetached(g *workflow.Graph) {
	led := ledTo(g)
	r.warnIn(r.body, led)
	r.body.each(func(s *step) {
		if s.body == nil {
			return
		}
		r.warnIn(s.body, led)
		if s.test != "" && !led()[s.test] && len(s.body.steps) > 0 {
			r.report(workflow.Errorf(s.node.Pos, codeLoopTest, "remove the route of the last step, or add a route to again", "no step of %q leads to its until or while", s.node.ID))
		}
	})
}

func (r *resolver) warnIn(b *block, led func() map[string]bool) {
	if r.mode != sequential {
		return
	}
	for s := range detached(b, led) {
		r.report(workflow.Warningf(s.node.Pos, codeDetached, "add a `next:` or `route:` to it, or write `needs: []` if that is intended", "nothing leads to %q, so it starts immediately", s.node.ID))
	}
}

// detached returns the steps of a block that have a position, that nothing leads to, and that do
// not have empty needs.
func detached(b *block, led func() map[string]bool) iter.Seq[*step] {
	return func(yield func(*step) bool) {
		held, starts := positions(b)
		for _, s := range held[end(starts, 0, len(held)):] {
			if free := s.needs != nil && len(*s.needs) == 0; !free && !led()[s.entry()] && !yield(s) {
				return
			}
		}
	}
}

// ledTo returns the nodes that an edge leads to.
func ledTo(g *workflow.Graph) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		led := make(map[string]bool, len(g.Edges))
		allEdges(g, func(e *workflow.Edge) { led[e.To] = true })
		return led
	})
}
