package draw_test

import (
	"testing"

	"github.com/hocket-dev/hocket/draw"
	"github.com/hocket-dev/hocket/syntax"
)

// A tree shows the texts in the boxes of a drawing, including a question that is also the title,
// and all steps that an exit of a loop leads to.
func TestTreeOfADrawing(t *testing.T) {
	tests := []struct{ file, text, want string }{
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
