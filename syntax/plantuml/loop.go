package plantuml

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/syntax/plantuml/internal/activity"
	"github.com/hocket-dev/hocket/workflow"
)

// while draws a loop that begins with its test.
func (r *reader) while(e *activity.While) {
	l := r.openLoop(e, &e.Base)
	c := r.choice(e.Test, &e.Base, r.testWords(e))
	in, out := r.test(c, e.Test, e.Yes, e.Out)
	r.open = in
	r.block(func() {
		r.elements(e.Body)
		r.backward(e.Backward)
	})
	r.again(l.frame)
	r.closeLoop(l, out)
}

// repeat draws a loop that ends with its test. A loop without a test is left by its breaks.
func (r *reader) repeat(e *activity.Repeat) {
	l := r.openLoop(e, &e.Base)
	if e.Start.Written() {
		r.step(e.Start, &e.Base, nil)
	}
	var out []tail
	r.block(func() {
		r.elements(e.Body)
		if asker := r.loopAsker(e); asker != nil {
			r.open, out = r.answer(asker, e.Yes, "yes"), r.answer(asker, e.Not, "")
		} else if e.Test.Written() {
			at := e.Base
			at.Lane = e.TestLane
			c := r.choice(e.Test, &at, r.testWords(e))
			r.open, out = r.test(c, e.Test, e.Yes, e.Not)
		}
		r.backward(e.Backward)
	})
	r.again(l.frame)
	r.closeLoop(l, out)
}

// loopAsker returns the last step of a loop, if the loop's test shows its answers.
func (r *reader) loopAsker(e *activity.Repeat) *node {
	if !e.Test.Written() || r.wordsAt(e).has(choiceMark) {
		return nil
	}
	asker := r.asker(e.Test)
	if asker != nil && asksMore(asker, e.Test) {
		return nil
	}
	return asker
}

// testWords returns the keys of a note <<choice>> at a loop about its test.
func (r *reader) testWords(e activity.Element) *said {
	if !r.wordsAt(e).has(choiceMark) {
		return nil
	}
	return r.wordsOf(e, "choice", choiceMark)
}

// openLoop enters the frame of a loop.
func (r *reader) openLoop(e activity.Element, at *activity.Base) *loop {
	n := workflow.Node{Step: &workflow.Loop{}}
	s := r.wordsOf(e, "loop", loopMark, noMark, metricsMark, onErrorMark)
	if s != nil {
		n = s.Node
	}
	if n.Pos.Line == 0 {
		n.Pos = r.pos(openerOf(e))
	}
	if n.ID == "" {
		n.ID = r.name("loop")
	}
	f := r.add(n, s, true)
	r.enter(f, at)
	l := &loop{frame: f}
	r.loops = append(r.loops, l)
	r.frame = f
	r.open = []tail{{}}
	return l
}

// again leads the open tails back to the start of the loop.
func (r *reader) again(frame *node) {
	for _, t := range r.open {
		r.tie(t, frame)
	}
	r.open = nil
}

// closeLoop continues after a loop.
func (r *reader) closeLoop(l *loop, out []tail) {
	r.loops = r.loops[:len(r.loops)-1]
	r.frame = l.frame.in
	r.open = slices.Concat(out, l.exits)
}

// backward draws the step on the way back, if there is one.
func (r *reader) backward(e *activity.Backward) {
	if e != nil {
		r.step(e.Text, &e.Base, r.wordsOf(e, "task"))
	}
}

// leave draws a break.
func (r *reader) leave(e *activity.Break) {
	if len(r.loops) == 0 {
		r.report(workflow.Errorf(r.pos(e.Span), codeBreak, "put it into a repeat or a while, or write stop", "break is outside a loop"))
		return
	}
	l := r.loops[len(r.loops)-1]
	l.exits = append(l.exits, r.open...)
	r.open = nil
}

// group draws a partition. Its keys may make it a loop or a for_each.
func (r *reader) group(e *activity.Group) {
	s := r.wordsOf(e, "frame")
	n := workflow.Node{}
	if s != nil {
		n = s.Node
	}
	name := strings.TrimSpace(e.Name.String())
	if n.Title == "" {
		n.Title = name
	}
	if n.Pos.Line == 0 {
		n.Pos = r.pos(e.Opener)
	}
	_, isLoop := n.Step.(*workflow.Loop)
	_, isEach := n.Step.(*workflow.Each)
	switch {
	case isLoop || isEach:
		if n.ID == "" {
			n.ID = r.name(idOf(orElse(name, n.Kind())))
		}
		r.framed(e, n, s, isLoop)
	default:
		n.ID = r.name("frame of " + name) // no step can have this id
		f := r.add(n, nil, true)
		outer := r.frame
		r.frame = f
		r.body(e.Body)
		r.frame = outer
	}
}

// framed draws a partition that is a loop or a for_each.
func (r *reader) framed(e *activity.Group, n workflow.Node, s *said, isLoop bool) {
	f := r.add(n, s, true)
	r.enter(f, &e.Base)
	outer := r.frame
	r.frame = f
	r.open = []tail{{}}
	loops := r.loops
	if isLoop {
		r.loops = append(r.loops, &loop{frame: f})
	} else {
		r.loops = nil // no edge leaves a for_each
	}
	r.body(e.Body)
	exits := r.open
	if isLoop {
		exits = append(exits, r.loops[len(r.loops)-1].exits...)
	} else {
		r.end(r.open)
		if f.only != nil && r.parts[len(r.parts)-1] != f.only || f.only != nil && r.parts[len(r.parts)-2] != f {
			r.rename(f.only, f)
			f.only = nil
		}
		exits = nil
		if !f.ways.lead() {
			exits = []tail{{from: f, pos: f.Pos}}
		}
	}
	r.loops, r.frame, r.open = loops, outer, exits
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
