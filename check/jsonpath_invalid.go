package check

import (
	"strings"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/extract"
)

var jsonpathInvalid = rule{
	code:     "jsonpath-invalid",
	severity: workflow.Error,
	summary:  "the JSONPath of an output does not parse",
	node: func(p *pass, n *node) {
		if n.Output.Mode != workflow.JSONPath || n.Output.Pattern == "" {
			return
		}
		if _, err := extract.New(workflow.Output{Mode: workflow.JSONPath, Pattern: n.Output.Pattern}); err != nil {
			p.errorf(placeOr(n.Output.Places().Pattern, p.outputPos(n)), reason(err), "the path of %q is not a valid JSONPath", n.ID)
		}
	},
}

// reason returns an error of extract as a hint.
func reason(err error) string {
	return strings.TrimPrefix(err.Error(), "extract: ")
}
