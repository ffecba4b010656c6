package workflow_test

import (
	"fmt"
	"testing"

	"github.com/hocket-dev/hocket/syntax/xml"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// The simple workflow: each step after the one before.
func ExampleSequence() {
	w := workflow.Sequence("Search Task",
		workflow.Agent("browser", "Go to example.org and search for 'AI'"),
		workflow.Agent("llm", "Summarize the results"))
	fmt.Print(workflow.Print(w))
	// Output:
	// workflow "Search Task"
	//   node 1 task
	//     agent browser
	//     prompt "Go to example.org and search for 'AI'"
	//   node 2 task
	//     agent llm
	//     prompt "Summarize the results"
	//   edge 1 -> 2
}

// The manual workflow: steps say what they depend on, and use the results of
// others.
func ExampleSteps() {
	w := workflow.Steps("Custom Workflow",
		workflow.Agent("browser", "Navigate to https://example.com"),
		workflow.Agent("browser", "Extract all links from the page").Depends("1"),
		workflow.Agent("llm", "Categorize the extracted links").Depends("2").Input("input", workflow.Result("2")))
	fmt.Print(workflow.Print(w))
	// Output:
	// workflow "Custom Workflow"
	//   node 1 task
	//     agent browser
	//     prompt "Navigate to https://example.com"
	//   node 2 task
	//     agent browser
	//     prompt "Extract all links from the page"
	//   node 3 task
	//     agent llm
	//     prompt "Categorize the extracted links"
	//     with input = "${nodes[\"2\"].output}"
	//   edge 1 -> 2
	//   edge 2 -> 3
}

// A workflow that a program made is the one that a file says.
func TestBuiltAndWrittenAreTheSame(t *testing.T) {
	built := workflow.Steps("Custom Workflow",
		workflow.Agent("browser", "Navigate"),
		workflow.Agent("browser", "Extract all links").Depends("1").Output("links"),
		workflow.Agent("llm", "Check").ID("check").Depends("1"),
		workflow.Agent("llm", "Categorize").Depends("2", "check").Input("input", workflow.Result("2")).Input("note", workflow.Result("check")))
	inXML, found := xml.Parse("w.xml", []byte(`
<workflow name="Custom Workflow" taskId="42">
  <agent name="browser" id="1"><task>Navigate</task></agent>
  <agent name="browser" id="2" depends="1" output="links"><task>Extract all links</task></agent>
  <agent name="llm" id="check" depends="1"><task>Check</task></agent>
  <agent name="llm" id="4" depends="2,check"><task>Categorize</task>
    <input>{{agent_2_result}}</input>
    <input name="note">{{agent_check_result}}</input>
  </agent>
</workflow>`))
	if len(found) > 0 {
		t.Fatal(found)
	}
	inYAML, found := yaml.Parse("w.yml", []byte(`
name: Custom Workflow
execution: dag
on_error: stop
steps:
  - {id: 1, agent: browser, prompt: Navigate}
  - {id: 2, agent: browser, prompt: Extract all links, needs: 1, output: links}
  - {id: check, agent: llm, prompt: Check, needs: 1}
  - {id: 4, agent: llm, prompt: Categorize, needs: [2, check], inputs: {input: "{{agent_2_result}}", note: "${steps.check.output}"}}
`))
	if len(found) > 0 {
		t.Fatal(found)
	}
	want := workflow.Print(built)
	for name, w := range map[string]*workflow.Workflow{"XML": inXML, "YAML": inYAML} {
		if got := workflow.Print(w); got != want {
			t.Errorf("in %s:\n%s\nbuilt:\n%s", name, got, want)
		}
	}
}

func TestSequenceOfYAML(t *testing.T) {
	built := workflow.Sequence("s", workflow.Agent("a", "one").ID("a"), workflow.Agent("b", "two").ID("b"))
	w, _ := yaml.Parse("s.yml", []byte("name: s\nsteps:\n  - {agent: a, prompt: one}\n  - {agent: b, prompt: two}\n"))
	if workflow.Digest(built) != workflow.Digest(w) {
		t.Errorf("%s\n%s", workflow.Print(built), workflow.Print(w))
	}
	if empty := workflow.Sequence("none"); len(empty.Body.Nodes) != 0 {
		t.Error("steps out of nothing")
	}
}
