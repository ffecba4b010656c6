package strictyaml

import (
	"bytes"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// In a note people write `input: {{code}}, {{language}}`, which is not YAML. Such values
// are quoted before YAML is parsed, and the tree gets their original positions: no other
// file needs to know about it.

// parseBraces is parse for a text in which values may begin with {{.
func (d *Document) parseBraces() {
	q := quick{text: string(d.text), lines: d.lines, pool: d.piece.Pool, braces: true}
	if d.root = q.read(); d.root != nil {
		return
	}
	b := &braces{text: d.text}
	lines := d.lines
	if b.quote() {
		lines = d.splitLines(b.out)
	}
	inner := &Document{file: d.file, text: b.out, piece: d.piece, lines: lines}
	inner.piece.Braces = false
	inner.parse()
	d.root, d.found, d.broken = inner.root, append(d.found, inner.found...), inner.broken
	for _, found := range inner.found {
		d.fix(found.Change)
	}
	if len(b.places) > 0 && d.root != nil {
		b.restore(d.root)
	}
}

// braces finds and quotes values that begin with {{.
type braces struct {
	text   []byte
	out    []byte
	line   int // number of the current one
	start  int // where it begins in out
	places []bracePlace

	depth int // of flow collections that are open
	block int // column that the lines of an open block scalar exceed; -1: none is open
}

// bracePlace is the position of a value in the quoted text.
type bracePlace struct{ line, column, added int }

// quote reports whether there was anything to quote.
func (b *braces) quote() bool {
	if !bytes.Contains(b.text, []byte("{{")) {
		b.out = b.text
		return false
	}
	b.out = make([]byte, 0, len(b.text)+16)
	b.block = -1
	for l := range bytes.Lines(b.text) {
		b.line++
		b.start = len(b.out)
		content := bytes.TrimRight(l, "\r\n")
		b.read(content)
		b.out = append(b.out, l[len(content):]...)
	}
	return true
}

// read copies one line.
func (b *braces) read(l []byte) {
	indent := spaces(l)
	switch {
	case indent == len(l) || b.block >= 0 && indent > b.block:
		b.out = append(b.out, l...)
		return
	case b.depth > 0:
		b.flow(l)
		return
	}
	b.block = -1
	column, value := valueStart(l, indent)
	b.out = append(b.out, l[:value]...)
	rest := l[value:]
	switch {
	case bytes.HasPrefix(rest, []byte("{{")):
		trimmed := bytes.TrimRight(rest, " \t")
		b.quoted(trimmed)
		b.out = append(b.out, rest[len(trimmed):]...)
	case len(rest) > 0 && (rest[0] == '[' || rest[0] == '{'):
		b.flow(rest)
	default:
		if len(rest) > 0 && (rest[0] == '|' || rest[0] == '>') {
			b.block = column
		}
		b.out = append(b.out, rest...)
	}
}

// valueStart returns the column of the key of a line, or of its dash, and that of its
// value.
func valueStart(l []byte, at int) (column, value int) {
	column = at
	for bytes.HasPrefix(l[at:], []byte("- ")) {
		column = at
		at += 2 + spaces(l[at+2:])
	}
	if at >= len(l) || l[at] == '{' || l[at] == '[' {
		return column, at
	}
	colon := bytes.Index(l[at:], []byte(": "))
	if quote := l[at]; quote == '"' || quote == '\'' {
		end := quotedEnd(l[at:], quote)
		if colon = end; !bytes.HasPrefix(l[at+end:], []byte(": ")) {
			colon = -1
		}
	}
	if colon < 0 {
		return column, at
	}
	column, at = at, at+colon+2
	return column, at + spaces(l[at:])
}

// flow copies a part of a flow collection.
func (b *braces) flow(l []byte) {
	fresh := true // a scalar may begin here
	for i := 0; i < len(l); {
		width := 1
		switch c := l[i]; {
		case fresh && bytes.HasPrefix(l[i:], []byte("{{")):
			if end := bytes.Index(l[i:], []byte("}}")); end > 0 {
				b.quoted(l[i : i+end+2])
				i, fresh = i+end+2, false
				continue
			}
			b.depth++
		case (c == '"' || c == '\'') && fresh:
			width, fresh = quotedEnd(l[i:], c), false
		case c == '[' || c == '{':
			b.depth++
			fresh = true
		case c == ']' || c == '}':
			b.depth = max(0, b.depth-1)
			fresh = false
		case c == ',' || c == ':':
			fresh = true
		case c != ' ':
			fresh = false
		}
		b.out = append(b.out, l[i:i+width]...)
		i += width
	}
}

// quoted writes a value in quotes.
func (b *braces) quoted(value []byte) {
	b.places = append(b.places, bracePlace{b.line, 1 + utf8.RuneCount(b.out[b.start:]), 2 + bytes.Count(value, []byte{'\''})})
	b.out = append(b.out, '\'')
	b.out = append(b.out, bytes.ReplaceAll(value, []byte("'"), []byte("''"))...)
	b.out = append(b.out, '\'')
}

// restore gives nodes the positions that they have in the text without the quotes.
func (b *braces) restore(n *node) {
	added := 0
	for _, p := range b.places[b.first(n.Line):] {
		if p.line != n.Line || p.column > n.Column {
			break
		}
		if p.column == n.Column && n.Kind == yaml.ScalarNode {
			n.Style = 0
			break
		}
		added += p.added
	}
	n.Column -= added
	for _, child := range n.Content {
		b.restore(child)
	}
}

// first returns the index of the first place in a line or below it.
func (b *braces) first(line int) int {
	low, high := 0, len(b.places)
	for low < high {
		if middle := (low + high) / 2; b.places[middle].line < line {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}
