package hocket

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/workspace"
)

// The name of a file cannot look like a line of a question.
func TestPathsStayOnTheirLine(t *testing.T) {
	d := workspace.Diff{Files: []workspace.File{{Path: "ä b.go"}, {Path: "x\n\nchange 00"}, {Path: "caf\xe9"}}}
	if got, want := strings.Join(paths(d), ", "), `ä b.go, "x\n\nchange 00", "caf\xe9"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
