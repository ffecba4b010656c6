// Package source maps the bytes of a text to positions in the file that the author sees: parsers of
// diagrams work with byte offsets, diagnostics with lines and columns. The text may be cut out of a
// larger file, such as a diagram in Markdown.
//
// It depends only on the model.
package source

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/workflow"
)

// Text is a text, or a part of one. It is not safe for concurrent use.
type Text struct {
	File  string
	Bytes []byte // the text that a parser reads

	whole []byte    // the file; Bytes itself unless it was cut out
	parts []segment // where each run of Bytes is in whole, in order
	lines []int     // offset of every line of whole
	last  place     // that was asked for
}

// place is the position of a byte in the file.
type place struct{ line, column, offset int }

// segment maps the bytes of the text from at on to the bytes of the file from offset on.
type segment struct{ at, offset int }

// New returns the text of a whole file.
func New(file string, text []byte) *Text {
	t := &Text{File: file, Bytes: text, whole: text, parts: []segment{{}}}
	t.lines = append(make([]int, 0, 1+bytes.Count(text, []byte{'\n'})), 0)
	for i, b := range text {
		if b == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// Span is a range of bytes of a [Text].
type Span struct{ From, To int }

// Cut returns some ranges of t, joined into one text. For example, a diagram in a quotation
// consists of what follows the mark on each line.
func (t *Text) Cut(spans ...Span) *Text {
	c := &Text{File: t.File, whole: t.whole, lines: t.lines}
	if len(spans) == 1 {
		c.Bytes = t.Bytes[spans[0].From:spans[0].To:spans[0].To]
		c.parts = []segment{{0, t.Offset(spans[0].From)}}
		return c
	}
	for _, s := range spans {
		c.parts = append(c.parts, segment{len(c.Bytes), t.Offset(s.From)})
		c.Bytes = append(c.Bytes, t.Bytes[s.From:s.To]...)
	}
	return c
}

// Offset returns the offset in the file of a byte of the text.
func (t *Text) Offset(at int) int {
	switch len(t.parts) {
	case 0:
		return 0
	case 1:
		return t.parts[0].offset + at
	}
	i, found := slices.BinarySearchFunc(t.parts, at, func(s segment, at int) int { return s.at - at })
	if !found {
		i--
	}
	return t.parts[i].offset + at - t.parts[i].at
}

// Pos returns the position of a range of the text. A range ends after its last byte, even if a cut
// follows.
func (t *Text) Pos(s Span) workflow.Pos {
	from := t.Offset(s.From)
	to := from
	if s.To > s.From {
		to = t.Offset(s.To-1) + 1
	}
	p := workflow.Pos{File: t.File}
	p.Line, p.Column = t.place(from)
	p.EndLine, p.EndColumn = t.place(to)
	return p
}

// place returns the line and the column of a byte of the file. It counts from the previous result
// if that is nearer than the start of the line, because a whole file may be on one line.
func (t *Text) place(offset int) (line, column int) {
	line = t.line(offset)
	start := t.lines[line-1]
	switch last := t.last; {
	case last.line != line || last.offset > offset && last.offset-offset > offset-start:
		column = 1 + utf8.RuneCount(t.whole[start:offset])
	case last.offset <= offset:
		column = last.column + utf8.RuneCount(t.whole[last.offset:offset])
	default:
		column = last.column - utf8.RuneCount(t.whole[offset:last.offset])
	}
	t.last = place{line, column, offset}
	return line, column
}

// line returns the line number of a byte, which is often that of the previous byte, or the next.
func (t *Text) line(offset int) int {
	for line := t.last.line; line > 0 && line <= len(t.lines) && line < t.last.line+2; line++ {
		if offset >= t.lines[line-1] && (line == len(t.lines) || offset < t.lines[line]) {
			return line
		}
	}
	line, found := slices.BinarySearch(t.lines, offset)
	if found {
		line++
	}
	return line
}

// Source returns a range of the text as the author wrote it.
func (t *Text) Source(s Span) workflow.Source {
	return workflow.Source{Text: string(t.Bytes[s.From:s.To]), Pos: t.Pos(s)}
}

// Edit returns the edit of the file that replaces a range of the text. Lines that it adds to a cut
// get the same prefix as the other lines of the cut.
func (t *Text) Edit(s Span, text string) workflow.Edit {
	from := t.Offset(s.From)
	to := from
	if s.To > s.From {
		to = t.Offset(s.To-1) + 1
	}
	if len(t.parts) < 2 {
		return workflow.Edit{From: from, To: to, Text: text}
	}
	first := t.parts[0].offset
	mark := string(t.whole[t.lines[t.line(first)-1]:first])
	text = strings.ReplaceAll(text, "\n", "\n"+mark)
	if s.To == len(t.Bytes) { // the next line has its mark
		text = strings.TrimSuffix(text, mark)
		if s.From == s.To && t.whole[from-1] == '\n' {
			text = mark + text
		}
	} else if s.To > s.From && t.Bytes[s.To-1] == '\n' {
		to = t.Offset(s.To)
	}
	return workflow.Edit{From: from, To: to, Text: text}
}
