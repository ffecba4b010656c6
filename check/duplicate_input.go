package check

import "github.com/hocket-dev/hocket/workflow"

var duplicateInput = rule{
	code:     "duplicate-input",
	severity: workflow.Error,
	summary:  "an input is declared, or given, twice",
	workflow: func(p *pass) {
		seen := make(map[string]bool)
		for _, in := range p.w.Inputs {
			if seen[in.Name] {
				p.errorf(in.Pos, "remove one of the two", "input %q is declared twice", in.Name)
			}
			seen[in.Name] = true
		}
	},
	node: func(p *pass, n *node) {
		bindings := n.bindings()
		for i, b := range bindings {
			for _, earlier := range bindings[:i] {
				if earlier.Name == b.Name {
					p.errorf(placeOr(b.Pos, n.Pos), "remove one of the two", "input %q of %q is given twice", b.Name, n.ID)
					break
				}
			}
		}
	},
}

// bindings returns the inputs that a node passes to its agent or workflow.
func (n *node) bindings() []workflow.Binding {
	switch s := n.Step.(type) {
	case *workflow.Task:
		return s.Inputs
	case *workflow.Call:
		return s.Inputs
	case *workflow.Human, *workflow.Choice, *workflow.Combine, *workflow.Loop, *workflow.Each:
	}
	return nil
}
