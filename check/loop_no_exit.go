package check

import "github.com/hocket-dev/hocket/workflow"

var loopNoExit = rule{
	code:     "loop-no-exit",
	severity: workflow.Error,
	summary:  "no edge leaves a loop",
	workflow: func(p *pass) {
		left := make(map[*node]bool) // loops that have an exit
		for _, e := range p.index.edges {
			if e.On == workflow.OnFailure {
				continue
			}
			for s := e.scope; s.inLoop() && e.leaves(s); s = s.owner.scope {
				left[s.owner] = true
			}
		}
		for _, n := range p.index.nodes {
			if n.isLoop() && !left[n] {
				help := "add until or while, or a route that leaves it"
				if isMermaid(n.Pos) {
					help = "draw an arrow with a label from one of its nodes to a node outside, or to an end"
				} else if isPlantUML(n.Pos) {
					help = "write its test, such as repeat while (…), or a break or a stop in it"
				}
				p.errorf(n.Pos, help+"; an error edge does not count as an exit", "loop %q has no way out", n.ID)
			}
		}
	},
}

// leaves reports whether an edge that is in the graph s, or in a graph inside it, leads out of s.
// An edge to the end leaves every loop around it, because nothing follows it.
func (e *edge) leaves(s *scope) bool {
	return e.To == workflow.End || e.to != nil && e.to.within(s) == nil
}
