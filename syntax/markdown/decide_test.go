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

// A person draws the arrows of a node in any order; only that of conditions counts.
func TestOrderOfKinds(t *testing.T) {
	const head = "```mermaid\nflowchart TD\n    a[A] & b[B] & h[H]\n"
	one, _ := Parse("x.md", []byte(head+"    a -->|on error| h\n    a --> b\n```\n"))
	two, _ := Parse("x.md", []byte(head+"    a --> b\n    a -->|on error| h\n```\n"))
	if workflow.Digest(one) != workflow.Digest(two) {
		t.Error("the order of two arrows changes what the drawing means")
	}
}
