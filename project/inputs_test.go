package project_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const declaring = `
inputs:
  topic: string
  rounds: integer
  share: {type: number, default: 0.5}
  deep: {type: object, required: false}
  list: {type: array, required: false}
  loud: {type: boolean, required: false}
  rest: {required: false}
` + oneStep

func TestInputsAreReadByTheirTypes(t *testing.T) {
	l := load(t, open(t, write(t, map[string]string{"a.yml": declaring})), "a.yml")
	got, ds := l.Inputs(map[string]any{"topic": "geese", "rounds": json.Number("1")},
		[]string{"topic=12", "rounds=3", "share=1e2", `deep={"a": [1]}`, "list=[]", "loud=true", "rest=a=b"})
	if len(ds) > 0 {
		t.Fatalf("found %v", ds)
	}
	want := map[string]any{
		"topic": "12", "rounds": json.Number("3"), "share": json.Number("1e2"),
		"deep": map[string]any{"a": []any{json.Number("1")}}, "list": []any{}, "loud": true, "rest": "a=b",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
}

// A Go program gives values of its own types.
func TestInputsOfGoPrograms(t *testing.T) {
	l := load(t, open(t, write(t, map[string]string{"a.yml": declaring})), "a.yml")
	got, ds := l.Inputs(map[string]any{"topic": "geese", "rounds": 3, "share": float32(0.5), "deep": struct {
		A []int `json:"a"`
	}{[]int{1}}, "list": []string{"b"}, "rest": int64(9007199254740993)}, nil)
	if len(ds) > 0 {
		t.Fatalf("found %v", ds)
	}
	want := map[string]any{
		"topic": "geese", "rounds": json.Number("3"), "share": json.Number("0.5"),
		"deep": map[string]any{"a": []any{json.Number("1")}}, "list": []any{"b"}, "rest": json.Number("9007199254740993"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
	_, ds = l.Inputs(map[string]any{"topic": "geese", "rounds": 1, "rest": func() {}}, nil)
	if got := codes(ds); !slices.Equal(got, []string{"input-type"}) {
		t.Errorf("found %v", ds)
	}
}

func TestEveryWrongInputIsReported(t *testing.T) {
	l := load(t, open(t, write(t, map[string]string{"a.yml": declaring})), "a.yml")
	_, ds := l.Inputs(map[string]any{"loud": "yes"}, []string{"rounds=1.5", "tpoic=geese", "alone", "deep={"})
	want := []string{"input-type", "input-type", "input-type", "input-type", "input-unknown", "input-missing"}
	if got := codes(ds); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", ds, want)
	}
}

func TestRequiredInputsOfUndeclaredWorkflows(t *testing.T) {
	dir := write(t, map[string]string{
		"a.yml": `
state: {known: 1}
steps:
  - {agent: shell, config: {command: [ls, "${target}", "${known}", "${mood ?? 'calm'}"]}, output: seen}
  - {workflow: b, inputs: {channel: "${seen}"}}
`,
		"b.yml": `
inputs: {channel: string, size: integer, tone: {type: string, default: calm}}
` + oneStep,
	})
	l := load(t, open(t, dir), "a.yml")
	var got []string
	for _, in := range l.Required() {
		got = append(got, in.Name+" "+string(in.Type))
	}
	if want := []string{"target ", "size integer"}; !slices.Equal(got, want) {
		t.Errorf("required %q, want %q", got, want)
	}
	_, ds := l.Inputs(nil, []string{"target=x", "extra=1"})
	if got := codes(ds); !slices.Equal(got, []string{"input-missing"}) {
		t.Errorf("found %v; want only that size is missing", ds)
	}
	inputs, ds := l.Inputs(nil, []string{"target=3", "size=3"})
	if diff := cmp.Diff(map[string]any{"target": "3", "size": json.Number("3")}, inputs); diff != "" || len(ds) > 0 {
		t.Errorf("inputs of the types that are declared below (-want +got):\n%s%v", diff, ds)
	}
}
