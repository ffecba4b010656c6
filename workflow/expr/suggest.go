package expr

import (
	"sync"

	"github.com/hocket-dev/hocket/workflow"
)

// suggester finds the name that may have been meant. In a file with many unknown names it would
// compare every name with every other, so it stops after a number of comparisons: such a file has
// bigger problems.
type suggester struct {
	names func() []string // called once, for the first unknown name
	known map[string]string
	left  int // remaining comparisons
}

const maxComparisons = 200_000

func newSuggester(names func() []string) *suggester {
	return &suggester{names: sync.OnceValue(names), known: map[string]string{}, left: maxComparisons}
}

// nearest returns `did you mean "x"?`, or "".
func (s *suggester) nearest(name string) string {
	hint, ok := s.known[name]
	if !ok && s.left > 0 {
		names := s.names()
		s.left -= len(names)
		hint = workflow.DidYouMean(name, names)
		s.known[name] = hint
	}
	return hint
}
