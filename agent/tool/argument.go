package tool

import (
	"slices"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// Argument parses the value of an input that a person wrote: as text if the tool expects
// text or any type, otherwise as JSON.
func (m *Manifest) Argument(name, text string) (any, error) {
	properties, _ := m.Inputs["properties"].(map[string]any)
	property, known := properties[name].(map[string]any)
	if !known && m.Inputs["additionalProperties"] == false {
		names := propertyNames(properties)
		hint := workflow.DidYouMean(name, names)
		if hint == "" {
			hint = "`hocket tools show " + m.Name + "` lists them"
		}
		return nil, agent.Permanentf("tool %s has no input %q; %s", m.Name, name, hint)
	}
	if wantsText(property["type"]) {
		return text, nil
	}
	value, err := workflow.ParseJSON([]byte(text))
	if err != nil {
		return nil, agent.Permanentf("input %q must be %s in JSON, not %q", name, workflow.FormatText(property["type"]), shorten(text))
	}
	return value, nil
}

func wantsText(kind any) bool {
	list, several := kind.([]any)
	return kind == nil || kind == "string" || several && slices.Contains(list, any("string"))
}
