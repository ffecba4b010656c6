package view_test

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/internal/growth"
	"github.com/hocket-dev/hocket/workflow"
)

const source = `name: review
steps:
  - agent: scaner
	- agent: "日本" # tab
  - prompt: |
      Look at this.
`

func at4(line, col, endLine, endCol int) workflow.Pos {
	return workflow.Pos{File: "flow.yml", Line: line, Column: col, EndLine: endLine, EndColumn: endCol}
}

func draw(ds workflow.Diagnostics, style view.Style) string {
	return "\n" + view.Diagnostics(ds, func(string) []byte { return []byte(source) }, style)
}

func TestDiagnosticsPointAtTheirPlace(t *testing.T) {
	got := draw(workflow.Diagnostics{
		workflow.Errorf(at4(3, 12, 3, 18), "HK001", `did you mean "scanner"?`, `unknown agent "scaner"`),
		workflow.Warningf(at4(4, 12, 4, 14), "HK002", "first\nsecond", "wide"),
		workflow.Errorf(at4(5, 13, 6, 20), "HK003", "", "several lines"),
		workflow.Errorf(at4(1, 0, 1, 0), "", "", "a line without a column"),
		workflow.Errorf(workflow.Pos{File: "gone.yml"}, "HK004", "", "no place \x1b[31min the file"),
		workflow.Errorf(at4(99, 1, 99, 2), "HK005", "", "beyond the end"),
	}, view.Style{})
	same(t, got, `
error[HK001]: unknown agent "scaner"
 --> flow.yml:3:12
  |
3 |   - agent: scaner
  |            ^^^^^^
  = help: did you mean "scanner"?

warning[HK002]: wide
 --> flow.yml:4:12
  |
4 |     - agent: "日本" # tab
  |               ^^^^
  = help: first
          second

error[HK003]: several lines
 --> flow.yml:5:13
  |
5 |   - prompt: |
  |             ^

error: a line without a column
 --> flow.yml:1:0
  |
1 | name: review
  | ^

error[HK004]: no place in the file
 --> gone.yml

error[HK005]: beyond the end
  --> flow.yml:99:1

`)
}

func TestLongSourceLinesAreCutAroundTheMistake(t *testing.T) {
	long := "x: " + strings.Repeat("abcdefghij ", 30) + "HERE " + strings.Repeat("klmnopqrst ", 30)
	col := strings.Index(long, "HERE") + 1
	ds := workflow.Diagnostics{workflow.Errorf(workflow.Pos{File: "f", Line: 1, Column: col, EndLine: 1, EndColumn: col + 4}, "HK1", "", "s")}
	for width, most := range map[int]int{60: 60, 0: 120} { // 0: not a terminal
		got := view.Diagnostics(ds, func(string) []byte { return []byte(long) }, view.Style{Width: width})
		lines := strings.Split(got, "\n")
		if len(lines) < 5 || !strings.Contains(lines[3], "HERE") || strings.Index(lines[3], "HERE")-len("…")+1 != strings.Index(lines[4], "^^^^") {
			t.Errorf("the carets do not stand under the mistake:\n%s", got)
		}
		for _, l := range lines {
			if view.Width(l) > most {
				t.Errorf("%q is wider than %d columns", l, most)
			}
		}
	}
}

func TestColoursOnlyWhereWanted(t *testing.T) {
	ds := workflow.Diagnostics{workflow.Errorf(at4(3, 12, 3, 18), "HK001", "help", "s")}
	if got := draw(ds, view.Style{}); strings.Contains(got, "\x1b") {
		t.Errorf("colours in %q", got)
	}
	coloured := draw(ds, view.Style{Color: true})
	if !strings.Contains(coloured, "\x1b[1;31merror[HK001]\x1b[m") {
		t.Errorf("no red in %q", coloured)
	}
	same(t, view.Text(coloured), draw(ds, view.Style{}))
}

func TestTally(t *testing.T) {
	ds := workflow.Diagnostics{{Severity: workflow.Warning}, {Severity: workflow.Error}, {Severity: workflow.Error}}
	same(t, view.Tally(ds), "2 errors, 1 warning")
	same(t, view.Tally(nil), "")
}

// A workflow built by a program has no source lines to show.
func TestDiagnosticsOfBuiltWorkflows(t *testing.T) {
	pos := workflow.Pos{Part: "Essay: step 3 of the builder", Line: 3, EndLine: 3}
	got := draw(workflow.Diagnostics{workflow.Errorf(pos, "duplicate-id", "rename one of them", `id "a" is used twice`)}, view.Style{})
	same(t, got, `
error[duplicate-id]: id "a" is used twice
 --> Essay: step 3 of the builder
  = help: rename one of them

`)
}

func TestDrawingIsLinear(t *testing.T) {
	growth.Linear(t, 5000, func(n int) string { return strings.Repeat("\t", n) }, func(text string) {
		ds := workflow.Diagnostics{workflow.Errorf(workflow.Pos{Line: 1, Column: 1, EndLine: 1, EndColumn: len(text)}, "", "", "tabs")}
		view.Diagnostics(ds, func(string) []byte { return []byte(text) }, view.Style{})
	})
}
