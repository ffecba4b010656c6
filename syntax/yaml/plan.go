package yaml

import (
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// plan says how a model is written: its steps, without what the parser would add by itself.
type plan struct {
	settings
	body   *block
	lifter *lifter
	keep   map[string]bool // choices that must be separate steps
}

// newPlan finds the shortest form that means the model. The handler is the step to which all
// failures lead through the key `error` of the workflow, or "".
func newPlan(w *workflow.Workflow, fold bool, handler string) *plan {
	p := &plan{settings: settings{onError: MostOnError(&w.Body)}, keep: map[string]bool{}}
	if !fold {
		w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) { p.keep[n.ID] = true })
	}
	for {
		p.mode = sequential
		p.lift(w, handler)
		if p.sequential(w) {
			p.free(w)
			return p
		}
		if fold && p.dag(w) {
			return p
		}
		p.mode = sequential
		p.explicit(w)
		if !p.keepNext() {
			p.free(w)
			return p
		}
	}
}

// free adds empty needs to the steps that no edge leads to.
func (p *plan) free(w *workflow.Workflow) {
	led := ledTo(&w.Body)
	in := func(b *block) {
		for s := range detached(b, led) {
			s.needs = &[]target{}
		}
	}
	in(p.body)
	p.body.each(func(s *step) {
		if s.body != nil {
			in(s.body)
		}
	})
}

// keepNext keeps the tests of loops that a `next` would have to name.
func (p *plan) keepNext() bool {
	before := len(p.keep)
	p.body.each(func(s *step) {
		if s.next != nil {
			p.keepTests(*s.next)
		}
	})
	return len(p.keep) > before
}

func (p *plan) keepTests(named []target) {
	for _, t := range named {
		if p.lifter.tests[t.name] {
			p.keep[t.name] = true
		}
	}
}

// lift finds the steps. A folded choice whose generated name would be wrong, or that an edge
// names, has to be a separate step; then everything is done again.
func (p *plan) lift(w *workflow.Workflow, handler string) {
	for {
		p.lifter = &lifter{onError: p.onError, keep: p.keep, steps: map[string]*step{}, entries: map[string]*step{}, tests: map[string]bool{}}
		p.body = p.lifter.block(&w.Body, nil)
		if handler != "" {
			p.dropHandled(handler)
		}
		before := len(p.keep)
		p.findKept()
		if len(p.keep) == before {
			break
		}
	}
	p.body.each(func(s *step) {
		for i := range s.ways {
			s.ways[i].to = p.names(s.ways[i].to)
		}
	})
}

// dropHandled removes the error edges that the key `error` will add again.
func (p *plan) dropHandled(handler string) {
	p.handler = &target{name: handler}
	p.body.each(func(s *step) {
		s.ways = slices.DeleteFunc(s.ways, func(w way) bool {
			return w.on == workflow.OnFailure && len(w.to) == 1 && w.to[0].name == handler
		})
	})
}

// findKept adds the choices that cannot be folded: those that edges name, and those whose name
// the parser would not generate.
func (p *plan) findKept() {
	p.body.each(func(s *step) {
		for _, w := range s.ways {
			p.keepTests(w.to)
		}
	})
	for _, s := range p.misnamed() {
		for _, id := range []string{s.guard, s.test} {
			if id != "" {
				p.keep[id] = true
			}
		}
	}
}

// misnamed removes every id that the parser would generate by itself, and finds the steps whose
// choices it would name differently. An id that is written may take a name that another step
// would have got, so it repeats until all are right.
func (p *plan) misnamed() []*step {
	type names struct{ id, guard, test string }
	right := map[*step]names{}
	p.body.each(func(s *step) {
		right[s] = names{s.node.ID, s.guard, s.test}
		s.given = s.node.ID != slug(s.base)
	})
	for {
		p.body.each(func(s *step) {
			if !s.given {
				s.node.ID = ""
			}
		})
		nameSteps(p.body)
		settled := true
		var wrong []*step
		p.body.each(func(s *step) {
			r := right[s]
			if s.node.ID != r.id {
				s.given, settled = true, false
			}
			if s.guard != r.guard || s.test != r.test {
				wrong = append(wrong, s)
			}
			s.guard, s.test = r.guard, r.test
			s.setID(r.id)
		})
		if settled {
			return wrong
		}
	}
}

// names returns the words for targets of the model.
func (p *plan) names(ids []target) []target {
	list := make([]target, len(ids))
	for i, t := range ids {
		list[i] = target{name: p.name(t.name)}
	}
	return list
}

func (p *plan) name(id string) string {
	if s := p.lifter.entries[id]; s != nil {
		return s.node.ID
	}
	if short := map[string]string{workflow.End: "end", workflow.Again: "again"}[id]; short != "" && p.lifter.steps[short] == nil {
		return short
	}
	return id
}

// findFlow finds out what the parser's resolver would make of the steps.
func (p *plan) findFlow(w *workflow.Workflow) {
	byID := map[string]*step{}
	p.body.each(func(s *step) {
		if byID[s.node.ID] == nil {
			byID[s.node.ID] = s
		}
	})
	r := newResolver(p.body, byID, p.settings, w, func(workflow.Diagnostic) {})
	r.findFlow()
}

// sequential reports whether the order of the steps alone determines the edges.
func (p *plan) sequential(w *workflow.Workflow) bool {
	p.findFlow(w)
	return p.wrong() == nil
}

// explicit adds `next` to every step for which the order is not enough. A step that another one
// names no longer has a position in the order, which may change what follows other steps; if this
// does not settle, every step gets a `next`.
func (p *plan) explicit(w *workflow.Workflow) {
	p.body.each(func(s *step) { s.needs = nil })
	for round := 0; ; round++ {
		p.findFlow(w)
		wrong := p.wrong()
		if wrong == nil {
			return
		}
		if round > 20 {
			p.body.each(func(s *step) { wrong = append(wrong, s) })
		}
		for _, s := range wrong {
			next := p.names(s.want)
			if len(next) == 0 && !(s.outer != nil && s.outer.isLoop()) {
				next = p.names(targets([]string{workflow.End}))
			}
			s.next = &next
		}
		if round > 20 {
			return
		}
	}
}

// dag reports whether `needs` and the references determine all edges, and sets needs.
func (p *plan) dag(w *workflow.Workflow) bool {
	p.mode = dag
	branching := p.handler != nil
	p.body.each(func(s *step) { branching = branching || len(s.ways) > 0 })
	if branching {
		return false
	}
	p.findFlow(w)
	possible := true
	p.body.each(func(s *step) { possible = possible && p.need(s) })
	if !possible {
		return false
	}
	p.findFlow(w)
	return p.wrong() == nil
}

// need adds a step to the needs of those that must wait for it but do not.
func (p *plan) need(s *step) bool {
	got := map[string]bool{}
	for _, t := range s.follow {
		got[t.name] = true
	}
	for _, t := range s.want {
		if got[t.name] || t.name == workflow.End {
			continue
		}
		waiting := p.lifter.steps[t.name]
		if guarded := p.lifter.entries[t.name]; guarded != nil {
			waiting = guarded
		}
		if waiting == nil || waiting.outer != s.outer || waiting.index <= s.index {
			return p.lifter.tests[t.name]
		}
		if waiting.needs == nil {
			waiting.needs = &[]target{}
		}
		*waiting.needs = append(*waiting.needs, target{name: s.node.ID})
	}
	return true
}

// wrong returns the steps whose plain edges would lead elsewhere.
func (p *plan) wrong() []*step {
	var wrong []*step
	p.body.each(func(s *step) {
		if s.isLoop() && s.test == "" {
			return // the steps in it say where it continues
		}
		want, got := s.want, s.follow
		if len(got) == 0 && s.isLoop() {
			got = targets([]string{workflow.End})
		}
		inLoop := s.outer != nil && s.outer.isLoop()
		if !sameTargets(meaning(want, inLoop || s.isLoop()), meaning(got, inLoop || s.isLoop())) {
			wrong = append(wrong, s)
		}
	})
	return wrong
}

// meaning drops a single edge to the end, which has no meaning outside a loop.
func meaning(targets []target, inLoop bool) []target {
	if len(targets) == 1 && targets[0].name == workflow.End && !inLoop {
		return nil
	}
	return targets
}

func sameTargets(a, b []target) bool {
	return slices.EqualFunc(a, b, func(x, y target) bool { return x.name == y.name })
}
