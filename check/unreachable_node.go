package check

import "github.com/hocket-dev/hocket/workflow"

var unreachableNode = rule{
	code:     "unreachable-node",
	severity: workflow.Warning,
	summary:  "a node can never run",
	workflow: func(p *pass) {
		for _, s := range p.index.scopes {
			unreachable := make([]bool, len(s.nodes))
			for _, n := range s.inOrder() {
				unreachable[n.order] = len(n.in) > 0
				for _, e := range n.in {
					if !unreachable[e.source.order] && e.possible() {
						unreachable[n.order] = false
					}
				}
				if unreachable[n.order] {
					p.warnf(n.Pos, "add an edge to it that can be taken, or remove it", "%q can never run", n.ID)
				}
			}
		}
	},
}

// possible reports whether an edge can ever be taken. If that depends on the run, it returns
// true.
func (e *edge) possible() bool {
	n := e.from
	switch e.On {
	case workflow.OnLabel:
		return n.decides().answers == nil || n.decides().labels[e.Label]
	case workflow.OnElse:
		if n.decides().answers == nil || n.has(workflow.OnWhen) || n.OnError == workflow.Continue {
			return true // after a failure with on_error: continue there is no answer
		}
		return len(n.decides().rest) > 0
	case workflow.OnTimeout:
		_, human := n.Step.(*workflow.Human)
		return human
	case workflow.OnSuccess, workflow.OnWhen, workflow.OnFailure:
	}
	return true
}
