package check

import (
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

var labelNotAnswerable = rule{
	code:     "label-not-answerable",
	severity: workflow.Error,
	summary:  "an edge has a label that its node can never choose",
	node: func(p *pass, n *node) {
		if _, ok := n.Step.(*workflow.Each); ok {
			for _, e := range n.edgesOn(workflow.OnLabel) {
				p.errorf(e.Pos, "put the step under `steps:` of a step with for_each, so that each item is routed, or decide in a later step", "%q returns a list, which cannot choose a label", n.ID)
			}
			return
		}
		decided := n.decides()
		if decided.answers == nil {
			return
		}
		for _, e := range n.edgesOn(workflow.OnLabel) {
			if !decided.labels[e.Label] {
				p.errorf(e.Pos, suggestAnswer(e.Label, decided.answers), "%q can never choose %q", n.ID, e.Label)
			}
		}
	},
}

func suggestAnswer(label string, answers []answer) string {
	var words []string
	for _, a := range answers {
		words = append(words, a...)
	}
	if hint := workflow.DidYouMean(label, words); hint != "" {
		return hint
	}
	return "it can choose: " + strings.Join(words, ", ")
}
