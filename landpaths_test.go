package hocket

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/workspace"
)

// The name of a file cannot look like a line of a question.
func TestPathsStayOnTheirLine(t *testing.T) {
	d := workspace.Diff{Files: []workspace.File{{Path: "ä b.go"}, {Path: "x\n\nchange 00"}}}
	if got, want := strings.Join(paths(d), ", "), `ä b.go, "x\n\nchange 00"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
