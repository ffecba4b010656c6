package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// choose ends a choice immediately, unless its question has to be asked: then it continues as a
// task. The output of a choice is the value that reached it, so that the value is passed on to
// where the choice leads.
func (r *Run) choose(in *inst) {
	reached := previous(in.from())
	if in.n.place.Asks && in.n.conditional && !r.isAnswered(in, reached) {
		r.list(in)
		r.ready(in)
	} else {
		r.endWith(in, reached, nil)
	}
}

// part is one available input of a combine.
type part struct {
	value any
	seq   int // when it came about
}

// combine combines the inputs immediately.
func (r *Run) combine(in *inst, s *workflow.Combine) {
	in.attempt = 1
	r.tell(in, StepStarted, "")
	parts, err := r.chosen(in, s)
	var value any
	if err == nil {
		value, err = join(s, parts)
	}
	if err != nil {
		r.fail(in, &Fault{Kind: FaultError, Message: err.Error(), Permanent: true})
	} else {
		r.endWith(in, value, composed(listOf(parts)))
	}
}

// chosen returns the parts that a combine joins.
func (r *Run) chosen(in *inst, s *workflow.Combine) ([]any, error) {
	parts, err := r.gather(in)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("there is nothing to combine: every input failed, was skipped or is missing")
	}
	switch s.Strategy {
	case workflow.First:
		first := slices.MinFunc(parts, func(a, b part) int { return cmp.Compare(a.seq, b.seq) })
		return []any{first.value}, nil
	case workflow.Vote:
		return []any{r.vote(in, parts)}, nil
	case workflow.Concatenate, workflow.Merge, workflow.Array:
	}
	return valuesOf(parts), nil
}

func valuesOf(parts []part) []any {
	values := make([]any, len(parts))
	for i, p := range parts {
		values[i] = p.value
	}
	return values
}

// join joins the chosen parts into one value.
func join(s *workflow.Combine, parts []any) (any, error) {
	switch s.Strategy {
	case workflow.Concatenate:
		return workflow.Concatenated(wholes(parts), s.Separator), nil
	case workflow.Merge:
		return workflow.Merged(wholes(parts))
	case workflow.Array:
		return listOf(parts), nil
	case workflow.First, workflow.Vote:
		return parts[0], nil
	}
	return nil, fmt.Errorf("unknown combine strategy %q", s.Strategy)
}

// gather collects the inputs that have a value.
func (r *Run) gather(in *inst) ([]part, error) {
	var parts []part
	if len(in.n.from) == 0 {
		for _, p := range in.from() {
			if v := p.value(); v != nil {
				parts = append(parts, part{v, p.seq()})
			}
		}
		return parts, nil
	}
	v := in.view()
	for _, x := range in.n.from {
		value, err := v.eval(x)
		if err != nil {
			return nil, err
		}
		if value != nil {
			parts = append(parts, part{value, v.when(x.Refs())})
		}
	}
	return parts, nil
}

// when returns the latest sequence number of the results that references refer to.
func (v *view) when(refs []*expr.Ref) int {
	last := 0
	for _, ref := range refs {
		switch ref.Kind {
		case expr.Vars:
			if w := v.variable(ref.Name); w != nil {
				last = max(last, w.seq)
			}
		case expr.Nodes:
			if in := v.node(ref.Name); in != nil {
				last = max(last, in.seq)
			}
		case expr.Unresolved, expr.Inputs, expr.Groups, expr.Previous, expr.Failure, expr.Item, expr.Index, expr.Iteration, expr.Repeats:
		}
	}
	return last
}

// vote returns the value that most inputs have.
func (r *Run) vote(in *inst, parts []part) any {
	winner, counted, tie := workflow.Voted(wholes(valuesOf(parts)))
	if tie {
		r.warn(in, "the vote is a tie; %s came first", brief(counted))
	}
	return parts[winner].value
}
