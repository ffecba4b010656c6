package xmltext

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/workflow"
)

// places computes lines and columns. It remembers the last position: a reader asks in about
// the order of the text, and a file may be one long line, so counting from the beginning of
// the line each time would be quadratic.
type places struct {
	lines  []int32 // offset of every line but the first; filled when asked for
	filled bool
	offset int
	line   int // from 0
	column int // from 0
}

// Pos returns the position of a range of the text.
func (d *Document) Pos(s Span) workflow.Pos {
	p := workflow.Pos{File: d.file}
	p.Line, p.Column = d.place(s.From)
	if s.To == s.From {
		p.EndLine, p.EndColumn = p.Line, p.Column
		return p
	}
	p.EndLine, p.EndColumn = d.place(s.To)
	return p
}

func (d *Document) place(offset int) (line, column int) {
	p := &d.places
	if !p.filled {
		p.fill(d.text)
	}
	switch {
	case offset < p.offset && strings.LastIndexByte(d.text[offset:p.offset], '\n') < 0:
		p.column -= utf8.RuneCountInString(d.text[offset:p.offset])
		p.offset = offset
		return d.here()
	case offset < p.offset || strings.IndexByte(d.text[p.offset:offset], '\n') >= 0:
		p.toLine(offset)
	}
	p.column += utf8.RuneCountInString(d.text[p.offset:offset])
	p.offset = offset
	return d.here()
}

// here returns the line and column of the last position in the file.
func (d *Document) here() (line, column int) {
	line, column = d.start.Line+d.places.line+1, d.places.column+1
	if d.places.line == 0 {
		column += d.start.Column
	}
	return line, column
}

// toLine moves to the beginning of the line of an offset.
func (p *places) toLine(offset int) {
	line := sort.Search(len(p.lines), func(i int) bool { return int(p.lines[i]) > offset })
	p.line, p.column, p.offset = line, 0, 0
	if line > 0 {
		p.offset = int(p.lines[line-1])
	}
}

func (p *places) fill(text string) {
	p.filled = true
	p.lines = make([]int32, 0, strings.Count(text, "\n"))
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return
		}
		at += i + 1
		p.lines = append(p.lines, int32(at))
	}
}

// Line returns the line of an offset, counted from 1.
func (d *Document) Line(offset int) int {
	line, _ := d.place(offset)
	return line
}
