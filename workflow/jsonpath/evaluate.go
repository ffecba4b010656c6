package jsonpath

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// holds reports whether a condition holds for the current value.
func (s *selection) holds(l logical, current any) bool {
	switch l := l.(type) {
	case orTest:
		for _, one := range l {
			if s.holds(one, current) {
				return true
			}
		}
		return false
	case andTest:
		for _, one := range l {
			if !s.holds(one, current) {
				return false
			}
		}
		return true
	case notTest:
		return !s.holds(l.of, current)
	case existsTest:
		return len(s.query(l.query, current)) > 0
	case callTest:
		return s.matches(l.call, current)
	case comparison:
		return s.compare(l, current)
	}
	return false
}

func (s *selection) compare(c comparison, current any) bool {
	left, hasLeft := s.value(c.left, current)
	right, hasRight := s.value(c.right, current)
	same := hasLeft == hasRight && (!hasLeft || equal(left, right))
	both := hasLeft && hasRight
	switch c.op {
	case "==":
		return same
	case "!=":
		return !same
	case "<":
		return both && less(left, right)
	case ">":
		return both && less(right, left)
	case "<=":
		return same || both && less(left, right)
	default:
		return same || both && less(right, left)
	}
}

// value returns the value of an operand, if there is one.
func (s *selection) value(o operand, current any) (v any, ok bool) {
	switch o := o.(type) {
	case literal:
		return o.value, true
	case *query:
		return single(s.query(o, current))
	case *call:
		return s.call(o, current)
	}
	return nil, false
}

func single(found []any) (any, bool) {
	if len(found) != 1 {
		return nil, false
	}
	return found[0], true
}

// nodes returns the values that an argument selects; only a query can appear there.
func (s *selection) nodes(o operand, current any) []any {
	if q, ok := o.(*query); ok {
		return s.query(q, current)
	}
	return nil
}

// call returns the result of a function that returns a value.
func (s *selection) call(c *call, current any) (any, bool) {
	switch c.name {
	case "count":
		return number(len(s.nodes(c.args[0], current))), true
	case "value":
		return single(s.nodes(c.args[0], current))
	}
	v, _ := s.value(c.args[0], current)
	switch v := v.(type) { // length
	case string:
		return number(utf8.RuneCountInString(v)), true
	case []any:
		return number(len(v)), true
	case map[string]any:
		return number(len(v)), true
	}
	return nil, false
}

func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }

// matches returns the result of match and search.
func (s *selection) matches(c *call, current any) bool {
	v, _ := s.value(c.args[0], current)
	text, ok := v.(string)
	if !ok {
		return false
	}
	p := c.pattern
	if _, isLiteral := c.args[1].(literal); !isLiteral {
		written, _ := s.value(c.args[1], current)
		p = compile(written, c.name == "match")
		s.matching -= compiling
	}
	if p == nil {
		return false
	}
	if s.matching -= len(text) * p.size; s.matching < 0 {
		s.visits = -1 // stops the selection
		return false
	}
	return p.re.MatchString(text)
}

func equal(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		y, ok := b.(json.Number)
		return ok && order(x, y) == 0
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equal(x[i], y[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && equalObjects(x, y)
	case nil, bool, string:
		return a == b
	}
	return false
}

func equalObjects(x, y map[string]any) bool {
	if len(x) != len(y) {
		return false
	}
	for k, v := range x {
		other, ok := y[k]
		if !ok || !equal(v, other) {
			return false
		}
	}
	return true
}

// less orders numbers and strings. Other values are not ordered.
func less(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		y, ok := b.(json.Number)
		return ok && order(x, y) < 0
	case string:
		y, ok := b.(string)
		return ok && strings.Compare(x, y) < 0
	}
	return false
}

// order returns -1, 0 or 1. Whole numbers are compared exactly.
func order(a, b json.Number) int {
	x, errX := a.Int64()
	y, errY := b.Int64()
	if errX == nil && errY == nil {
		return sign(x < y, x > y)
	}
	f, _ := a.Float64()
	g, _ := b.Float64()
	if f == g && errX != nil && errY != nil && isWhole(a) && isWhole(b) {
		return sign(false, a != b)
	}
	return sign(f < g, f > g)
}

func isWhole(n json.Number) bool { return !strings.ContainsAny(string(n), ".eE") }

func sign(less, greater bool) int {
	switch {
	case less:
		return -1
	case greater:
		return 1
	}
	return 0
}
