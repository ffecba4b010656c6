package hocket

import (
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// TestVouched: a worker does what the workflow says, with whatever values, and nothing else.
func TestVouched(t *testing.T) {
	task := &workflow.Task{Agent: "shell", Settings: map[string]any{"command": "echo a", "dir": "${inputs.dir}", "n": 5}}
	v := vouched{bundle: &workflow.Bundle{Root: &workflow.Workflow{Name: "w", Body: workflow.Graph{Nodes: []workflow.Node{{ID: "a", Step: task}}}}}}
	for _, c := range []struct {
		workflow, node, agent string
		settings              map[string]any
		want                  bool
	}{
		{"w", "a", "shell", map[string]any{"command": "echo a", "dir": "/tmp", "n": 5.0}, true},
		{"w", "a", "shell", nil, true},
		{"w", "a", "shell", map[string]any{"command": "touch x"}, false},
		{"w", "a", "shell", map[string]any{"command": "echo a", "env": map[string]any{"PATH": "x"}}, false},
		{"w", "a", "other", map[string]any{"command": "echo a"}, false},
		{"w", "b", "shell", map[string]any{"command": "echo a"}, false},
		{"handoff", "h", "shell", map[string]any{"command": "echo a"}, false},
		{"handoff", "h", "runner", map[string]any{agent.HandoffSetting: map[string]any{"x": 1}}, true},
		{"handoff", "h", "runner", nil, true},
	} {
		got := v.describes(&engine.StartTask{Place: &engine.Place{Workflow: c.workflow, Node: c.node, Agent: c.agent}, Settings: c.settings})
		if got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
