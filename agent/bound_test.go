package agent_test

import (
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// thrifty is a talker that enforces limits on money but not on tokens.
var thrifty = talker(func(t *agent.Traits) {
	t.Unbounded = func(task *agent.Task, most workflow.Budget) string {
		if most.Tokens != (workflow.Bound{}) || task.Settings[agent.SessionSetting] != nil {
			return "it does not count"
		}
		return ""
	}
})

func TestBound(t *testing.T) {
	half := workflow.Budget{CostUSD: workflow.AtMost(0.5)}
	set := agent.NewSet(map[string]agent.Executor{"claude": thrifty, "codex": talker(), "shell": exact, "mcp": plain}, nil, "")
	for _, c := range []struct {
		executor string
		settings map[string]any
		most     workflow.Budget
		bound    workflow.Budget
		why      string
	}{
		{"claude", nil, half, half, ""},
		{"claude", map[string]any{agent.SessionSetting: "s"}, half, half, ""},
		{"claude", nil, workflow.Budget{Tokens: workflow.AtMost(9)}, half, "it does not count"},
		{"codex", nil, half, half, "codex does not enforce budgets"},
		{"codex", nil, workflow.Budget{}, half, ""},
		{"nobody", nil, half, half, "nobody does not enforce budgets"},
		{"mcp", nil, half, workflow.Free, ""},
		{"shell", map[string]any{"command": "ls"}, half, workflow.Free, ""},
		{"shell", nil, half, half, "shell does not enforce budgets"},
	} {
		d := &agent.Definition{Name: "x", Agent: c.executor, Budget: half}
		if bound := set.Bound(d, c.settings); bound != c.bound {
			t.Errorf("%s with %v is bound by %v", c.executor, c.settings, bound)
		}
		if why := set.Unbounded(d, c.settings, c.most); why != c.why {
			t.Errorf("%s within %v: %q", c.executor, c.most, why)
		}
	}
}

// The smaller of two budgets applies, for each kind; the definition itself is not
// changed.
func TestWithin(t *testing.T) {
	for _, c := range []struct{ own, most, want workflow.Budget }{
		{workflow.Budget{}, workflow.Budget{}, workflow.Budget{}},
		{workflow.Budget{}, workflow.Budget{CostUSD: workflow.AtMost(1), Tokens: workflow.AtMost(9)}, workflow.Budget{CostUSD: workflow.AtMost(1), Tokens: workflow.AtMost(9)}},
		{workflow.Budget{CostUSD: workflow.AtMost(0.5), Tokens: workflow.AtMost(20)}, workflow.Budget{CostUSD: workflow.AtMost(1), Tokens: workflow.AtMost(9)}, workflow.Budget{CostUSD: workflow.AtMost(0.5), Tokens: workflow.AtMost(9)}},
		{workflow.Budget{}, workflow.Free, workflow.Budget{}}, // a free task has no budget to enforce
		{workflow.Budget{CostUSD: workflow.AtMost(0.5)}, workflow.Budget{}, workflow.Budget{CostUSD: workflow.AtMost(0.5)}},
	} {
		d := &agent.Definition{Name: "x", Budget: c.own}
		held := d.Within(c.most)
		if held.Budget != c.want || held.Name != "x" || d.Budget != c.own {
			t.Errorf("%v within %v is %v", c.own, c.most, held.Budget)
		}
		if same := held == d; same != (c.want == c.own) {
			t.Errorf("%v within %v is the same definition: %t", c.own, c.most, same)
		}
	}
}
