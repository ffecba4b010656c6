package check

import "github.com/hocket-dev/hocket/workflow"

// What planners ask for under `watch` is kept, so that a conversion does not lose
// it, but there is no agent that could carry it out.
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
			p.errorf(placeOr(t.SettingsPos["watch"], n.Pos), "let the step look once, or start the workflow when it happens",
				"%q watches for %q events, which no agent can", n.ID, event)
		}
	},
}

// watched is the first event that a setting asks to watch. An agent may have a
// setting of that name that means something else.
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
