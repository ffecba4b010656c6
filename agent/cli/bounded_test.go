package cli

import (
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// Which CLIs can enforce a budget is known before they run.
func TestUnbounded(t *testing.T) {
	usd, tokens := workflow.Budget{CostUSD: workflow.AtMost(0.5)}, workflow.Budget{Tokens: workflow.AtMost(500)}
	for _, c := range []struct {
		cli, mode string
		most      workflow.Budget
		want      string
	}{
		{"claude", "edit", usd, ""},
		{"claude", "ask", usd, "claude does not support a cost limit"},
		{"claude", "edit", tokens, "claude does not support a token limit"},
		{"codex", "edit", usd, "codex does not support a cost limit"},
		{"gemini", "edit", usd, "gemini does not support a cost limit"},
		{"gemini", "no such mode", usd, ""}, // the attempt itself fails
	} {
		task := &agent.Task{Agent: &agent.Definition{Permissions: map[string]any{"mode": c.mode}}}
		if got := New(Options{Builtin: c.cli}).unbounded(task, c.most); got != c.want {
			t.Errorf("%s in mode %s, within %s: %q", c.cli, c.mode, c.most, got)
		}
	}
}
