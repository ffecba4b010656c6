package check

import (
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

var questionEmpty = rule{
	code:     "question-empty",
	severity: workflow.Warning,
	summary:  "the question to a person or an agent is empty",
	node: func(p *pass, n *node) {
		question, who := "", "the person"
		switch s := n.Step.(type) {
		case *workflow.Human:
			question = s.Question.Text
		case *workflow.Choice:
			if s.Ask == nil {
				return
			}
			question, who = s.Ask.Prompt.Text, "the agent"
		case *workflow.Task, *workflow.Call, *workflow.Combine, *workflow.Loop, *workflow.Each:
			return
		}
		if strings.TrimSpace(question) == "" && n.Title == "" {
			p.warnf(n.Pos, "write what "+who+" should decide", "%q has no question", n.ID)
		}
	},
}
