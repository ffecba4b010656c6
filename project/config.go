package project

import (
	"time"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// Config is what a project sets for all its workflows, in config.yml.
type Config struct {
	// Agent does the tasks that name none. "": such a task is a mistake.
	Agent string
	// Limits are those of a run whose workflow sets none of its own.
	Limits workflow.Limits
	// Generated are the limits of a workflow that was made by an AI.
	Generated workflow.Limits
}

// defaultConfig is what holds where config.yml says nothing.
func defaultConfig() Config {
	return Config{
		Limits:    check.Defaults(),
		Generated: workflow.Limits{Steps: 10, Parallel: 3, Depth: 1, Runtime: 5 * time.Minute},
	}
}

// readConfig reads a config.yml. What is wrong with it is in the diagnostics,
// what is right counts.
func readConfig(file string, text []byte) (Config, workflow.Diagnostics) {
	c := defaultConfig()
	doc := strictyaml.Read(file, text)
	root := doc.Root().Map()
	c.Agent = root.Name("agent")
	w := root.Map("workflows")
	c.Limits = check.Override(c.Limits, workflow.Limits{Depth: w.Int("max_depth", 1)})
	c.Limits = check.Override(c.Limits, readBudgets(w.Map("budgets")))
	c.Generated = check.Override(c.Generated, readBudgets(w.Map("ai_generated_budgets")))
	w.Done()
	root.Done()
	return c, doc.Diagnostics()
}

func readBudgets(m *strictyaml.Map) workflow.Limits {
	l := workflow.Limits{
		Steps:    m.Int("max_steps", 1),
		Parallel: m.Int("max_parallel", 1),
		Runtime:  time.Duration(m.Float("max_runtime_mins") * float64(time.Minute)),
		CostUSD:  m.Float("max_cost_usd"),
		Tokens:   m.Get("max_tokens").Int(1),
	}
	m.Done()
	return l
}
