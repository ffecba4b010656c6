package agent

// Bound is what one attempt of an agent may use at most, as its definition says: zero
// means that no bound is known, unless the attempt is free. The settings are
// the task's own. A task that is not done from its prompt is free.
func (s *Set) Bound(d *Definition, settings map[string]any) (most Budget, free bool) {
	t, known := s.traits[d.Agent]
	if !known || t.FromPrompt(&Task{Agent: d, Settings: d.With(settings)}) {
		return d.Budget, false
	}
	return Budget{}, true
}

// Unbounded reports why an attempt of an agent may exceed a budget; "": it cannot.
func (s *Set) Unbounded(d *Definition, settings map[string]any, most Budget) string {
	if _, free := s.Bound(d, settings); free || most == (Budget{}) {
		return ""
	}
	if unbounded := s.traits[d.Agent].Unbounded; unbounded != nil {
		return unbounded(&Task{Agent: d, Settings: withoutSession(d.With(settings))}, most)
	}
	return d.Agent + " does not enforce budgets"
}

// Within is the definition with a budget that is no larger than one that it is given.
func (d *Definition) Within(most Budget) *Definition {
	bound := d.Budget
	if usd := most.MaxCostUSD; usd > 0 && (bound.MaxCostUSD == 0 || usd < bound.MaxCostUSD) {
		bound.MaxCostUSD = usd
	}
	if n := most.MaxTokens; n > 0 && (bound.MaxTokens == 0 || n < bound.MaxTokens) {
		bound.MaxTokens = n
	}
	if bound == d.Budget {
		return d
	}
	held := *d
	held.Budget = bound
	return &held
}
