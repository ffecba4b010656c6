package expr

import (
	"encoding/json"
	"strconv"
	"strings"
)

// level is how tightly an operator binds. An expression is printed in parentheses if it binds
// more loosely than its context requires.
type level int

const (
	looseLevel level = iota // anything
	andLevel
	compareLevel
	elseLevel
	unaryLevel
)

func (n *literalNode) print(b *strings.Builder, _ level) {
	switch v := n.value.(type) {
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case json.Number:
		b.WriteString(string(v))
	case string:
		printString(b, v)
	default:
		b.WriteString("null")
	}
}

func (n listNode) print(b *strings.Builder, _ level) {
	b.WriteByte('[')
	printJoined(b, n, ", ", looseLevel)
	b.WriteByte(']')
}

func (n *notNode) print(b *strings.Builder, _ level) {
	b.WriteByte('!')
	n.of.print(b, unaryLevel)
}

func (n orNode) print(b *strings.Builder, place level) {
	parenthesise(b, place > looseLevel, func() { printJoined(b, n, " || ", andLevel) })
}

func (n andNode) print(b *strings.Builder, place level) {
	parenthesise(b, place > andLevel, func() { printJoined(b, n, " && ", compareLevel) })
}

func (n elseNode) print(b *strings.Builder, place level) {
	parenthesise(b, place > elseLevel, func() { printJoined(b, n, " ?? ", unaryLevel) })
}

func (n *compareNode) print(b *strings.Builder, place level) {
	parenthesise(b, place > compareLevel, func() {
		_, negated := n.left.(*notNode)
		parenthesise(b, negated, func() { n.left.print(b, elseLevel) })
		b.WriteString(" " + n.op + " ")
		n.right.print(b, elseLevel)
	})
}

func printJoined(b *strings.Builder, nodes []node, separator string, place level) {
	for i, n := range nodes {
		if i > 0 {
			b.WriteString(separator)
		}
		n.print(b, place)
	}
}

func parenthesise(b *strings.Builder, needed bool, inner func()) {
	if needed {
		b.WriteByte('(')
	}
	inner()
	if needed {
		b.WriteByte(')')
	}
}
