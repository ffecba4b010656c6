package check_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/workflow"
)

// builtCases are mistakes in workflows that a program builds, with all diagnostics for them.
var builtCases = []struct {
	code string
	w    *workflow.Workflow
	want string
}{
	{"needs-unknown", workflow.Steps("W", write().ID("draft"), write().ID("check").Depends("drafft")),
		`W: step 2 of the builder: error[needs-unknown]: "check" depends on "drafft", which does not exist; did you mean "draft"?`},
	{"needs-unknown", workflow.Steps("W", write().ID("a"), workflow.Repeat(2, write().ID("b").Depends("a").OnLabel("more", workflow.Again).Else(workflow.End)).ID("loop")),
		`W: step 3 of the builder: error[needs-unknown]: "b" depends on "a", which is in another body; depend on a step in the same list: on the Repeat or ForEach, not on a step inside it`},
	{"ref-notation", workflow.Sequence("W", write(), write().Input("input", "{{agent_1_result}}")),
		`W: step 2 of the builder, input "input": error[ref-notation]: {{agent_1_result}} is plain text in a built workflow; write ${nodes["1"].output}; literal braces are ${"{{"}`},
	{"ref-notation", workflow.Sequence("", write(), workflow.Agent("writer", "About {{ topic }}").Setting("tags", []string{"{{steps.draft.output}}"})),
		`step 2 of the builder: error[ref-notation]: {{ topic }} is plain text in a built workflow; write ${inputs.NAME}, ${vars.NAME} or ${nodes.ID.output}; literal braces are ${"{{"}
step 2 of the builder, setting "tags": error[ref-notation]: {{steps.draft.output}} is plain text in a built workflow; write ${inputs.NAME}, ${vars.NAME} or ${nodes.ID.output}; literal braces are ${"{{"}`},
	{"duplicate-id", workflow.Steps("W", write(), write().ID("a"), write().ID("a")),
		`W: step 3 of the builder: error[duplicate-id]: id "a" is used twice; it is also used at W: step 2 of the builder; rename one of them`},
	{"duplicate-id", workflow.Sequence("W", write().ID("a"), write().ID("a"), write().ID("b"), write().ID("a"), write()),
		`W: step 2 of the builder: error[duplicate-id]: id "a" is used twice; it is also used at W: step 1 of the builder; rename one of them
W: step 4 of the builder: error[duplicate-id]: id "a" is used twice; it is also used at W: step 1 of the builder; rename one of them`},
	{"ref-unknown", workflow.Sequence("W", write(), workflow.Agent("writer", "Use ${nodes.draft.output}.")),
		`W: step 2 of the builder: error[ref-unknown]: there is no node "draft"; available: 1, 2`},
	{"ref-unknown", workflow.Sequence("W", write().ID("draft"), write().Input("text", "${steps.draft.output}")),
		`W: step 2 of the builder, input "text": error[ref-unknown]: unknown name "steps"; to refer to the output of the node, write nodes.draft.output`},
	{"ref-unknown", workflow.Sequence("W", write().Input("text", "${draft}")),
		`W: step 1 of the builder, input "text": error[ref-unknown]: unknown name "draft"; write inputs.NAME for an input, vars.NAME for a variable, nodes.ID.output for a result`},
	{"condition-syntax", workflow.Sequence("W", write(), workflow.Decide("").When(`nodes["1"].output ==`, "done").Else(workflow.End), write().ID("done")),
		`W: step 2 of the builder, when: error[condition-syntax]: the expression ends too early; a value is missing here: a name, a number, or text in quotes`},
	{"edge-target-unknown", workflow.Sequence("W", write().ID("draft").OnFailure("drafft")),
		`W: step 1 of the builder: error[edge-target-unknown]: "draft" leads to "drafft", which does not exist; did you mean "draft"?`},
	{"step-key", workflow.Sequence("W", workflow.Ask("Go?").Input("x", 1).Separator(";"), workflow.Repeat(2, write().OnLabel("more", workflow.Again).Else(workflow.End)).OnLabel("x", "1")),
		`W: step 1 of the builder: error[step-key]: Input does not apply to Ask; use it with Agent or Invoke
W: step 1 of the builder: error[step-key]: Separator does not apply to Ask; use it with Gather
W: step 2 of the builder: error[step-key]: a Repeat can only have the edges of Then; add the edge to a step of its body`},
	{"ref-notation", withOutput(workflow.Sequence("W", write()), "{{ draft }}"),
		`W: the builder: error[ref-notation]: {{ draft }} is plain text in a built workflow; write ${inputs.NAME}, ${vars.NAME} or ${nodes.ID.output}; literal braces are ${"{{"}`},
	{"ref-notation", workflow.Sequence("W", workflow.Ask("Is {{ draft }} good?"), workflow.Invoke("child").Input("all", map[string]any{"deep": []any{"{{ draft }}"}})),
		`W: step 1 of the builder: error[ref-notation]: {{ draft }} is plain text in a built workflow; write ${inputs.NAME}, ${vars.NAME} or ${nodes.ID.output}; literal braces are ${"{{"}
W: step 2 of the builder: error[workflow-unknown]: there is no workflow "child"; put it next to this file, or into .hocket/workflows
W: step 2 of the builder, input "all": error[ref-notation]: {{ draft }} is plain text in a built workflow; write ${inputs.NAME}, ${vars.NAME} or ${nodes.ID.output}; literal braces are ${"{{"}`},
	{"model-invalid", workflow.Sequence("W", write().Input("x", make(chan int))),
		`W: step 1 of the builder: error[model-invalid]: input "x" contains a chan int, which is not a JSON value; use nil, bool, numbers, strings, slices and maps`},
	{"model-invalid", withState(workflow.Sequence("W", write()), 3),
		`W: the builder: error[model-invalid]: state "n" contains a Go int; pass it through workflow.Normalize`},
}

func write() *workflow.Job { return workflow.Agent("writer", "Write.") }

func withState(w *workflow.Workflow, n any) *workflow.Workflow {
	w.State = map[string]any{"n": n}
	return w
}

func withOutput(w *workflow.Workflow, text string) *workflow.Workflow {
	w.Output.Text = text
	return w
}

func TestBuiltMistakes(t *testing.T) {
	for _, tc := range builtCases {
		t.Run(tc.code, func(t *testing.T) {
			found := check.Run(check.Input{Bundle: workflow.Bundle{Root: tc.w}, Agents: cast{}})
			if got := found.String(); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
			text, err := json.Marshal(found)
			if err != nil || strings.Count(string(text), " the builder") == 0 || strings.Contains(string(text), `"file"`) {
				t.Errorf("as JSON: %s, %v", text, err)
			}
		})
	}
}

// A built workflow that was stored has the same mistakes at the same positions.
func TestStoredMistakesOfTheBuilder(t *testing.T) {
	w := workflow.Sequence("W", write().ID("a"), write().ID("a").Depends("b"))
	data, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := workflow.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	run := func(w *workflow.Workflow) string {
		return check.Run(check.Input{Bundle: workflow.Bundle{Root: w}, Agents: cast{}}).String()
	}
	if got, want := run(stored), run(w); got != want || want == "" {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A file is not in the form of the builder: its braces have been read.
func TestBracesInFiles(t *testing.T) {
	w := workflow.Sequence("W", workflow.Agent("writer", "{{ topic }}"))
	w.Pos, w.Output.Text, w.Body.Nodes[0].Pos = workflow.Pos{File: "f", Line: 1}, "{{ topic }}", workflow.Pos{File: "f", Line: 2}
	if found := check.Run(check.Input{Bundle: workflow.Bundle{Root: w}, Agents: cast{}}); len(found) > 0 {
		t.Error(found)
	}
}

// Braces that are not a reference, or that are intended, are text.
func TestBracesInBuiltTexts(t *testing.T) {
	w := workflow.Sequence("W", workflow.Agent("writer", `{{ a b }} {{ x | upper }} {} {{}} ${"{{topic}}"} $${x}`))
	if found := check.Run(check.Input{Bundle: workflow.Bundle{Root: w}, Agents: cast{}}); len(found) > 0 {
		t.Error(found)
	}
}
