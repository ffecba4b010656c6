package expr

import "github.com/hocket-dev/hocket/workflow"

// FreeInputs are the names of the inputs that a resolved workflow refers to, in
// the order of their first use, each once.
func FreeInputs(w *workflow.Workflow) []string {
	var names []string
	seen := map[string]bool{}
	texts := newFlow(w).texts(Canonical, false)
	for i := range texts {
		for _, ref := range texts[i].refs() {
			if ref.Kind == Inputs && ref.Name != "" && !seen[ref.Name] {
				seen[ref.Name] = true
				names = append(names, ref.Name)
			}
		}
	}
	return names
}
