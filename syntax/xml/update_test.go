package xml_test

import (
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-dev/hocket/syntax/internal/modelgen"
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

// Whatever becomes of a workflow, the file then means it.
func TestUpdateMeansTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := modelgen.Workflow().Draw(t, "before"), modelgen.Workflow().Draw(t, "after")
		if rapid.Bool().Draw(t, "alike") {
			after.Body.Nodes = before.Body.Nodes
			after.Body.Edges = before.Body.Edges
		}
		text, err := xml.Format(before)
		if err != nil {
			t.Fatal(err)
		}
		changed, err := xml.Update("f.xml", text, after)
		if err != nil {
			t.Fatal(err)
		}
		if got, found := xml.Parse("f.xml", changed); found.Errors() || workflow.Digest(got) != workflow.Digest(after) {
			t.Fatalf("%s\n%s", found, short(string(changed)))
		}
	})
}

func TestUpdateRefusesBrokenFiles(t *testing.T) {
	text, err := os.ReadFile("testdata/bad/tags.xml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := xml.Update("tags.xml", text, &workflow.Workflow{}); err == nil {
		t.Error("a file with mistakes was changed")
	}
}
