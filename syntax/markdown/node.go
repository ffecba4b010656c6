package markdown

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax/markdown/internal/mermaid"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// kindMark is the start or an end of the flow, which is not a node. All other kinds are those of
// [workflow.Node.Kind].
const kindMark = "mark"

// shapes maps shapes, by their Mermaid names, to kinds of nodes. All other shapes have no meaning
// and are tasks.
var shapes = map[mermaid.Shape]string{
	mermaid.NoShape: "task", mermaid.Square: "task", mermaid.Rect: "task",
	"rectangle": "task", "proc": "task", "process": "task", "squareRect": "task",
	mermaid.Hexagon: "human", "hex": "human", "prepare": "human",
	mermaid.Diamond: "choice", "diam": "choice", "decision": "choice", "question": "choice",
	mermaid.Subroutine: "call", "subproc": "call", "subprocess": "call", "fr-rect": "call", "framed-rectangle": "call",
	mermaid.Circle: kindMark, mermaid.DoubleCircle: kindMark, mermaid.Stadium: kindMark,
	"circ": kindMark, "sm-circ": kindMark, "small-circle": kindMark, "start": kindMark,
	"dbl-circ": kindMark, "double-circle": kindMark, "fr-circ": kindMark, "framed-circle": kindMark, "stop": kindMark,
	"terminal": kindMark, "pill": kindMark,
}

// classes maps classes to kinds of nodes, whatever their shape is.
var classes = map[string]string{
	"human": "human", "agent": "task", "task": "task", "choice": "choice", "combine": "combine", "merge": "merge", "call": "call",
	"start": kindMark, "stop": kindMark, // Mermaid does not allow the class "end"
}

// vertex is a node of the flowchart with what the file says about it.
type vertex struct {
	kind    string
	name    string // its id in the model
	section *section
	words   *words // if they say where it continues
	in, out int32  // arrows
	mark    bool   // it is the start or an end, not a node of the model
}

// kindOf returns the kind of a node according to the drawing.
func (r *reader) kindOf(n *mermaid.Node) string {
	for _, c := range n.Classes {
		if kind, ok := classes[c]; ok {
			return kind
		}
	}
	kind, ok := shapes[n.Shape]
	if !ok {
		r.warnShape(n)
		return "task"
	}
	return kind
}

// warnShape warns once about every shape that has no meaning.
func (r *reader) warnShape(n *mermaid.Node) {
	if slices.Contains(r.odd, n.Shape) {
		return
	}
	r.odd = append(r.odd, n.Shape)
	r.report(workflow.Warningf(r.chartPos(n.Whole), codeShape,
		"write "+n.ID+`["…"] for a task, {{"…"}} for a question to a person, {"…"} for a choice`,
		"the shape of %q has no meaning, so it is a task", n.ID))
}

// settleMarks finds out which of the marks are the start or an end. A mark with a section, or
// with arrows to and from it, is a step.
func (r *reader) settleMarks() {
	for i := range r.vertices {
		v, n := &r.vertices[i], &r.chart.Nodes[i]
		if v.kind != kindMark {
			continue
		}
		v.kind = "task"
		switch {
		case v.section != nil || r.hasWords(n):
		case v.in == 0 || v.out == 0:
			v.kind, v.mark = kindMark, true
		default:
			r.report(workflow.Warningf(r.chartPos(n.Whole), codeShape, "write "+n.ID+`["…"] if it is a step; otherwise, remove the arrows to the start or from the end`,
				"%q is drawn as a start or an end, but has arrows to and from it", n.ID))
		}
	}
}

// hasWords reports whether the @{…} of a node contains more than its appearance.
func (r *reader) hasWords(n *mermaid.Node) bool {
	for _, meta := range n.Meta {
		m := r.meta(meta).Root().Map()
		if slices.ContainsFunc(m.Names(), func(name string) bool { return !slices.Contains(mermaidWords, name) }) {
			return true
		}
	}
	return false
}

// meta reads an @{…}. On one line it is the inside of a map in braces, whose closing brace may be
// missing.
func (r *reader) meta(m mermaid.Meta) *strictyaml.Document {
	span := m.YAML
	if !m.Flow {
		pos := r.chartPos(span)
		return r.piece(r.src.Bytes[span.From:span.To], pos)
	}
	span.From--
	pos := r.chartPos(span)
	return r.piece(append(slices.Clone(r.src.Bytes[span.From:span.To]), '}'), pos)
}

// piece reads the keys in a part of the file that begins at a position.
func (r *reader) piece(text []byte, pos workflow.Pos) *strictyaml.Document {
	return strictyaml.ReadPiece(r.file, text, strictyaml.Piece{Line: pos.Line, Column: pos.Column, Pool: &r.pool})
}

// readNode completes a node from its keys, otherwise from the drawing.
func (r *reader) readNode(i int, node *workflow.Node) {
	n, v := &r.chart.Nodes[i], &r.vertices[i]
	label := strings.TrimSpace(mermaid.Unescape(n.Text))
	node.ID, node.Pos, node.OnError = n.ID, r.chartPos(n.Mention), r.head.onError
	if v.section == nil && len(n.Meta) == 0 && r.readBare(node, n, v.kind, label) { // most nodes of a large drawing
		return
	}
	w := r.wordsOf(v.kind, v.section, n.Meta, n.ID)
	if v.name = orElse(w.Node.ID, n.ID); w.lead() {
		v.words = w
	}
	if !w.HasOnError {
		w.Node.OnError = r.head.onError
	}
	if w.Node.ID, w.Node.Pos = v.name, node.Pos; v.section != nil {
		w.Node.Pos = r.doc.text.Pos(v.section.heading.title)
	}
	if !n.HasText {
		label = ""
	}
	title := r.complete(w, n, v, label)
	if title == n.ID || title == v.name {
		title = ""
	}
	w.Node.Title = orElse(w.Node.Title, orElse(title, w.about))
	*node = w.Repeat()
}

// readBare completes a node that is only drawn. It reports whether it supports the kind.
func (r *reader) readBare(node *workflow.Node, n *mermaid.Node, kind, label string) bool {
	var src workflow.Source
	if n.HasText {
		src = workflow.Source{Text: label, Pos: r.chartPos(n.Label)}
	}
	switch kind {
	case "task":
		task := r.tasks.next()
		task.Prompt = workflow.Template{Text: label, Src: src}
		node.Retry, node.Step = r.head.retry, task
	case "human":
		node.Step = &workflow.Human{Question: workflow.Template{Text: label, Src: src}}
	case "call":
		node.Step = &workflow.Call{Workflow: label, Pos: src.Pos}
	case "choice":
		choice := &workflow.Choice{}
		if node.Step = choice; src.Text != n.ID {
			r.decideBy(choice, src)
		}
		r.retried(choice)
	default:
		return false
	}
	return true
}

// slab allocates tasks in blocks.
type slab struct{ spare []workflow.Task }

func (s *slab) next() *workflow.Task {
	if len(s.spare) == 0 {
		s.spare = make([]workflow.Task, 64)
	}
	t := &s.spare[0]
	s.spare = s.spare[1:]
	return t
}

// complete sets the texts of a node that are not among its keys: that of its section, or its
// label. It returns the label if that remains as a title.
func (r *reader) complete(w *words, n *mermaid.Node, v *vertex, label string) (title string) {
	src := workflow.Source{Text: label, Pos: r.chartPos(n.Label)}
	if label == "" {
		label, src = n.ID, workflow.Source{}
	}
	switch s := w.Node.Step.(type) {
	case *workflow.Task:
		if !w.hasRetry {
			w.Node.Retry = r.head.retry
		}
		if yaml.Kind(&w.Node) != "task" {
			r.completeMerge(s, v.section)
			return src.Text
		}
		if r.fromSection(&s.Prompt, v.section, w) || w.prompts(s) || v.section != nil && src.Text == "" {
			return src.Text
		}
		s.Prompt = workflow.Template{Text: label, Src: src}
	case *workflow.Human:
		if r.fromSection(&s.Question, v.section, w) || s.Question.Text != "" || w.text.Exists() {
			return src.Text
		}
		s.Question = workflow.Template{Text: label, Src: src}
	case *workflow.Call:
		if s.Workflow != "" {
			return src.Text
		}
		s.Workflow, s.Pos = label, r.chartPos(n.Label)
	case *workflow.Choice:
		if !w.hasRetry {
			r.retried(s)
		}
		if w.chooses || s.On.Text != "" || src.Text == n.ID || w.asks.Exists() {
			return src.Text
		}
		r.decideBy(s, src)
		if s.Ask != nil && r.fromSection(&s.Ask.Prompt, v.section, w) {
			return src.Text
		}
		if _, isName := r.names[s]; isName && v.section != nil && v.section.body.From < v.section.body.To {
			r.longer[s] = workflow.Template{Text: r.doc.prompt(*v.section), Src: r.doc.text.Source(v.section.body)}
		}
	case *workflow.Combine:
		return src.Text
	case *workflow.Loop, *workflow.Each:
	}
	return ""
}

// completeMerge takes the prompt of a merge's agent from its section.
func (r *reader) completeMerge(t *workflow.Task, s *section) {
	if s == nil || s.body.From == s.body.To {
		return
	}
	src := r.doc.text.Source(s.body)
	if by, nobody := yaml.Decider(t); nobody || by != "" || t.Agent == workflow.LandAgent {
		r.report(workflow.Errorf(src.Pos, codeKey, "name an agent under on_conflict or pick, or remove the text", "%q has a prompt, but no agent", s.id))
		return
	}
	if t.Prompt.Text != "" {
		r.report(workflow.Errorf(t.Prompt.Src.Pos, codeKey, "remove one of them", "prompt is set both here and below"))
	}
	t.Prompt = workflow.Template{Text: r.doc.prompt(*s), Src: src}
}

// fromSection takes the text of a node from its section, and reports whether there is one.
func (r *reader) fromSection(t *workflow.Template, s *section, w *words) bool {
	if s == nil || s.body.From == s.body.To {
		return false
	}
	given := w.text
	if w.file.Exists() {
		given = w.file
	}
	if given.Exists() {
		r.report(workflow.Errorf(given.Key().Pos(), codeKey, "remove one of them", "%s is set both here and below", given.Label()))
	}
	*t = workflow.Template{Text: r.doc.prompt(*s), Src: r.doc.text.Source(s.body)}
	return true
}

// wordsOf reads the keys of a node or a subgraph, which are either in its section or in an @{…}.
// Unless they say where it continues, the result is reused when the keys of another node are
// read.
func (r *reader) wordsOf(kind string, s *section, metas []mermaid.Meta, id string) *words {
	r.pool.Reuse()
	if kind == kindMark {
		kind = "task"
	}
	var doc *strictyaml.Document
	if s != nil && s.front.exists() {
		doc = r.matter(s.front)
	}
	for _, meta := range metas {
		d := r.meta(meta)
		m := d.Root().Map()
		own := slices.DeleteFunc(m.Names(), func(name string) bool { return slices.Contains(mermaidWords, name) })
		switch {
		case len(own) == 0:
			r.collect(d)
		case doc != nil:
			r.collect(d)
			r.report(workflow.Errorf(d.Root().Pos(), codeTwice, "move all of them into its section", "the settings of %q are in two places", id))
		default:
			doc = d
		}
	}
	if doc == nil {
		doc = r.piece(nil, workflow.Pos{Line: 1, Column: 1})
	}
	m := doc.Root().Map()
	if s == nil || !s.front.exists() {
		for _, key := range mermaidWords {
			m.Cut(key)
		}
	}
	w := r.readWords(m, kind)
	r.collect(doc)
	return w
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
