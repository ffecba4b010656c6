package plantuml

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/syntax/plantuml/internal/activity"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// mark is the text in << >> at the beginning of a note, which sets the kind of its keys.
type mark string

const (
	noMark         mark = ""
	promptMark     mark = "prompt"
	taskMark       mark = "task"
	routerMark     mark = "router"
	aggregatorMark mark = "aggregator"
	mergeMark      mark = "merge"
	includeMark    mark = "include"
	approvalMark   mark = "approval"
	choiceMark     mark = "choice"
	loopMark       mark = "loop"
	eachMark       mark = "each"
	onErrorMark    mark = "onError"
	metricsMark    mark = "metrics"
	inputMark      mark = "input"
	workflowMark   mark = "workflow"
)

var marks = []string{
	string(promptMark), string(taskMark), string(routerMark), string(aggregatorMark), string(mergeMark), string(includeMark), string(approvalMark), string(choiceMark),
	string(loopMark), string(eachMark), string(onErrorMark), string(metricsMark), string(inputMark), string(workflowMark),
}

// NoteMarks returns what may stand in << >> at the beginning of a note.
func NoteMarks() []string { return slices.Clone(marks) }

// kinds maps the marks of steps to kinds of the model. All other marks add something to a step.
var kinds = map[mark]string{
	promptMark: "task", taskMark: "task", routerMark: "task", aggregatorMark: "combine", mergeMark: "merge", includeMark: "call",
	approvalMark: "human", choiceMark: "choice", loopMark: "loop", eachMark: "each",
}

// words are the keys in the notes at one element.
type words struct {
	parts []part
}

// part is one note with keys. They are parsed when needed and then released, so that not all keys
// of a large file are in memory.
type part struct {
	mark  mark
	note  *activity.Note
	lines []activity.Line
	keys  *strictyaml.Map
	doc   *strictyaml.Document
}

// has reports whether one of the notes has the mark.
func (w *words) has(m mark) bool {
	return slices.ContainsFunc(w.parts, func(p part) bool { return p.mark == m })
}

// notes reads the keys of all notes.
func (r *reader) notes() { r.notesIn(r.diagram.Body, nil) }

// notesIn reads the notes of a list of elements. owner is the loop whose body they are, to which
// notes at its beginning belong that PlantUML attaches to nothing.
func (r *reader) notesIn(list []activity.Element, owner *activity.Repeat) {
	beginning := owner != nil
	for _, e := range list {
		if n, ok := e.(*activity.Note); ok {
			on := n.On
			if on == nil && beginning {
				on = owner
			}
			r.readNote(n, on)
			continue
		}
		beginning = false
		r.notesBelow(e)
	}
}

func (r *reader) notesBelow(e activity.Element) {
	switch e := e.(type) {
	case *activity.If:
		for i := range e.Branches {
			r.notesIn(e.Branches[i].Body, nil)
		}
		if e.Else != nil {
			r.notesIn(e.Else.Body, nil)
		}
	case *activity.Switch:
		r.notesIn(e.Early, nil)
		r.notesInBranches(e.Cases)
	case *activity.Fork:
		r.notesInBranches(e.Branches)
	case *activity.Split:
		r.notesInBranches(e.Branches)
	case *activity.While:
		r.notesIn(e.Body, nil)
	case *activity.Repeat:
		r.notesIn(e.Body, e)
	case *activity.Group:
		r.notesIn(e.Body, nil)
	case *activity.Start, *activity.Stop, *activity.Activity, *activity.Break, *activity.Goto, *activity.Label, *activity.Connector,
		*activity.Arrow, *activity.LaneMark, *activity.Note, *activity.Backward, *activity.Kill:
	}
}

func (r *reader) notesInBranches(branches []activity.Branch) {
	for i := range branches {
		r.notesIn(branches[i].Body, nil)
	}
}

// readNote reads one note. A note without a mark and without known keys is decoration.
func (r *reader) readNote(n *activity.Note, on activity.Element) {
	m, body := r.markOf(n)
	if m == noMark && !looksLikeFields(body) {
		return
	}
	if m != noMark && !slices.Contains(marks, string(m)) {
		if m = r.unknownMark(n.Lines[0].Span, string(m)); m == noMark {
			return
		}
	}
	if m == noMark && (on == nil || isStart(on)) {
		m = workflowMark
	}
	r.attach(&part{mark: m, note: n, lines: body}, on)
}

// unknownMark reports the mark in the first line of a note, and returns the one that was meant.
func (r *reader) unknownMark(line source.Span, written string) mark {
	d := workflow.Errorf(r.src.Pos(line), codeMark, "the marks are "+strings.Join(marks, ", "), "unknown mark <<%s>>", written).Near(written, marks)
	meant := d.Change.Text
	if meant != "" {
		text := string(r.src.Bytes[line.From:line.To])
		d = d.Instead(text, strings.Replace(text, written, meant, 1))
	}
	r.report(d)
	return mark(meant)
}

// bind reads the keys of a note. It returns false if there are none, but only text that begins
// like a key.
func (r *reader) bind(p *part) (ok bool) {
	p.doc = r.piece(p.lines, p.note)
	root := p.doc.Root()
	if (p.doc.Readable() || p.mark != noMark) && (root.IsMap() || !root.Exists()) {
		p.keys = root.Map()
		return true
	}
	p.keys = strictyaml.Node{}.Map()
	if p.mark == noMark {
		return false
	}
	if p.doc.Readable() {
		root.WrongType("keys such as `template: x`, one on each line")
	}
	return true
}

// givenID returns the id that a note sets, or "".
func (r *reader) givenID(p *part) string {
	root := -1 // indentation of the keys
	for _, l := range p.lines {
		text := strings.TrimLeft(l.Text, " ")
		lead := len(l.Text) - len(text)
		if text == "" {
			continue
		}
		if root < 0 {
			root = lead
		}
		if lead != root || !strings.HasPrefix(text, "id:") && !strings.HasPrefix(text, `"id":`) {
			continue
		}
		if id := strings.TrimSpace(text[3:]); strings.HasPrefix(text, "id:") && expr.IsName(id) {
			return id
		}
		r.bind(p)
		return p.keys.Peek("id").Written()
	}
	return ""
}

func isStart(e activity.Element) bool {
	_, ok := e.(*activity.Start)
	return ok
}

// attach assigns the keys of a note to what they are about.
func (r *reader) attach(p *part, on activity.Element) {
	switch p.mark {
	case workflowMark, inputMark:
		r.headNote(p)
		return
	case onErrorMark:
		if on == nil || isStart(on) {
			r.headNote(p)
			return
		}
	case noMark, promptMark, taskMark, routerMark, aggregatorMark, mergeMark, includeMark, approvalMark, choiceMark, loopMark, eachMark, metricsMark:
	}
	taken, ok := takes(on)
	if _, isStep := on.(*activity.Activity); p.mark == noMark && !isStep && !r.bind(p) {
		return
	}
	switch {
	case !ok:
		r.report(workflow.Errorf(r.notePos(p.note), codeNote, "put it directly after the step that it is about", "this note is not attached to a step"))
	case !slices.Contains(taken, p.mark):
		r.report(workflow.Errorf(r.notePos(p.note), codeMark, "put it directly after the step that it is about", "<<%s>> cannot be used for %s", p.mark, elementName(on)))
	default:
		w := r.wordsAt(on)
		if w.parts == nil { // most elements have only one
			if len(r.spareParts) == 0 {
				r.spareParts = make([]part, 64)
			}
			w.parts, r.spareParts = r.spareParts[:0:1], r.spareParts[1:]
		}
		w.parts = append(w.parts, *p)
		if id := r.givenID(p); id != "" {
			r.byID[id] = nil
		}
	}
}

// wordsAt returns the keys of an element.
func (r *reader) wordsAt(e activity.Element) *words { return &r.words[e.Common().Number] }

// takes returns the marks of notes that an element may have; ok is false if it takes no keys.
func takes(e activity.Element) (taken []mark, ok bool) {
	switch e.(type) {
	case *activity.Activity, *activity.Backward:
		return []mark{noMark, promptMark, taskMark, routerMark, aggregatorMark, mergeMark, includeMark, approvalMark, choiceMark, onErrorMark, metricsMark}, true
	case *activity.If, *activity.Switch:
		return []mark{noMark, choiceMark, metricsMark}, true
	case *activity.While, *activity.Repeat:
		return []mark{noMark, loopMark, choiceMark, metricsMark}, true
	case *activity.Group:
		return []mark{noMark, loopMark, eachMark, onErrorMark, metricsMark}, true
	case *activity.Start, *activity.Stop, *activity.Fork, *activity.Split, *activity.Break, *activity.Goto, *activity.Label, *activity.Connector,
		*activity.Arrow, *activity.LaneMark, *activity.Note, *activity.Kill:
	}
	return nil, false
}

func elementName(e activity.Element) string {
	switch e.(type) {
	case *activity.If:
		return "an if"
	case *activity.Switch:
		return "a switch"
	case *activity.While:
		return "a while"
	case *activity.Repeat:
		return "a repeat"
	case *activity.Group:
		return "a partition"
	default:
		return "a step"
	}
}

func (r *reader) notePos(n *activity.Note) workflow.Pos {
	if len(n.Lines) > 0 {
		return r.src.Pos(n.Lines[0].Span)
	}
	return r.src.Pos(n.Span)
}

// markOf takes the mark off a note. It is the first line, or, in new versions of
// PlantUML, the stereotype of the note.
func (r *reader) markOf(n *activity.Note) (mark, []activity.Line) {
	lines := n.Lines
	for len(lines) > 0 && strings.TrimSpace(lines[0].Text) == "" {
		lines = lines[1:]
	}
	if len(lines) > 0 {
		first := strings.TrimSpace(lines[0].Text)
		if inner, ok := strings.CutPrefix(first, "<<"); ok && strings.HasSuffix(inner, ">>") {
			return mark(strings.TrimSpace(strings.TrimSuffix(inner, ">>"))), lines[1:]
		}
	}
	if n.Look != nil && len(n.Look.Stereotypes) == 1 && slices.Contains(marks, n.Look.Stereotypes[0]) {
		return mark(n.Look.Stereotypes[0]), lines
	}
	return noMark, lines
}

// looksLikeFields reports whether a note without a mark consists of keys: it begins with a key of a
// step, or all of it are keys and one of them is a key of a step, possibly misspelled. A capital
// letter begins prose.
func looksLikeFields(lines []activity.Line) bool {
	root, known := -1, false
	for _, l := range lines {
		text := strings.TrimSpace(l.Text)
		lead := len(l.Text) - len(strings.TrimLeft(l.Text, " "))
		if text == "" || root >= 0 && (lead > root || text[0] == '-') {
			continue
		}
		key, rest, ok := strings.Cut(text, ":")
		if !ok || rest != "" && rest[0] != ' ' || !expr.IsName(key) {
			return false
		}
		isWord := slices.Contains(stepWords, key)
		if isWord && root < 0 {
			return true
		}
		root = lead
		known = known || isWord || key == strings.ToLower(key) && workflow.Meant(key, stepWords) != ""
	}
	return known
}

// stepWords are the keys that make a note without a mark count as keys.
var stepWords = strings.Fields(`id title agent prompt template input inputs output outputMode outputSchema outputPath outputPattern
	context handoffs needs config workflow human combine choice merge on_conflict pick land branch message workspace on question options custom required strategy separator retries retry timeout timeout_mins
	on_error effect labels join rest parallel_group for_each as max_parallel loop max next route routes else error on_timeout when
	name description state agents limits variables`)

// piece reads the keys of a note at its position in the file.
func (r *reader) piece(lines []activity.Line, n *activity.Note) *strictyaml.Document {
	piece := strictyaml.Piece{Line: 1, Column: 1, Braces: true, Unit: time.Second, Pool: &r.pool}
	lead := -1 // blanks that all lines begin with
	size := 0
	for i := range lines {
		text := lines[i].Text
		size += len(text) + 1
		if blanks := len(text) - len(strings.TrimLeft(text, " ")); blanks < len(text) && (lead < 0 || blanks < lead) {
			lead = blanks
		}
	}
	if lead < 0 {
		return strictyaml.ReadPiece(r.src.File, nil, piece)
	}
	for strings.TrimLeft(lines[0].Text, " ") == "" {
		lines = lines[1:]
	}
	text := slices.Grow(r.texts, size)
	for i := range lines {
		text = append(text, lines[i].Text[min(lead, len(lines[i].Text)):]...)
		text = append(text, '\n')
		if i+1 < len(lines) { // lines that PlantUML drops
			for range r.breaks(lines[i].Span.To, lines[i+1].Span.From) - 1 {
				text = append(text, '\n')
			}
		}
	}
	text, r.texts = text[len(r.texts):len(text):len(text)], text
	at := r.src.Pos(lines[0].Span)
	piece.Line, piece.Column = at.Line, at.Column+lead
	if n.Opener.To > n.Opener.From {
		piece.Indent = piece.Column - 1
	}
	return strictyaml.ReadPiece(r.src.File, text, piece)
}

func (r *reader) breaks(from, to int) int {
	return bytes.Count(r.src.Bytes[from:max(from, to)], []byte{'\n'})
}
