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
	const heading = "… the diff is longer. Not completely shown (5 of 5 files):\n"
	if got := unshown(d, ""); got != heading+want {
		t.Errorf("%s, want %s", got, heading+want)
	}
	q := (&attemptAt{}).landQuestion(workspace.Landing{Run: "fix-3k7q", How: workspace.AsPatch}, workspace.Plan{Diff: d})
	if !strings.Contains(q.Detail, "`hocket diff fix-3k7q` shows all") || !strings.Contains(q.Detail, want) {
		t.Errorf("the question has\n%s", q.Detail)
	}
	d.Files = make([]workspace.File, 1234)
	if got := unshown(d, ""); !strings.HasSuffix(got, "\n… and 234 more\n") {
		t.Errorf("many files end with %.80q", got[len(got)-40:])
	}
}

// Only the files are listed that the beginning of a diff does not show completely.
func TestUnshownFiles(t *testing.T) {
	files := []workspace.File{{Path: "a", Status: workspace.Modified}, {Path: "b", Status: workspace.Retyped}, {Path: "c", Status: workspace.Added}, {Path: "d", Status: workspace.Added}}
	const a, b, c = "diff --git a/a b/a\n+diff --git a/x b/x\n", "diff --git a/b b/b\n-x\ndiff --git a/b b/b\n+y\n", "diff --git a/c b/c\n"
	for patch, want := range map[string]string{
		"":                                  "(4 of 4 files):\nmodified a\n",
		a:                                   "(4 of 4 files):\nmodified a\n",
		a + b[:20]:                          "(3 of 4 files):\n",
		a + b:                               "(3 of 4 files):\n",
		a + b + c:                           "(2 of 4 files):\nadded c\nadded d\n",
		a + b + c + "diff --git a/d b/d\n+": "(1 of 4 files):\nadded d\n",
	} {
		if got := unshown(workspace.Diff{Truncated: true, Files: files, Patch: patch}, ""); !strings.Contains(got, want) {
			t.Errorf("after %q: %s, want %s", patch, got, want)
		}
	}
	if got := unshown(workspace.Diff{Files: files}, ""); got != "" {
		t.Errorf("of a complete diff: %s", got)
	}
}
