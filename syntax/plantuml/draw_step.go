package plantuml

import (
	"strings"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/syntax/plantuml/internal/activity"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// activity draws a step.
func (r *reader) activity(e *activity.Activity) {
	r.step(e.Text, &e.Base, r.wordsOf(e, "task"))
}

// step draws a step with its keys, and leaves its edge open.
func (r *reader) step(text activity.Text, at *activity.Base, s *said) *node {
	shown := text.String()
	guard := r.guard(s, at)
	n := r.node(text, shown, at, s)
	p := r.add(n, s, false)
	if guard != nil {
		p.guard = guard
		when := s.When
		r.open = append(r.open[:0], tail{from: guard, on: workflow.OnWhen, when: &when, pos: when.Src.Pos})
	}
	r.enter(p, at)
	if s != nil && len(s.routes) > 0 {
		p.routes = make([]bool, len(s.routes))
	}
	if _, isHuman := p.Step.(*workflow.Human); guard == nil && s != nil && (isHuman || s.router) {
		r.asked = p
	}
	if s == nil || !s.Leads {
		r.open = append(r.open, tail{from: p, pos: p.Pos})
		if guard != nil {
			r.open = append(r.open, tail{from: guard, on: workflow.OnElse, pos: p.Pos})
		}
	}
	return p
}

// guard draws the choice for `when`.
func (r *reader) guard(s *said, at *activity.Base) *node {
	if s == nil || s.When.Text == "" {
		return nil
	}
	g := r.add(workflow.Node{ID: r.name("choice"), Step: &workflow.Choice{}, Pos: s.When.Src.Pos}, nil, false)
	r.enter(g, at)
	return g
}

// node creates the node of a step from its keys and, for what they do not set, from its text and
// its lane.
func (r *reader) node(text activity.Text, shown string, at *activity.Base, s *said) workflow.Node {
	span := text.Span
	if span.To <= span.From {
		span = at.Span
	}
	pos := r.pos(span)
	if s == nil {
		n := workflow.Node{Title: shown, Pos: pos}
		task := &workflow.Task{Prompt: r.textTemplate(text, shown, pos)}
		task.Agent, task.Pos = r.laneAgent(at, pos)
		n.Step = task
		n.ID = r.name(idOf(shown))
		return n
	}
	n := &s.Node
	if n.Pos.Line == 0 {
		n.Pos = pos
	}
	if n.Title == "" {
		n.Title = shown
	}
	switch step := n.Step.(type) {
	case *workflow.Task:
		if yaml.Kind(n) != "task" {
			break // neither its text nor its lane says who works on a merge
		}
		if !s.agent {
			step.Agent, step.Pos = r.laneAgent(at, pos)
		}
		if !s.prompt {
			step.Prompt = r.textTemplate(text, shown, pos)
		}
	case *workflow.Human:
		if !s.prompt {
			step.Question = r.textTemplate(text, shown, pos)
		}
	case *workflow.Call:
		if step.Workflow == "" {
			step.Workflow, step.Pos = shown, pos
		}
	case *workflow.Choice, *workflow.Combine, *workflow.Loop, *workflow.Each, nil:
	}
	if n.ID == "" {
		n.ID = r.name(idOf(shown))
	}
	return s.Repeat()
}

// idOf returns the id of a step that shows a text: in lower case, with dashes between words.
func idOf(text string) string {
	plain := text != "" && text[0] != '-' // it can be used as an id unchanged
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return yaml.Slug(strings.ToLower(text))
		}
		plain = plain && (isIDByte(text[i]) || text[i] == '-')
	}
	if plain {
		return strings.ToLower(text)
	}
	id := make([]byte, 0, len(text))
	for i := range len(text) {
		c := text[i]
		if !isIDByte(c) {
			continue
		}
		if len(id) > 0 && !isIDByte(text[i-1]) {
			id = append(id, '-')
		}
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		id = append(id, c)
	}
	return orElse(string(id), "task")
}

func isIDByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// textTemplate returns the text of a step as a prompt or a question.
func (r *reader) textTemplate(text activity.Text, shown string, pos workflow.Pos) workflow.Template {
	return workflow.Template{Text: shown, Src: workflow.Source{Text: text.Raw, Pos: pos}}
}

// lane records where the current lane was set.
type lane struct {
	block, blocks int // the block that is being drawn, and how many there were
	setIn         int // the innermost open block with a lane mark
	inherited     bool
}

// laneAgent is the agent of a step's lane, and where the lane names it. A lane that was set inside
// a block that has ended is easily overlooked.
func (r *reader) laneAgent(at *activity.Base, pos workflow.Pos) (string, workflow.Pos) {
	name := strings.TrimSpace(at.Lane)
	if name != "" && r.lane.inherited {
		r.lane.inherited = false
		d := workflow.Warningf(pos, codeLane, "write |"+name+"|, or the lane that you mean, on its own line above it",
			"this step is in lane %q, which was set in the block above", name)
		from := at.Span.From
		for from > 0 && r.src.Bytes[from-1] != '\n' {
			from--
		}
		indent := string(r.src.Bytes[from:at.Span.From])
		if strings.TrimSpace(indent) == "" {
			d.Fix = &workflow.Fix{Edits: []workflow.Edit{r.src.Edit(source.Span{From: from, To: from}, indent+"|"+at.Lane+"|\n")}}
		}
		r.report(d)
	}
	return name, r.laneAt[at.Lane]
}
