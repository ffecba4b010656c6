package plantuml

import (
	"slices"

	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// loop draws a loop: with its test if it has one, otherwise with breaks, otherwise as a frame.
func (s *shaper) loop(it item, l *workflow.Loop, behind string) item {
	if !s.flat && len(l.Body.Nodes) > 1 {
		for _, draw := range []func(item, *workflow.Graph, string) (item, bool){s.tested, s.asking, s.broken} {
			noted := len(s.plan.noted)
			if drawn, ok := draw(it, &l.Body, behind); ok {
				return drawn
			}
			s.plan.forget(noted)
		}
	}
	it.form = frameForm
	it.body = s.plan.shape(&l.Body, it.node, behind).whole(behind)
	return it
}

// tested draws a loop that is left by a choice at its end or its beginning.
func (s *shaper) tested(it item, g *workflow.Graph, behind string) (item, bool) {
	inner := s.plan.shape(g, it.node, behind)
	body, end := g.Nodes, len(g.Nodes)-1
	if inverted, ok := isTest(&body[end], inner.ways[end], workflow.Again, behind); ok && inner.led[end] > 0 {
		it.form, it.test, it.inverted = repeatForm, &body[end], inverted
		it.body = inner.upTo(end, body[end].ID)
		return it, true
	}
	if inverted, ok := isTest(&body[0], inner.ways[0], body[1].ID, behind); ok {
		it.form, it.test, it.inverted = whileForm, &body[0], inverted
		it.body = inner.block(1, len(body), workflow.Again)
		return it, true
	}
	last, back := inner.last()
	if back == nil || last == 0 || inner.led[last] == 0 {
		return it, false
	}
	if inverted, ok := isTest(&body[last], inner.ways[last], back.ID, behind); ok && !inverted {
		it.form, it.test, it.back = repeatForm, &body[last], back
		it.body = inner.upTo(last, body[last].ID)
		return it, true
	}
	return it, false
}

// asking draws a loop that is left by the answers of its last step.
func (s *shaper) asking(it item, g *workflow.Graph, behind string) (item, bool) {
	inner := s.plan.shape(g, it.node, behind)
	last, back := inner.last()
	asker := &g.Nodes[last]
	again := workflow.Again
	if back != nil {
		again = back.ID
	}
	if s.plan.isFrame(it.node) || s.plan.carried[keyIn(it.node, asker.ID)] || !inner.asks(last, again, behind) {
		return it, false
	}
	inner.asker = asker
	it.form, it.test, it.back = repeatForm, asker, back
	it.body = inner.upTo(last+1, workflow.Again)
	end := it.body[len(it.body)-1]
	return it, s.plan.drawn(it.node, end.form == stepForm && end.node == asker)
}

// broken draws a loop without a test that is left in the middle.
func (s *shaper) broken(it item, g *workflow.Graph, behind string) (item, bool) {
	if s.plan.isFrame(it.node) || !slices.ContainsFunc(g.Edges, func(e workflow.Edge) bool { return e.To == behind }) {
		return it, false
	}
	it.form = repeatForm
	it.body = s.plan.shape(g, it.node, behind).whole(workflow.Again)
	return it, s.plan.drawn(it.node, it.body.hasBreak())
}

// isFrame reports whether a loop without a test is drawn as a frame.
func (p *plan) isFrame(loop *workflow.Node) bool { return p.framed || p.frames[loop.ID] }

// drawn records that a loop can only be drawn as a frame, so that it is not tried again each time
// a loop around it is drawn.
func (p *plan) drawn(loop *workflow.Node, ok bool) bool {
	if !ok {
		p.frames[loop.ID] = true
	}
	return ok
}

// hasBreak reports whether a block contains a break outside the loops in it.
func (b block) hasBreak() bool {
	for i := range b {
		if b[i].end == breaks {
			return true
		}
		for k := range b[i].branches {
			if b[i].branches[k].body.hasBreak() {
				return true
			}
		}
	}
	return false
}

// last returns the last node of a body that may decide about the next iteration. back is the step
// between it and that iteration, if there is one.
func (s *shaper) last() (last int, back *workflow.Node) {
	last = len(s.g.Nodes) - 1
	n := &s.g.Nodes[last]
	goesBack := len(s.ways[last]) == 1 && s.ways[last][0].on == workflow.OnSuccess && len(s.ways[last][0].to) == 1 && s.ways[last][0].to[0] == workflow.Again
	if s.plan.framed || !goesBack || s.led[last] != 1 || last == 0 || n.Kind() == "choice" || n.Body() != nil {
		return last, nil
	}
	return last - 1, n
}

// asks reports whether a step has an answer for the next iteration and one that leaves the loop,
// in the order in which the end of a repeat shows them.
func (s *shaper) asks(i int, on, out string) bool {
	n, ways := &s.g.Nodes[i], s.ways[i]
	if kind := yaml.Kind(n); kind != "human" && kind != "task" || len(ways) != 2 || ways[0].on != workflow.OnLabel || len(ways[0].to) != 1 || len(ways[1].to) != 1 {
		return false
	}
	first, second := ways[0].to[0], ways[1].to[0]
	return first == on && second == out || first == out && second == on && ways[1].on == workflow.OnElse
}

// leaves reports whether one of the ways leaves the loop around.
func (s *shaper) leaves(ways []way) bool {
	for _, w := range ways {
		if s.inLoop && len(w.to) == 1 && w.to[0] == s.exit {
			return true
		}
	}
	return false
}

// isTest reports whether a choice only continues or leaves the loop. inverted means that it
// continues if its condition does not hold.
func isTest(n *workflow.Node, ways []way, on, out string) (inverted, ok bool) {
	asks := isAnswered(n, ways)
	tests := n.Kind() == "choice" && n.Task() == nil && len(ways) == 2 && ways[0].on == workflow.OnWhen && ways[1].on == workflow.OnElse
	if !asks && !tests || len(ways[0].to) != 1 || len(ways[1].to) != 1 {
		return false, false
	}
	switch {
	case ways[0].to[0] == on && ways[1].to[0] == out:
		return false, true
	case ways[0].to[0] == out && ways[1].to[0] == on && ways[1].on == workflow.OnElse:
		return true, true
	}
	return false, false
}

// isAnswered reports whether a choice asks a question with two answers, or with one answer and
// any other, which a test can show.
func isAnswered(n *workflow.Node, ways []way) bool {
	return n.Kind() == "choice" && n.Task() != nil && len(ways) == 2 && ways[0].on == workflow.OnLabel && isSafeLabel(ways[0].label) &&
		(ways[1].on == workflow.OnElse || ways[1].on == workflow.OnLabel && isSafeLabel(ways[1].label))
}
