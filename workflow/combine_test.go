package workflow

import (
	"encoding/json"
	"testing"
)

func TestConcatenated(t *testing.T) {
	values := []any{"a", json.Number("1.0"), nil, []any{"b"}}
	if got := Concatenated(values, ""); got != "a\n\n1.0\n\n\n\n[\"b\"]" {
		t.Errorf("%q", got)
	}
	if got := Concatenated(values, ", "); got != `a, 1.0, , ["b"]` {
		t.Errorf("%q", got)
	}
}

func TestMerged(t *testing.T) {
	object := func(text string) any {
		v, err := ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		values []any
		want   string // or the error
	}{
		{[]any{"a"}, `"a"`},
		{[]any{`{"a": {"b": 1, "c": [1]}}`, object(`{"a": {"b": 2, "c": [2]}, "d": null}`), object(`{"d": true}`)}, `{"a":{"b":2,"c":[1,2]},"d":true}`},
		{[]any{object(`{"a": 1}`), object(`{"a": null}`)}, `{"a":1}`},
		{[]any{nil, "a"}, `"a"`},
		{[]any{`"a"`, "b"}, `"b"`}, // only objects and lists are parsed
		{[]any{"[1]", "[2]", "[3]"}, "[1,2,3]"},
		{[]any{object(`{"a": {"b": 1}}`), object(`{"a": {"b": "x"}}`)}, `cannot merge a number with text at "a.b"`},
		{[]any{"[1]", "{}"}, `cannot merge a list with an object at ""`},
		{[]any{true, json.Number("1")}, `cannot merge a boolean with a number at ""`},
	} {
		got, err := Merged(c.values)
		text := FormatJSON(got)
		if err != nil {
			text = err.Error()
		}
		if text != c.want {
			t.Errorf("%v: %s, want %s", c.values, text, c.want)
		}
	}
}

// Merging does not change what is merged.
func TestMergedLeavesItsParts(t *testing.T) {
	a, b := map[string]any{"x": []any{"1"}}, map[string]any{"x": []any{"2"}}
	if _, err := Merged([]any{a, b}); err != nil || FormatJSON(a) != `{"x":["1"]}` || FormatJSON(b) != `{"x":["2"]}` {
		t.Errorf("%v, %v, %v", a, b, err)
	}
}

func TestVoted(t *testing.T) {
	for _, c := range []struct {
		values  []any
		winner  int
		counted string
		tie     bool
	}{
		{[]any{"Yes."}, 0, "yes", false},
		{[]any{"no", "Yes.", " \"yes\"! "}, 1, "yes", false},
		{[]any{"b", "a", "a", "b", "c"}, 0, "b", true},
		{[]any{"a", "b", "c", "c"}, 2, "c", false},
		{[]any{true, "TRUE", nil}, 0, "true", false},
	} {
		if winner, counted, tie := Voted(c.values); winner != c.winner || counted != c.counted || tie != c.tie {
			t.Errorf("%v: %d, %q, %t", c.values, winner, counted, tie)
		}
	}
}

func TestKindOf(t *testing.T) {
	if got := KindOf(nil); got != "null" {
		t.Errorf("null is %s", got)
	}
}
