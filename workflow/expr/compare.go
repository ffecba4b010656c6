package expr

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// equal compares two values. A text that is a number equals that number, and the texts true and
// false equal the booleans; otherwise, values of different types are not equal.
func equal(a, b any) bool {
	switch x := a.(type) {
	case nil:
		return b == nil
	case bool:
		y, ok := asBool(b)
		return ok && x == y
	case json.Number:
		y, ok := asNumber(b)
		return ok && compareNumbers(x, y) == 0
	case string:
		if y, ok := b.(string); ok {
			return x == y
		}
		switch b.(type) {
		case bool, json.Number:
			return equal(b, a)
		}
		return false
	case []any:
		y, ok := b.([]any)
		return ok && equalLists(x, y)
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && equalObjects(x, y)
	}
	return false
}

func equalLists(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func equalObjects(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		other, ok := b[k]
		if !ok || !equal(v, other) {
			return false
		}
	}
	return true
}

func asBool(v any) (value, ok bool) {
	switch v := v.(type) {
	case bool:
		return v, true
	case string:
		v = strings.TrimSpace(v)
		return v == "true", v == "true" || v == "false"
	}
	return false, false
}

// asNumber returns a value that is a number, or a text that is one.
func asNumber(v any) (json.Number, bool) {
	switch v := v.(type) {
	case json.Number:
		return v, true
	case string:
		v = strings.TrimSpace(v)
		return json.Number(v), isNumber(v)
	}
	return "", false
}

func isNumber(s string) bool {
	if s == "" || !isDigit(s[0]) && s[0] != '-' {
		return false
	}
	if s[0] == '-' && (len(s) == 1 || !isDigit(s[1])) {
		return false
	}
	t, err := scanNumber(s, 0)
	return err == nil && t.to == len(s)
}

// exactDigits is the number of digits that a float64 always preserves.
const exactDigits = 15

// compareNumbers returns -1, 0 or 1. Long numbers are compared exactly, unless their exponents
// are so large that it would take too long.
func compareNumbers(a, b json.Number) int {
	if isCount(string(a)) && isCount(string(b)) {
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(string(a), string(b)))
	}
	x, errX := strconv.ParseFloat(string(a), 64)
	y, errY := strconv.ParseFloat(string(b), 64)
	long := len(a) > exactDigits || len(b) > exactDigits
	if long && errX == nil && errY == nil && len(a)+len(b) < 1000 {
		if c, ok := compareExactly(string(a), string(b), x, y); ok {
			return c
		}
	}
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// isCount reports whether s consists of digits only, without a leading zero. Most numbers do, and
// comparing them needs no arithmetic.
func isCount(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != "" && (s[0] != '0' || len(s) == 1)
}

func compareExactly(a, b string, x, y float64) (int, bool) {
	const large = 1e40
	if x > large || x < -large || y > large || y < -large || strings.ContainsAny(a+b, "eE") {
		return 0, false
	}
	ra, okA := new(big.Rat).SetString(a)
	rb, okB := new(big.Rat).SetString(b)
	if !okA || !okB {
		return 0, false
	}
	return ra.Cmp(rb), true
}

// ordered evaluates <, <=, > and >=: numbers by size, texts by their characters. Null is neither
// less nor greater than anything.
func ordered(op string, a, b any) (bool, error) {
	if a == nil || b == nil {
		return false, nil
	}
	c, err := compare(a, b)
	if err != nil {
		return false, err
	}
	switch op {
	case "<":
		return c < 0, nil
	case "<=":
		return c <= 0, nil
	case ">":
		return c > 0, nil
	default:
		return c >= 0, nil
	}
}

func compare(a, b any) (int, error) {
	x, textX := a.(string)
	y, textY := b.(string)
	if textX && textY {
		return strings.Compare(x, y), nil
	}
	m, okM := asNumber(a)
	n, okN := asNumber(b)
	if okM && okN {
		return compareNumbers(m, n), nil
	}
	return 0, fmt.Errorf("expr: cannot order %s and %s", describe(a), describe(b))
}

// contains reports whether whole contains part: a text in a text, an element in a list, or a key
// in an object. Null contains nothing.
func contains(whole, part any) (bool, error) {
	switch whole := whole.(type) {
	case nil:
		return false, nil
	case string:
		if part == nil {
			return false, nil
		}
		return strings.Contains(whole, workflow.FormatText(part)), nil
	case []any:
		for _, item := range whole {
			if equal(item, part) {
				return true, nil
			}
		}
		return false, nil
	case map[string]any:
		key, ok := part.(string)
		_, has := whole[key]
		return ok && has, nil
	}
	return false, fmt.Errorf("expr: cannot use contains on %s", describe(whole))
}

// describe describes a value in an error.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool, json.Number:
		return fmt.Sprint(v)
	case string:
		return "the text " + shorten(v)
	case []any:
		return fmt.Sprintf("a list of length %d", len(v))
	case map[string]any:
		return fmt.Sprintf("an object with %d keys", len(v))
	}
	return fmt.Sprintf("a %T", v)
}
