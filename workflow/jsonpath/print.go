package jsonpath

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// String returns the path in a normal form, with every name in brackets and single quotes. Parse
// accepts it.
func (p *Path) String() string {
	var b strings.Builder
	printQuery(&b, &p.query)
	return b.String()
}

func printQuery(b *strings.Builder, q *query) {
	if q.relative {
		b.WriteByte('@')
	} else {
		b.WriteByte('$')
	}
	for _, s := range q.segments {
		if s.descend {
			b.WriteString("..")
		}
		b.WriteByte('[')
		for i, one := range s.selectors {
			if i > 0 {
				b.WriteByte(',')
			}
			printSelector(b, one)
		}
		b.WriteByte(']')
	}
}

func printSelector(b *strings.Builder, one selector) {
	switch one := one.(type) {
	case nameSelector:
		printString(b, string(one))
	case wildcardSelector:
		b.WriteByte('*')
	case indexSelector:
		b.WriteString(strconv.Itoa(int(one)))
	case sliceSelector:
		printInt(b, one.start)
		b.WriteByte(':')
		printInt(b, one.end)
		if one.step != nil {
			b.WriteByte(':')
			printInt(b, one.step)
		}
	case filterSelector:
		b.WriteByte('?')
		printLogical(b, one.keep, false)
	}
}

func printInt(b *strings.Builder, n *int) {
	if n != nil {
		b.WriteString(strconv.Itoa(*n))
	}
}

// printLogical writes a condition. inner says that it is inside another condition, so that
// operators that bind loosely need parentheses.
func printLogical(b *strings.Builder, l logical, inner bool) {
	switch l := l.(type) {
	case orTest:
		printJoined(b, l, " || ", inner)
	case andTest:
		printJoined(b, l, " && ", inner)
	case notTest:
		b.WriteByte('!')
		_, isComparison := l.of.(comparison)
		_, isNot := l.of.(notTest)
		if isComparison || isNot {
			b.WriteByte('(')
			printLogical(b, l.of, false)
			b.WriteByte(')')
			return
		}
		printLogical(b, l.of, true)
	case existsTest:
		printQuery(b, l.query)
	case callTest:
		printOperand(b, l.call)
	case comparison:
		printOperand(b, l.left)
		b.WriteString(" " + l.op + " ")
		printOperand(b, l.right)
	}
}

func printJoined(b *strings.Builder, list []logical, op string, inner bool) {
	if inner {
		b.WriteByte('(')
	}
	for i, l := range list {
		if i > 0 {
			b.WriteString(op)
		}
		printLogical(b, l, true)
	}
	if inner {
		b.WriteByte(')')
	}
}

func printOperand(b *strings.Builder, o operand) {
	switch o := o.(type) {
	case literal:
		printLiteral(b, o.value)
	case *query:
		printQuery(b, o)
	case *call:
		b.WriteString(o.name + "(")
		for i, arg := range o.args {
			if i > 0 {
				b.WriteString(", ")
			}
			printOperand(b, arg)
		}
		b.WriteByte(')')
	}
}

func printLiteral(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case string:
		printString(b, v)
	case json.Number:
		b.WriteString(string(v))
	default:
		fmt.Fprint(b, v)
	}
}

func printString(b *strings.Builder, s string) {
	b.WriteByte('\'')
	for _, r := range s {
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ':
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('\'')
}
