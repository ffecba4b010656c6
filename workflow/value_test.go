package workflow_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/workflow"
)

func TestNormalize(t *testing.T) {
	number := func(text string) any { return json.Number(text) }
	for _, c := range []struct{ v, want any }{
		{nil, nil}, {true, true}, {"a", "a"}, {number("1e3"), number("1e3")}, {7, number("7")}, {int64(-80), number("-80")}, {uint64(90), number("90")}, {uint8(9), number("9")}, {1.5, number("1.5")},
		{[]any{1, "a", nil}, []any{number("1"), "a", nil}}, {[]int{1, 2}, []any{number("1"), number("2")}},
		{map[string]any{"a": 1, "b": []any{2}}, map[string]any{"a": number("1"), "b": []any{number("2")}}},
		{map[string]bool{"a": true}, map[string]any{"a": true}},
	} {
		if got, err := workflow.Normalize(c.v); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%#v is %#v, %v", c.v, got, err)
		}
	}
	for _, v := range []any{make(chan int), []any{make(chan int)}, map[string]any{"a": math.Inf(1)}} {
		if got, err := workflow.Normalize(v); err == nil || !strings.Contains(err.Error(), "not a value") {
			t.Errorf("%T is %v, %v", v, got, err)
		}
	}
}

func TestFormatText(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string
	}{{nil, ""}, {"a b", "a b"}, {json.Number("1.50"), "1.50"}, {true, "true"}, {[]any{"<", json.Number("2")}, `["<",2]`}, {map[string]any{"b": nil, "a": "&"}, `{"a":"&","b":null}`}} {
		if got := workflow.FormatText(c.v); got != c.want {
			t.Errorf("%v is %q, want %q", c.v, got, c.want)
		}
	}
}

func TestParseJSON(t *testing.T) {
	if got, err := workflow.ParseJSON([]byte(` {"n": 12345678901234567890} `)); err != nil || workflow.FormatJSON(got) != `{"n":12345678901234567890}` {
		t.Errorf("%v, %v", got, err)
	}
	for text, want := range map[string]string{`{"a":1} x`: "unexpected text after the JSON value at byte", `1 2`: "at byte 3", `{`: "unexpected EOF", ``: "EOF"} {
		if got, err := workflow.ParseJSON([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

func TestHeading(t *testing.T) {
	forty := strings.Repeat("ä", 40)
	for _, c := range []struct {
		node workflow.Node
		want string
	}{
		{workflow.Node{Title: "T", Step: &workflow.Task{Prompt: workflow.Template{Text: "p"}}}, "T"},
		{workflow.Node{Step: &workflow.Task{Prompt: workflow.Template{Text: "Write it"}}}, "Write it"},
		{workflow.Node{Step: &workflow.Human{Question: workflow.Template{Text: "Good?"}}}, "Good?"},
		{workflow.Node{Step: &workflow.Task{Prompt: workflow.Template{Text: forty}}}, forty},
		{workflow.Node{Step: &workflow.Task{Prompt: workflow.Template{Text: forty + "."}}}, ""},
		{workflow.Node{Step: &workflow.Task{Prompt: workflow.Template{Text: "a\nb"}}}, ""},
		{workflow.Node{Step: &workflow.Task{Prompt: workflow.Template{Text: "Use ${x}"}}}, ""},
		{workflow.Node{Step: &workflow.Call{Workflow: "x"}}, ""},
	} {
		if got := c.node.Heading(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.node, got, c.want)
		}
	}
}

func TestRoles(t *testing.T) {
	w := &workflow.Workflow{Agents: []workflow.AgentRef{{Name: "a", Role: "writer"}, {Name: "b", Role: "reader"}}}
	for name, want := range map[string]string{"a": "writer", "b": "reader", "c": ""} {
		if got := w.RoleOf(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
