package strictyaml_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// Values composed by a reader of another notation are read like YAML, and every error has
// the position that this reader gave.
func TestComposedValues(t *testing.T) {
	doc := strictyaml.Compose("x.xml")
	at := func(line int) workflow.Source {
		return workflow.Source{Pos: workflow.Pos{File: "x.xml", Line: line, Column: 1}}
	}
	value := map[string]any{"list": []any{json.Number("12345678901234567890"), nil, true, "null"}, "text": "1"}
	m := doc.Map([]strictyaml.Pair{
		{Key: "count", Pos: at(1).Pos, Value: doc.Text("3", at(2))},
		{Key: "title", Pos: at(3).Pos, Value: doc.Text("3", at(4))},
		{Key: "on", Pos: at(5).Pos, Value: doc.Text("true", at(6))},
		{Key: "wrong", Pos: at(7).Pos, Value: doc.Text("many", at(8))},
		{Key: "value", Pos: at(9).Pos, Value: doc.Of(value, at(10))},
		{Key: "stray", Pos: at(11).Pos, Value: doc.Text("", at(12))},
	}, at(1).Pos).Map()
	if m.Int("count", 1) != 3 || m.String("title") != "3" || !m.Bool("on") {
		t.Error("text is not what it is asked for")
	}
	if diff := cmp.Diff(any(value), m.Value("value")); diff != "" {
		t.Error(diff)
	}
	m.Int("wrong", 1)
	m.Done()
	found := doc.Diagnostics()
	if len(found) != 2 || found[0].Line != 8 || found[1].Line != 11 {
		t.Errorf("mistakes in lines 8 and 11 are reported as\n%s", found)
	}
}
