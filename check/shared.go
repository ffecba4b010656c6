package check

import (
	"fmt"
	"strconv"
	"strings"
)

// shared identifies a mistake that several steps may share, such as one in the settings of their
// agent. It is reported at the first of them.
type shared struct {
	what    string // the mistake: it is the same for all steps that share it
	replied bool   // the steps have scripted replies
	note    bool   // not a mistake, but worth knowing
}

// sharedMistakes are the shared mistakes of one workflow.
type sharedMistakes struct {
	order []shared
	found map[shared]*sharedMistake
}

type sharedMistake struct {
	summary, detail string
	steps           []*node
}

// add adds a step that has the mistake. If summary begins with a space or a colon, it is appended
// to the id of the step.
func (s *sharedMistakes) add(n *node, key shared, summary, detail string) {
	m := s.found[key]
	if m == nil {
		if s.found == nil {
			s.found = map[shared]*sharedMistake{}
		}
		m = &sharedMistake{summary: summary, detail: detail}
		s.found[key] = m
		s.order = append(s.order, key)
	}
	m.steps = append(m.steps, n)
}

func (s *sharedMistakes) report(p *pass) {
	for _, key := range s.order {
		m := s.found[key]
		first := m.steps[0]
		summary, others := m.summary, "; also at "
		if strings.IndexAny(summary, " :") == 0 {
			summary, others = strconv.Quote(first.ID)+summary, "; the same applies to "
		}
		switch more := m.steps[1:]; {
		case len(more) == 1:
			summary += others + strconv.Quote(more[0].ID)
		case len(more) > 1:
			summary += fmt.Sprintf("%s%d other steps", others, len(more))
		}
		if key.note {
			p.notef(agentPos(first), m.detail, "%s", summary)
		} else {
			p.reportAgent(first, agentPos(first), m.detail, "%s", summary)
		}
	}
}
