package markdown

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/flow"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// A diamond with a condition whose arrows have the labels yes and no is what other notations
// write as if and else, and becomes the same model: the condition belongs to the edge that is
// taken if it holds.

// The labels of the arrows from such a diamond.
const (
	labelYes = "yes"
	labelNo  = "no"
)

// isTest reports whether a text is a condition that is true or false.
func isTest(text string) bool {
	if text == "" {
		return false
	}
	e, err := expr.ParseExpr(text, expr.Mixed)
	return err == nil && e.Tests()
}

// decideBy sets what a choice depends on to the text of its diamond: a condition, or a question.
// [reader.settle] finds out what a single name is.
func (r *reader) decideBy(c *workflow.Choice, text workflow.Source) {
	if text.Text == "" {
		return
	}
	test := expr.TestOf(text.Text, expr.Mixed)
	switch {
	case test == expr.ConditionTest && c.Ask != nil:
		r.report(workflow.Errorf(text.Pos, codeKey, "remove the agent and its settings, or write a question", "this is a condition, so no agent or person is asked"))
	case test == expr.QuestionTest || c.Ask != nil:
		if c.Ask == nil {
			c.Ask = &workflow.Task{}
			r.drawn[c] = true
		}
		c.Ask.Prompt = workflow.Template{Text: text.Text, Src: text}
	default:
		c.On = workflow.Expr{Text: text.Text, Src: text}
		if test == expr.NameTest {
			r.names[c] = text.Text
		}
	}
}

// retried records a choice that does not set retries itself.
func (r *reader) retried(c *workflow.Choice) {
	if r.head.retry != (workflow.Retry{}) {
		r.retries = append(r.retries, c)
	}
}

// settle finds the questions among the names in diamonds, and applies the retries of the workflow
// to questions.
func (r *reader) settle() {
	questions := expr.Questions(r.w, expr.Mixed, r.names)
	if len(questions)+len(r.retries)+len(r.drawn) == 0 {
		return
	}
	r.w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		c, ok := n.Step.(*workflow.Choice)
		if !ok {
			return
		}
		if questions[c] {
			c.Ask = &workflow.Task{Prompt: workflow.Template{Text: c.On.Text, Src: c.On.Src}}
			if longer, ok := r.longer[c]; ok {
				n.Title, c.Ask.Prompt = orElse(n.Title, c.On.Text), longer
			}
			c.On, r.drawn[c] = workflow.Expr{}, true
		}
	})
	flow.Titled(&r.w.Body, r.drawn)
	r.w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		if c, ok := n.Step.(*workflow.Choice); ok && c.Ask != nil && slices.Contains(r.retries, c) {
			n.Retry = r.head.retry
		}
	})
}

// decide moves the conditions of such diamonds to their arrows.
func (r *reader) decide() {
	tests := map[string]*workflow.Choice{}
	for i := range r.drawing.Nodes {
		n := &r.drawing.Nodes[i]
		if c, ok := n.Step.(*workflow.Choice); ok && isTest(c.On.Text) {
			tests[n.ID] = c
		}
	}
	if len(tests) == 0 {
		return
	}
	ways := map[string][]*workflow.Edge{}
	for i := range r.drawing.Edges {
		if e := &r.drawing.Edges[i]; tests[e.From] != nil {
			ways[e.From] = append(ways[e.From], e)
		}
	}
	for id, edges := range ways {
		if c := tests[id]; answer(edges) {
			test(edges, c.On)
			c.On = workflow.Expr{}
		}
	}
}

// answer reports whether the edges of a choice are yes and no, or yes and else.
func answer(edges []*workflow.Edge) bool {
	yes, no, other := false, false, false
	for _, e := range edges {
		switch {
		case isYes(e):
			yes = true
		case isNo(e):
			no = true
		case e.On == workflow.OnElse || e.On == workflow.OnSuccess:
			other = true
		case e.On == workflow.OnLabel || e.On == workflow.OnWhen:
			return false
		}
	}
	return yes && !(no && other)
}

// test makes edges that are answers depend on a condition.
func test(edges []*workflow.Edge, cond workflow.Expr) {
	for _, e := range edges {
		switch {
		case isYes(e):
			e.On, e.Label, e.When = workflow.OnWhen, "", cond
		case isNo(e):
			e.On, e.Label = workflow.OnElse, ""
		}
	}
}

func isYes(e *workflow.Edge) bool { return says(e, labelYes, "true") }

func isNo(e *workflow.Edge) bool { return says(e, labelNo, "false") }

func says(e *workflow.Edge, words ...string) bool {
	return e.On == workflow.OnLabel && slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(e.Label, w) })
}

func byRank(a, b workflow.Edge) int { return yaml.Rank(a.On) - yaml.Rank(b.On) }

// sortByRank sorts the edges of each node by their kinds.
func sortByRank(edges []workflow.Edge) []workflow.Edge {
	if slices.IsSortedFunc(edges, byRank) {
		return edges
	}
	sorted := make([]workflow.Edge, 0, cap(edges))
	for rank := range yaml.Ranks {
		for i := range edges {
			if yaml.Rank(edges[i].On) == rank {
				sorted = append(sorted, edges[i])
			}
		}
	}
	return sorted
}

// testOf returns the condition that the diamond of a choice shows, so that its arrows are yes and
// no, or "" if there is none.
func testOf(n *workflow.Node, edges []workflow.Edge) string {
	c, ok := n.Step.(*workflow.Choice)
	if !ok || c.On.Text != "" || c.Ask != nil || n.Title != "" {
		return ""
	}
	cond := ""
	for i := range edges {
		switch e := &edges[i]; e.On {
		case workflow.OnWhen:
			if cond != "" && e.When.Text != cond {
				return ""
			}
			cond = e.When.Text
		case workflow.OnSuccess, workflow.OnLabel:
			return ""
		case workflow.OnElse, workflow.OnFailure, workflow.OnTimeout:
		}
	}
	if !isTest(cond) || !labels(cond) {
		return ""
	}
	return cond
}

// wouldTest reports whether drawing the edges of a choice would make them depend on its
// condition, although they are answers in the model.
func wouldTest(n *workflow.Node, edges []workflow.Edge) bool {
	c, ok := n.Step.(*workflow.Choice)
	if !ok || !isTest(c.On.Text) {
		return false
	}
	list := make([]*workflow.Edge, len(edges))
	for i := range edges {
		list[i] = &edges[i]
	}
	return answer(list)
}
