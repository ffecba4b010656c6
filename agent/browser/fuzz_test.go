package browser

import (
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

func FuzzSettings(f *testing.F) {
	f.Add(`{"url": "https://a/", "extract": {"a": "h1", "b": {"selector": "p", "all": true}}}`)
	f.Add(`{"steps": [{"open": "http://a"}, {"click": {"text": "x"}}, {"type": {"selector": "a", "text": 3}}, "links", {"screenshot": "a.png"}, {"wait": {"time": "1s"}}, "back"]}`)
	f.Add(`{"steps": [{"text": {"as": "a"}}, {"text": "\"}"}], "private_network": ["a"], "timeout": "0s", "max_output_kb": 1}`)
	b := New(Options{})
	f.Fuzz(func(t *testing.T, text string) {
		v, err := workflow.ParseJSON([]byte(text))
		written, ok := v.(map[string]any)
		if err != nil || !ok {
			return
		}
		plan, err := b.plan(&agent.Task{Settings: written})
		if err != nil {
			return
		}
		for _, s := range plan.steps {
			if _, known := shortForm[s.Action]; !known || s.patience <= 0 {
				t.Errorf("%s became the step %+v", text, s)
			}
		}
	})
}
