package xmltext

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/workflow"
)

// Read reads a file strictly. Everything that is not well-formed is reported. The rules,
// which may be empty, help to name the wrong one of two tags that do not match.
func Read(file string, text []byte, rules Rules) *Document {
	d := newDocument(file, string(text), rules.Start)
	if len(d.text) > maxBytes {
		d.broken = true
		d.Report(workflow.Errorf(workflow.Pos{File: file}, codeSize, "split it into several files", "the file is larger than %d MiB", maxBytes>>20))
		return d
	}
	if !d.checkCharacters() {
		return d
	}
	b := &builder{scanner: &scanner{Document: d, problems: d.wrong}, rules: rules}
	b.reserve()
	b.build()
	if !d.broken && len(d.elements) == 0 {
		d.wrong(mistake{at: Span{0, min(1, len(d.text))}, code: codeRoot, summary: "the file has no element", detail: "begin with the start tag of the root, and end with its end tag"})
	}
	return d
}

func newDocument(file, text string, start Start) *Document {
	const mark = "\uFEFF"
	d := &Document{file: file, text: strings.TrimPrefix(text, mark), start: start}
	d.start.Offset += len(text) - len(d.text)
	return d
}

// wrong reports what is not well-formed.
func (d *Document) wrong(m mistake) {
	d.broken = true
	if len(d.found) < maxReported {
		d.Report(d.diagnose(m))
	}
}

func (d *Document) diagnose(m mistake) workflow.Diagnostic {
	found := workflow.Errorf(d.Pos(m.at), m.code, m.detail, "%s", m.summary)
	if m.fixed {
		found.Fix = &workflow.Fix{Edits: []workflow.Edit{d.Edit(m.fixAt, m.fix)}}
	}
	return found
}

// checkCharacters reports characters that XML does not allow.
func (d *Document) checkCharacters() bool {
	for i := 0; i < len(d.text); {
		c := d.text[i]
		if c >= 0x20 && c < utf8.RuneSelf {
			i++
			continue
		}
		if c < 0x20 {
			if !isSpace(c) {
				d.badCharacter(i, 1, fmt.Sprintf("U+%04X", c))
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(d.text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			d.badCharacter(i, 1, fmt.Sprintf("byte 0x%02X", c))
		case !isChar(r):
			d.badCharacter(i, size, fmt.Sprintf("U+%04X", r))
		}
		i += size
	}
	return !d.broken
}

func (d *Document) badCharacter(at, size int, name string) {
	d.wrong(mistake{
		at: Span{at, at + size}, code: codeEncoding,
		summary: "XML does not allow the " + name, detail: "remove it, or save the file as UTF-8",
	}.fixedBy(Span{at, at + size}, ""))
}

// builder builds the tree from the tokens.
type builder struct {
	*scanner
	open   []int32 // elements that are not closed
	closed bool    // the root is closed
	cut    bool    // the text ends within a tag or a section, which has been reported
	rules  Rules
	// prefixes counts the open elements that declare a prefix.
	prefixes map[string]int
}

// reserve allocates memory for what the text seems to contain, so that a large file is not
// copied while it is read.
func (b *builder) reserve() {
	tags := min(strings.Count(b.text, "<")-strings.Count(b.text, "</"), len(b.text)/len("<a/>"))
	b.elements = make([]element, 0, tags)
	b.pieces = make([]piece, 0, tags)
	b.attrs = make([]attribute, 0, min(strings.Count(b.text, `="`), len(b.text)/len(` a=""`)))
}

func (b *builder) build() {
	for {
		attrs := len(b.attrs)
		t := b.next()
		b.cut = b.cut || t.cut
		switch t.kind {
		case endOfText:
			b.closeAll(t.from)
			return
		case charData, cdataSection:
			b.addText(t)
		case startTag:
			b.dropTwice(t, attrs)
			b.start(t, attrs)
		case endTag:
			b.end(t)
		case instruction:
			b.checkInstruction(t)
		case comment:
		}
		if len(b.open) > maxDepth || len(b.found) >= maxReported {
			b.stop(t)
			return
		}
	}
}

// stop stops reading a text that is nested too deeply.
func (b *builder) stop(t token) {
	if len(b.open) > maxDepth {
		b.found = append(b.found, b.diagnose(mistake{
			at: Span{t.from, t.from + 1}, code: codeSize,
			summary: fmt.Sprintf("more than %d levels of nesting", maxDepth), detail: "make it flatter",
		}))
	}
	b.broken = true
}

// start enters an element.
func (b *builder) start(t token, attrs int) {
	if b.closed {
		b.problems(mistake{
			at: Span{t.from, t.from + 1 + len(t.name)}, code: codeRoot,
			summary: "<" + t.name + "> is a second root", detail: "the first one, <" + b.elements[0].name + ">, ends above; a file has one root",
		})
	}
	at := b.enter(t, attrs)
	b.checkPrefixes(b.elements[at], t)
	if t.empty {
		b.leave(t.to, t.to)
	}
}

// enter adds an element to the open one.
func (b *builder) enter(t token, attrs int) int32 {
	at := int32(len(b.elements))
	e := element{
		name: t.name, from: int32(t.from), inner: int32(t.to), attrs: int32(attrs), attrsEnd: int32(len(b.attrs)),
		parent: -1, first: -1, last: -1, next: -1, text: -1, textEnd: -1,
	}
	if n := len(b.open); n > 0 {
		e.parent = b.open[n-1]
		parent := &b.elements[e.parent]
		if parent.last < 0 {
			parent.first = at
		} else {
			b.elements[parent.last].next = at
		}
		parent.last = at
	}
	b.elements = append(b.elements, e)
	b.open = append(b.open, at)
	b.declare(e, 1)
	return at
}

// leave closes the open element: its content ends at one offset, and the element itself at
// another.
func (b *builder) leave(innerEnd, to int) {
	last := len(b.open) - 1
	e := &b.elements[b.open[last]]
	e.innerEnd, e.to = int32(innerEnd), int32(to)
	b.declare(*e, -1)
	b.open = b.open[:last]
	b.closed = last == 0
}

// addText adds text to the open element. White space between elements is dropped.
func (b *builder) addText(t token) {
	p := piece{from: int32(t.from), to: int32(t.to), next: -1}
	if t.kind == cdataSection {
		p.cdata = true
		p.from += int32(len("<![CDATA["))
		if !t.cut {
			p.to -= int32(len("]]>"))
		}
	}
	blank := !p.cdata && strings.Trim(b.text[p.from:p.to], Layout) == ""
	if len(b.open) == 0 {
		if !blank {
			b.outside(t)
		}
		return
	}
	e := &b.elements[b.open[len(b.open)-1]]
	if blank && e.first >= 0 {
		return
	}
	at := int32(len(b.pieces))
	b.pieces = append(b.pieces, p)
	if e.text < 0 {
		e.text = at
	} else {
		b.pieces[e.textEnd].next = at
	}
	e.textEnd = at
}

func (b *builder) outside(t token) {
	s := b.trim(Span{t.from, t.to})
	line := strings.IndexByte(b.text[s.From:s.To], '\n')
	if line < 0 {
		line = s.To - s.From
	}
	b.problems(mistake{
		at: Span{s.From, s.From + line}, code: codeRoot,
		summary: "text outside the root element", detail: "remove it, or make it a comment: <!-- … -->",
	})
}

// end closes an element.
func (b *builder) end(t token) {
	n := len(b.open)
	switch {
	case n == 0:
		b.problems(mistake{
			at: Span{t.from, t.to}, code: codeEndTag,
			summary: "</" + t.name + "> closes nothing", detail: "remove it",
		}.fixedBy(Span{t.from, t.to}, ""))
	case b.elements[b.open[n-1]].name == t.name:
		b.leave(t.from, t.to)
	default:
		b.wrongEnd(t)
	}
}

// wrongEnd closes what the end tag most likely means: everything up to the element of its
// name, or, if none is open, the open element.
func (b *builder) wrongEnd(t token) {
	inner := b.elements[b.open[len(b.open)-1]]
	opened := fmt.Sprintf("<%s> was opened on line %d", inner.name, b.Line(int(inner.from)))
	depth := b.depthOf(t.name)
	if depth < 0 {
		b.problems(b.otherEnd(t, inner, opened))
		b.leave(t.from, t.to)
		return
	}
	before, missing := Span{t.from, t.to}, "</"+inner.name+">"
	beside := b.beside(b.element(b.open[len(b.open)-1]))
	if beside.Exists() {
		before = Span{beside.Span().From, beside.NameSpan().To}
	}
	tag := strings.TrimSuffix(b.text[before.From:before.To], ">") + ">"
	m := mistake{
		at: before, code: codeEndTag,
		summary: fmt.Sprintf("<%s> is not closed before %s", inner.name, tag),
		detail:  fmt.Sprintf("%s: write %s before %s", opened, missing, tag),
	}
	if len(b.open)-depth == 2 {
		if beside.Exists() {
			missing += b.lineBreak(before.From)
		}
		m = m.fixedBy(Span{before.From, before.From}, missing)
	}
	b.problems(m)
	for len(b.open) > depth+1 {
		b.leave(t.from, t.from)
	}
	b.leave(t.from, t.to)
}

// beside returns the first element inside another one that must be next to it: there the
// end tag of the other is missing.
func (b *builder) beside(e Element) Element {
	if b.rules.Inside == nil || !e.Parent().Exists() {
		return Element{}
	}
	for c := range e.Children() {
		if !b.rules.Inside(e, c.Name()) && b.rules.Inside(e.Parent(), c.Name()) {
			return c
		}
	}
	return Element{}
}

// lineBreak returns the line break and indentation before an offset, if there is nothing
// else.
func (b *builder) lineBreak(at int) string {
	if i := len(strings.TrimRight(b.text[:at], " \t")); i > 0 && b.text[i-1] == '\n' {
		return b.text[i-1 : at]
	}
	return ""
}

// otherEnd returns the error for an end tag with another name, or for the start tag if only
// the name in the end tag is known.
func (b *builder) otherEnd(t token, inner element, opened string) mistake {
	if known := b.rules.Known; known != nil && known(t.name) && !known(inner.name) {
		from := int(inner.from) + 1
		name := Span{from, from + len(inner.name)}
		return mistake{
			at: name, code: codeEndTag, summary: fmt.Sprintf("<%s> is closed by </%s> on line %d", inner.name, t.name, b.Line(t.from)),
			detail: "write <" + t.name,
		}.fixedBy(name, t.name)
	}
	return mistake{
		at: Span{t.from, t.to}, code: codeEndTag,
		summary: fmt.Sprintf("</%s> does not close <%s>", t.name, inner.name), detail: opened + ": write </" + inner.name + ">",
	}.fixedBy(Span{t.from, t.to}, "</"+inner.name+">")
}

// depthOf returns the depth of the innermost open element with a name, or -1.
func (b *builder) depthOf(name string) int {
	for i, at := range slices.Backward(b.open) {
		if b.elements[at].name == name {
			return i
		}
	}
	return -1
}

// closeAll closes the open elements at the end of the text.
func (b *builder) closeAll(at int) {
	if len(b.open) == 0 {
		return
	}
	var missing strings.Builder
	for _, at := range slices.Backward(b.open) {
		missing.WriteString("</" + b.elements[at].name + ">")
	}
	inner := b.elements[b.open[len(b.open)-1]]
	if !b.cut {
		b.problems(mistake{
			at: Span{int(inner.from), int(inner.from) + 1 + len(inner.name)}, code: codeEndTag,
			summary: "<" + inner.name + "> is never closed", detail: "the file ends; write " + missing.String() + " at its end",
		}.fixedBy(Span{at, at}, missing.String()))
	}
	for len(b.open) > 0 {
		b.leave(at, at)
	}
}
