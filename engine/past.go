package engine

// Past is what earlier plans left at the address of a step that was done, or may have been.
type Past struct {
	Done   bool // it was done
	Unsure bool // an attempt may have had its effect
	Once   bool // an earlier plan declares that its effect must happen once
	Again  bool // its result does not fit the newest plan, whatever the step is given there
	Gone   bool // it is of an item that its for_each does not have in the newest plan
}

// Pasts returns what earlier plans left, by address. Before an effect that must happen once is
// repeated, a person is asked.
func (r *Run) Pasts() map[string]Past {
	pasts := map[string]Past{}
	for address, t := range r.replans.tally {
		if t.Done || t.Unsure {
			gone := false
			r.root.body.eaches(func(in *inst) { gone = gone || in.n.body.itemOf(in, address) >= len(in.each.items) })
			pasts[address] = Past{t.Done, t.Unsure, t.Once, t.Unsure || !r.mayFit(r.replans.memo[address]), gone}
		}
	}
	return pasts
}

// mayFit reports whether the newest plan has a step that could take a result.
func (r *Run) mayFit(p *past) bool {
	if p == nil || p.disowned {
		return false
	}
	for _, c := range r.compiled {
		for _, n := range c.all {
			if n.work() == p.work {
				return true
			}
		}
	}
	return false
}
