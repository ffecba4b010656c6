package yaml

import (
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// Fmt lays a workflow file out in the canonical way and keeps its words, order
// and comments. A file with errors comes back as it is, with its diagnostics.
func Fmt(file string, text []byte) ([]byte, workflow.Diagnostics) {
	_, found := Parse(file, text)
	if found.Errors() {
		return text, found
	}
	return layOut(text), found
}

// layOut sets the steps apart from each other by blank lines.
func layOut(text []byte) []byte { return strictyaml.Layout(text, "steps") }
