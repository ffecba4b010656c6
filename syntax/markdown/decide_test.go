package markdown

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/workflow"
)

func TestAnswersToACondition(t *testing.T) {
	const ifElse = "when=vars.n > 3 else="
	tests := []struct{ name, arrows, edges string }{
		{"yes and no", "c -->|yes| a\nc -->|no| b", ifElse},
		{"in whatever order and case", "c -->|False| b\nc -->|TRUE| a", ifElse},
		{"yes and else", "c -->|yes| a\nc -->|else| b", ifElse},
		{"several for each", "c -->|yes| a & b\nc -->|no| d", "when=vars.n > 3 when=vars.n > 3 else="},
		{"another answer", "c -->|yes| a\nc -->|maybe| b", "label=yes label=maybe"},
		{"no, and anything else", "c -->|yes| a\nc -->|no| b\nc -->|else| d", "label=yes label=no else="},
		{"never yes", "c -->|no| b\nc -->|else| d", "label=no else="},
	}
	for _, test := range tests {
		w, found := Parse("x.md", []byte("---\nstate: {n: 1}\n---\n```mermaid\nflowchart TD\nc{n > 3}\n"+test.arrows+"\n```\n"))
		if found.Errors() {
			t.Errorf("%s: %v", test.name, found)
			continue
		}
		var edges []string
		for _, e := range w.Body.Edges {
			edges = append(edges, strings.TrimSpace(string(e.On)+"="+e.Label+e.When.Text))
		}
		if got := strings.Join(edges, " "); got != test.edges {
			t.Errorf("%s: edges %q, want %q", test.name, got, test.edges)
		}
		text, err := Format(w)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if again, _ := Parse("x.md", text); workflow.Digest(again) != workflow.Digest(w) {
			t.Errorf("%s: another workflow is written:\n%s", test.name, text)
		}
	}
}

// The arrows of a node may be drawn in any order; only the order of conditions matters.
func TestOrderOfKinds(t *testing.T) {
	const head = "```mermaid\nflowchart TD\n    a[A] & b[B] & h[H]\n"
	one, _ := Parse("x.md", []byte(head+"    a -->|on error| h\n    a --> b\n```\n"))
	two, _ := Parse("x.md", []byte(head+"    a --> b\n    a -->|on error| h\n```\n"))
	if workflow.Digest(one) != workflow.Digest(two) {
		t.Error("the order of two arrows changes what the drawing means")
	}
}

// A comparison is a condition even if it is misspelled, not a question or an answer. A sentence is
// a question.
func TestWrongConditionsAreConditions(t *testing.T) {
	for text, want := range map[string]bool{
		"{{x}} = 3": true, "{{x}} >": true, "kind = 'a'": true, "a == ": true, "${x} => 3": true,
		"Is {{x}} good?": false, "more than 3 > 2 items": false, "{{x": false, "ready?": false,
	} {
		w, _ := Parse("x.mmd", []byte("flowchart TD\n    a{\""+text+"\"} -->|good| b\n    a -->|bad| c\n"))
		if on := w.Body.Nodes[0].Step.(*workflow.Choice).On.Text; (on != "") != want {
			t.Errorf("the choice %q decides by %q", text, on)
		}
		if !strings.HasPrefix(text, "{{") {
			continue
		}
		w, _ = Parse("x.mmd", []byte("flowchart TD\n    a -->|\""+text+"\"| b\n    a -->|else| c\n"))
		if when := w.Body.Edges[0].On == workflow.OnWhen; when != want {
			t.Errorf("the arrow %q is taken %s", text, w.Body.Edges[0].On)
		}
	}
}
