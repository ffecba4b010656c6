package jsonpath

import (
	"errors"

	"github.com/hocket-dev/hocket/internal/sorted"
)

const (
	maxVisits = 2_000_000
	maxFound  = 100_000
	// maxMatching limits the number of characters that patterns are matched against, multiplied by
	// the size of the pattern: a second or two at worst.
	maxMatching = 1 << 28
	// compiling is the cost, in the same unit, of compiling a pattern that is not a literal.
	compiling = 1 << 16
)

// Select returns all values that the path selects, in order. It fails only if the selection takes
// too long or finds too many values.
func (p *Path) Select(root any) ([]any, error) {
	s := &selection{root: root, visits: maxVisits, matching: maxMatching}
	found := s.query(&p.query, root)
	switch {
	case s.matching < 0:
		return nil, errors.New("jsonpath: matching patterns takes too long")
	case s.visits < 0:
		return nil, errors.New("jsonpath: the path visits too many values")
	case len(found) > maxFound:
		return nil, errors.New("jsonpath: the path selects too many values")
	}
	return found, nil
}

// selection is one evaluation of a path. When visits or matching falls below zero, it selects
// nothing more and soon ends.
type selection struct {
	root     any
	visits   int
	matching int
}

func (s *selection) query(q *query, current any) []any {
	found := []any{s.root}
	if q.relative {
		found[0] = current
	}
	for i := range q.segments {
		var next []any
		for _, v := range found {
			next = s.segment(&q.segments[i], v, next)
		}
		found = next
	}
	return found
}

func (s *selection) segment(seg *segment, v any, found []any) []any {
	if s.visits--; s.visits < 0 {
		return found
	}
	for _, one := range seg.selectors {
		found = s.pick(one, v, found)
	}
	if seg.descend {
		for _, child := range children(v) {
			switch child.(type) {
			case []any, map[string]any:
				found = s.segment(seg, child, found)
			default:
				s.visits--
			}
		}
	}
	return found
}

// children returns the elements of a list, or the members of an object sorted by name.
func children(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case map[string]any:
		list := make([]any, 0, len(v))
		for _, k := range sorted.Keys(v) {
			list = append(list, v[k])
		}
		return list
	}
	return nil
}

// pick appends the children of v that a selector selects.
func (s *selection) pick(one selector, v any, found []any) []any {
	switch one := one.(type) {
	case nameSelector:
		if object, ok := v.(map[string]any); ok {
			if child, ok := object[string(one)]; ok {
				return append(found, child)
			}
		}
	case indexSelector:
		if list, ok := v.([]any); ok {
			if i := fromEnd(int(one), len(list)); i >= 0 && i < len(list) {
				return append(found, list[i])
			}
		}
	case sliceSelector:
		if list, ok := v.([]any); ok {
			return s.slice(one, list, found)
		}
	case wildcardSelector:
		all := children(v)
		if s.visits -= len(all); s.visits >= 0 {
			return append(found, all...)
		}
	case filterSelector:
		for _, child := range children(v) {
			if s.visits--; s.visits < 0 {
				break
			}
			if s.holds(one.keep, child) {
				found = append(found, child)
			}
		}
	}
	return found
}

// fromEnd converts a negative index, which counts from the end.
func fromEnd(i, n int) int {
	if i < 0 {
		return n + i
	}
	return i
}

func (s *selection) slice(one sliceSelector, list, found []any) []any {
	step, n := 1, len(list)
	if one.step != nil {
		step = *one.step
	}
	switch {
	case step > 0:
		from, to := bound(one.start, 0, 0, n, n), bound(one.end, n, 0, n, n)
		for i := from; i < to; i += step {
			found = append(found, list[i])
			s.visits--
		}
	case step < 0:
		from, to := bound(one.start, n-1, -1, n-1, n), bound(one.end, -n-1, -1, n-1, n)
		for i := from; i > to; i += step {
			found = append(found, list[i])
			s.visits--
		}
	}
	return found
}

// bound returns one end of a slice, between low and high.
func bound(written *int, byDefault, low, high, n int) int {
	i := byDefault
	if written != nil {
		i = *written
	}
	return min(max(fromEnd(i, n), low), high)
}
