package mermaid

import (
	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/workflow"
)

// Parse reads a flowchart. The chart holds what could be read even where
// problems were found.
func Parse(src *source.Text) (*Chart, workflow.Diagnostics) {
	return &Chart{Direction: "TB"}, nil
}
