package check

import (
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/extract"
)

var schemaInvalid = rule{
	code:     "schema-invalid",
	severity: workflow.Error,
	summary:  "the schema of an output is not a valid JSON Schema",
	workflow: func(p *pass) {
		known := make(map[string]error) // many nodes share a schema, and compiling one is slow
		for _, n := range p.index.nodes {
			if n.Output.Schema == nil {
				continue
			}
			text := workflow.FormatJSON(n.Output.Schema)
			err, ok := known[text]
			if !ok {
				_, err = extract.New(workflow.Output{Mode: workflow.JSON, Schema: n.Output.Schema})
				known[text] = err
			}
			if err != nil {
				p.errorf(placeOr(n.Output.Places().Schema, p.outputPos(n)), reason(err), "the schema of %q is not a valid JSON Schema", n.ID)
			}
		}
	},
}
