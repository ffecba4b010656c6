package expr

import "github.com/hocket-dev/hocket/workflow"

// FreeInputs are the names of the inputs that a resolved workflow refers to, in
// the order of their first use, each once.
func FreeInputs(w *workflow.Workflow) []string {
	var names []string
	seen := map[string]bool{}
	sites := newFlow(w).sites()
	for i := range sites {
		p := parse(&sites[i], Canonical)
		for _, ref := range p.refs() {
			if ref.Kind == Inputs && ref.Name != "" && !seen[ref.Name] {
				seen[ref.Name] = true
				names = append(names, ref.Name)
			}
		}
	}
	return names
}
