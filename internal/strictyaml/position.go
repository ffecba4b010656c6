package strictyaml

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/hocket-dev/hocket/workflow"
)

// The library returns the line and column at which a node begins, both counted from 1, the
// column in characters. Everything else about positions is computed here from the text.

// line is where a line begins and ends in the text, without its line break.
type line struct {
	from, to int
	ascii    bool // a column is a byte
	plain    bool // of ASCII without control characters but tabs
}

// place remembers a character of a line that is not ASCII, so that many lookups in one long
// line do not each count from its start.
type place struct{ line, column, offset int }

// splitLines splits a text that belongs to the document.
func (d *Document) splitLines(text []byte) []line {
	p := d.piece.Pool
	if p == nil {
		return splitLines(text, make([]line, 0, bytes.Count(text, []byte{'\n'})+1))
	}
	from := len(p.lines)
	p.lines = splitLines(text, p.lines)
	return p.lines[from:len(p.lines):len(p.lines)]
}

// splitLines adds the lines of a text to a list.
func splitLines(text []byte, lines []line) []line {
	for from := 0; ; {
		end := bytes.IndexByte(text[from:], '\n')
		to := from + end
		if end < 0 {
			to = len(text)
		}
		content := bytes.TrimSuffix(text[from:to], []byte{'\r'})
		ascii, plain := characters(content)
		lines = append(lines, line{from, from + len(content), ascii, plain})
		if end < 0 {
			return lines
		}
		from = to + 1
	}
}

// characters reports what a line consists of.
func characters(text []byte) (ascii, plain bool) {
	plain = true
	for _, b := range text {
		if b >= utf8.RuneSelf {
			return false, false
		}
		plain = plain && (b >= ' ' && b != 0x7f || b == '\t')
	}
	return true, plain
}

func isASCII(text []byte) bool {
	for _, b := range text {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// offset returns the byte at a line and column.
func (d *Document) offset(lineNumber, column int) int {
	if lineNumber < 1 || lineNumber > len(d.lines) {
		return len(d.text)
	}
	l := d.lines[lineNumber-1]
	if l.ascii {
		return min(l.from+column-1, l.to)
	}
	at := d.seen
	if at.line != lineNumber {
		at = place{lineNumber, 1, l.from}
	}
	for at.column < column && at.offset < l.to {
		_, size := utf8.DecodeRune(d.text[at.offset:l.to])
		at.column, at.offset = at.column+1, at.offset+size
	}
	for at.column > column && at.offset > l.from {
		_, size := utf8.DecodeLastRune(d.text[l.from:at.offset])
		at.column, at.offset = at.column-1, at.offset-size
	}
	d.seen = at
	return at.offset
}

// mark is a range of characters in one line.
func (d *Document) mark(lineNumber, column, width int) workflow.Pos {
	column += d.left(lineNumber)
	lineNumber += d.piece.Line - 1
	return workflow.Pos{File: d.file, Line: lineNumber, Column: column, EndLine: lineNumber, EndColumn: column + width}
}

// left returns how many characters of the file are to the left of a line.
func (d *Document) left(lineNumber int) int {
	if lineNumber == 1 {
		return d.piece.Column - 1
	}
	return d.piece.Indent
}

// span returns the position of text that begins at a known place.
func (d *Document) span(lineNumber, column int, text []byte) workflow.Pos {
	p := d.mark(lineNumber, column, 0)
	if breaks := bytes.Count(text, []byte{'\n'}); breaks > 0 {
		p.EndLine += breaks
		p.EndColumn = 1 + d.piece.Indent
		text = text[bytes.LastIndexByte(text, '\n')+1:]
	}
	p.EndColumn += utf8.RuneCount(text)
	return p
}

// dash returns the dash of an empty entry of a list, or where the entry is missing if it
// has none.
func (d *Document) dash(n *node) workflow.Pos {
	from := min(d.offset(n.Line, n.Column)+1, len(d.text))
	at := bytes.LastIndexByte(d.text[:from], '-')
	number, _ := slices.BinarySearchFunc(d.lines, at+1, func(l line, offset int) int { return l.from - offset })
	if at < 0 || number == 0 {
		return d.mark(n.Line, n.Column, 1)
	}
	before := d.text[d.lines[number-1].from:at]
	return d.mark(number, 1+utf8.RuneCount(before), 1)
}

// pos returns the tightest range that names a node: a scalar from end to end, a flow
// collection from bracket to bracket, a block by its first key or dash.
func (d *Document) pos(n *node) workflow.Pos {
	switch {
	case n.Kind == yaml.AliasNode:
		return d.mark(n.Line, n.Column, 1+utf8.RuneCountInString(n.Value))
	case n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0:
		return d.pos(n.Content[0])
	case n.Kind == yaml.SequenceNode && n.Style&yaml.FlowStyle == 0:
		return d.mark(n.Line, n.Column, 1)
	case n.Kind == yaml.ScalarNode:
		s := d.scalar(n)
		return d.span(s.line, s.column, d.text[s.from:s.to])
	}
	from := d.offset(n.Line, n.Column)
	return d.span(n.Line, n.Column, d.text[from:d.flowEnd(n, from)])
}

// flowEnd returns the byte after the bracket that closes a flow collection. A pair like `a:
// b` in a list has no brackets of its own.
func (d *Document) flowEnd(n *node, from int) int {
	s := d.skipProperties(raw{from: from, line: n.Line})
	open := s.from < len(d.text) && (d.text[s.from] == '[' || d.text[s.from] == '{')
	end := s.from
	if open {
		end++
	}
	if len(n.Content) > 0 {
		end = d.leafEnd(n.Content[len(n.Content)-1])
	}
	if !open {
		return end
	}
	for ; end < len(d.text); end++ {
		switch d.text[end] {
		case '#':
			end += max(0, bytes.IndexByte(d.text[end:], '\n'))
		case ']', '}':
			return end + 1
		}
	}
	return len(d.text)
}

// leafEnd returns the byte after an entry of a flow collection.
func (d *Document) leafEnd(n *node) int {
	from := d.offset(n.Line, n.Column)
	switch n.Kind {
	case yaml.ScalarNode:
		return d.scalar(n).to
	case yaml.AliasNode:
		return from + 1 + len(n.Value)
	default:
		return d.flowEnd(n, from)
	}
}

// raw returns a scalar as it is in the file, from its first character or quote or block
// indicator to its last.
type raw struct{ from, to, line, column int }

// scalar finds a scalar after its anchor and tag.
func (d *Document) scalar(n *node) raw {
	s := raw{line: n.Line, column: n.Column}
	if s.line > len(d.lines) { // an empty value after the last line
		s.line = len(d.lines)
		s.column = 1 + utf8.RuneCount(d.text[d.lines[s.line-1].from:])
	}
	s.from = d.offset(s.line, s.column)
	if n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 || s.from < len(d.text) && d.text[s.from] == '!' {
		s = d.skipProperties(s)
	}
	rest := d.text[s.from:]
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		s.to = s.from + quotedEnd(rest, '"')
	case n.Style&yaml.SingleQuotedStyle != 0:
		s.to = s.from + quotedEnd(rest, '\'')
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		s.to = d.blockEnd(n, s)
	default:
		s.to = s.from + plainEnd(rest, n.Value)
	}
	return s
}

// skipProperties skips `&anchor`, `!tag` and the space after them.
func (d *Document) skipProperties(s raw) raw {
	for s.from < len(d.text) && (d.text[s.from] == '&' || d.text[s.from] == '!') {
		for s.from < len(d.text) && !strings.ContainsRune(" \t\r\n", rune(d.text[s.from])) {
			s.from++
		}
		for s.from < len(d.text) && strings.ContainsRune(" \t\r\n", rune(d.text[s.from])) {
			s.from++
		}
	}
	for s.line < len(d.lines) && d.lines[s.line].from <= s.from {
		s.line++
	}
	s.column = 1 + utf8.RuneCount(d.text[d.lines[s.line-1].from:s.from])
	return s
}

// quotedEnd returns the length of a quoted scalar with its quotes.
func quotedEnd(text []byte, quote byte) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] == quote && quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return len(text)
}

// plainEnd returns the length of a plain scalar. Over several lines its value has spaces
// where the text has line breaks and indentation.
func plainEnd(text []byte, value string) int {
	if bytes.HasPrefix(text, []byte(value)) {
		return len(value)
	}
	at, rest := 0, strings.TrimSpace(value)
	for rest != "" && at < len(text) {
		if space := strings.TrimLeft(rest, " \n"); len(space) < len(rest) {
			rest = space
			at += len(text[at:]) - len(bytes.TrimLeft(text[at:], " \t\r\n"))
			continue
		}
		at++
		rest = rest[1:]
	}
	return at
}

// blockEnd returns the byte after the last line of a block scalar that is not blank.
func (d *Document) blockEnd(n *node, s raw) int {
	end, indent := d.lines[s.line-1].to, d.blockIndent(s)
	if strings.Trim(n.Value, "\n") == "" {
		return end
	}
	for _, l := range d.lines[s.line:] {
		content := d.text[l.from:l.to]
		if len(bytes.TrimLeft(content, " ")) == 0 {
			continue
		}
		if spaces(content) < indent {
			break
		}
		end = l.to
	}
	return end
}

// blockIndent returns how far the lines of a block scalar are indented: given in its header
// relative to its line, otherwise that of its first line.
func (d *Document) blockIndent(s raw) int {
	header := d.text[s.from:d.lines[s.line-1].to]
	for _, b := range header[:min(len(header), 3)] {
		if b >= '1' && b <= '9' {
			return d.givenIndent(s, int(b-'0'))
		}
	}
	for _, l := range d.lines[s.line:] {
		if content := d.text[l.from:l.to]; len(bytes.TrimLeft(content, " ")) > 0 {
			return max(spaces(content), 1)
		}
	}
	return 1
}

// givenIndent adds the header's indent to that of the block around it, which is the column
// of the key in the header's line, after any dashes.
func (d *Document) givenIndent(s raw, more int) int {
	content := d.text[d.lines[s.line-1].from:s.from]
	indent := spaces(content)
	for bytes.HasPrefix(content[indent:], []byte("- ")) {
		inner := indent + 2 + spaces(content[indent+2:])
		if inner >= len(content) {
			break
		}
		indent = inner
	}
	return indent + more
}

func spaces(text []byte) int { return len(text) - len(bytes.TrimLeft(text, " ")) }
