package plantuml

import (
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/syntax/plantuml/internal/activity"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// marksOf maps the kinds of steps to their marks.
var marksOf = map[string]mark{"task": taskMark, "human": approvalMark, "call": includeMark, "combine": aggregatorMark, "merge": mergeMark, "land": taskMark, "choice": choiceMark, "each": eachMark, "loop": loopMark}

// words returns the keys of a step that its text and its lane do not show, with the mark of its
// note.
func (out *writer) words(n *workflow.Node) (mark, string) {
	c := *n
	work := &c // the node that is repeated for each item
	if yaml.IsRepeat(n) {
		each := *n.Step.(*workflow.Each)
		inner := each.Body.Nodes[0]
		each.Body.Nodes = []workflow.Node{inner}
		c.Step, work = &each, &each.Body.Nodes[0]
	}
	m := marksOf[yaml.Kind(work)]
	if c.Title == out.text(n) {
		c.Title = ""
	}
	extra := out.unsay(work, out.text(n))
	switch step := work.Step.(type) {
	case *workflow.Task:
		switch {
		case out.isRouter(n):
			m = routerMark
		case m == taskMark && work.Retry == workflow.Retry{Attempts: promptAttempts} && work.Timeout == promptTimeout:
			m = promptMark
			work.Retry, work.Timeout = workflow.Retry{}, 0
		}
	case *workflow.Each:
		step = &workflow.Each{Items: step.Items, As: step.As, Parallel: step.Parallel}
		work.Step = step
	case *workflow.Human, *workflow.Call, *workflow.Choice, *workflow.Combine, *workflow.Loop:
	}
	return m, out.safe(&c, n, extra)
}

// isRouter reports whether a switch after a task shows its answers.
func (out *writer) isRouter(n *workflow.Node) bool {
	ways, _ := waysOf(out.edges[out.key(n)])
	return len(ways) > 0 && ways[0].on != workflow.OnSuccess && yaml.Kind(n) == "task"
}

// unsay removes from a step what its text and its lane show. It returns the keys that must be
// written as empty.
func (out *writer) unsay(n *workflow.Node, text string) (extra func(yaml.Style) string) {
	var empty []string
	switch step := n.Step.(type) {
	case *workflow.Task:
		if yaml.Kind(n) != "task" {
			break // the keys of a merge and a landing say everything
		}
		t := *step
		n.Step = &t
		switch {
		case t.Agent != "" && t.Agent == out.lane:
			t.Agent = ""
		case t.Agent == "" && out.lane != "":
			empty = append(empty, "agent")
		}
		template, _ := t.Settings[yaml.Template].(string)
		switch {
		case t.Prompt.Text == text:
			t.Prompt.Text = ""
		case t.Prompt.Text == "" && !yaml.IsTemplateName(template):
			empty = append(empty, "prompt")
		}
	case *workflow.Human:
		h := *step
		n.Step = &h
		switch h.Question.Text {
		case text:
			h.Question.Text = ""
		case "":
			empty = append(empty, "question")
		}
	case *workflow.Call, *workflow.Choice, *workflow.Combine, *workflow.Loop, *workflow.Each:
	}
	return emptied(empty)
}

// emptied writes keys with no values.
func emptied(keys []string) func(yaml.Style) string {
	return func(st yaml.Style) string {
		var b strings.Builder
		for _, key := range keys {
			b.WriteString(st.Text(key, ""))
		}
		return b.String()
	}
}

// safe writes the keys of a node so that PlantUML keeps all their lines.
func (out *writer) safe(c, n *workflow.Node, extra func(yaml.Style) string) string {
	return out.safest(func(st yaml.Style) string {
		text := out.wordsIn(st, c, n)
		if extra != nil {
			text += extra(st)
		}
		return text
	})
}

// safest writes keys as in a file if PlantUML keeps their lines unchanged, otherwise in quotes.
func (out *writer) safest(write func(yaml.Style) string) string {
	if text := write(out.style); isSafeNote(text) {
		return text
	}
	return write(yaml.Style{Hard: true})
}

func isSafeNote(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if !activity.SafeNoteLine(line) || !activity.SafeNoteLine(strings.TrimSpace(line)) {
			return false
		}
	}
	// After other marks, PlantUML reads these as the limits of a diagram.
	lower := strings.ToLower(text)
	return !strings.Contains(lower, "@start") && !strings.Contains(lower, "@end") && !strings.Contains(lower, `\start`) && !strings.Contains(lower, `\end`)
}

// wordsIn writes the keys of a node, with the edges that are not drawn.
func (out *writer) wordsIn(st yaml.Style, c, n *workflow.Node) string {
	if _, isLoop := n.Step.(*workflow.Loop); isLoop {
		return st.Step(c, nil, out.given[n.ID])
	}
	edges := out.edges[out.key(n)]
	if out.carried[out.key(n)] {
		return st.Step(c, out.named(edges), out.given[n.ID])
	}
	_, other := waysOf(edges)
	return st.Step(c, nil, out.given[n.ID]) + st.Ways(out.named(other))
}

// named returns edges with the words for the end and the next iteration.
func (out *writer) named(edges []workflow.Edge) []workflow.Edge {
	list := make([]workflow.Edge, len(edges))
	for i, e := range edges {
		switch {
		case e.To == workflow.End && !out.has("end"):
			e.To = "end"
		case e.To == workflow.Again && !out.has("again"):
			e.To = "again"
		}
		list[i] = e
	}
	return list
}

func (out *writer) has(id string) bool { return out.ids[id] }

// choiceNote returns the keys of a choice that is drawn as a test in a lane. shown is the test.
func (out *writer) choiceNote(n *workflow.Node, shown, lane string) (mark, string) {
	c := *n
	step, ok := n.Step.(*workflow.Choice)
	if !ok {
		return choiceMark, out.safe(&c, n, nil)
	}
	if step.Ask != nil {
		return choiceMark, out.safe(&c, n, unsayQuestion(&c, step, shown, lane))
	}
	if shown != "" && step.On.Text == shown {
		c.Step = &workflow.Choice{}
	}
	return choiceMark, out.safe(&c, n, nil)
}

// unsayQuestion removes from a question what its test and its lane show. It returns the keys that
// must be written as empty.
func unsayQuestion(n *workflow.Node, c *workflow.Choice, shown, lane string) (extra func(yaml.Style) string) {
	ask := *c.Ask
	var empty []string
	switch {
	case shown != "":
		ask.Prompt.Text = ""
	case ask.Prompt.Text == "":
		empty = append(empty, "ask")
	}
	switch {
	case ask.Agent != "" && ask.Agent == lane:
		ask.Agent = ""
	case ask.Agent == "" && lane != "":
		empty = append(empty, "agent")
	}
	n.Step = &workflow.Choice{Ask: &ask}
	if shown != "" && ask.Agent == "" && len(ask.Settings) == 0 {
		n.Step = &workflow.Choice{}
	}
	return emptied(empty)
}

// loopNote returns the keys of a loop. title is what the drawing shows of it.
func (out *writer) loopNote(n *workflow.Node, title string) (mark, string) {
	c := *n
	c.Step = nil
	if c.Title == title {
		c.Title = ""
	}
	return loopMark, out.safe(&c, n, func(yaml.Style) string {
		if l, ok := n.Step.(*workflow.Loop); ok && l.Max != 0 {
			return "max: " + strconv.Itoa(l.Max) + "\n"
		}
		return ""
	})
}
