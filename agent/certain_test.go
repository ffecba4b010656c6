package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestCertainAgreesWithTheLibrary tries every schema with every value: a value that is
// certain is valid, and if a schema is exact, all others are invalid.
func TestCertainAgreesWithTheLibrary(t *testing.T) {
	type object = map[string]any
	text := object{"type": "string", "minLength": 2, "description": "two letters"}
	scalar := object{"type": []any{"string", "number", "boolean"}}
	schemas := []object{
		{}, text, scalar, {"type": "integer"}, {"type": "null"}, {"type": []any{"object", "array"}},
		{"enum": []any{"ab", "c"}}, {"enum": []any{"ab", 1}}, {"pattern": "^a"}, {"minItems": 1}, {"minItems": 2},
		{"items": text}, {"items": scalar}, {"minimum": 1}, {"required": []any{"a"}}, {"required": []any{"a", "b"}},
		{"not": object{"type": "string", "pattern": "^a"}}, {"not": scalar}, {"not": object{"required": []any{"a"}}},
		{"properties": object{"a": text, "b": scalar}}, {"properties": object{"a": text}, "additionalProperties": false},
		{"additionalProperties": scalar}, {"properties": object{"a": true}, "additionalProperties": text},
		{"patternProperties": object{"a": text}, "additionalProperties": false},
		{"propertyNames": object{"pattern": "^[a-z]$"}}, {"propertyNames": object{"maxLength": 1}},
		{"oneOf": []any{object{"required": []any{"a"}}, object{"required": []any{"b"}}}}, {"oneOf": []any{text, scalar}},
		{"type": "object", "properties": object{"a": object{"type": "object", "additionalProperties": false, "properties": object{"b": PathInside("")}}}},
	}
	values := []any{
		nil, true, "", "a", "ab", "é", "éé", "/ab", "../a", json.Number("0"), json.Number("1.0"), json.Number("1.5"),
		[]any{}, []any{"ab"}, []any{"ab", json.Number("1")}, []any{nil}, object{}, object{"a": "ab"}, object{"a": "a"}, object{"b": "ab"},
		object{"a": "ab", "b": true}, object{"a": nil, "B": "c"}, object{"a": object{"b": "in"}}, object{"a": object{"b": "/out"}}, object{"a": object{"c": ""}},
	}
	// The number of values that each schema is certain of, with a star if it is exact.
	// Fewer certain values leave more work to the library, which is slow.
	const want = "25* 4* 8 0 1* 13* 1* 0 20* 24* 22* 23* 23 0 23* 17* 23* 0 2* 20 18* 21 18 0 24* 17 7* 0 3*"
	var got []string
	for _, schema := range schemas {
		quick, known := certainOf(schema), 0
		library := NewSchema(schema).compile()
		for _, v := range values {
			holds, right := quick.holds(v), library.Validate(v) == nil
			if holds && !right || quick.exact && holds != right {
				t.Errorf("%v: %v: certain %v, exact %v, right %v", schema, v, holds, quick.exact, right)
			}
			if holds {
				known++
			}
		}
		got = append(got, fmt.Sprint(known)+strings.Repeat("*", map[bool]int{true: 1}[quick.exact]))
	}
	if got := strings.Join(got, " "); got != want {
		t.Errorf("certain of %s, want %s", got, want)
	}
	for _, wrong := range []struct {
		schema object
		value  any
	}{
		{object{"pattern": "("}, "a"}, {object{"pattern": 1}, "a"}, {object{"minLength": "1"}, "a"}, {object{"enum": "a"}, "a"}, {object{"type": 1}, "a"}, {object{"not": 1}, "a"}, {object{"oneOf": 1}, "a"},
		{object{"oneOf": []any{1}}, "a"}, {object{"items": 1}, []any{"a"}}, {object{"minItems": "1"}, []any{"a"}}, {object{"required": "a"}, object{"a": "a"}},
		{object{"properties": 1}, object{"a": "a"}}, {object{"properties": object{"a": 1}}, object{"a": "a"}}, {object{"additionalProperties": 1}, object{"a": "a"}}, {object{"propertyNames": 1}, object{"a": "a"}},
	} {
		if certainOf(wrong.schema).holds(wrong.value) {
			t.Errorf("certain of %v by %v", wrong.value, wrong.schema)
		}
	}
}
