package check

import "github.com/hocket-dev/hocket/workflow"

var labelAlike = rule{
	code:     "label-alike",
	severity: workflow.Warning,
	summary:  "two labels of a node differ only in case or punctuation",
	node: func(p *pass, n *node) {
		written := make(map[string]string)
		for _, e := range n.edgesOn(workflow.OnLabel) {
			first, ok := written[workflow.BareLabel(e.Label)]
			if !ok {
				written[workflow.BareLabel(e.Label)] = e.Label
			} else if first != e.Label {
				p.warnf(e.Pos, "case and punctuation do not count in decisions; write both the same way, or rename one", "%q has the labels %q and %q, which are the same", n.ID, first, e.Label)
			}
		}
	},
}
