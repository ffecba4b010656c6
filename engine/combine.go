package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
	values := make([]any, len(parts))
	for i, p := range parts {
		values[i] = p.value
	}
	return values, nil
}

// join joins the chosen parts into one value.
func join(s *workflow.Combine, parts []any) (any, error) {
	switch s.Strategy {
	case workflow.Concatenate:
		return concatenate(parts, s.Separator), nil
	case workflow.Merge:
		return mergeParts(parts)
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

func concatenate(parts []any, separator string) string {
	if separator == "" {
		separator = "\n\n"
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = workflow.FormatText(whole(p))
	}
	return strings.Join(texts, separator)
}

// mergeParts merges deeply. A text that is a JSON object or list is parsed first.
func mergeParts(parts []any) (any, error) {
	merged := structured(whole(parts[0]))
	for _, p := range parts[1:] {
		var err error
		if merged, err = deepMerge("", merged, structured(whole(p))); err != nil {
			return nil, err
		}
	}
	return merged, nil
}

func structured(v any) any {
	text, ok := v.(string)
	if !ok {
		return v
	}
	parsed, err := workflow.ParseJSON([]byte(text))
	if err != nil {
		return v
	}
	switch parsed.(type) {
	case map[string]any, []any:
		return parsed
	}
	return v
}

// deepMerge merges objects key by key and appends lists. Of two other values of the same type,
// the later one wins. Null is replaced by any other value.
func deepMerge(path string, a, b any) (any, error) {
	if a == nil || b == nil {
		if a == nil {
			return b, nil
		}
		return a, nil
	}
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			return mergeObjects(path, x, y)
		}
	case []any:
		if y, ok := b.([]any); ok {
			return append(append(make([]any, 0, len(x)+len(y)), x...), y...), nil
		}
	default:
		if kindOf(a) == kindOf(b) {
			return b, nil
		}
	}
	return nil, fmt.Errorf("cannot merge %s with %s at %q", kindOf(a), kindOf(b), path)
}

func mergeObjects(path string, a, b map[string]any) (any, error) {
	merged := make(map[string]any, len(a)+len(b))
	for _, k := range sortedKeys(a) {
		merged[k] = a[k]
	}
	for _, k := range sortedKeys(b) {
		v, err := deepMerge(strings.TrimPrefix(path+"."+k, "."), merged[k], b[k])
		if err != nil {
			return nil, err
		}
		merged[k] = v
	}
	return merged, nil
}

// vote returns the value that most inputs have, ignoring case and surrounding punctuation. In a
// tie, the value that comes first wins.
func (r *Run) vote(in *inst, parts []part) any {
	counts := map[string]int{}
	var order []string
	first := map[string]any{}
	for _, p := range parts {
		key := strings.ToLower(strings.Trim(workflow.FormatText(whole(p.value)), " \t\r\n\"'.,;:!"))
		if counts[key] == 0 {
			order = append(order, key)
			first[key] = p.value
		}
		counts[key]++
	}
	winner, tie := order[0], false
	for _, key := range order[1:] {
		switch {
		case counts[key] > counts[winner]:
			winner, tie = key, false
		case counts[key] == counts[winner]:
			tie = true
		}
	}
	if tie {
		r.warn(in, "the vote is a tie; %s came first", brief(winner))
	}
	return first[winner]
}
