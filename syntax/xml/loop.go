package xml

import "github.com/hocket-dev/hocket/workflow"

// addTest adds the choice for until or while at the end of a loop's body.
func (r *reader) addTest(loop int32, body *workflow.Graph, until, while word) {
	if len(body.Nodes) == 0 {
		r.errorf(r.steps[loop].place, codeLoopTest, "add the steps to repeat", "<%s> has no steps", r.steps[loop].kind)
	}
	condition := until
	switch {
	case until.exists && while.exists:
		r.report(workflow.Errorf(while.key(), codeLoopTest, "keep one of them", "a loop cannot have both until and while"))
	case while.exists:
		condition = while
	case !until.exists:
		return
	}
	if condition.text == "" {
		r.report(workflow.Errorf(condition.key(), codeLoopTest, "give it a condition, or leave it out", "the condition of the loop is empty"))
		return
	}
	body.Nodes = append(body.Nodes, workflow.Node{Step: &workflow.Choice{}, OnError: r.onError, Pos: condition.src.Pos})
	if r.tests == nil {
		r.tests = map[int32]test{}
	}
	r.tests[loop] = test{int32(len(r.steps)), while.exists && !until.exists, workflow.Expr{Text: condition.text, Src: condition.src}}
	r.steps = append(r.steps, step{node: &body.Nodes[len(body.Nodes)-1], graph: body, outer: loop, kind: "choice", leads: true})
}

// test is the test of a loop.
type test struct {
	step  int32
	while bool // the loop repeats as long as the condition holds
	when  workflow.Expr
}

// behind returns where a step of a loop's body continues by default: at the test of the loop,
// otherwise where the loop leads.
func (l *linker) behind(loop, at int32) []bond {
	if t, ok := l.tests[loop]; ok && t.step != at {
		l.tested[t.step] = true
		return []bond{{from: at, to: t.step, pos: l.steps[at].node.Pos}}
	}
	return l.exits[loop]
}

// writeTests adds the edges of the tests of loops: out of the loop, or back to its start.
func (l *linker) writeTests() {
	for loop, t := range l.tests {
		exits := []string{}
		for _, b := range l.exits[loop] {
			exits = append(exits, l.steps[b.to].node.ID)
		}
		if len(exits) == 0 {
			exits = []string{workflow.End}
		}
		s := &l.steps[t.step]
		pos := s.node.Pos
		again := workflow.Edge{To: workflow.Again, On: workflow.OnElse, Pos: pos}
		out := workflow.Edge{On: workflow.OnWhen, When: t.when, Pos: pos}
		if t.while {
			again.On, again.When, out.On, out.When = workflow.OnWhen, t.when, workflow.OnElse, workflow.Expr{}
			s.edges = append(s.edges, again)
		}
		for _, id := range exits {
			out.To = id
			s.edges = append(s.edges, out)
		}
		if !t.while {
			s.edges = append(s.edges, again)
		}
	}
}

// checkTests reports a test that no step of its loop leads to.
func (l *linker) checkTests() {
	for loop, t := range l.tests {
		s := &l.steps[t.step]
		if len(s.graph.Nodes) > 1 && !l.tested[t.step] {
			l.report(workflow.Errorf(s.node.Pos, codeLoopTest, "remove the route of the last step, or add a route to again",
				"no step of %q leads to its until or while", l.steps[loop].node.ID))
		}
	}
}
