package web

import (
	"slices"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/server"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// Only what leads to a question comes before it: not what is beside it, after it, or in another item.
func TestBefore(t *testing.T) {
	parse := func(text string) *workflow.Workflow {
		t.Helper()
		read, found := syntax.Parse("w.yml", []byte(text))
		if found.Errors() {
			t.Fatal(found)
		}
		return read
	}
	b := &workflow.Bundle{Root: parse(`
execution: dag
steps:
  - {id: plan, agent: a, prompt: x}
  - {id: draft, agent: a, prompt: x, needs: plan}
  - {id: other, agent: a, prompt: x, needs: plan}
  - {id: approve, human: {question: ok}, needs: draft}
  - {id: publish, agent: a, prompt: x, needs: approve}
  - {id: parts, for_each: "${inputs.list}", workflow: part, needs: draft}
`), Called: map[string]*workflow.Workflow{"part": parse(`
name: part
steps:
  - {id: write, agent: a, prompt: x}
  - id: polish
    loop:
      max: 3
      until: done == "yes"
      steps:
        - {id: improve, agent: a, prompt: x}
        - {id: fine, human: {question: fine}}
        - {id: note, agent: a, prompt: x, output: done}
  - {id: sign, human: {question: sign}}
`)}}
	for question, steps := range map[string]map[string]bool{
		"approve": {"plan": true, "draft": true, "other": false, "publish": false, "approve": false, "parts[0]/write": false},
		"parts[1]/fine#2": {"plan": true, "draft": true, "other": false, "approve": false, "parts[1]/write": true, "parts[0]/write": false, "parts[0]/improve#1": false,
			"parts[1]/improve#2": true, "parts[1]/improve#1": true, "parts[1]/note#1": true, "parts[1]/note#2": false, "parts[1]/sign": false},
		"parts[0]/sign": {"parts[0]/note": true, "parts[0]/improve#2": true, "parts[0]/write": true, "parts[1]/write": false},
	} {
		before := trailTo(b, question)
		for step, want := range steps {
			if got := before.has(step); got != want {
				t.Errorf("%s before %s: %t, want %t", step, question, got, want)
			}
		}
	}
}

// Instances that run together take as long as one of them.
func TestTookTogether(t *testing.T) {
	n := &node{Counts: map[string]int{}}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, s := range []int{0, 1, 10} {
		n.add(&engine.StepResult{Started: at.Add(time.Duration(s) * time.Second), Ended: at.Add(time.Duration(s+2) * time.Second), DurationMS: 2000}, "success")
	}
	if n.settle(); n.Took != 5*time.Second {
		t.Errorf("the node took %s", n.Took)
	}
}

// What is written above the bars of a timeline does not overlap.
func TestTimelineLabels(t *testing.T) {
	line := &timeline{Ticks: []tick{{0, "15:04:05"}}, Folds: []fold{{X: 20, Title: "2 min"}, {X: 90, Title: "1 h 20 min"}, {X: 120, Title: "3 min 20 s"}, {X: 200, Title: "idle"}}}
	line.label()
	var got []string
	for _, f := range line.Folds {
		got = append(got, f.Text)
	}
	if want := []string{"", "1 h 20 min", "", "idle"}; !slices.Equal(got, want) {
		t.Errorf("the labels are %q, want %q", got, want)
	}
}

// Runs can be chosen by every workflow that is there or has been run.
func TestNamesOfWorkflows(t *testing.T) {
	d := projectData{Workflow: "gone", Workflows: []server.WorkflowLine{{Name: "hello"}}, Runs: []server.RunLine{{Workflow: "rooted"}, {Workflow: "hello"}}}
	if got := d.names(); !slices.Equal(got, []string{"gone", "hello", "rooted"}) {
		t.Errorf("the names are %q", got)
	}
}
