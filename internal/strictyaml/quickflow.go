package strictyaml

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// flow reads a flow collection that begins and ends in the current line.
func (q *quick) flow(start, column int) *node {
	q.refuse(!q.lines[q.at].ascii)
	n, end := q.collection(start)
	q.lineEnd(end, column)
	return n
}

// collection reads [a, b] or {a: b}, and returns the column after it.
func (q *quick) collection(start int) (*node, int) {
	q.enter()
	defer func() { q.depth-- }()
	n, closing := q.node(yaml.SequenceNode, start), byte(']')
	n.Tag, n.Style = "!!seq", yaml.FlowStyle
	usual := 4
	if q.line()[start] == '{' {
		n.Kind, n.Tag, closing, usual = yaml.MappingNode, "!!map", '}', 8
	}
	at := q.skipSpace(start + 1)
	if q.byteAt(at) == closing {
		return n, at + 1
	}
	n.Content = make([]*node, 0, usual)
	for {
		at = q.flowEntry(n, at)
		switch q.byteAt(at) {
		case closing:
			return n, at + 1
		case ',':
			at = q.skipSpace(at + 1)
			q.refuse(q.byteAt(at) == closing)
		default:
			q.refuse(true)
		}
	}
}

// flowEntry reads an item, or a key with its value, and the space after it.
func (q *quick) flowEntry(n *node, at int) int {
	if n.Kind == yaml.MappingNode {
		key, end := q.flowScalar(at)
		q.refuse(!strings.HasPrefix(q.line()[end:], ": ") || end-at > longestKey)
		n.Content = append(n.Content, key)
		at = q.skipSpace(end + 1)
	}
	var value *node
	if b := q.byteAt(at); b == '[' || b == '{' {
		value, at = q.collection(at)
	} else {
		value, at = q.flowScalar(at)
	}
	n.Content = append(n.Content, value)
	return q.skipSpace(at)
}

// flowScalar reads a quoted scalar or a plain one of simple characters.
func (q *quick) flowScalar(at int) (*node, int) {
	if b := q.byteAt(at); b == '"' || b == '\'' {
		n, end := q.quoted(at)
		q.refuse(n == nil)
		return n, end
	}
	rest := q.line()[at:]
	end := 0
	for end < len(rest) && (isKeyByte(rest[end]) || rest[end] == ' ') {
		end++
	}
	text := strings.TrimRight(rest[:end], " ")
	q.refuse(text == "" || text[0] == '-' || end == len(rest))
	return q.plain(text, at), at + len(text)
}

func (q *quick) skipSpace(at int) int {
	for q.byteAt(at) == ' ' {
		at++
	}
	return at
}

func (q *quick) byteAt(at int) byte {
	l := q.line()
	q.refuse(at >= len(l))
	return l[at]
}
