package agent

// Bounded is a Conversant that can keep to a budget.
type Bounded interface {
	Conversant
	// Unbounded says why a task may use more than a budget all the same, to go on a
	// sentence; "": it keeps to it, to within one request.
	Unbounded(task *Task, most Budget) string
}

// Bound is what one attempt of an agent may use at most, as its definition says: a
// bound of zero is one that nobody knows, unless the attempt is free. The settings are
// the task's own. What does exactly what its settings say, on this machine, is free;
// what thinks is not.
func (s *Set) Bound(d *Definition, settings map[string]any) (most Budget, free bool) {
	exec, ok := s.executors[d.Agent]
	if !ok {
		return d.Budget, false
	}
	if thinker, ok := exec.(Conversant); ok && thinker.Thinks(&Task{Agent: d, Settings: d.With(settings)}) {
		return d.Budget, false
	}
	return Budget{}, true
}

// Unbounded says why an attempt of an agent may use more than a budget that it is
// given; "": it keeps to it.
func (s *Set) Unbounded(d *Definition, settings map[string]any, most Budget) string {
	if _, free := s.Bound(d, settings); free || most == (Budget{}) {
		return ""
	}
	if b, ok := s.executors[d.Agent].(Bounded); ok {
		return b.Unbounded(&Task{Agent: d, Settings: withoutSession(d.With(settings))}, most)
	}
	return d.Agent + " has no bound of its own"
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
