package strictyaml

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/hocket-dev/hocket/workflow"
)

// source returns a scalar's text with its position, so that workflow.Source.At finds each
// character of plain, quoted and block scalars. Folded lines are kept apart: that makes
// positions exact, and a reference reads the same with a line break as with a space.
func (d *Document) source(n *node) workflow.Source {
	s := d.scalar(n)
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return d.blockSource(n, s)
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		s.from, s.to, s.column = s.from+1, max(s.from+1, s.to-1), s.column+1
	}
	written := d.text[s.from:s.to]
	src := workflow.Source{Text: n.Value, Pos: d.span(s.line, s.column, written)}
	if bytes.IndexByte(written, '\n') >= 0 {
		src.Text, src.Indent = unfold(written, n.Value)
		src.Indent += d.piece.Indent
	} else if strings.Contains(n.Value, "\n") {
		src.Text = strings.ReplaceAll(n.Value, "\n", " ") // written as \n, in this one line
	}
	return src
}

// unfold removes the indentation from text over several lines. Lines that are indented
// differently, or contain escapes, cannot be mapped one to one; then the value itself is
// used.
func unfold(written []byte, value string) (text string, indent int) {
	lines := strings.Split(strings.ReplaceAll(string(written), "\r", ""), "\n")
	if bytes.ContainsAny(written, `\'`) {
		return value, 0
	}
	for i, l := range lines[1:] {
		content := strings.TrimLeft(l, " ")
		if content == "" {
			lines[i+1] = ""
			continue
		}
		if column := len(l) - len(content) + 1; indent == 0 {
			indent = column
		} else if column != indent {
			return value, 0
		}
		lines[i+1] = content
	}
	return strings.Join(lines, "\n"), indent
}

// blockSource maps the lines of a block scalar: they begin below the header, in the column
// of the block's indentation.
func (d *Document) blockSource(n *node, s raw) workflow.Source {
	indent := d.blockIndent(s)
	left := d.piece.Indent
	src := workflow.Source{Text: n.Value, Indent: left + indent + 1}
	last := s.line
	for last < len(d.lines) && d.lines[last].from < s.to {
		last++
	}
	if n.Style&yaml.FoldedStyle != 0 {
		src.Text = d.blockLines(s.line, last, indent)
	}
	end := d.lines[last-1]
	src.Pos = workflow.Pos{
		File: d.file, Line: d.piece.Line + s.line, Column: left + indent + 1,
		EndLine: d.piece.Line - 1 + last, EndColumn: left + 1 + utf8.RuneCount(d.text[end.from:end.to]),
	}
	if last == s.line { // an empty block
		src.Pos = d.mark(s.line, s.column, 1)
	}
	return src
}

// blockLines returns the text of a range of lines, without their indentation.
func (d *Document) blockLines(from, to, indent int) string {
	var b strings.Builder
	for _, l := range d.lines[from:to] {
		content := d.text[l.from:l.to]
		b.Write(content[min(indent, len(content)):])
		b.WriteByte('\n')
	}
	return b.String()
}
