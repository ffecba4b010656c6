package hocket

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/workspace"
)

// The name of a file cannot look like another part of a question.
func TestFilesOfLongDiff(t *testing.T) {
	d := workspace.Diff{Truncated: true, Files: []workspace.File{
		{Path: "ä b.go", Status: workspace.Modified}, {Path: "x\n\nchange 00", Status: workspace.Added}, {Path: "caf\xe9", From: "a, b", Status: workspace.Renamed},
		{Path: "zz, and 0 more", Status: workspace.Deleted}, {Path: "src/new.go", From: "src/old.go", Status: workspace.Renamed},
	}}
	want := `modified "ä b.go"
added "x\n\nchange 00"
renamed "caf\xe9" from "a, b"
deleted "zz, and 0 more"
renamed src/new.go from src/old.go
`
	if got := fileList(d); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	q := (&attemptAt{}).landQuestion(workspace.Landing{Run: "fix-3k7q", How: workspace.AsPatch}, workspace.Plan{Diff: d})
	if !strings.Contains(q.Detail, "hocket diff fix-3k7q shows all") || !strings.Contains(q.Detail, want) {
		t.Errorf("the question has\n%s", q.Detail)
	}
	d.Files = make([]workspace.File, 1234)
	if got := fileList(d); !strings.HasSuffix(got, "\n… and 234 more\n") {
		t.Errorf("many files end with %.80q", got[len(got)-40:])
	}
}
