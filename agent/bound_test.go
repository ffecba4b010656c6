package agent_test

import (
	"testing"

	"github.com/hocket-dev/hocket/agent"
)

// thrifty is a talker that enforces limits on money and not on tokens.
var thrifty = talker(func(t *agent.Traits) {
	t.Unbounded = func(task *agent.Task, most agent.Budget) string {
		if most.MaxTokens > 0 || task.Settings[agent.SessionSetting] != nil {
			return "it does not count"
		}
		return ""
	}
})

func TestBound(t *testing.T) {
	half := agent.Budget{MaxCostUSD: 0.5}
	set := agent.NewSet(map[string]agent.Executor{"claude": thrifty, "codex": talker(), "shell": exact, "mcp": plain}, nil, "")
	for _, c := range []struct {
		executor string
		settings map[string]any
		most     agent.Budget
		bound    agent.Budget
		free     bool
		why      string
	}{
		{"claude", nil, half, half, false, ""},
		{"claude", map[string]any{agent.SessionSetting: "s"}, half, half, false, ""},
		{"claude", nil, agent.Budget{MaxTokens: 9}, half, false, "it does not count"},
		{"codex", nil, half, half, false, "codex does not enforce budgets"},
		{"codex", nil, agent.Budget{}, half, false, ""},
		{"nobody", nil, half, half, false, "nobody does not enforce budgets"},
		{"mcp", nil, half, agent.Budget{}, true, ""},
		{"shell", map[string]any{"command": "ls"}, half, agent.Budget{}, true, ""},
		{"shell", nil, half, half, false, "shell does not enforce budgets"},
	} {
		d := &agent.Definition{Name: "x", Agent: c.executor, Budget: half}
		if bound, free := set.Bound(d, c.settings); bound != c.bound || free != c.free {
			t.Errorf("%s with %v is bound by %v, free %t", c.executor, c.settings, bound, free)
		}
		if why := set.Unbounded(d, c.settings, c.most); why != c.why {
			t.Errorf("%s within %v: %q", c.executor, c.most, why)
		}
	}
}

// The smaller of two budgets holds, of each kind; the definition itself stays as it is.
func TestWithin(t *testing.T) {
	for _, c := range []struct{ own, most, want agent.Budget }{
		{agent.Budget{}, agent.Budget{}, agent.Budget{}},
		{agent.Budget{}, agent.Budget{MaxCostUSD: 1, MaxTokens: 9}, agent.Budget{MaxCostUSD: 1, MaxTokens: 9}},
		{agent.Budget{MaxCostUSD: 0.5, MaxTokens: 20}, agent.Budget{MaxCostUSD: 1, MaxTokens: 9}, agent.Budget{MaxCostUSD: 0.5, MaxTokens: 9}},
		{agent.Budget{MaxCostUSD: 0.5}, agent.Budget{}, agent.Budget{MaxCostUSD: 0.5}},
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

func TestBudgetText(t *testing.T) {
	for want, b := range map[string]agent.Budget{"": {}, "$0.50": {MaxCostUSD: 0.5}, "9 tokens": {MaxTokens: 9}, "$0.004 and 9 tokens": {MaxCostUSD: 0.004, MaxTokens: 9}} {
		if b.String() != want {
			t.Errorf("%+v is %q", b, b)
		}
	}
}
