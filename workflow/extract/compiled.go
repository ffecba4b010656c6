package extract

import (
	"errors"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/hocket-dev/hocket/workflow"
)

// Schema is a compiled JSON Schema for values that are not outputs of nodes. It is safe for
// concurrent use.
type Schema struct{ compiled *jsonschema.Schema }

// Compile compiles a JSON Schema. An error is a mistake in the schema.
func Compile(schema any) (*Schema, error) {
	doc, err := workflow.Normalize(schema)
	if err != nil {
		return nil, err
	}
	compiled, err := compileSchema(doc)
	if err != nil {
		return nil, err
	}
	return &Schema{compiled}, nil
}

// Mistakes returns where a value does not match the schema, one line for each mistake: what was
// expected and what was found. It returns nil if the value matches.
func (s *Schema) Mistakes(v any) []string {
	v, err := workflow.Normalize(v)
	if err != nil {
		return []string{err.Error()}
	}
	var wrong *jsonschema.ValidationError
	if err := validate(s.compiled, v); err == nil {
		return nil
	} else if !errors.As(err, &wrong) {
		return []string{err.Error()}
	}
	lines := findings(wrong, v)
	slices.Sort(lines)
	return lines
}
