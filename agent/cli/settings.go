package cli

import (
	"encoding/json"
	"slices"

	"github.com/hocket-dev/hocket/agent"
)

// defaultOutputKB limits the answer of a task that sets no limit.
const defaultOutputKB = 1024

type settings struct {
	Model       string                `json:"model"`
	MaxTurns    int                   `json:"max_turns"`
	Effort      string                `json:"effort"`
	Temperature json.Number           `json:"temperature"`
	TopP        json.Number           `json:"top_p"`
	Args        []agent.Text          `json:"args"`
	Env         map[string]agent.Text `json:"env"`
	Dir         string                `json:"dir"`
	Program     string                `json:"program"`
	AnyVersion  bool                  `json:"any_version"`
	MaxOutputKB int                   `json:"max_output_kb"`
}

// schema describes the settings of a CLI task.
func schema() map[string]any {
	scalar := map[string]any{"type": []any{"string", "number", "boolean"}}
	return map[string]any{
		"type":                 "object",
		"additionalProperties": false,
		"properties": map[string]any{
			"model":       map[string]any{"description": "The model. Default: the agent's, otherwise the CLI's.", "type": "string", "minLength": 1},
			"max_turns":   map[string]any{"description": "Maximum number of model responses. Default: the agent's, otherwise the CLI's.", "type": "integer", "minimum": 1},
			"effort":      map[string]any{"description": "Reasoning effort of the model, as the CLI names it, such as high.", "type": "string", "minLength": 1},
			"temperature": map[string]any{"description": "Sampling temperature of the model.", "type": "number", "minimum": 0, "maximum": 2},
			"top_p":       map[string]any{"description": "Nucleus sampling threshold (top_p).", "type": "number", "minimum": 0, "maximum": 1},
			"args":        map[string]any{"description": "Additional arguments for the CLI.", "type": "array", "items": scalar},
			"env": map[string]any{
				"description": "Environment variables.", "type": "object", "additionalProperties": scalar,
				"propertyNames": map[string]any{"description": "letters, digits and _, and does not begin with a digit", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
			},
			"dir":           agent.PathInside("Working directory, relative to the project."),
			"program":       map[string]any{"description": "The program, if it is not on the PATH.", "type": "string", "minLength": 1},
			"any_version":   map[string]any{"description": "Skip the check for an outdated version.", "type": "boolean"},
			"max_output_kb": map[string]any{"description": "Maximum size of the answer, in KiB. Default: 1024.", "type": "integer", "minimum": 1, "maximum": 1 << 20},
		},
	}
}

// strict reports whether a schema meets OpenAI's requirements: every object lists all of
// its members and requires them.
func strict(schema any) bool {
	switch s := schema.(type) {
	case []any:
		return !slices.ContainsFunc(s, func(v any) bool { return !strict(v) })
	case map[string]any:
		if properties, isObject := s["properties"].(map[string]any); isObject || s["type"] == "object" {
			required, _ := s["required"].([]any)
			if s["additionalProperties"] != false || len(required) != len(properties) {
				return false
			}
		}
		for _, value := range s {
			if !strict(value) {
				return false
			}
		}
	}
	return true
}
