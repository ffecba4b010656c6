package check

import (
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

var workflowDepth = rule{
	code:     "workflow-depth",
	severity: workflow.Error,
	summary:  "calls of workflows are nested more deeply than allowed",
	bundle: func(c *bundlePass) {
		d := &depths{pass: c, known: make(map[*workflow.Workflow]deepest), active: make(map[*workflow.Workflow]bool)}
		for i, p := range c.order {
			limit := p.w.Limits.Depth
			if i == 0 {
				limit = c.in.Limits.Depth
			}
			if below := d.below(p.w); limit > 0 && below.levels+1 > limit && !(i == 0 && p.generated(below.via.node)) { // generated-call reports those
				c.tooDeep(d, p.w, limit)
			}
		}
	},
}

// tooDeep reports the call in w that begins the deepest chain of calls.
func (c *bundlePass) tooDeep(d *depths, w *workflow.Workflow, limit int) {
	path := []string{w.Name}
	at := d.below(w).via
	for next := at; next.child != nil && len(path) <= limit; next = d.below(next.child).via {
		path = append(path, next.child.Name)
	}
	c.errorf(callPos(at.node), "nest fewer calls, or raise max_depth", "Workflow depth limit exceeded (%d): %s", limit, strings.Join(path, " → "))
}

// depths computes how many levels of calls are below each workflow.
type depths struct {
	pass   *bundlePass
	known  map[*workflow.Workflow]deepest
	active map[*workflow.Workflow]bool // on the current path: a cycle, which another rule reports
}

type deepest struct {
	levels int
	via    call // the first call of the deepest chain
}

func (d *depths) below(w *workflow.Workflow) deepest {
	if found, ok := d.known[w]; ok || d.active[w] {
		return found
	}
	d.active[w] = true
	var best deepest
	for _, call := range d.pass.calls(w) {
		if levels := d.below(call.child).levels + 1; levels > best.levels {
			best = deepest{levels, call}
		}
	}
	delete(d.active, w)
	d.known[w] = best
	return best
}
