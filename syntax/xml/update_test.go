package xml_test

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/xml"
	"github.com/hocket-dev/hocket/workflow"
)

// A change of the model changes the lines that say it, and no other.
func TestUpdateChangesWhatDiffers(t *testing.T) {
	const text = `<workflow name="w" taskId="keep-me">
  <!-- the first -->
  <agent   id="1" name='a' >
    <task>one</task> <!-- a note -->
  </agent>

  <loop id="round" max="2">
      <agent name="b" id="2"><task>two</task></agent>
      <choice id="c" depends="2"><route when="true" to="again"/><else to="3"/></choice>
  </loop>
  <agent name="d" id="3" dependsOn="1"/>
</workflow>
`
	tests := []struct {
		name     string
		change   func(w *workflow.Workflow)
		old, new string
	}{
		{"nothing", func(*workflow.Workflow) {}, "", ""},
		{"a prompt", func(w *workflow.Workflow) { task(w, 0).Prompt.Text = "another\none" }, "<task>one</task>", "<task>\n      another\n      one\n    </task>"},
		{"an agent", func(w *workflow.Workflow) { task(w, 0).Agent = "z" }, "name='a'", "name='z'"},
		{"the name", func(w *workflow.Workflow) { w.Name = "other" }, `name="w"`, `name="other"`},
		{"a description", func(w *workflow.Workflow) { w.Description = "d" }, `taskId="keep-me">`, `taskId="keep-me" description="d">`},
		{"a bound", func(w *workflow.Workflow) { w.Body.Nodes[1].Step.(*workflow.Loop).Max = 7 }, `max="2"`, `max="7"`},
		{"a step in a loop", func(w *workflow.Workflow) {
			w.Body.Nodes[1].Step.(*workflow.Loop).Body.Nodes[0].Step.(*workflow.Task).Prompt.Text = "2"
		}, "<task>two</task>", "<task>2</task>"},
		{"a new step", func(w *workflow.Workflow) {
			w.Body.Nodes = append(w.Body.Nodes, workflow.Node{ID: "4", Step: &workflow.Task{Agent: "e"}})
		}, `dependsOn="1"/>`, "dependsOn=\"1\"/>\n  <agent name=\"e\" id=\"4\"/>"},
		{"a step less", func(w *workflow.Workflow) {
			w.Body.Nodes, w.Body.Edges = w.Body.Nodes[:2], nil
			w.Body.Nodes[1].Step.(*workflow.Loop).Body.Edges[2].To = workflow.End
		}, "<else to=\"3\"/></choice>\n  </loop>\n  <agent name=\"d\" id=\"3\" dependsOn=\"1\"/>", "<else to=\"end\"/></choice>\n  </loop>"},
		{"an edge", func(w *workflow.Workflow) { w.Body.Edges = nil }, ` dependsOn="1"`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w, found := xml.Parse("w.xml", []byte(text))
			if found.Errors() {
				t.Fatal(found)
			}
			test.change(w)
			got, err := xml.Update("w.xml", []byte(text), w)
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Replace(text, test.old, test.new, 1); string(got) != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func task(w *workflow.Workflow, i int) *workflow.Task { return w.Body.Nodes[i].Step.(*workflow.Task) }
