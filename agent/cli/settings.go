package cli

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// defaultOutputKB bounds the answer of a task that names no bound.
const defaultOutputKB = 1024

type settings struct {
	Model       string                `json:"model"`
	MaxTurns    int                   `json:"max_turns"`
	Args        []agent.Text          `json:"args"`
	Env         map[string]agent.Text `json:"env"`
	Dir         string                `json:"dir"`
	Program     string                `json:"program"`
	AnyVersion  bool                  `json:"any_version"`
	MaxOutputKB int                   `json:"max_output_kb"`
}

// Settings is the schema of what a task of a CLI can be given besides its prompt.
func (*Executor) Settings() map[string]any {
	scalar := map[string]any{"type": []any{"string", "number", "boolean"}}
	return map[string]any{
		"type":                 "object",
		"additionalProperties": false,
		"properties": map[string]any{
			"model":     map[string]any{"description": "The model. Default: that of the agent, else the CLI's own.", "type": "string", "minLength": 1},
			"max_turns": map[string]any{"description": "Most answers of the model. Default: that of the agent, else the CLI's own.", "type": "integer", "minimum": 1},
			"args":      map[string]any{"description": "Further arguments for the CLI.", "type": "array", "items": scalar},
			"env": map[string]any{
				"description": "Environment variables.", "type": "object", "additionalProperties": scalar,
				"propertyNames": map[string]any{"description": "letters, digits and _, and begins with no digit", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
			},
			"dir":           agent.PathInside("Working directory, relative to the project."),
			"program":       map[string]any{"description": "The program, where it is not on the PATH.", "type": "string", "minLength": 1},
			"any_version":   map[string]any{"description": "Try a version that is older than those known to work.", "type": "boolean"},
			"max_output_kb": map[string]any{"description": "Most that the answer may hold, in KiB. Default: 1024.", "type": "integer", "minimum": 1, "maximum": 1 << 20},
		},
	}
}

// permissions are what an agent may do.
type permissions struct {
	mode  Mode // "" the manifest knows no modes
	allow []any
	deny  []any
}

// Permits says why the CLI cannot keep to permissions.
func (x *Executor) Permits(written map[string]any) error {
	_, err := x.m().permit(written)
	return err
}

// permit reads the permissions of a definition: mode, allow and deny. A mode that the
// CLI cannot keep to is an error: the author relies on it.
func (m *Manifest) permit(written map[string]any) (permissions, error) {
	p := permissions{}
	known := []string{"mode", "allow", "deny"}
	for _, key := range sortedKeys(written) {
		if !slices.Contains(known, key) {
			return p, agent.Permanentf("permissions: unknown key %q; the keys are %s", key, strings.Join(known, ", "))
		}
	}
	if mode, given := written["mode"]; given {
		text, _ := mode.(string)
		p.mode = Mode(text)
		if !slices.Contains([]Mode{ReadOnly, Edit, Full, AskFirst}, p.mode) {
			return p, agent.Permanentf("permissions: mode is read-only, edit, full or ask, not %s", workflow.FormatJSON(mode))
		}
		if _, can := m.permissions[p.mode]; !can && (p.mode != AskFirst || m.acp == nil) {
			return p, agent.Permanentf("%s has no way to keep to the permissions %q; its modes are %s", m.Name, p.mode, m.modes())
		}
	} else if _, can := m.permissions[Edit]; can {
		p.mode = Edit
	}
	var err error
	if p.allow, err = m.list(written, "allow"); err == nil {
		p.deny, err = m.list(written, "deny")
	}
	return p, err
}

func (m *Manifest) modes() string {
	var names []string
	for _, mode := range []Mode{ReadOnly, Edit, Full} {
		if _, can := m.permissions[mode]; can {
			names = append(names, string(mode))
		}
	}
	if m.acp != nil {
		names = append(names, string(AskFirst))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// list is a list of the CLI's own words for what it may do.
func (m *Manifest) list(written map[string]any, key string) ([]any, error) {
	value, given := written[key]
	if !given || value == nil {
		return nil, nil
	}
	list, isList := value.([]any)
	for _, entry := range list {
		if text, isText := entry.(string); !isText || text == "" {
			isList = false
		}
	}
	if !isList {
		return nil, agent.Permanentf("permissions: %s is a list of texts, in the words of %s", key, m.Name)
	}
	if len(list) > 0 && !m.uses[key] {
		return nil, agent.Permanentf("%s knows no list of what to %s; leave `permissions.%s` out, or choose a mode", m.Name, key, key)
	}
	return list, nil
}

// strict says whether a schema keeps to what OpenAI asks of one: every object names all
// of its members, and requires them.
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
