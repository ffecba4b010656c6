package agent

import "github.com/hocket-dev/hocket/workflow"

// Bound returns the most that one attempt of an agent may use according to its definition.
// The settings are those of the task. A task that is not done from a prompt is free.
func (s *Set) Bound(d *Definition, settings map[string]any) workflow.Budget {
	t, known := s.traits[d.Agent]
	if !known || t.FromPrompt(&Task{Agent: d, Settings: d.With(settings)}) {
		return d.Budget
	}
	return workflow.Free
}

// Unbounded reports why an attempt of an agent may exceed a budget; "" means that it
// cannot.
func (s *Set) Unbounded(d *Definition, settings map[string]any, most workflow.Budget) string {
	if s.Bound(d, settings) == workflow.Free || most.String() == "" {
		return ""
	}
	if unbounded := s.traits[d.Agent].Unbounded; unbounded != nil {
		return unbounded(&Task{Agent: d, Settings: ownSettings(d.With(settings))}, most)
	}
	return d.Agent + " does not enforce budgets"
}

// Within returns the definition with its budget reduced to the given one. An amount of zero
// means that the work should use nothing, so there is nothing to enforce.
func (d *Definition) Within(most workflow.Budget) *Definition {
	if most.CostUSD == workflow.Free.CostUSD {
		most.CostUSD = workflow.Bound{}
	}
	if most.Tokens == workflow.Free.Tokens {
		most.Tokens = workflow.Bound{}
	}
	bound := d.Budget.Lower(most)
	if bound == d.Budget {
		return d
	}
	held := *d
	held.Budget = bound
	return &held
}
