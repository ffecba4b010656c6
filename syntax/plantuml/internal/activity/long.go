package activity

import (
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/workflow"
)

// Statements over several lines. PlantUML continues until a line ends them; if none does, it
// tries its other patterns on the first line.

type ending uint8

const (
	endActivity ending = iota
	endArrow
	endBackward
	endRepeat
	endNote
	endHeading
	endStyle
	endSprite
	ends
)

// collect gathers the lines after l into r.lines, up to the one that ends the statement. It
// leaves out comments, and does not call ends within an embedded diagram. If stops reports that a
// line is a separate statement, it ends before that line.
func (r *reader) collect(l *line, kind ending, ends func(*line) bool, stops func(*line) bool) (found, stopped bool) {
	r.lines, r.hide = r.lines[:0], r.hide[:0]
	if from := r.none[kind]; from > 0 && l.next >= from && stops == nil {
		return false, false
	}
	nested := 0
	at := l.next
	for {
		n := len(r.lines)
		r.lines = append(r.lines, r.scan.line(at))
		m := &r.lines[n]
		if m.kind == fileEnd {
			r.lines = r.lines[:n]
			break
		}
		at = m.next
		if m.kind != plain {
			r.hide = append(r.hide, *m)
			r.lines = r.lines[:n]
			continue
		}
		switch {
		case embedded(m.text):
			nested++
		case nested > 0 && m.text == "}}":
			nested--
		case nested > 0:
		case stops != nil && stops(m):
			r.lines = r.lines[:n]
			return false, true
		case ends(m):
			return true, false
		case stops != nil && kind != endActivity && r.none[kind] > 0 && m.from >= r.none[kind]:
			r.lines = r.lines[:n] // an activity includes all lines up to the next statement
			return false, false
		}
	}
	if r.none[kind] == 0 || l.next < r.none[kind] {
		r.none[kind] = l.next
	}
	return false, false
}

// advance continues after the lines of the statement.
func (r *reader) advance() {
	if n := len(r.lines); n > 0 {
		r.at = r.lines[n-1].next
	}
	r.hiddenLines(r.at)
}

// hiddenLines reports the lines of a statement before an offset that PlantUML removes. Within an
// activity these are comments; within a note they may have been meant as text.
func (r *reader) hiddenLines(end int) {
	for i := range r.hide {
		m := &r.hide[i]
		switch {
		case m.from >= end:
			return
		case m.kind == directive:
			r.diagram.Preprocessed = true
			r.problem(workflow.Error, CodePreprocessor, m.whole(), "not checked: PlantUML reads this line of a text as a directive",
				"begin the line with something other than !")
		}
	}
}

// common returns how many bytes of indentation all lines share. Lines of white space count, empty
// ones do not.
func common(lines []line) int {
	least := -1
	for i := range lines {
		raw := lines[i].raw
		if raw == "" {
			continue
		}
		n := 0
		for n < len(raw) && (raw[n] == ' ' || raw[n] == '\t') {
			n++
		}
		if least < 0 || n < least {
			least = n
		}
	}
	return max(least, 0)
}

// dedented returns a line without the first n bytes.
func dedented(l *line, n int) string {
	return l.raw[min(n, len(l.raw)):]
}

func (r *reader) activityOpen(l *line, st *stmt) {
	found, _ := r.collect(l, endActivity, endsActivity, nil)
	if !found {
		if r.refuse(l) {
			return
		}
		r.collect(l, endActivity, endsActivity, r.stops())
		r.noSemicolon(l, st)
		return
	}
	r.statementInText(l)
	r.step(l)
	if r.early(l) {
		return
	}
	r.newerLines(l)
	last := &r.lines[len(r.lines)-1]
	end, group, url := activityEnd(last.raw)
	r.newerLook(last.raw, &stmt{group: group, url: url}, func(from, to int) source.Span { return last.span(from-last.lead, to-last.lead) })
	cut := min(common([]line{*l}), common(r.lines))
	a := r.newActivity()
	a.Form, a.Ending = MultiLine, ';'
	a.Text = Text{Raw: r.joinText(l, st.test, cut, end), Literal: true}
	a.Text.Span = source.Span{From: l.span(st.test.from, st.test.to).From, To: last.pos(end)}
	if st.color.to > 0 || group.to > 0 || url.to > 0 {
		a.Look = &Look{Color: trimHash(st.color.of(l.text))}
		raw := line{text: last.raw}
		if more := r.look(&raw, &stmt{group: group, url: url}); more != nil {
			a.Look.Stereotypes, a.Look.URL = more.Stereotypes, more.URL
		}
	}
	r.addActivity(a, source.Span{From: l.whole().From, To: last.whole().To})
	r.advance()
}

// statementInText warns about the first line in an activity that would be a separate statement if
// a semicolon was forgotten above it. PlantUML reads it as text.
func (r *reader) statementInText(l *line) {
	if r.strict {
		return
	}
	for i := range r.lines {
		m := &r.lines[i]
		if !r.evident(m.text) {
			continue
		}
		above := l
		if i > 0 {
			above = &r.lines[i-1]
		}
		r.problem(workflow.Warning, codeSemicolon, m.whole(), "this line is part of the text of the activity at line "+r.lineOf(l.from),
			"if it is meant as a statement, write "+above.text+"; above it")
		end := above.whole().To
		r.inText = opener{openerWord(classify(m.text).kind), len(r.found) - 1, r.src.Edit(source.Span{From: end, To: end}, ";")}
		return
	}
}

func endsActivity(l *line) bool {
	if l.text == "" {
		return false
	}
	if l.text[len(l.text)-1] == ';' {
		return true
	}
	end, _, _ := activityEnd(l.text)
	return end >= 0
}

// joinText returns the text of a statement over several lines: a part of the first
// one, and the last one up to an offset.
func (r *reader) joinText(l *line, first part, cut, end int) string {
	var b strings.Builder
	b.WriteString(first.of(l.text))
	for i := range r.lines {
		b.WriteByte('\n')
		text := r.lines[i].raw
		if i == len(r.lines)-1 {
			text = text[:max(end, 0)]
		}
		b.WriteString(text[min(cut, len(text)):])
	}
	return b.String()
}

func (r *reader) arrowOpen(l *line, st *stmt) {
	found, stopped := r.collect(l, endArrow, func(m *line) bool { return strings.HasSuffix(m.text, ";") }, r.stops())
	if !found {
		if r.strict {
			*st = listItem(l.text)
			r.activity(l, st)
			return
		}
		if !stopped {
			r.lines = r.lines[:0]
		}
		r.noSemicolon(l, st)
		return
	}
	last := &r.lines[len(r.lines)-1]
	cut := min(common(r.lines), common([]line{*l}))
	end := last.lead + len(last.text) - 1
	a := &Arrow{Style: st.style.of(l.text)}
	a.Label = Text{Raw: r.joinText(l, st.label, cut, end), Literal: true}
	a.Label.Span = source.Span{From: l.span(st.label.from, st.label.to).From, To: last.pos(end)}
	r.addArrow(a, source.Span{From: l.whole().From, To: last.whole().To})
	r.advance()
}

func (r *reader) backwardOpen(l *line, st *stmt) {
	found, _ := r.collect(l, endBackward, endsActivity, nil)
	if !found {
		r.unknown(l)
		return
	}
	last := &r.lines[len(r.lines)-1]
	end, group, _ := activityEnd(last.raw)
	cut := min(common(r.lines), common([]line{*l}))
	b := &Backward{Text: Text{Raw: r.joinText(l, st.test, cut, end), Literal: true}}
	b.Text.Span = source.Span{From: l.span(st.test.from, st.test.to).From, To: last.pos(end)}
	b.Look = r.look(&line{text: last.raw}, &stmt{group: group})
	r.addBackward(l, b, source.Span{From: l.whole().From, To: last.whole().To})
	r.advance()
}

// joined parses an if, elseif or else whose parentheses extend over several lines. PlantUML tries
// at most 50 lines.
func (r *reader) joined(l *line, st *stmt) {
	raw := line{raw: l.raw, from: l.from, to: l.to, next: l.next, lead: l.lead, text: l.text}
	buf := append([]byte(nil), l.raw[l.lead:]...)
	raw.pieces = append(raw.pieces, piece{0, l.pos(l.lead)})
	at := l.next
	for range 50 {
		m := r.scan.line(at)
		if m.kind == fileEnd {
			break
		}
		at = m.next
		if m.kind != plain {
			continue
		}
		buf = append(buf, '\n')
		raw.pieces = append(raw.pieces, piece{len(buf), m.from})
		buf = append(buf, m.raw...)
		raw.to, raw.next = m.to, m.next
		if strings.IndexByte(m.raw, ')') < 0 {
			continue
		}
		raw.raw = string(buf)
		raw.text, raw.lead = trimSpace(raw.raw), 0
		joined := classify(raw.text)
		if joined.kind == st.kind-1 {
			r.at = raw.next
			r.apply(&raw, &joined)
			return
		}
	}
	r.unknown(l)
}

// repeatWhileOpen parses a repeat while whose condition extends over several lines.
func (r *reader) repeatWhileOpen(l *line, st *stmt) {
	ends := func(m *line) bool {
		return strings.HasSuffix(strings.TrimSuffix(m.text, ";"), ")")
	}
	if found, _ := r.collect(l, endRepeat, ends, nil); !found {
		r.unknown(l)
		return
	}
	if !r.reach(l, &stmt{kind: kRepeatWhile}) {
		return
	}
	e := r.top().block.(*Repeat)
	var parts []string
	parts = append(parts, st.test.of(l.text))
	for i := range r.lines {
		text := r.lines[i].text
		if i == len(r.lines)-1 {
			text = strings.TrimSuffix(strings.TrimSuffix(text, ";"), ")")
			if text == "" {
				continue
			}
		}
		parts = append(parts, text)
	}
	last := &r.lines[len(r.lines)-1]
	whole := strings.Join(parts, "\n")
	span := source.Span{From: l.span(st.test.from, st.test.to).From, To: last.whole().To - 1}
	e.Test = Text{Raw: whole, Span: span}
	if at, label := isLabel(whole, 0); at >= 0 {
		e.Test.Raw, e.Yes = whole[:at], Text{Raw: whole[label:], Span: span}
	}
	r.shut(source.Span{From: l.whole().From, To: last.whole().To})
	r.advance()
}

// decoration parses a heading or a setting on one or several lines.
func (r *reader) decoration(l *line, st *stmt) {
	kind := Setting
	var ends func(*line) bool
	var end ending
	switch st.kind {
	case kHeading, kHeadingOpen:
		kind, end = Heading, endHeading
		_, name := headingWord(l.text)
		ends = func(m *line) bool {
			at := word(m.text, 0, "end")
			return at > 0 && (word(m.text, at, name) == len(m.text) || word(m.text, min(at+1, len(m.text)), name) == len(m.text))
		}
	case kStyleOpen:
		end, ends = endStyle, func(m *line) bool {
			return strings.EqualFold(m.text, "</style>") || strings.EqualFold(m.text, "<style>")
		}
	case kSpriteOpen:
		end, ends = endSprite, func(m *line) bool { return endsSprite(l.text, m.text) }
	case kSkinOpen:
		r.skinparam(l)
		return
	}
	open := st.kind == kHeadingOpen || st.kind == kStyleOpen || st.kind == kSpriteOpen
	if !open {
		r.title(l, st, nil)
		r.decor(kind, l)
		return
	}
	found, _ := r.collect(l, end, ends, nil)
	if !found || st.kind == kHeadingOpen && len(r.lines) == 1 {
		if st.test.written() {
			r.decor(kind, l)
			return
		}
		if r.refuse(l) {
			return
		}
		word := strings.TrimSuffix(strings.TrimPrefix(l.text, "<"), ">")
		r.problem(workflow.Error, codeUnclosed, l.whole(), lower(word)+" at line "+r.lineOf(l.from)+" is not closed",
			"write it on one line, or close it with "+closerOf(l.text))
		r.decor(Misplaced, l)
		return
	}
	r.title(l, st, r.lines)
	whole := *l
	whole.to = r.lines[len(r.lines)-1].to
	r.decor(kind, &whole)
	r.advance()
}

func endsSprite(opener, text string) bool {
	if !strings.HasSuffix(opener, "{") {
		return strings.HasSuffix(text, "</svg>")
	}
	return strings.HasSuffix(text, "}") || words(text, 0, "end", "sprite") > 0
}

func closerOf(opener string) string {
	if strings.HasPrefix(opener, "<") {
		return "</style>"
	}
	if strings.HasPrefix(lower(opener), "sprite") {
		return "}"
	}
	_, name := headingWord(opener)
	return "end " + name
}

func (r *reader) title(l *line, st *stmt, lines []line) {
	if word(l.text, 0, "title") < 0 {
		return
	}
	if lines == nil {
		t := r.text(l, st.test)
		r.diagram.Title, r.diagram.TitleSpan = t.String(), t.Span
		return
	}
	body := lines[:len(lines)-1]
	cut := common(body)
	var b strings.Builder
	for i := range body {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(dedented(&body[i], cut))
	}
	r.diagram.Title = b.String()
	r.diagram.TitleSpan = source.Span{From: body[0].from, To: body[len(body)-1].to}
}

// maxSkins limits how many blocks of parameters without an end are searched for.
const maxSkins = 20

// skinparam reads a block of parameters up to the brace that closes it.
func (r *reader) skinparam(l *line) {
	level, at, to := 1, l.next, l.to
	for level > 0 {
		m := r.scan.line(at)
		if m.kind == fileEnd || m.kind == plain && !parameters().MatchString(m.text) || r.skins > maxSkins {
			r.skins++
			if r.refuse(l) {
				return
			}
			r.problem(workflow.Error, codeUnclosed, l.whole(), "skinparam at line "+r.lineOf(l.from)+" is still open",
				"close it with a line }")
			r.decor(Misplaced, l)
			return
		}
		at, to = m.next, m.to
		if strings.HasSuffix(m.text, "{") && m.kind == plain {
			level++
		}
		if strings.HasSuffix(m.text, "}") && m.kind == plain {
			level--
		}
	}
	r.at = at
	whole := *l
	whole.to = to
	r.decor(Setting, &whole)
}

// parameters are the lines that may appear in a block of parameters.
var parameters = pattern(`[\w.]*(?:<<.*>>)?[\w.]* +.*`, `\}?`, ` +`)

func lower(s string) string { return strings.ToLower(s) }
