package extract

import (
	"errors"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/hocket-dev/hocket/workflow"
)

// Schema is a JSON Schema that stands alone, for values that are no outputs. It is
// safe for concurrent use.
type Schema struct{ compiled *jsonschema.Schema }

// Compile prepares a JSON Schema. An error is a mistake in it.
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

// Mistakes says where a value does not match: what was expected and what was found,
// a line each. None: it matches.
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
