package agent

import (
	"encoding/json"
	"testing"
)

// TestCertainAgreesWithTheLibrary tries every schema with every value: what is
// certain is right, and where a schema is exact the rest is wrong.
func TestCertainAgreesWithTheLibrary(t *testing.T) {
	type object = map[string]any
	text := object{"type": "string", "minLength": 2, "description": "two letters"}
	scalar := object{"type": []any{"string", "number", "boolean"}}
	schemas := []object{
		{}, text, scalar, {"type": "integer"}, {"type": "null"}, {"type": []any{"object", "array"}},
		{"enum": []any{"ab", "c"}}, {"enum": []any{"ab", 1}}, {"pattern": "^a"}, {"pattern": "("}, {"minItems": 1},
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
	known := 0
	for _, schema := range schemas {
		quick := certainOf(schema)
		if p, isPattern := schema["pattern"]; isPattern && p == "(" {
			if quick.holds("a") || quick.exact {
				t.Errorf("certain of %v", schema)
			}
			continue
		}
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
	}
	if known < 200 {
		t.Errorf("certain of %d pairs only", known)
	}
}
