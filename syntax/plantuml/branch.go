package plantuml

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/flow"
	"github.com/hocket-dev/hocket/syntax/plantuml/internal/activity"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// ifElse draws a chain of tests. Each elseif is a separate choice after the else of the one
// before.
func (r *reader) ifElse(e *activity.If) {
	test := e.Branches[0].Test
	if asker := r.asker(test); asker != nil && len(r.wordsAt(e).parts) == 0 && showsAnswers(e) {
		if asksMore(asker, test) {
			asker = r.chosen(test, &e.Base, nil)
		}
		r.answers(asker, e)
		return
	}
	var done []tail
	for i := range e.Branches {
		b := &e.Branches[i]
		var s *said
		if i == 0 {
			s = r.wordsOf(e, "choice")
		}
		c := r.choice(b.Test, &e.Base, s)
		other := activity.Text{}
		if i+1 < len(e.Branches) {
			other = e.Branches[i+1].In
		} else if e.Else != nil {
			other = e.Else.Label
		}
		yes, no := r.test(c, b.Test, b.Label, other)
		r.open = yes
		r.body(b.Body)
		done = append(done, r.open...)
		r.open = no
	}
	if e.Else != nil {
		r.body(e.Else.Body)
	}
	r.open = append(done, r.open...)
}

// choice draws the choice of a test.
func (r *reader) choice(test activity.Text, at *activity.Base, s *said) *node {
	n := workflow.Node{Step: &workflow.Choice{}}
	if s != nil {
		n = s.Node
	}
	if n.Pos.Line == 0 {
		n.Pos = r.pos(at.Span)
		if test.Span.To > test.Span.From {
			n.Pos = r.pos(test.Span)
		}
	}
	if n.ID == "" {
		n.ID = r.name("choice")
	}
	if c, ok := n.Step.(*workflow.Choice); ok {
		r.decideBy(c, &n, test, at, s != nil && s.agent)
	}
	c := r.add(n, s, false)
	r.enter(c, at)
	return c
}

func isBlank(test activity.Text) bool { return strings.TrimSpace(test.Raw) == "" }

// chosen draws the choice of a test whose ways all have labels.
func (r *reader) chosen(test activity.Text, at *activity.Base, s *said) *node {
	c := r.choice(test, at, s)
	if step, ok := c.Step.(*workflow.Choice); ok && step.On.Text == "" && step.Ask == nil && !isBlank(test) {
		step.On = r.condition(test)
	}
	return c
}

// decideBy sets what a choice depends on to its test: a condition, which its edges or its own
// expression get, or a question. [reader.settle] finds out what a single name is. If keys already
// set it, the test is a title.
func (r *reader) decideBy(c *workflow.Choice, n *workflow.Node, test activity.Text, at *activity.Base, named bool) {
	kind := testOf(test.Raw)
	switch {
	case isBlank(test) || c.On.Text != "":
	case c.Ask != nil && c.Ask.Prompt.Text != "":
		if n.Title == "" {
			n.Title = test.String()
		}
	case kind == expr.ConditionTest && c.Ask != nil:
		r.report(workflow.Errorf(r.pos(test.Span), codeStepKey, "remove the agent and its settings, or write a question", "this is a condition, so no agent or person is asked"))
	case kind == expr.NameTest && c.Ask == nil:
		r.names[c] = drawnName{text: test.Raw, ask: func(c *workflow.Choice) { r.ask(c, test, at, named) }}
	case kind != expr.ConditionTest:
		r.ask(c, test, at, named)
	}
}

// ask makes the test of a choice its question. The agent of its lane answers it, unless keys name
// one.
func (r *reader) ask(c *workflow.Choice, test activity.Text, at *activity.Base, named bool) {
	if c.Ask == nil {
		c.Ask = &workflow.Task{}
		r.drawn[c] = true
	}
	c.Ask.Prompt = r.textTemplate(test, test.String(), r.pos(test.Span))
	if !named {
		c.Ask.Agent, c.Ask.Pos = strings.TrimSpace(at.Lane), r.laneAt[at.Lane]
	}
}

// drawnName is the test of a choice that is a single name, with its meaning if it is a question.
type drawnName struct {
	text        string
	ask         func(c *workflow.Choice)
	when, other workflow.Edge // replace the edges for a condition that holds, or does not
	inverted    bool          // the way for a condition that does not hold is drawn first
}

// settle finds the questions among the names in tests. Their edges then get labels.
func (r *reader) settle() {
	texts := make(map[*workflow.Choice]string, len(r.names))
	for c, name := range r.names {
		texts[c] = name.text
	}
	questions := expr.Questions(r.w, expr.PlantUML, texts)
	if len(questions)+len(r.drawn) == 0 {
		return
	}
	edges := map[*workflow.Graph]map[string][]*workflow.Edge{}
	r.w.Body.Walk(func(g *workflow.Graph, n *workflow.Node) {
		c, ok := n.Step.(*workflow.Choice)
		if !ok || !questions[c] {
			return
		}
		if edges[g] == nil {
			edges[g] = edgesByNode(g)
		}
		name, own := r.names[c], edges[g][n.ID]
		c.On = workflow.Expr{}
		name.ask(c)
		for _, e := range own {
			switch {
			case e.On == workflow.OnWhen && name.when.On != "":
				e.On, e.Label, e.When, e.Pos = name.when.On, name.when.Label, workflow.Expr{}, name.when.Pos
			case e.On == workflow.OnElse && name.other.On != "":
				e.On, e.Label, e.Pos = name.other.On, name.other.Label, name.other.Pos
			}
		}
		if len(own) == 2 && (name.inverted && own[0].On == own[1].On || yaml.Rank(own[0].On) > yaml.Rank(own[1].On)) {
			*own[0], *own[1] = *own[1], *own[0]
		}
	})
	flow.Titled(&r.w.Body, r.drawn)
}

func edgesByNode(g *workflow.Graph) map[string][]*workflow.Edge {
	by := map[string][]*workflow.Edge{}
	for i := range g.Edges {
		e := &g.Edges[i]
		by[e.From] = append(by[e.From], e)
	}
	return by
}

// test opens the two ways after a choice. A condition holds or does not; anything else is a
// question, and the labels are its answers. A branch with the label no is for a condition that
// does not hold.
func (r *reader) test(c *node, test, label, other activity.Text) (yes, no []tail) {
	if c.ways.lead() {
		return nil, nil
	}
	when := r.condition(test)
	hold := tail{from: c, on: workflow.OnWhen, when: &when, pos: c.Pos}
	miss := tail{from: c, on: workflow.OnElse, pos: c.Pos}
	choice, _ := c.Step.(*workflow.Choice)
	name, isName := r.names[choice]
	asked, otherwise := r.answer(c, label, "yes"), r.answer(c, other, "")
	if !isName && (choice != nil && (choice.Ask != nil || choice.On.Text != "") || testOf(test.Raw) != expr.ConditionTest) {
		return asked, otherwise
	}
	inverted := says(label, "no", "false") && (!other.Written() || says(other, "yes", "true"))
	if isName {
		name.inverted = inverted
		if name.when, name.other = asked[0].edge(), otherwise[0].edge(); inverted {
			name.when, name.other = name.other, name.when
		}
		r.names[choice] = name
	}
	if inverted {
		return []tail{miss}, []tail{hold}
	}
	return []tail{hold}, []tail{miss}
}

// edge returns the edge for a tail.
func (t *tail) edge() workflow.Edge { return workflow.Edge{On: t.on, Label: t.label, Pos: t.pos} }

// answer returns the way for an answer. If it is not written, it is the default, or any other
// answer. There is none if keys say where the step leads.
func (r *reader) answer(c *node, label activity.Text, byDefault string) []tail {
	if c.ways.lead() {
		return nil
	}
	text := strings.TrimSpace(label.String())
	if text == "" {
		text = byDefault
	}
	if text == "" || isElse(text) {
		return []tail{{from: c, on: workflow.OnElse, pos: c.Pos}}
	}
	t := tail{from: c, on: workflow.OnLabel, label: text, pos: c.Pos}
	if label.Span.To > label.Span.From {
		t.pos = r.pos(label.Span)
	}
	return []tail{t}
}

func isElse(label string) bool {
	return strings.EqualFold(label, "else") || strings.EqualFold(label, "default")
}

func says(label activity.Text, words ...string) bool {
	text := strings.TrimSpace(label.String())
	return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, text) })
}

// operators make a test a condition even if it does not parse: then it is a mistake, not a
// question.
var operators = []string{"=", "<", ">", "&&", "||", "??"}

func hasOperator(test string) bool {
	return slices.ContainsFunc(operators, func(op string) bool { return strings.Contains(test, op) })
}

// testOf distinguishes conditions from questions.
func testOf(test string) expr.Test {
	if kind := expr.TestOf(test, expr.PlantUML); kind != expr.QuestionTest || !hasOperator(test) {
		return kind
	}
	return expr.ConditionTest
}

func (r *reader) condition(test activity.Text) workflow.Expr {
	return workflow.Expr{Text: test.Raw, Src: workflow.Source{Text: test.Raw, Pos: r.pos(test.Span)}}
}

// asker returns the step whose answers a test shows: a person who was just asked, or a router, if
// the test is only a question.
func (r *reader) asker(test activity.Text) *node {
	asked := r.asked
	r.asked = nil
	if asked == nil || testOf(test.Raw) == expr.ConditionTest {
		return nil
	}
	return asked
}

// asksMore reports whether the test after a person is a separate question to the same person.
func asksMore(asker *node, test activity.Text) bool {
	h, ok := asker.Step.(*workflow.Human)
	return ok && !isBlank(test) && test.String() != h.Question.Text && test.String() != asker.Title
}

// showsAnswers reports whether the branches of an if may be the answers of the step before it. If
// there are several, each has to name one.
func showsAnswers(e *activity.If) bool {
	for i := range e.Branches {
		if len(e.Branches) > 1 && (testOf(e.Branches[i].Test.Raw) == expr.ConditionTest || named(&e.Branches[i]) == "") {
			return false
		}
	}
	return true
}

// named returns the answer for one of several branches: its label, or its test if the label only
// says that it holds.
func named(b *activity.Branch) string {
	if b.Label.Written() && !says(b.Label, "yes", "true") {
		return strings.TrimSpace(b.Label.String())
	}
	test := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(b.Test.String()), "?"))
	if strings.ContainsAny(test, " \t\n()") {
		return ""
	}
	return test
}

// answers draws an if whose labels are the answers of the step before it.
func (r *reader) answers(asker *node, e *activity.If) {
	other := activity.Text{}
	if e.Else != nil {
		other = e.Else.Label
	}
	chain := len(e.Branches) > 1
	if chain && says(other, "no", "false") {
		other = activity.Text{}
	}
	no := r.answer(asker, other, "")
	var done []tail
	for i := range e.Branches {
		b := &e.Branches[i]
		label, byDefault := b.Label, "yes"
		if chain && !says(label, named(b)) {
			label, byDefault = activity.Text{}, named(b)
		}
		r.open = r.answer(asker, label, byDefault)
		r.body(b.Body)
		done = append(done, r.open...)
	}
	r.open = no
	if e.Else != nil {
		r.body(e.Else.Body)
	}
	r.open = append(done, r.open...)
}

// choose draws a switch: a choice with a way for every case.
func (r *reader) choose(e *activity.Switch) {
	r.body(e.Early)
	c := r.asker(e.Test)
	if c == nil || len(r.wordsAt(e).parts) > 0 || asksMore(c, e.Test) {
		c = r.chosen(e.Test, &e.Base, r.wordsOf(e, "choice"))
	}
	for i := range c.routes {
		c.routes[i] = true // the cases say where they lead
	}
	var done []tail
	for i := range e.Cases {
		r.open = r.answer(c, e.Cases[i].Label, "")
		r.body(e.Cases[i].Body)
		done = append(done, r.open...)
	}
	r.open = done
	if len(e.Cases) == 0 {
		r.open = r.answer(c, activity.Text{}, "")
	}
}

// branches draws the branches of a fork or a split, each from the same tails.
func (r *reader) branches(list []activity.Branch, from []tail) []tail {
	var done []tail
	for i := range list {
		r.open = slices.Clone(from)
		if arrow := firstArrow(list[i].Body); arrow != nil {
			r.labelled(arrow)
		}
		r.body(list[i].Body)
		done = append(done, r.open...)
	}
	return done
}

// firstArrow returns the arrow into a branch, if it has a label.
func firstArrow(list []activity.Element) *activity.Arrow {
	for _, e := range list {
		if a, ok := e.(*activity.Arrow); ok && a.Label.Written() {
			return a
		}
		switch e.(type) {
		case *activity.LaneMark, *activity.Note, *activity.Arrow:
		default:
			return nil
		}
	}
	return nil
}

// labelled makes the label of an arrow the label of a router's edge, if the router lists no
// routes.
func (r *reader) labelled(a *activity.Arrow) {
	for i := range r.open {
		t := &r.open[i]
		if t.from != nil && t.on == workflow.OnSuccess && t.from.ways != nil && t.from.ways.router && len(t.from.routes) == 0 {
			t.on, t.label, t.pos = workflow.OnLabel, strings.TrimSpace(a.Label.String()), r.pos(a.Label.Span)
		}
	}
}

// fork draws branches that run in parallel. The step after them waits for all of them, unless the
// end of the fork says otherwise.
func (r *reader) fork(e *activity.Fork) {
	done := r.branches(e.Branches, r.open)
	join := r.joinOf(e)
	for i := range done {
		if done[i].join != (workflow.Join{}) && len(e.Branches) > 1 && done[i].join != join {
			r.report(workflow.Errorf(r.pos(e.Closer), codeJoin, "put a step between them, so that each join has its own step", "two joins follow each other"))
			break
		}
	}
	for i := range done {
		done[i].join = join
	}
	r.open = done
}

// joinOf returns how many branches the step after a fork needs. `end merge` waits for the first
// one and lets the others run.
func (r *reader) joinOf(e *activity.Fork) workflow.Join {
	spec := strings.ToLower(strings.TrimSpace(e.Join.String()))
	n, err := strconv.Atoi(spec)
	switch {
	case e.Merge:
		return workflow.Join{Need: 1, Keep: true}
	case spec == "or" || spec == "any" || spec == "xor":
		return workflow.Join{Need: 1}
	case err == nil && n > 0:
		return workflow.Join{Need: n}
	}
	return workflow.Join{}
}
