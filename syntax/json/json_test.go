package json_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-dev/hocket/syntax/internal/modelgen"
	"github.com/hocket-dev/hocket/syntax/json"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

func TestEveryModelComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := modelgen.Workflow().Draw(t, "workflow")
		text, err := json.Format(w)
		if err != nil {
			t.Fatal(err)
		}
		again, found := json.Parse("", text)
		if found.Errors() || workflow.Digest(again) != workflow.Digest(w) {
			t.Fatalf("%v\n%s", found, text)
		}
		if twice, _ := json.Fmt("", text); string(twice) != string(text) {
			t.Fatalf("fmt changes\n%s\ninto\n%s", text, twice)
		}
	})
}

// A task without a prompt does not get its label as one.
func TestTasksWithoutAPrompt(t *testing.T) {
	for _, n := range []workflow.Node{{ID: "a", Step: &workflow.Task{}}, {ID: "a", Title: "A", Step: &workflow.Task{}}} {
		w := &workflow.Workflow{Name: "x", Body: workflow.Graph{Nodes: []workflow.Node{n}}}
		text, err := json.Format(w)
		if err != nil {
			t.Fatal(err)
		}
		if again, found := json.Parse("", text); len(found) > 0 || workflow.Digest(again) != workflow.Digest(w) {
			t.Errorf("%v\n%s", found, text)
		}
	}
}

// What another program wrote, with no more than the form has.
func TestReadsPlainNodesAndEdges(t *testing.T) {
	w, found := json.Parse("x.json", []byte(`{
  "title": "Review",
  "nodes": [
    {"id": "s", "type": "workflowStart", "data": {"label": "Start"}},
    {"id": "rate", "type": "promptBlock", "position": {"x": 1, "y": 2}, "data": {"label": "Rate it"}},
    {"id": "good", "type": "condition", "data": {"label": "Good?", "condition": "nodes.rate.output == 'good'"}},
    {"id": "praise", "type": "promptBlock", "data": {"label": "Praise", "agent": "writer", "prompt": "Praise {{nodes.rate.output}}"}},
    {"id": "e", "type": "output", "data": {"label": "End"}}
  ],
  "edges": [
    {"source": "s", "target": "rate"},
    {"source": "rate", "target": "good", "sourceHandle": "output", "targetHandle": "input"},
    {"source": "good", "target": "praise", "sourceHandle": "true", "targetHandle": "input"},
    {"source": "good", "target": "e", "sourceHandle": "false", "targetHandle": "input"}
  ]
}`))
	if len(found) > 0 {
		t.Fatal(found)
	}
	want, found := yaml.Parse("", []byte(`
name: Review
steps:
  - {id: rate, prompt: Rate it}
  - {id: good, choice: true, route: [{when: nodes.rate.output == 'good', to: praise}], else: end}
  - {id: praise, agent: writer, prompt: "Praise ${nodes.rate.output}"}
`))
	if found.Errors() || workflow.Digest(w) != workflow.Digest(want) {
		t.Errorf("got\n%s\nwant\n%s%v", workflow.Print(w), workflow.Print(want), found)
	}
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`{"title": "x"}`:                                                                                 "this JSON holds no nodes",
		`{"nodes": [{"type": "promptBlock"}]}`:                                                           "this node has no id",
		`{"nodes": [{"id": "a", "type": "promtBlock"}]}`:                                                 `there is no type of node "promtBlock"; did you mean "promptBlock"?`,
		`{"nodes": [{"id": "a"}, {"id": "a"}]}`:                                                          `id "a" is used twice`,
		`{"nodes": [{"id": "step"}], "edges": [{"source": "step", "target": "stop"}]}`:                   `there is no node "stop"; did you mean "step"?`,
		`{"nodes": [{"id": "a", "parent": "b"}]}`:                                                        `there is no node "b"`,
		`{"nodes": [{"id": "a", "data": {"label": "x", "promt": "y"}}]}`:                                 `unknown key "promt"; did you mean "prompt"?`,
		`{"nodes": [{"id": "a"}], "edges": [{"source": "a", "target": "a", "when": "b >"}], "nods": []}`: `unknown key "nods"`,
	} {
		if _, found := json.Parse("", []byte(text)); !strings.Contains(found.String(), want) {
			t.Errorf("%s: got %v, want %s", text, found, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"nodes": [{"id": "a", "type": "loop"}, {"id": "b", "parent": "a"}], "edges": [{"source": "b", "target": "a"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		w, found := json.Parse("", text)
		if w == nil && !found.Errors() {
			t.Error("neither a workflow nor an error")
		}
	})
}
