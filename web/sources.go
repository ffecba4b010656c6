package web

import (
	"slices"
	"sync"

	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// sources keeps the last texts of runs: writing one takes longer than everything else on the page of a large run, and
// the page is asked for again and again.
type sources struct {
	mu   sync.Mutex
	last []keptSource // the newest last
}

type keptSource struct {
	w    *workflow.Workflow // which the host keeps, too, and never changes
	as   string
	text string
	err  error
}

const maxSources = 4

// of writes a workflow in a notation.
func (s *sources) of(w *workflow.Workflow, as string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.last {
		if one.w == w && one.as == as {
			return one.text, one.err
		}
	}
	text, err := syntax.Format(w, as)
	if s.last = append(s.last, keptSource{w, as, string(text), err}); len(s.last) > maxSources {
		s.last = slices.Delete(s.last, 0, 1)
	}
	return string(text), err
}
