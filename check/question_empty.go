package check

import (
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

var questionEmpty = rule{
	code:     "question-empty",
	severity: workflow.Warning,
	summary:  "a person is asked nothing",
	node: func(p *pass, n *node) {
		h, ok := n.Step.(*workflow.Human)
		if ok && strings.TrimSpace(h.Question.Text) == "" && n.Title == "" {
			p.warnf(n.Pos, "say what the person is to decide", "%q has no question", n.ID)
		}
	},
}
