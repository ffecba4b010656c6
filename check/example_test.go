package check_test

import (
	"fmt"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// agents is a project with one agent.
type agents struct{}

func (agents) Agent(name, _ string) check.Agent {
	if name == "writer" {
		return check.Agent{}
	}
	return check.Agent{Found: check.Unknown, Candidates: []string{"writer"}}
}

// A check finds everything that is wrong with a workflow before it runs.
func ExampleRun() {
	w, _ := syntax.Parse("essay.yml", []byte(`name: essay
steps:
  - id: draft
    agent: wirter
    prompt: Write about ${inputs.topic}
  - id: edit
    agent: writer
    prompt: Edit ${steps.drafts.output}
`))
	found := check.Run(check.Input{Bundle: workflow.Bundle{Root: w}, Agents: agents{}})
	fmt.Println(found)
	fmt.Println("can run:", !found.Errors())
	// Output:
	// essay.yml:4:12: error[agent-unknown]: unknown agent "wirter"; did you mean "writer"?
	// essay.yml:8:18: error[ref-unknown]: there is no node "drafts"; did you mean "draft"?
	// can run: false
}

// Mistakes in a workflow that a program built are reported at the step.
func ExampleRun_built() {
	w := workflow.Steps("Report",
		workflow.Agent("writer", "Search").ID("search"),
		workflow.Agent("writer", "Summarize").Depends("serach").Input("results", "{{search}}"))
	fmt.Println(check.Run(check.Input{Bundle: workflow.Bundle{Root: w}, Agents: agents{}}))
	// Output:
	// Report: step 2 of the builder: error[needs-unknown]: "2" depends on "serach", which does not exist; did you mean "search"?
	// Report: step 2 of the builder, input "results": error[ref-notation]: {{search}} is plain text in a built workflow; write ${inputs.NAME}, ${vars.NAME} or ${nodes.ID.output}; literal braces are ${"{{"}
}
