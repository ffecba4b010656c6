package mcp_test

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/agenttest"
	"github.com/hocket-dev/hocket/agent/mcp"
)

func TestServerObeysWriteLimit(t *testing.T) {
	if why := agent.WriteLimits(); why != "" {
		t.Skip(why)
	}
	server := program(t, "tools")
	server.Command = []string{"sh", "-c", "(" + agenttest.Writes + ") >/dev/null\nexec " + server.Command[0]}
	task := &agent.Task{
		Key: t.Name(), Dir: agenttest.Project(t), Writes: &agent.WriteLimit{Only: []string{"out"}}, Agent: &agent.Definition{},
		Settings: map[string]any{"server": "test", "tool": "add", "arguments": map[string]any{"a": 1, "b": 2}},
	}
	m := mcp.New(func([]string) ([]agent.Server, error) { return []agent.Server{server}, nil }, mcp.Options{})
	if r, err := m.Run(t.Context(), task, func([]byte) {}); err != nil || r.Output != `{"sum":3}` {
		t.Errorf("%q, %v", r.Output, err)
	}
	agenttest.CheckWrites(t, task.Dir)
	server.Command = []string{"/nonesuch"}
	if _, err := m.Run(t.Context(), task, func([]byte) {}); err == nil || !strings.Contains(err.Error(), `program "/nonesuch" not found`) {
		t.Error(err)
	}
}
