package project

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// For any prompt file and step values, the prompt is the end of the file and the result
// can be parsed.
func FuzzPrompts(f *testing.F) {
	f.Add("---\ninputs: {a: 1, b: {default: x}}\noutput: {mode: json}\n---\nSay {{a}} and {{b.c ?? a}}.\n", "${vars.x}")
	f.Add("---\nvariables: [a]\n---\r\n{{a}} $${a} ${a}", "literal $${b} {{c}}")
	f.Add("---\n", "x")
	f.Add("--- \n---\n{{a", "${")
	f.Fuzz(func(t *testing.T, text, value string) {
		prompt, _ := readFront("p.md", []byte(text))
		if !strings.HasSuffix(strings.TrimRight(text, "\r\n"), prompt.src.Text) {
			t.Fatalf("the prompt is %q", prompt.src.Text)
		}
		task := &workflow.Task{Settings: map[string]any{}, Inputs: []workflow.Binding{{Name: "a", Value: value}}}
		w := &workflow.Workflow{Body: workflow.Graph{Nodes: []workflow.Node{{ID: "n", Step: task}}}}
		l := &Loaded{}
		l.apply(use{w: w, node: &w.Body.Nodes[0], task: task, template: prompt, name: "p"})
		l.unmetVariables(w, nil)
		_, wrong := expr.ParseTemplate(prompt.src.Text, expr.Mixed)
		if _, err := expr.ParseTemplate(task.Prompt.Text, expr.Canonical); err != nil && wrong == nil {
			t.Errorf("%q became %q: %v", prompt.src.Text, task.Prompt.Text, err)
		}
	})
}
