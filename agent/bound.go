package agent

import "github.com/hocket-dev/hocket/workflow"

// Bound is what one attempt of an agent may use at most, as its definition says. The
// settings are the task's own. A task that is not done from its prompt is free.
func (s *Set) Bound(d *Definition, settings map[string]any) workflow.Budget {
	t, known := s.traits[d.Agent]
	if !known || t.FromPrompt(&Task{Agent: d, Settings: d.With(settings)}) {
		return d.Budget
	}
	return workflow.Free
}

// Unbounded reports why an attempt of an agent may exceed a budget; "": it cannot.
func (s *Set) Unbounded(d *Definition, settings map[string]any, most workflow.Budget) string {
	if s.Bound(d, settings) == workflow.Free || most.String() == "" {
		return ""
	}
	if unbounded := s.traits[d.Agent].Unbounded; unbounded != nil {
		return unbounded(&Task{Agent: d, Settings: withoutSession(d.With(settings))}, most)
	}
	return d.Agent + " does not enforce budgets"
}

// Within is the definition with a budget that is no larger than one that it is given.
// An amount of zero is that of work that should use nothing: there is nothing to keep to.
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
