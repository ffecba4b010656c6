package workflow

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Change is a replacement by line and column. A rule that finds a mistake in a word usually does
// not have the text of the file; [Diagnostics.Place] turns changes into fixes when it is
// available. The zero Change changes nothing.
type Change struct {
	At   Pos
	Was  string // the text that must be there, possibly in quotes; otherwise nothing is changed
	Text string
}

// Instead adds a change that replaces the words the diagnostic is about.
func (d Diagnostic) Instead(was, text string) Diagnostic {
	d.Change = Change{d.Pos, was, text}
	return d
}

// Near adds the word that was probably meant as a hint and, if there is no doubt, as a change. If
// no word is close enough, the detail stays as it is.
func (d Diagnostic) Near(written string, words []string) Diagnostic {
	if hint := DidYouMean(written, words); hint != "" {
		d.Detail = hint
	}
	if word := Meant(written, words); word != "" {
		d = d.Instead(written, word)
	}
	return d
}

// Place turns the changes in a file into fixes. Lines that a fix adds have the line endings of
// the file.
func (ds Diagnostics) Place(file string, text []byte) {
	p := placer{text: text, lines: lineStarts(text)}
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

// placer finds lines and columns in a text. It continues from the previous place, so that a file
// with a single long line does not take quadratic time.
type placer struct {
	text             []byte
	lines            []int // where each line begins
	line, column, at int   // the previous place
}

// fix returns nil if the text is not the one to be changed.
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

// offset returns the offset of a line and column, or -1.
func (p *placer) offset(line, column int) int {
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
