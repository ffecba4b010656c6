package workflow_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hocket-dev/hocket/workflow"
)

func TestDiagnosticsAreSorted(t *testing.T) {
	at := func(file string, line, column int, summary string) workflow.Diagnostic {
		return workflow.Errorf(workflow.Pos{File: file, Line: line, Column: column}, "code", "", "%s", summary)
	}
	ds := workflow.Diagnostics{at("b", 1, 1, "x"), at("a", 2, 1, "x"), at("a", 1, 9, "y"), at("a", 1, 9, "x"), at("a", 1, 2, "z"), at("a", 1, 9, "x")}
	const want = "a:1:2: error[code]: z\na:1:9: error[code]: x\na:1:9: error[code]: y\na:2:1: error[code]: x\nb:1:1: error[code]: x"
	if got := ds.Sort().String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDiagnosticsAsText(t *testing.T) {
	for want, d := range map[string]workflow.Diagnostic{
		"a.yml:3:4: warning[code]: x is 1; fix it": workflow.Warningf(workflow.Pos{File: "a.yml", Line: 3, Column: 4}, "code", "fix it", "x is %d", 1),
		"3:4: note[code]: x":                       workflow.Notef(workflow.Pos{Line: 3, Column: 4}, "code", "", "x"),
		"a.yml: error[code]: x":                    workflow.Errorf(workflow.Pos{File: "a.yml"}, "code", "", "x"),
		"step 3: error[code]: x":                   workflow.Errorf(workflow.Pos{Part: "step 3", Line: 3}, "code", "", "x"),
		"error[code]: x":                           workflow.Errorf(workflow.Pos{}, "code", "", "x"),
	} {
		if got := d.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestNotesAreNotMistakes(t *testing.T) {
	note, warning, mistake := workflow.Notef(workflow.Pos{}, "n", "", "n"), workflow.Warningf(workflow.Pos{}, "w", "", "w"), workflow.Errorf(workflow.Pos{}, "e", "", "e")
	all := workflow.Diagnostics{note, warning, mistake}
	if got := all.Mistakes(); !slices.Equal(got, workflow.Diagnostics{warning, mistake}) || all[0] != note {
		t.Errorf("mistakes: %v, of %v", got, all)
	}
	if (workflow.Diagnostics{note, warning}).Errors() || !all.Errors() {
		t.Error("an error keeps a workflow from running, and nothing else does")
	}
}

func TestNear(t *testing.T) {
	pos := workflow.Pos{File: "a.yml", Line: 1, Column: 2, EndLine: 1, EndColumn: 7}
	words := []string{"agent", "prompt", "parallel_group"}
	for written, want := range map[string]string{
		"agnet":    `did you mean "agent"?; agnet becomes agent`,
		"parallel": `did you mean "parallel_group"?;  becomes `, // perhaps: a person decides
		"zzz":      `keep;  becomes `,
	} {
		d := workflow.Errorf(pos, "c", "keep", "unknown").Near(written, words)
		if got := fmt.Sprintf("%s; %s becomes %s", d.Detail, d.Change.Was, d.Change.Text); got != want || d.Change.Text != "" && d.Change.At != pos {
			t.Errorf("%s: %s at %v, want %s", written, got, d.Change.At, want)
		}
	}
}

// Lines that a fix adds have the line endings of the file.
func TestFixesKeepLineEnds(t *testing.T) {
	for text, want := range map[string]string{"a: b\r\nc: d\r\n": "x\r\ny\r\n", "a: b\nc: d\r\n": "x\r\ny\n", "a": "x\r\ny\n", "\r\nc": "x\r\ny\r\n", "\nc": "x\r\ny\n"} {
		for _, file := range []string{"f", "other"} {
			ds := workflow.Diagnostics{{Pos: workflow.Pos{File: file}, Fix: &workflow.Fix{Edits: []workflow.Edit{{Text: "x\r\ny\n"}}}}, {}}
			ds.Place("f", []byte(text))
			if got := ds[0].Fix.Edits[0].Text; file == "f" && got != want || file != "f" && got != "x\r\ny\n" {
				t.Errorf("%q in %s: %q, want %q", text, file, got, want)
			}
		}
	}
}
