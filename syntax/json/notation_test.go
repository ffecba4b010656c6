package json_test

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/internal/notationtest"
	"github.com/hocket-dev/hocket/syntax/json"
	"github.com/hocket-dev/hocket/workflow"
)

var notation = notationtest.Notation{
	Endings:    []string{".json"},
	Parse:      json.Parse,
	Format:     json.Format,
	Fmt:        json.Fmt,
	NoComments: true,
	Seeds: []string{
		`{"nodes": [{"id": "a", "type": "loop"}, {"id": "b", "parent": "a"}], "edges": [{"source": "b", "target": "a"}]}`,
	},
}

func TestNotation(t *testing.T) { notation.Run(t) }

func FuzzParse(f *testing.F) { notation.FuzzParse(f) }

func FuzzFmt(f *testing.F) { notation.FuzzFmt(f) }

// A task without a prompt does not use its label as one.
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

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`{"title": "x"}`:                                                                                 "this JSON does not contain nodes",
		`{"nodes": [{"type": "promptBlock"}]}`:                                                           "this node has no id",
		`{"nodes": [{"id": "a", "type": "promtBlock"}]}`:                                                 `unknown node type "promtBlock"; did you mean "promptBlock"?`,
		`{"nodes": [{"id": "a"}, {"id": "a"}]}`:                                                          `id "a" is used twice`,
		`{"nodes": [{"id": "step"}], "edges": [{"source": "step", "target": "stop"}]}`:                   `there is no node "stop"; did you mean "step"?`,
		`{"nodes": [{"id": "a"}], "edges": [{"source": "a"}]}`:                                           `this edge has no source or target; add "source" and "target"`,
		`{"nodes": [{"id": "a", "parent": "b"}]}`:                                                        `there is no node "b"`,
		`{"nodes": [{"id": "a", "data": {"label": "x", "promt": "y"}}]}`:                                 `unknown key "promt"; did you mean "prompt"?`,
		`{"nodes": [{"id": "a"}], "edges": [{"source": "a", "target": "a", "when": "b >"}], "nods": []}`: `unknown key "nods"`,
	} {
		if _, found := json.Parse("", []byte(text)); !strings.Contains(found.String(), want) {
			t.Errorf("%s: got %v, want %s", text, found, want)
		}
	}
}

// A title that equals the id of its node is kept.
func TestTitlesLikeIDs(t *testing.T) {
	w := &workflow.Workflow{Name: "x", Body: workflow.Graph{Nodes: []workflow.Node{{ID: "a", Title: "a", Step: &workflow.Task{}}, {ID: "b", Step: &workflow.Task{}}}}}
	text, err := json.Format(w)
	if err != nil {
		t.Fatal(err)
	}
	again, found := json.Parse("x.json", text)
	if len(found) > 0 || again.Body.Nodes[0].Title != "a" || again.Body.Nodes[1].Title != "" {
		t.Errorf("%v\n%s", found, text)
	}
}
