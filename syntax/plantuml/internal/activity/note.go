package activity

import (
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/workflow"
)

// holder returns the element that PlantUML attaches a note at this place to: the one before it,
// or something inside that.
func (r *reader) holder() Element {
	f := r.top()
	if e, ok := f.block.(*Repeat); ok && e.Backward != nil {
		return e.Backward
	}
	if f.last != nil {
		return inside(f.last)
	}
	switch f.block.(type) {
	case *If, *Switch, *While, *Group:
		return f.block
	}
	return nil
}

// inside returns the element that a note after an element belongs to.
func inside(e Element) Element {
	for {
		var last Element
		switch b := e.(type) {
		case *Switch:
			if len(b.Cases) == 0 || b.Cases[len(b.Cases)-1].last == nil {
				return e
			}
			last = b.Cases[len(b.Cases)-1].last
		case *Split:
			last = b.Branches[len(b.Branches)-1].last
		case *Repeat:
			if b.Backward != nil {
				return b.Backward
			}
			last = b.last
		case *While:
			if last = b.last; last == nil {
				return e
			}
		case *Group:
			if last = b.last; last == nil {
				return e
			}
		case *Activity, *If, *Fork, *Start, *Stop, *Break, *Goto, *Label, *Connector,
			*Arrow, *LaneMark, *Note, *Backward, *Kill:
			return e
		}
		if last == nil {
			return nil
		}
		e = last
	}
}

func (r *reader) newNote(l *line, st *stmt) *Note {
	if len(r.notes) == cap(r.notes) {
		r.notes = make([]Note, 0, min(max(2*cap(r.notes), 4), 256))
	}
	r.notes = append(r.notes, Note{Side: st.side, Floating: st.floating, Look: r.look(l, st)})
	return &r.notes[len(r.notes)-1]
}

func (r *reader) addNote(n *Note, span source.Span) {
	n.Span, n.Lane = span, r.lane
	n.On = r.holder()
	n.Of, r.noteOf = r.noteOf, Text{}
	if n.Of.Raw != "" {
		if named := r.activityNamed(n.Of.String()); named != nil {
			n.On = named
		}
	}
	if n.On != nil {
		base := n.On.Common()
		if base.Notes == nil { // most elements have only one
			if len(r.attached) == 0 {
				r.attached = make([]*Note, min(256, 16+r.diagram.Size))
			}
			base.Notes, r.attached = r.attached[:0:1], r.attached[1:]
		}
		base.Notes = append(base.Notes, n)
	}
	r.addMark(n)
}

// noteLine parses a note on one line. Its escapes end lines.
func (r *reader) noteLine(l *line, st *stmt) {
	n := r.newNote(l, st)
	text := st.test.of(l.text)
	for from := 0; ; {
		end, next := lineBreak(text, from)
		raw := text[from:end]
		n.Lines = append(n.Lines, Line{Text: Unescape(raw), Span: l.span(st.test.from+from, st.test.from+end)})
		if next > len(text) {
			break
		}
		from = next
	}
	r.addNote(n, l.whole())
}

// lineBreak returns the next escape that ends a line, and where the next line begins.
func lineBreak(s string, from int) (end, next int) {
	for i := from; i+1 < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		switch s[i+1] {
		case 'n', 'r', 'l':
			return i, i + 2
		}
		i++
	}
	return len(s), len(s) + 1
}

// noteOpen reads a note over several lines.
func (r *reader) noteOpen(l *line, st *stmt) {
	ends := func(m *line) bool { return endsNote(m.text) }
	var stops func(*line) bool
	if !r.strict {
		stops = func(m *line) bool { return noteEndMistaken(m.text) }
	}
	found, stopped := r.collect(l, endNote, ends, stops)
	if !found {
		if r.refuse(l) {
			return
		}
		if !stopped {
			found = r.openNote(l)
		}
	}
	n := r.newNote(l, st)
	n.Opener = l.whole()
	body := r.lines
	end := l.to
	if found {
		body = body[:len(body)-1]
	}
	r.noteLines(n, body)
	if len(r.lines) > 0 {
		end = r.lines[len(r.lines)-1].to
	}
	r.advance()
	switch {
	case found:
		n.Closer = r.lines[len(r.lines)-1].whole()
		end = n.Closer.To
	case stopped:
		m := r.scan.line(r.closerAt(l))
		n.Closer, end, r.at = m.whole(), m.whole().To, m.next
		r.badNoteEnd(l, &m)
	}
	r.lostLines(end)
	r.addNote(n, source.Span{From: n.Opener.From, To: end})
}

// closerAt returns where the line after the lines of the statement begins.
func (r *reader) closerAt(l *line) int {
	at := l.next
	if n := len(r.lines); n > 0 {
		at = r.lines[n-1].next
	}
	for m := r.scan.line(at); m.kind == comment || m.kind == directive; m = r.scan.line(at) {
		at = m.next
	}
	return at
}

func (r *reader) noteLines(n *Note, body []line) {
	cut := common(body)
	n.Lines = r.newLines(len(body))
	for i := range body {
		m := &body[i]
		text := dedented(m, cut)
		from := m.pos(min(cut, len(m.raw)))
		to := from
		if len(m.raw) > 0 {
			to = m.pos(len(m.raw)-1) + 1
		}
		n.Lines = append(n.Lines, Line{Text: text, Span: source.Span{From: from, To: max(from, to)}})
	}
}

// newLines allocates lists of lines in blocks.
func (r *reader) newLines(n int) []Line {
	if len(r.noted) < n {
		r.noted = make([]Line, max(n, min(1024, 16+r.diagram.Size)))
	}
	list := r.noted[:0:n]
	r.noted = r.noted[n:]
	return list
}

// lostLines warns about lines of a note that PlantUML reads as comments.
func (r *reader) lostLines(end int) {
	for i := range r.hide {
		if m := &r.hide[i]; m.kind == comment && m.from < end {
			r.problem(workflow.Warning, codeNote, m.span(0, len(m.text)), "PlantUML reads this line of the note as a comment",
				"begin the line with something other than ', for example with a \", or move the comment out of the note")
		}
	}
}

// activityNamed returns the last activity with a text.
func (r *reader) activityNamed(name string) Element {
	if r.texts == nil {
		r.texts = map[string]Element{}
		gather(r.texts, r.items)
	}
	if e, ok := r.texts[strings.Trim(name, `":;`)]; ok {
		return e
	}
	return nil
}

// gather puts the activities of a body into a map by their texts.
func gather(texts map[string]Element, body []Element) {
	branches := func(bs []Branch) {
		for i := range bs {
			gather(texts, bs[i].Body)
		}
	}
	for _, e := range body {
		switch e := e.(type) {
		case *Activity:
			texts[e.Text.String()] = e
		case *If:
			branches(e.Branches)
			if e.Else != nil {
				gather(texts, e.Else.Body)
			}
		case *Switch:
			gather(texts, e.Early)
			branches(e.Cases)
		case *Fork:
			branches(e.Branches)
		case *Split:
			branches(e.Branches)
		case *While:
			gather(texts, e.Body)
		case *Repeat:
			gather(texts, e.Body)
		case *Group:
			gather(texts, e.Body)
		case *Start, *Stop, *Break, *Goto, *Label, *Connector, *Arrow, *LaneMark, *Note, *Backward, *Kill:
		}
	}
}
