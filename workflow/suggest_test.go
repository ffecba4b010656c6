package workflow_test

import (
	"testing"

	"github.com/hocket-dev/hocket/workflow"
)

func TestNearest(t *testing.T) {
	for _, c := range []struct {
		written string
		names   []string
		want    string
	}{
		{"wirter", []string{"reader", "writer"}, "writer"},
		{"Writer", []string{"writer"}, "writer"},
		{"größe", []string{"grösse", "klein"}, "grösse"},
		{"判定フロー", []string{"A", "B"}, ""},
		{"判定フロー", []string{"判定フロ", "B"}, "判定フロ"},
		{"entirely", []string{"different"}, ""},
		{"rep", []string{"mcp", "llm"}, ""},
		{"Linter", []string{"lint", "go-linter"}, "lint"},
		{"Linter", []string{"go-linter"}, "go-linter"},
		{"nam", []string{"name"}, "name"},
		{"x", []string{"y", "X"}, "X"},
	} {
		if got := workflow.Nearest(c.written, c.names); got != c.want {
			t.Errorf("%s: %q, not %q", c.written, got, c.want)
		}
	}
}
