package check

import "github.com/hocket-dev/hocket/workflow"

// watchUnsupported reports `watch`, which some planners write. It is read, so that a conversion
// does not lose it, but no agent supports it.
var watchUnsupported = rule{
	code:     "watch-unsupported",
	severity: workflow.Error,
	summary:  "a step waits for events, which is not supported",
	node: func(p *pass, n *node) {
		t := n.Task()
		if t == nil {
			return
		}
		if event, ok := watched(t.Settings["watch"]); ok {
			p.errorf(placeOr(t.SettingsPos["watch"], n.Pos), "let the step check once, or start the workflow when the event happens",
				"%q watches for %q events, which no agent supports", n.ID, event)
		}
	},
}

// watched returns the first event that a setting asks to watch. An agent may have a setting with
// that name that means something else.
func watched(setting any) (event string, ok bool) {
	if list, isList := setting.([]any); isList && len(list) > 0 {
		setting = list[0]
	}
	object, _ := setting.(map[string]any)
	if _, hasSteps := object["then"]; !hasSteps {
		return "", false
	}
	event, ok = object["event"].(string)
	return event, ok
}
