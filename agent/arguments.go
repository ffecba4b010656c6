package agent

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// DecodeArguments decodes the arguments of a tool call into a struct, by its JSON tags. The
// caller checked them against the tool's schema, but may have been wrong.
func DecodeArguments(args map[string]any, into any) error {
	dec := json.NewDecoder(strings.NewReader(workflow.FormatJSON(args)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return errors.New("invalid arguments for the tool: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}
