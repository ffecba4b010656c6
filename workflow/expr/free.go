package expr

import "github.com/hocket-dev/hocket/workflow"

// FreeInputs returns the inputs that a resolved workflow refers to, in the order of their first
// use, each at the position of that use. An input that has a `??` default in all its uses is not
// required.
func FreeInputs(w *workflow.Workflow) []workflow.Param {
	nodes, _ := count(&w.Body)
	texts := (&flow{w: w, end: nodes}).texts(Canonical, false)
	var list []workflow.Param
	at := map[string]int{}
	for i := range texts {
		for number, ref := range texts[i].refs() {
			if ref.Kind != Inputs || ref.Name == "" {
				continue
			}
			k, seen := at[ref.Name]
			if !seen {
				k = len(list)
				at[ref.Name] = k
				list = append(list, workflow.Param{Name: ref.Name})
			}
			if in := &list[k]; !seen || !in.Required && !ref.Guarded() {
				in.Required = !ref.Guarded()
				in.Pos = (&finding{text: &texts[i], ref: ref, number: number}).place()
			}
		}
	}
	return list
}
