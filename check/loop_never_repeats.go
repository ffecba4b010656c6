package check

import "github.com/hocket-dev/hocket/workflow"

var loopNeverRepeats = rule{
	code:     "loop-never-repeats",
	severity: workflow.Warning,
	summary:  "a loop has no back edge, so it runs once",
	node: func(p *pass, n *node) {
		if !n.isLoop() {
			return
		}
		for _, e := range n.body.edges {
			if e.To == workflow.Again {
				return
			}
		}
		p.warnf(n.Pos, "add until, while, or a route to again; otherwise, move its steps out of the loop", "loop %q never repeats", n.ID)
	},
}
