package activity

import (
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// noteEndMistaken reports whether a line was meant to end a note, but does not.
func noteEndMistaken(s string) bool {
	if endsNote(s) {
		return false
	}
	at := words(s, 0, "end", "note")
	if at < 0 {
		return false
	}
	rest := trimSpace(s[at:])
	return rest == "" || rest == ";" || rest == "." || strings.HasPrefix(rest, "'") || strings.HasPrefix(rest, "//")
}

// badNoteEnd reports a line that was meant to end a note.
func (r *reader) badNoteEnd(opener, l *line) {
	summary := "PlantUML does not read " + quoted(l.text) + " as the end of the note"
	text := "end note"
	if at := strings.IndexAny(l.text, "'/"); at > 0 {
		text = "end note\n" + l.raw[:min(l.lead, len(l.raw))] + "' " + strings.TrimLeft(l.text[at:], "'/ ")
	}
	var edits []workflow.Edit
	if !opener.made {
		edits = append(edits, r.src.Edit(l.whole(), text))
	}
	r.problem(workflow.Error, codeNote, l.whole(), summary, "write end note", edits...)
}

// openNote gathers the lines of a note without an end: those up to the first one that is a
// statement. It reports whether the last of them ends the note.
func (r *reader) openNote(l *line) bool {
	r.lines = r.lines[:0]
	at, last := l.next, l
	for {
		m := r.scan.line(at)
		if m.kind == plain && endsNote(m.text) { // it is hidden in an embedded diagram
			r.problem(workflow.Error, codeNote, l.whole(), `a line {{ of the note opens a diagram, and no line }} closes it`,
				"change this line, or add a line }} that closes the diagram")
			r.lines = append(r.lines, m)
			return true
		}
		if m.kind == plain && workflow.Meant(m.text, []string{"end note"}) != "" {
			r.badNoteEnd(l, &m)
			r.lines = append(r.lines, m)
			return true
		}
		if m.kind == fileEnd || m.kind == plain && r.evident(m.text) {
			break
		}
		at = m.next
		if m.kind == plain {
			r.lines = append(r.lines, m)
		}
	}
	for n := len(r.lines); n > 0 && r.lines[n-1].text == ""; n-- {
		r.lines = r.lines[:n-1]
	}
	if n := len(r.lines); n > 0 {
		last = &r.lines[n-1]
	}
	var edits []workflow.Edit
	if !l.made {
		end := last.span(len(last.text), len(last.text))
		edits = append(edits, r.src.Edit(end, "\n"+l.raw[:min(l.lead, len(l.raw))]+"end note"))
	}
	r.problem(workflow.Error, codeNote, l.whole(), "the note at line "+r.lineOf(l.from)+" is not closed",
		"write end note after line "+r.lineOf(last.to), edits...)
	return false
}

// noteWords parses notes with a position that activity diagrams do not support, such as `note
// right of x` and `note over x: text`.
func (r *reader) noteWords(l *line) bool {
	s := l.text
	at := word(s, 0, "note")
	floating := false
	if at < 0 {
		at, floating = word(s, 0, "floating note"), true
	}
	if at < 0 || at < len(s) && blanks(s, at) == at && s[at] != ':' {
		return false
	}
	side, of, ok := notePlace(s, blanks(s, at))
	if !ok {
		return false
	}
	st := stmt{kind: kNoteOpen, side: side, floating: floating}
	head := "note right"
	if side == Left {
		head = "note left"
	}
	m := repairing(l).put(head)
	colon := strings.IndexByte(s[of.to:], ':')
	if colon >= 0 {
		colon += of.to
		st.kind, st.test = kNote, part{blanks(s, colon+1), len(s)}
		m.put(": ").keep(st.test.from, len(s))
	}
	m.end()
	if on := r.activityNamed(of.of(s)); on != nil && on != r.holder() {
		r.problem(workflow.Error, codeNote, l.whole(), "a note belongs to the step before it, and cannot name a step",
			"put it directly after :"+of.of(s)+"; and write "+m.lines[0].text)
	} else {
		var edits []workflow.Edit
		if !l.made {
			edits = append(edits, r.src.Edit(l.whole(), m.text()))
		}
		r.problem(workflow.Error, codeNote, l.whole(), "a note can only be to the left or right of the step before it", "write "+m.lines[0].text, edits...)
	}
	r.noteOf = r.text(l, of)
	if st.kind == kNote {
		r.noteLine(l, &st)
	} else {
		r.noteOpen(l, &st)
	}
	return true
}

// notePlace returns the side of a note, and what follows it.
func notePlace(s string, at int) (side Side, of part, ok bool) {
	side = Right
	end := wordEnd(s, at)
	switch lower(s[at:end]) {
	case "left":
		side = Left
	case "right", "top", "bottom", "over", "across", "on", "as", "above", "below":
	default:
		return side, part{}, false
	}
	at = blanks(s, end)
	if next := word(s, at, "of"); next > 0 && blanks(s, next) > next {
		at = blanks(s, next)
	}
	to := len(s)
	if colon := strings.IndexByte(s[min(at+1, len(s)):], ':'); colon >= 0 {
		to = at + 1 + colon
	} else if at < len(s) && s[at] == ':' {
		to = at
	}
	if byteAt(s, at, ':') > 0 {
		to = at
	}
	return side, part{at, max(back(s, to), at)}, true
}
