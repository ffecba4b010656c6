package mcp_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/mcp"
	"github.com/hocket-dev/hocket/workflow"
)

func run(t *testing.T, settings string, inputs ...agent.Input) (string, error) {
	t.Helper()
	v, err := workflow.ParseJSON([]byte(settings))
	if err != nil {
		t.Fatal(err)
	}
	server := program(t, "tools")
	m := mcp.New(func(names []string) ([]agent.Server, error) {
		if names[0] == "tst" {
			return nil, errors.New("did you mean test?")
		}
		return []agent.Server{server}, nil
	}, mcp.Options{})
	task := &agent.Task{Agent: &agent.Definition{Name: "mcp", Builtin: true}, Settings: v.(map[string]any), Inputs: inputs, Dir: t.TempDir()}
	r, err := m.Run(t.Context(), task, func([]byte) {})
	return r.Output, err
}

func TestRunCallsOneTool(t *testing.T) {
	got, err := run(t, `{"server": "test", "tool": "add", "arguments": {"a": 2, "b": 40}}`)
	if err != nil || got != `{"sum":42}` {
		t.Errorf("%s, %v", got, err)
	}
	got, err = run(t, `{"server": "test", "tool": "add"}`, agent.Input{Name: "a", Value: 1}, agent.Input{Name: "b", Value: 1})
	if err != nil || got != `{"sum":2}` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestRunFails(t *testing.T) {
	for _, c := range []struct {
		settings, want string
		kind           agent.Kind
		permanent      bool
	}{
		{`{"server": "test"}`, `settings: setting "tool" is missing`, agent.Failed, true},
		{`{"server": "tst", "tool": "add"}`, "did you mean test?", agent.Failed, true},
		{`{"server": "other", "tool": "add"}`, `unknown MCP server "other"`, agent.Failed, true},
		{`{"server": "test", "tool": "sub"}`, `MCP server "test" has no tool "sub"`, agent.Failed, true},
		{`{"server": "test", "tool": "never", "timeout": "100ms"}`, "within 100ms", agent.TimedOut, false},
		{`{"server": "test", "tool": "never", "timeout": "0s"}`, "is not a duration", agent.Failed, true},
		{`{"server": "test", "tool": "huge"}`, "the result exceeds 1024 KiB; ask for less, or raise max_output_kb", agent.Failed, true},
		{`{"server": "test", "tool": "fail"}`, "fail failed: no such row", agent.Failed, false},
	} {
		_, err := run(t, c.settings)
		var failed *agent.Error
		if !errors.As(err, &failed) || !strings.Contains(failed.Message, c.want) || failed.Kind != c.kind || failed.Permanent != c.permanent {
			t.Errorf("%s\ngot  %#v\nwant %s", c.settings, err, c.want)
		}
	}
	m := mcp.New(nil, mcp.Options{})
	_, err := m.Run(t.Context(), &agent.Task{Settings: map[string]any{"server": "a", "tool": "b"}}, nil)
	if err == nil || !strings.Contains(err.Error(), "add it under `mcp` in config.yml") {
		t.Error(err)
	}
}
