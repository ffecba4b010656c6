package draw_test

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/draw"
	"github.com/hocket-dev/hocket/syntax"
)

// A tree shows the texts in the boxes of a drawing, including a question that is also the title,
// and all steps that an exit of a loop leads to.
func TestTreeOfADrawing(t *testing.T) {
	tests := []struct{ file, text, want string }{
		{"w.yml", `name: w
steps:
  - {id: a, agent: coder, workspace: own, parallel_group: both}
  - {id: b, agent: b, workspace: own, parallel_group: both}
  - {id: m, merge: {on_conflict: {agent: fixer}}}
  - {id: tries, for_each: '[1, 2]', agent: coder, workspace: own}
  - {id: best, merge: {pick: human}}
  - {id: ship, land: branch}
`, `w
├─ both   group
│  ├─ a   task: coder, own workspace
│  └─ b   task: own workspace
├─ m      merge, conflicts to fixer
├─ tries  task: coder, own workspace, for each of [1, 2]
├─ best   pick by a person
└─ ship   land: branch
`},
		{"a.mmd", "flowchart TD\n  A[Write] --> C{Good?}\n  C -->|yes| D[Publish it]\n  C -->|yes| E[Tell them]\n  C -->|no| A\n", `a
├─ loop  loop, at most 50 rounds
│  ├─ A  task, "Write"
│  └─ C  choice: Good?
│     ├─ yes
│     │  └─ parallel
│     │     ├─ → D
│     │     └─ → E
│     └─ no → again
└─ parallel
   ├─ D  task, "Publish it"
   └─ E  task, "Tell them"
`},
		{"b.yml", "name: b\nsteps:\n  - {id: c, title: \"Good?\", choice: {ask: \"Good?\"}, route: {\"yes\": d}, else: end}\n  - {id: d, prompt: Print}\n", `b
└─ c        choice: Good?
   ├─ yes
   │  └─ d  task, "Print"
   └─ else → end
`},
	}
	for _, tt := range tests {
		w, found := syntax.Parse(tt.file, []byte(tt.text))
		if found.Errors() {
			t.Fatal(found)
		}
		if got := draw.Tree(w); got != tt.want {
			t.Errorf("got\n%s\nnot\n%s", got, tt.want)
		}
	}
}

// Every format shows which steps have their own workspaces, and who merges, picks and lands.
func TestWorkspacesAreDrawn(t *testing.T) {
	w, found := syntax.Parse("w.yml", []byte("name: w\nsteps:\n  - {id: a, agent: coder, workspace: own}\n  - {id: m, merge: {pick: {agent: judge}}}\n  - {id: n, merge: {on_conflict: human}}\n  - {id: s, land: patch}\n"))
	if found.Errors() {
		t.Fatal(found)
	}
	svg, err := draw.SVG(t.Context(), w, draw.Fold{})
	if err != nil {
		t.Fatal(err)
	}
	for format, drawn := range map[string]string{"tree": draw.Tree(w), "mermaid": draw.Mermaid(w), "dot": draw.DOT(w), "plantuml": draw.PlantUML(w), "svg": svg} {
		for _, want := range []string{"coder, own workspace", "pick by judge", "merge, conflicts to a person", "land: patch"} {
			if !strings.Contains(drawn, want) {
				t.Errorf("%s does not show %q:\n%s", format, want, drawn)
			}
		}
	}
}
