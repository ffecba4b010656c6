package workflow

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Change says in the terms of an author what a [Fix] says in bytes: instead of
// what stands somewhere, write something else. Whoever finds a mistake in a word
// seldom has the file that the word stands in; whoever has it calls
// [Diagnostics.Place]. The zero Change changes nothing.
type Change struct {
	At   Pos
	Was  string // what has to stand there, perhaps in quotes; else nothing is changed
	Text string
}

// Instead adds a change of the very words that the diagnostic is about.
func (d Diagnostic) Instead(was, text string) Diagnostic {
	d.Change = Change{d.Pos, was, text}
	return d
}

// Near adds the word of a language that was meant: as advice, and as a change
// where there is no doubt. Where none is near, the detail stays as it is.
func (d Diagnostic) Near(written string, words []string) Diagnostic {
	if hint := DidYouMean(written, words); hint != "" {
		d.Detail = hint
	}
	if word := Meant(written, words); word != "" {
		d = d.Instead(written, word)
	}
	return d
}

// Place makes fixes of the changes in a file. The lines that a fix adds end as
// those of the file.
func (ds Diagnostics) Place(file string, text []byte) {
	p := placer{text: text}
	for i := range ds {
		if d := &ds[i]; d.Fix == nil && d.Change != (Change{}) && d.Change.At.File == file {
			d.Fix = p.fix(d.Change)
		}
	}
	if i := bytes.IndexByte(text, '\n'); i < 1 || text[i-1] != '\r' {
		return
	}
	for i := range ds {
		if d := &ds[i]; d.Fix != nil && d.File == file {
			for j := range d.Fix.Edits {
				e := &d.Fix.Edits[j]
				e.Text = strings.ReplaceAll(strings.ReplaceAll(e.Text, "\r\n", "\n"), "\n", "\r\n")
			}
		}
	}
}

// placer finds lines and columns in a text. It goes on from the last place that it
// was asked for: a file may have everything in one line.
type placer struct {
	text             []byte
	lines            []int // where each begins
	line, column, at int   // the last place
}

// fix is nil where something else stands than what is to be changed.
func (p *placer) fix(c Change) *Fix {
	from := p.offset(c.At.Line, c.At.Column)
	to := p.offset(c.At.EndLine, c.At.EndColumn)
	if from < 0 || to < from {
		return nil
	}
	switch string(p.text[from:to]) {
	case `"` + c.Was + `"`, `'` + c.Was + `'`:
		from, to = from+1, to-1
	case c.Was:
	default:
		return nil
	}
	return &Fix{Edits: []Edit{{From: from, To: to, Text: c.Text}}}
}

// offset is the byte at a line and column, or -1.
func (p *placer) offset(line, column int) int {
	if p.lines == nil {
		p.lines = lineStarts(p.text)
	}
	if line < 1 || line > len(p.lines) {
		return -1
	}
	if p.line != line || column < p.column {
		p.line, p.column, p.at = line, 1, p.lines[line-1]
	}
	for ; p.column < column; p.column++ {
		if p.at == len(p.text) || p.text[p.at] == '\n' {
			return -1
		}
		_, size := utf8.DecodeRune(p.text[p.at:])
		p.at += size
	}
	return p.at
}

func lineStarts(text []byte) []int {
	starts := []int{len(text) - len(bytes.TrimPrefix(text, []byte("\uFEFF")))}
	for i, b := range text {
		if b == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}
