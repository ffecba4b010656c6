package yaml

import (
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// Fmt formats a workflow file in the canonical style and keeps its words, order and comments. A
// file with errors is returned unchanged, with its diagnostics.
func Fmt(file string, text []byte) ([]byte, workflow.Diagnostics) {
	_, found := Parse(file, text)
	if found.Errors() {
		return text, found
	}
	return layOut(text), found
}

// layOut separates the steps by blank lines.
func layOut(text []byte) []byte { return strictyaml.Layout(text, "steps") }
