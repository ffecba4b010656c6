package markdown

import (
	"maps"
	"strings"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax/internal/flow"
	"github.com/hocket-dev/hocket/syntax/markdown/internal/mermaid"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// canvas is a chart that is being written, with the sections of its nodes.
type canvas struct {
	*plan
	lines  strings.Builder
	pieces []piece
	edges  map[string][]workflow.Edge // by their source
	frames map[string]*flow.Frame
	tests  map[string]string // conditions in diamonds
	open   []string          // frames around the current line
}

// draw writes the chart: all nodes in their order, then all arrows.
func (p *plan) draw() *canvas {
	c := &canvas{plan: p, edges: map[string][]workflow.Edge{}, frames: map[string]*flow.Frame{}, tests: map[string]string{}}
	for _, e := range p.drawing.Edges {
		c.edges[e.From] = append(c.edges[e.From], e)
	}
	for i := range p.drawing.Frames {
		c.frames[p.drawing.Frames[i].ID] = &p.drawing.Frames[i]
	}
	c.marks()
	if p.begin != "" {
		c.line(p.begin + `(["Start"])`)
	}
	for i := range p.drawing.Nodes {
		n := &p.drawing.Nodes[i]
		c.enter(n.Frame)
		c.node(n)
	}
	c.enter("")
	if p.finish != "" {
		c.line(p.finish + `(["End"])`)
	}
	for _, id := range p.starts {
		c.line(p.begin + " --> " + p.ids[id])
	}
	c.arrows()
	return c
}

// marks sets the ids of the start and the end, if they are drawn.
func (c *canvas) marks() {
	if len(c.starts) > 0 {
		c.begin = c.take(c.free("begin"))
	}
	for i := range c.drawing.Edges {
		if c.drawing.Edges[i].To == workflow.End && c.finish == "" {
			c.finish = c.take(c.free("finish"))
		}
	}
}

func (c *canvas) line(text string) {
	for range len(c.open) + 1 {
		c.lines.WriteString("    ")
	}
	c.lines.WriteString(text)
	c.lines.WriteByte('\n')
}

// enter closes and opens subgraphs so that the next line is in a frame.
func (c *canvas) enter(frame string) {
	var path []string
	for f := frame; f != ""; f = c.frames[f].Frame {
		path = append(path, f)
	}
	depth := 0
	for depth < len(c.open) && depth < len(path) && c.open[depth] == path[len(path)-1-depth] {
		depth++
	}
	for len(c.open) > depth {
		c.open = c.open[:len(c.open)-1]
		c.line("end")
	}
	for ; depth < len(path); depth++ {
		f := path[len(path)-1-depth]
		c.frame(c.frames[f])
		c.open = append(c.open, f)
	}
}

// frame opens a subgraph, and writes its section.
func (c *canvas) frame(f *flow.Frame) {
	n, id := f.Node, c.ids[f.ID]
	title := id
	if labels(n.Title) && n.Title != id {
		title, n.Title = n.Title, ""
	}
	c.line("subgraph " + id + " [" + quoted(title) + "]")
	c.section(id, c.words(&n, id, c.carry(&f.Node)), "")
}

// node draws a node, and writes its section if it needs one.
func (c *canvas) node(f *flow.Node) {
	n := f.Node
	id, edges := c.drawnNode(f), []workflow.Edge(nil)
	if c.inner[n.ID] == "" || f.Frame != n.ID {
		edges = c.carry(&n)
	}
	inner := &n
	if each, ok := n.Step.(*workflow.Each); ok {
		copied := *each
		copied.Body.Nodes = []workflow.Node{each.Body.Nodes[0]}
		n.Step, inner = &copied, &copied.Body.Nodes[0]
	}
	s := &sketch{canvas: c, id: id, title: &n.Title}
	switch step := inner.Step.(type) {
	case *workflow.Task:
		copied := *step
		inner.Step = &copied
		words := func() string { return c.words(&n, id, edges) }
		switch yaml.Kind(inner) {
		case "merge":
			s.merge(&copied, words)
		case "land":
			s.named("[", "]", "")
		default:
			s.task(&copied, words)
		}
	case *workflow.Human:
		copied := *step
		inner.Step = &copied
		s.human(&copied, func() string { return c.words(&n, id, edges) })
	case *workflow.Call:
		copied := *step
		inner.Step = &copied
		s.call(&copied)
	case *workflow.Choice:
		copied := *step
		inner.Step = &copied
		if edges == nil {
			c.tests[n.ID] = testOf(&n, c.edges[n.ID])
		}
		s.choice(&copied, c.tests[n.ID], !flow.AsksNothing(c.edges[n.ID]))
	case *workflow.Combine:
		s.named("[", "]", ":::combine")
	case *workflow.Loop, *workflow.Each:
	}
	c.line(s.drawn)
	front := c.words(&n, id, edges) + s.more
	if front != "" || s.body != "" || s.forced {
		c.section(id, front, s.body)
	}
}

func (c *canvas) section(id, front, body string) {
	c.pieces = append(c.pieces, piece{id: id, front: layOut(front), body: body})
}

// sketch describes how one node is drawn.
type sketch struct {
	*canvas
	id     string
	title  *string
	drawn  string
	body   string
	more   string // keys in addition to those of the step
	forced bool   // it has a section, even if that is empty
}

// named draws a node with its title, otherwise with its id.
func (s *sketch) named(open, shut, class string) {
	label := s.id
	if labels(*s.title) && *s.title != s.id {
		label, *s.title = *s.title, ""
	}
	if label == s.id && open == "[" {
		s.drawn = s.id + class
		return
	}
	s.box(open, label, shut, class)
}

func (s *sketch) box(open, label, shut, class string) {
	s.drawn = s.id + open + quoted(label) + shut + class
}

// task draws the prompt if it is short and the node needs nothing else; otherwise the prompt goes
// into the section.
func (s *sketch) task(t *workflow.Task, words func() string) {
	prompt := t.Prompt.Text
	if file, ok := t.Settings[promptFile].(string); ok && prompt == "" {
		t.Settings = maps.Clone(t.Settings)
		delete(t.Settings, promptFile)
		s.more = style.Text("prompt", "{file:"+file+"}")
	}
	t.Prompt.Text = ""
	bare := *s.title == "" && words() == ""
	if bare && prompt != "" && fits(prompt) && labels(prompt) {
		s.box("[", prompt, "]", "")
		return
	}
	if _, named := t.Settings[yaml.Template]; prompt == "" && *s.title != "" && !named && s.more == "" {
		s.more = "prompt: \"\"\n" // otherwise the title would be the prompt
	}
	s.named("[", "]", "")
	s.forced = true
	if holds(prompt, words() != "", s.isID) {
		s.body = prompt
		return
	}
	t.Prompt.Text = prompt
}

// merge draws a merge by its name. The prompt of its agent goes into the section.
func (s *sketch) merge(t *workflow.Task, words func() string) {
	s.named("[", "]", ":::merge")
	if prompt := t.Prompt.Text; t.Agent != workflow.MergeAgent && prompt != "" {
		t.Prompt.Text = ""
		if holds(prompt, words() != "", s.isID) {
			s.body = prompt
			return
		}
		t.Prompt.Text = prompt
	}
}

// human draws the question, if it is short.
func (s *sketch) human(h *workflow.Human, words func() string) {
	question := h.Question.Text
	h.Question.Text = ""
	if *s.title == "" && fits(question) && labels(question) {
		s.box("{{", question, "}}", "")
		return
	}
	s.named("{{", "}}", "")
	switch {
	case holds(question, words() != "", s.isID):
		s.body = question
	case question == "":
		s.more = "question: \"\"\n"
	default:
		h.Question.Text = question
	}
}

// call draws the name of the workflow.
func (s *sketch) call(step *workflow.Call) {
	if *s.title == "" && labels(step.Workflow) {
		s.box("[[", step.Workflow, "]]", "")
		step.Workflow = ""
		return
	}
	s.named("[[", "]]", "")
}

// choice draws the condition: that of its edges, or its own. If it is not an operation, it is
// written in braces to distinguish it from a question.
func (s *sketch) choice(step *workflow.Choice, test string, asks bool) {
	if test != "" {
		s.box("{", test, "}", "")
		return
	}
	if step.Ask != nil {
		s.question(step, asks)
		return
	}
	on := step.On.Text
	if on != "" && expr.TestOf(on, expr.Mixed) != expr.ConditionTest {
		on = "${" + on + "}"
	}
	if *s.title == "" && on != "" && labels(on) && expr.TestOf(on, expr.Mixed) == expr.ConditionTest && sameExpr(on, step.On.Text) {
		s.box("{", on, "}", "")
		step.On.Text = ""
		return
	}
	if on == "" && *s.title != "" { // in the drawing, it would be a question
		s.more = "title: " + strictyaml.Quote(*s.title, false) + "\n"
		*s.title = ""
	}
	s.named("{", "}", "")
}

// question draws the question of a choice, if it is short and would be read as a question.
func (s *sketch) question(step *workflow.Choice, asks bool) {
	text := step.Ask.Prompt.Text
	if asks && *s.title == "" && fits(text) && labels(text) && text != s.id && expr.ReadsAsQuestion(text, expr.Mixed, s.known) {
		s.box("{", text, "}", "")
		ask := *step.Ask
		ask.Prompt.Text = ""
		if step.Ask = &ask; ask.Agent == "" && len(ask.Settings) == 0 {
			step.Ask = nil
		}
		return
	}
	if text == "" && (step.Ask.Agent != "" || len(step.Ask.Settings) > 0) {
		s.more = "ask: \"\"\n"
	}
	s.named("{", "}", "")
}

func sameExpr(a, b string) bool {
	x, errX := expr.ParseExpr(a, expr.Mixed)
	y, errY := expr.ParseExpr(b, expr.Mixed)
	return errX == nil && errY == nil && x.String() == y.String()
}

// maxLabel is the maximum length of a text in a box. Longer texts are easier to read below a
// heading.
const maxLabel = 60

// fits reports whether a text is short.
func fits(text string) bool {
	return len([]rune(text)) <= maxLabel && !strings.Contains(text, "\n")
}

// labels reports whether a text can be used as a label and is read unchanged.
func labels(text string) bool {
	return text != "" && len(text) < 1000 && strictyaml.IsPrintable(text) && mermaid.Unescape(mermaid.Escape(text)) == text &&
		strings.TrimSpace(text) == text
}

func quoted(text string) string { return `"` + mermaid.Escape(text) + `"` }
