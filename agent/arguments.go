package agent

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// DecodeArguments puts the arguments of a call of a tool into a struct by its JSON
// tags. They were checked against the schema of the tool, by a caller that may have
// been wrong.
func DecodeArguments(args map[string]any, into any) error {
	dec := json.NewDecoder(strings.NewReader(workflow.FormatJSON(args)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return errors.New("the arguments do not fit the tool: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}
