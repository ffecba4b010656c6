package agent

// Bound is what one attempt of an agent may use at most; false: nobody knows. The
// settings are the task's own. What does exactly what its settings say, on this
// machine, costs nothing; what thinks costs what its definition allows, if it says.
func (s *Set) Bound(d *Definition, settings map[string]any) (Budget, bool) {
	if d.Budget.MaxCostUSD > 0 {
		return d.Budget, true
	}
	exec, ok := s.executors[d.Agent]
	if !ok {
		return d.Budget, false
	}
	thinker, ok := exec.(Conversant)
	return d.Budget, !ok || !thinker.Thinks(&Task{Agent: d, Settings: d.With(settings)})
}
