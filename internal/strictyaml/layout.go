package strictyaml

import (
	"bytes"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Layout reformats a file and keeps its words, its order and its comments: two spaces per
// level, lists indented below their key, one space after colons and dashes, quotes only
// where needed, at most one blank line, and one between the entries of the lists under the
// keys named as spaced. It is idempotent.
//
// Files that do not parse, and rare constructs (tags, keys marked with ?), are left
// unchanged.
func Layout(text []byte, spaced ...string) []byte {
	once := layOut(text, spaced)
	for range 3 {
		again := layOut(once, spaced)
		if bytes.Equal(once, again) {
			return once
		}
		once = again
	}
	return text
}

// layOut makes one pass. Its result has the same nodes and comments, or is the text itself.
func layOut(text []byte, spaced []string) []byte {
	doc := Read("", text)
	if doc.root == nil || doc.root.Kind == yaml.ScalarNode || doc.root.Style&yaml.FlowStyle != 0 {
		return text
	}
	l := &layout{doc: doc, spaced: spaced}
	l.file()
	if l.failed {
		return text
	}
	again := Read("", l.out.Bytes())
	if again.root == nil || !sameNodes(doc.root, again.root) || l.comments != countComments(again, spaced) {
		return text
	}
	return l.out.Bytes()
}

func countComments(doc *Document, spaced []string) int {
	l := &layout{doc: doc, spaced: spaced}
	l.file()
	return l.comments
}

// sameNodes compares the content of two documents, including anchors and aliases.
func sameNodes(a, b *node) bool {
	if a.Kind != b.Kind || a.Value != b.Value || a.Tag != b.Tag || a.Anchor != b.Anchor || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !sameNodes(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// layout writes a document leaf by leaf: scalars, aliases and flow collections are copied,
// and what is between two leaves (comments, blank lines, dashes and colons) is written
// again.
type layout struct {
	doc    *Document
	spaced []string
	out    bytes.Buffer

	at       int      // the text has been written up to here
	blocks   []indent // the blocks around the current position
	around   []indent // those around the last leaf
	exact    bool     // the last leaf ends in line breaks that belong to it
	comments int
	failed   bool
}

// indent is the column of a block, from 0, before and after.
type indent struct{ old, new int }

func (l *layout) file() {
	l.start()
	l.collection(l.doc.root, 0, true, false)
	l.gap(len(l.doc.text), indent{}, gapOptions{})
	l.finish()
}

// start writes what is above the first key.
func (l *layout) start() {
	text := l.doc.text
	if bytes.HasPrefix(text, []byte("---")) {
		l.out.WriteString("---")
		l.at = 3
	}
	first := l.startOf(l.doc.root)
	l.gap(first, indent{}, gapOptions{opening: true})
	if l.out.Len() > 0 {
		l.out.WriteByte('\n')
		if l.blankBefore(first) && l.comments > 0 {
			l.out.WriteByte('\n')
		}
	}
	trimmed := bytes.TrimLeft(l.out.Bytes(), "\n")
	l.out = *bytes.NewBuffer(bytes.Clone(trimmed))
}

func (l *layout) finish() {
	text := l.out.Bytes()
	if !l.exact {
		text = bytes.TrimRight(text, "\n")
	}
	l.out = *bytes.NewBuffer(append(bytes.Clone(text), '\n'))
}

// startOf returns the byte at which a node begins, with its anchor.
func (l *layout) startOf(n *node) int {
	if isBlock(n) && n.Anchor == "" && n.Style&yaml.TaggedStyle == 0 {
		return l.startOf(n.Content[0])
	}
	return l.doc.offset(n.Line, n.Column)
}

// isBlock reports whether a node is a block collection, not in brackets.
func isBlock(n *node) bool {
	return (n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode) && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0
}

// collection writes a block. If inline, its first line has begun already.
func (l *layout) collection(n *node, column int, inline, spaced bool) {
	if n.Style&yaml.TaggedStyle != 0 {
		l.failed = true
	}
	l.blocks = append(l.blocks, indent{l.oldColumn(n), column})
	if n.Kind == yaml.MappingNode {
		l.mapping(n, column, inline)
	} else {
		l.sequence(n, column, inline, spaced && !oneLiners(n))
	}
	l.blocks = l.blocks[:len(l.blocks)-1]
}

// oldColumn returns the column of the keys or dashes of a block, from 0.
func (l *layout) oldColumn(n *node) int {
	if n.Kind == yaml.MappingNode {
		return n.Content[0].Column - 1
	}
	if n.Anchor == "" {
		return n.Column - 1
	}
	at := l.startOf(n.Content[0])
	from := bytes.LastIndexByte(l.doc.text[:at], '\n') + 1
	return spaces(l.doc.text[from:at])
}

// oneLiners reports whether every entry of a list is one line.
func oneLiners(n *node) bool {
	for _, item := range n.Content {
		switch {
		case !isBlock(item) && item.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0:
		case item.Kind != yaml.MappingNode || len(item.Content) > 2 || isBlock(item.Content[1]) || item.Content[1].Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
			return false
		}
	}
	return true
}

func (l *layout) mapping(n *node, column int, inline bool) {
	here := l.blocks[len(l.blocks)-1]
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode && key.Kind != yaml.AliasNode {
			l.failed = true
			return
		}
		if i > 0 || !inline {
			l.gap(l.startOf(key), here, gapOptions{opening: i == 0})
			l.newline(column)
		}
		l.leaf(key, column)
		if key.Kind == yaml.AliasNode {
			l.out.WriteByte(' ')
		}
		l.out.WriteByte(':')
		l.value(value, column, slices.Contains(l.spaced, key.Value))
	}
}

func (l *layout) value(n *node, column int, spaced bool) {
	if isBlock(n) {
		l.anchor(n)
		l.collection(n, column+2, false, spaced)
		return
	}
	if from, to := l.extent(n); from == to {
		return // it is empty
	}
	if l.gap(l.startOf(n), indent{column + 2, column + 2}, gapOptions{opening: true}) {
		l.newline(column + 2)
	} else {
		l.out.WriteByte(' ')
	}
	l.leaf(n, column)
}

// anchor writes the anchor of a block after its key or dash.
func (l *layout) anchor(n *node) {
	if n.Anchor == "" {
		return
	}
	if l.gap(l.startOf(n), indent{}, gapOptions{opening: true}) {
		l.failed = true // a comment before the anchor
	}
	l.out.WriteString(" &" + n.Anchor)
	l.at = l.startOf(n) + 1 + len(n.Anchor)
}

func (l *layout) sequence(n *node, column int, inline, spaced bool) {
	here := l.blocks[len(l.blocks)-1]
	for i, item := range n.Content {
		if i > 0 || !inline {
			l.gap(l.startOf(item), here, gapOptions{opening: i == 0, apart: spaced && i > 0})
			l.newline(column)
		}
		l.out.WriteByte('-')
		if isBlock(item) {
			l.anchor(item)
			if item.Anchor == "" {
				l.out.WriteByte(' ')
				l.at = l.startOf(item)
			}
			l.collection(item, column+2, item.Anchor == "", false)
			continue
		}
		if from, to := l.extent(item); from < to {
			l.out.WriteByte(' ')
			l.at = from
			l.leaf(item, column)
		}
	}
}

func (l *layout) newline(column int) {
	l.out.WriteByte('\n')
	l.out.WriteString(strings.Repeat(" ", column))
}

// extent returns the range of a leaf in the text.
func (l *layout) extent(n *node) (from, to int) {
	from = l.doc.offset(n.Line, n.Column)
	switch n.Kind {
	case yaml.ScalarNode:
		s := l.doc.scalar(n)
		if to = s.to; n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 && l.keepsBreaks(s) {
			to = l.lastBreak(to)
		}
	case yaml.AliasNode:
		to = from + 1 + len(n.Value)
	default:
		to = l.doc.flowEnd(n, from)
	}
	return from, max(from, to)
}

// keepsBreaks reports whether the empty lines after a block scalar belong to it.
func (l *layout) keepsBreaks(s raw) bool {
	header := l.doc.text[s.from:l.doc.lines[s.line-1].to]
	return bytes.IndexByte(header[:min(len(header), 3)], '+') >= 0
}

// lastBreak returns the end of the last blank line after a position.
func (l *layout) lastBreak(at int) int {
	for _, b := range l.doc.text[at:] {
		if !strings.ContainsRune(" \r\n", rune(b)) {
			break
		}
		at++
	}
	if at == len(l.doc.text) {
		return at
	}
	return bytes.LastIndexByte(l.doc.text[:at], '\n')
}

// leaf copies a scalar, an alias or a flow collection into a block at the given column.
func (l *layout) leaf(n *node, column int) {
	from, to := l.extent(n)
	written := strings.ReplaceAll(string(l.doc.text[from:to]), "\r\n", "\n")
	l.exact = false
	switch {
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		l.block(n, column, to)
	case n.Kind == yaml.ScalarNode && !strings.Contains(written, "\n"):
		l.out.WriteString(unquoted(n, written))
	case n.Kind == yaml.ScalarNode:
		l.folded(written, column+2)
	default:
		l.shifted(written, from, column)
	}
	l.at, l.around = to, slices.Clone(l.blocks)
}

// unquoted removes unnecessary quotes.
func unquoted(n *node, written string) string {
	quoted := n.Style == yaml.DoubleQuotedStyle || n.Style == yaml.SingleQuotedStyle
	if quoted && n.Anchor == "" && written[0] != '!' && IsPlain(n.Value, false) {
		return n.Value
	}
	return written
}

// folded writes text over several lines, whose indentation does not matter.
func (l *layout) folded(written string, column int) {
	for i, line := range strings.Split(written, "\n") {
		if i == 0 {
			l.out.WriteString(line)
			continue
		}
		if line = strings.TrimLeft(line, " \t"); line == "" {
			l.out.WriteByte('\n')
			continue
		}
		l.newline(column)
		l.out.WriteString(line)
	}
}

// shifted writes a flow collection over several lines, moved like its first line.
func (l *layout) shifted(written string, from, column int) {
	begin := bytes.LastIndexByte(l.doc.text[:from], '\n') + 1
	old := spaces(l.doc.text[begin:from])
	for i, line := range strings.Split(written, "\n") {
		if i == 0 {
			l.out.WriteString(line)
			continue
		}
		content := strings.TrimLeft(line, " \t")
		if content == "" {
			l.out.WriteByte('\n')
			continue
		}
		l.newline(max(column, column+len(line)-len(content)-old))
		l.out.WriteString(content)
		l.comments += strings.Count(content, "#")
	}
}

// block writes a block scalar: its lines move with it.
func (l *layout) block(n *node, column, to int) {
	s := l.doc.scalar(n)
	if n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 || s.from != l.doc.offset(n.Line, n.Column) {
		l.failed = true
		return
	}
	old := l.doc.blockIndent(s)
	header := bytes.TrimRight(l.doc.text[s.from:l.doc.lines[s.line-1].to], " \t")
	for i, b := range header[:min(len(header), 3)] {
		if b >= '1' && b <= '9' {
			header = bytes.Clone(header)
			header[i] = '2'
		}
	}
	l.comments += bytes.Count(header, []byte("#"))
	l.out.Write(header)
	for _, line := range l.doc.lines[s.line:] {
		if line.from > to || line.from == len(l.doc.text) {
			break
		}
		content := l.doc.text[line.from:line.to]
		if len(content) <= old && len(bytes.TrimLeft(content, " ")) == 0 {
			l.out.WriteByte('\n')
			continue
		}
		l.newline(column + 2)
		l.out.Write(content[old:])
	}
	l.exact = l.keepsBreaks(s)
}
