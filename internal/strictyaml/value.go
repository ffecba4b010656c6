package strictyaml

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// Value returns any value in terms of the model: nil, bool, json.Number, string, []any and
// map[string]any. A number that JSON writes the same way keeps its text.
func (n Node) Value() any {
	if n.y == nil || !n.plainTag() {
		return nil
	}
	switch n.y.Kind {
	case yaml.SequenceNode:
		list := make([]any, len(n.y.Content))
		for i, e := range n.entries() {
			list[i] = e.Value()
		}
		return list
	case yaml.MappingNode:
		m := n.Map()
		values := make(map[string]any, len(m.entries))
		for i := range m.entries {
			values[m.entries[i].name] = m.value(&m.entries[i]).Value()
		}
		return values
	}
	return n.scalar()
}

func (n Node) scalar() any {
	switch n.y.Tag {
	case "!!null":
		return nil
	case "!!bool":
		return n.Bool()
	case "!!int", "!!float":
		if num := n.number(); num != "" {
			return num
		}
		return nil
	}
	if n.y.Style == 0 && isNumber(n.y.Value) { // too large for the library, not for JSON
		return json.Number(n.y.Value)
	}
	return n.y.Value
}

// number returns "" if the value is not a number, which is reported.
func (n Node) number() json.Number {
	num := number(n.y.Value)
	if num == "" {
		n.Errorf(codeNumber, "put it in quotes if it is text; otherwise write plain digits", "%s is an ambiguous number", n.y.Value)
	}
	return num
}

// Int returns the value, which must be an integer and at least the given one.
func (n Node) Int(least int64) int64 {
	num, ok := n.wantNumber("a whole number")
	if !ok {
		return 0
	}
	i, err := strconv.ParseInt(string(num), 10, 64)
	if err != nil {
		n.Errorf(codeNumber, "write a whole number", "%s cannot be %s", n.Label(), n.y.Value)
		return 0
	}
	if i < least {
		n.Errorf(codeNumber, "write "+strconv.FormatInt(least, 10)+" or more", "%s cannot be %s", n.Label(), n.y.Value)
		return 0
	}
	return i
}

// Float returns the value, which must be a nonnegative number.
func (n Node) Float() float64 {
	num, ok := n.wantNumber("a number")
	if !ok {
		return 0
	}
	f, err := num.Float64()
	if err != nil || f < 0 {
		n.Errorf(codeNumber, "write 0 or more", "%s cannot be %s", n.Label(), n.y.Value)
		return 0
	}
	return f
}

// Minutes returns the value, which must be a number of minutes.
func (n Node) Minutes() time.Duration { return n.inUnits(time.Minute) }

// Days returns the value, which must be a positive number of days.
func (n Node) Days() time.Duration {
	if zero, err := strconv.ParseFloat(n.Written(), 64); err == nil && zero == 0 {
		n.Errorf(codeNumber, "set a number above 0, or remove it", "%s cannot be %s", n.Label(), n.y.Value)
		return 0
	}
	return n.inUnits(24 * time.Hour)
}

func (n Node) inUnits(unit time.Duration) time.Duration {
	number := n.Float()
	if number >= float64(math.MaxInt64/unit) {
		n.Errorf(codeNumber, "write a smaller number", "%s cannot be %s", n.Label(), n.y.Value)
		return 0
	}
	return time.Duration(number * float64(unit))
}

func (n Node) wantNumber(wanted string) (json.Number, bool) {
	if n.y == nil || !n.plainTag() {
		return "", false
	}
	if !n.is("!!int") && !n.is("!!float") {
		n.WrongType(wanted)
		return "", false
	}
	num := n.number()
	return num, num != ""
}
