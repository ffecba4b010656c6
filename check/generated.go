package check

import "github.com/hocket-dev/hocket/workflow"

// Generated restricts what a model wrote. It may use what the project has, and nothing else.
type Generated struct {
	// Limits are the highest that a run may have. Zero means no limit.
	Limits workflow.Limits
	// Wrote reports whether a model wrote a node of the root. Nil means that it wrote all of them.
	Wrote func(*workflow.Node) bool
}

// generated reports whether a model wrote a node.
func (p *pass) generated(n *node) bool {
	g := p.in.Generated
	return g != nil && (g.Wrote == nil || g.Wrote(n.Node))
}
