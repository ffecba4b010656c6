package activity

import (
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/workflow"
)

// A repair is the replacement for a line: pieces of it, and new text. It is parsed as if the
// author had written it, and its pieces keep their positions.
type repair struct {
	of    *line
	lines []line
	buf   []byte
	place []piece
}

func repairing(l *line) *repair { return &repair{of: l} }

// keep copies a range of the line.
func (m *repair) keep(from, to int) *repair {
	start := from + m.of.lead
	m.place = append(m.place, piece{len(m.buf), m.of.pos(start)})
	for _, p := range m.of.pieces {
		if p.at > start && p.at < to+m.of.lead {
			m.place = append(m.place, piece{len(m.buf) + p.at - start, p.pos})
		}
	}
	m.buf = append(m.buf, m.of.text[from:to]...)
	return m
}

// put adds text.
func (m *repair) put(text string) *repair {
	at := m.of.from
	if n := len(m.buf); n > 0 {
		last := m.place[len(m.place)-1]
		at = last.pos + n - last.at
	}
	m.place = append(m.place, piece{len(m.buf), at})
	m.buf = append(m.buf, text...)
	return m
}

// end ends a line of the replacement.
func (m *repair) end() *repair {
	text := string(m.buf)
	m.lines = append(m.lines, line{raw: text, text: trimSpace(text), from: m.of.from, to: m.of.to, next: m.of.next,
		pieces: m.place, made: true})
	m.buf, m.place = nil, nil
	return m
}

// text returns the replacement, with the indentation of the line.
func (m *repair) text() string {
	indent := m.of.raw[:min(m.of.lead, len(m.of.raw))]
	var b strings.Builder
	for i := range m.lines {
		if i > 0 {
			b.WriteString("\n" + indent)
		}
		b.WriteString(m.lines[i].text)
	}
	return b.String()
}

// instead reports a mistake and parses the replacement.
func (r *reader) instead(severity workflow.Severity, code string, at source.Span, summary string, m *repair) {
	if m.buf != nil {
		m.end()
	}
	show := make([]string, len(m.lines))
	for i := range m.lines {
		show[i] = m.lines[i].text
	}
	r.replace(severity, code, at, summary, "write "+strings.Join(show, ", and on its own line "), m)
}

func (r *reader) replace(severity workflow.Severity, code string, at source.Span, summary, detail string, m *repair) {
	if m.buf != nil {
		m.end()
	}
	var edits []workflow.Edit
	if !m.of.made {
		edits = append(edits, r.src.Edit(m.of.whole(), m.text()))
	}
	r.problem(severity, code, at, summary, detail, edits...)
	r.repairing++
	for i := range m.lines {
		if l := &m.lines[i]; strings.HasPrefix(l.text, "'") {
			at := l.span(0, len(l.text))
			r.diagram.Decor = append(r.diagram.Decor, Decor{Comment, at})
		} else {
			r.statement(l)
		}
	}
	r.repairing--
}

// maxRepairs limits how often a replacement may be repaired again.
const maxRepairs = 3

// complete reports whether a text is a statement by itself that is unlikely to be written by
// accident.
func complete(s string) bool {
	switch k := classify(s).kind; k {
	case kUnknown, kBlank, kListItem, kActivityOpen, kArrowOpen, kIfOpen, kElseIfOpen, kElseOpen,
		kRepeatWhileOpen, kBackwardOpen, kHeadingOpen, kStyleOpen, kSkinOpen, kSpriteOpen:
		return false
	case kKill:
		return exactKill(s)
	}
	return true
}

func exactKill(s string) bool {
	at := max(word(s, 0, "kill"), word(s, 0, "detach"))
	return at > 0 && semicolon(s, at) == len(s)
}

// stops returns the function that reports whether a line within an activity or a label is a
// separate statement, so that a semicolon was forgotten before it. Words that may appear in a
// text do not count, nor does a line that would close a block that is not the innermost one.
func (r *reader) stops() func(*line) bool {
	if r.strict {
		return nil
	}
	return func(m *line) bool { return strings.HasPrefix(m.text, ":") || r.evident(m.text) }
}

func (r *reader) evident(s string) bool {
	st := classify(s)
	switch st.kind {
	case kActivity, kLane, kForkAgain, kSplitAgain, kEndFork, kEndSplit, kEndSwitch, kCase, kRepeatWhile,
		kEndIf, kEndWhile, kSwitch:
		return true
	case kStart, kStop, kEnd, kFork, kSplit, kRepeat, kBreak:
		return !strings.HasSuffix(s, ";") // with one, it ends the text
	case kArrow:
		return len(r.lines) <= 1 // further down it may be text
	case kNote, kNoteOpen:
		return st.side != Unsaid
	case kElse, kElseIf:
		return r.top().word == "if"
	case kGroupEnd:
		return r.top().word == "group"
	case kKill:
		return exactKill(s)
	case kIf:
		return st.label.written() || strings.HasSuffix(lower(s), "then")
	case kWhile:
		return st.label.written()
	case kGroup:
		return strings.HasSuffix(s, "{")
	}
	return false
}

// begins reports whether a line begins a statement, or ends the diagram. In an old file, the next
// line may also be in the old syntax.
func (r *reader) begins(l *line) bool {
	for at := l.next; ; {
		m := r.scan.line(at)
		if m.kind == fileEnd {
			return true
		}
		at = m.next
		if m.kind != plain || m.text == "" {
			continue
		}
		if m.text[0] == ':' {
			return true
		}
		color, end := prefix(m.text)
		return r.evident(m.text) || color.to > 0 && end > 0 || complete(m.text)
	}
}

// noSemicolon parses an activity or an arrow without a semicolon. Its text is all following lines
// that are not statements.
func (r *reader) noSemicolon(l *line, st *stmt) {
	severity := workflow.Error
	if st.kind == kArrowOpen {
		severity = workflow.Warning
	}
	last := l
	if n := len(r.lines); n > 0 {
		last = &r.lines[n-1]
	}
	at := last.span(len(last.text), len(last.text))
	what := "the activity"
	if st.kind == kArrowOpen {
		what = "the label of the arrow"
	}
	var edits []workflow.Edit
	if !l.made {
		edits = append(edits, r.src.Edit(at, ";"))
	}
	r.problem(severity, codeSemicolon, l.whole(), what+" at line "+r.lineOf(l.from)+` has no ";"`,
		"write "+last.text+"; otherwise PlantUML reads the next lines as its text", edits...)
	part := st.test
	if st.kind == kArrowOpen {
		part = st.label
	}
	text := r.text(l, part)
	if len(r.lines) > 0 {
		cut := min(common([]line{*l}), common(r.lines))
		text.Raw, text.Literal = r.joinText(l, part, cut, len(last.raw)), true
		text.Span.To = last.whole().To
	}
	whole := source.Span{From: l.whole().From, To: last.whole().To}
	if st.kind == kArrowOpen {
		r.addArrow(&Arrow{Style: st.style.of(l.text), Label: text}, whole)
		r.advance()
		return
	}
	r.step(l)
	a := r.newActivity()
	a.Text, a.Ending, a.Look = text, ';', r.look(l, st)
	if len(r.lines) > 0 {
		a.Form = MultiLine
	}
	r.addActivity(a, whole)
	r.advance()
}
