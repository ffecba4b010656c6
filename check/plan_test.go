package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// bundle parses workflows that call each other by the given names; the first is the root.
func bundle(t *testing.T, files ...[2]string) workflow.Bundle {
	t.Helper()
	b := workflow.Bundle{Called: make(map[string]*workflow.Workflow)}
	for _, f := range files {
		w, found := yaml.Parse(f[0]+".yml", []byte(f[1]))
		if found.Errors() {
			t.Fatal(found)
		}
		if b.Root == nil {
			b.Root = w
		}
		b.Called[f[0]] = w
	}
	return b
}

// outlinePlan prints the wave, id, kind and number of executions of each node of a plan.
func outlinePlan(p check.Plan) string {
	var lines []string
	for _, w := range p.Workflows {
		lines = append(lines, w.Name+" "+w.Steps.String())
		for _, n := range w.Nodes {
			lines = append(lines, fmt.Sprintf("%s%d %s %s ×%s", strings.Repeat("  ", n.Depth+1), n.Wave, n.ID, strings.TrimSpace(n.Kind+" "+n.Uses), n.Times))
		}
	}
	return strings.Join(lines, "\n")
}

func TestPlan(t *testing.T) {
	b := bundle(t, [2]string{"root", `
steps:
  - {id: a, agent: writer, parallel_group: g}
  - {id: b, agent: writer, retry: 2, parallel_group: g}
  - loop:
      max: 3
      until: verdict == "good"
      steps:
        - {id: c, agent: writer}
        - {id: d, agent: reviewer, output: verdict}
  - {workflow: child}
`}, [2]string{"child", `
steps:
  - {id: e, agent: writer, for_each: '["x", "y"]', max_parallel: 1}
  - {id: f, human: "Good?"}
`})
	p := check.PlanOf(check.Input{Bundle: b, Agents: cast{}})
	want := strings.TrimPrefix(`
root 10
  1 a task writer ×1
  1 b task writer ×1
  2 loop loop ×1
    1 c task writer ×3
    2 d task reviewer ×3
    3 choice choice ×3
  3 child call child ×1
child 2
  1 e each ×1
    1 e task writer ×2
  2 f human ×1`, "\n")
	if got := outlinePlan(p); got != want {
		t.Errorf("plan:\n%s\nwant:\n%s", got, want)
	}
	if p.Least != 4 || p.Parallel != (workflow.AtMost(2)) || p.Tokens != (workflow.AtMost(11_000)) || p.CostUSD != workflow.AtMost(5.5) || len(p.Open) > 0 {
		t.Errorf("plan %+v", p)
	}
}

func TestPlanSaysWhyItHasNoBound(t *testing.T) {
	b := bundle(t, [2]string{"root", `
inputs: {files: array}
steps:
  - {id: look, agent: unpriced, for_each: files}
  - {id: sum, agent: writer}
`})
	p := check.PlanOf(check.Input{Bundle: b, Limits: workflow.Limits{Parallel: 4}, Agents: cast{}})
	unknown := workflow.Bound{}
	if p.Steps != unknown || p.CostUSD != unknown || p.Tokens != unknown || p.Parallel != (workflow.AtMost(4)) {
		t.Errorf("plan %+v", p)
	}
	want := "root/look: the number of items in inputs.files is not known\nroot/look: the cost of its agent is not known"
	if got := strings.Join(p.Open, "\n"); got != want {
		t.Errorf("open:\n%s\nwant:\n%s", got, want)
	}
}

// A limit on cost does not limit tokens.
func TestPlanDistinguishesNoBoundFromZero(t *testing.T) {
	p := check.PlanOf(check.Input{Bundle: bundle(t, [2]string{"root", "steps: [{agent: thrifty}, {agent: shell}]"}), Agents: cast{}})
	if p.CostUSD != workflow.AtMost(0.5) || p.Tokens != (workflow.Bound{}) {
		t.Errorf("plan %+v", p)
	}
}

// The question of a choice is a task, but an earlier step may answer it.
func TestPlanOfAQuestion(t *testing.T) {
	const text = "steps: [{id: a, agent: writer}, {id: c, choice: {ask: Good, agent: reviewer}, retry: 2, route: {yes: end, no: end}}]"
	p := check.PlanOf(check.Input{Bundle: bundle(t, [2]string{"root", text}), Agents: cast{}})
	if p.Steps != workflow.AtMost(2) || p.Least != 1 || p.CostUSD != workflow.AtMost(1.5) {
		t.Errorf("plan %+v", p)
	}
}

// Everything that may be handed off counts, each time with the most expensive receiver. A handoff
// may outlast its step, but not the item of a for_each or the workflow around it.
func TestPlanOfHandoffs(t *testing.T) {
	const hands = "handoffs: {to: [shell, writer, thrifty], max: 3}"
	in := check.Input{Agents: cast{}, Limits: workflow.Limits{Parallel: 99}}
	for _, c := range []struct {
		steps                       string
		count, least, parallel, usd float64
	}{
		{"{agent: thrifty, retry: 2, " + hands + "}", 4, 1, 4, 2.5},
		{"{agent: thrifty, " + hands + "}, {agent: thrifty, " + hands + "}", 8, 2, 7, 4},
		{"{agent: thrifty, for_each: '[1, 2]', max_parallel: 1, " + hands + "}, {agent: thrifty}", 9, 3, 4, 4.5},
		{"{loop: {max: 2, until: x, steps: [{agent: thrifty, output: x, " + hands + "}]}}", 8, 1, 7, 4},
		{"{agent: shell, config: {command: [ls]}, handoffs: {to: [shell]}}", 6, 1, 6, 0},
	} {
		in.Bundle = bundle(t, [2]string{"root", "steps: [" + c.steps + "]"})
		p := check.PlanOf(in)
		if p.Steps != workflow.AtMost(c.count) || p.Least != int(c.least) || p.Parallel != workflow.AtMost(c.parallel) || p.CostUSD != workflow.AtMost(c.usd) {
			t.Errorf("%s: plan %+v", c.steps, p)
		}
	}
	in.Bundle = bundle(t, [2]string{"root", "steps: [{id: a, agent: writer, handoffs: {to: [writer, unpriced]}}]"})
	if p := check.PlanOf(in); len(p.Open) != 1 || p.Open[0] != "root/a: the cost of an agent that it may hand work off to is not known" {
		t.Errorf("plan %+v", p)
	}
	in.Bundle = bundle(t, [2]string{"root", "steps: [{id: a, agent: writer, handoffs: {to: [writer], detach: true}}]"})
	if p := check.PlanOf(in); p.CostUSD != (workflow.Bound{}) || len(p.Open) != 1 || p.Open[0] != "root/a: it may detach work, for any amount" {
		t.Errorf("plan %+v", p)
	}
	in.Replied = func(*workflow.Node) bool { return true } // a reply may hand work off too
	if p := check.PlanOf(in); p.Steps != workflow.AtMost(6) || p.CostUSD != (workflow.Bound{}) {
		t.Errorf("plan %+v", p)
	}
}

func TestPlanOfItems(t *testing.T) {
	for items, want := range map[string]workflow.Bound{`'["a", "b"]'`: workflow.AtMost(2), "'[]'": workflow.AtMost(0), "'3'": {}, "x": {}, "'['": {}} {
		w, _ := yaml.Parse("f.yml", []byte("steps: [{agent: writer, for_each: "+items+"}]"))
		p := check.PlanOf(check.Input{Bundle: workflow.Bundle{Root: w}, Agents: cast{}, Limits: workflow.Limits{Parallel: 9}})
		if p.Steps != want || p.Parallel != want.Lower(workflow.AtMost(9)) || (len(p.Open) > 0) == want.Known {
			t.Errorf("%s: plan %+v", items, p)
		}
	}
}

// Inputs that have a default in the text are not required.
func TestRequiredInputs(t *testing.T) {
	b := bundle(t, [2]string{"root", "steps: [{agent: writer, prompt: '${x} ${y ?? \"none\"}'}, {workflow: child, inputs: {a: '1'}}]"}, [2]string{"child", "inputs: {a: string, b: string, c: {type: string, default: d}, x: string}\nsteps: [{agent: writer}]"})
	var names []string
	for _, in := range check.RequiredInputs(b) {
		names = append(names, in.Name)
	}
	if got, want := strings.Join(names, " "), "x b"; got != want {
		t.Errorf("the inputs are %s, want %s", got, want)
	}
}

// Only tasks run at the same time: a person, a choice and a combine need no agent.
func TestPlanCountsTasks(t *testing.T) {
	p := check.PlanOf(check.Input{Bundle: bundle(t, [2]string{"root", `
execution: parallel
steps:
  - {id: a, human: "Go?", parallel_group: g}
  - {id: b, human: "Why?", parallel_group: g}
  - {id: c, agent: writer, parallel_group: g}
  - {combine: {strategy: array, inputs: [steps.a.output]}}
`}), Agents: cast{}})
	if one := workflow.AtMost(1); p.Steps != one || p.Least != 1 || p.Parallel != one || p.CostUSD != workflow.AtMost(0.5) {
		t.Errorf("plan %+v", p)
	}
}

// A scripted reply costs less than an agent.
func TestPlanOfReplies(t *testing.T) {
	in := check.Input{Bundle: bundle(t, [2]string{"root", "steps: [{agent: writer}]"}), Agents: cast{}}
	in.Bound = func(_ *workflow.Node, b workflow.Budget) workflow.Budget {
		return b.Lower(workflow.Budget{CostUSD: workflow.AtMost(0.25)})
	}
	if p := check.PlanOf(in); p.CostUSD != workflow.AtMost(0.25) || p.Tokens != workflow.AtMost(1000) {
		t.Errorf("plan %+v", p)
	}
}

func TestPlanOfNestedLoopsDoesNotOverflow(t *testing.T) {
	text := "steps: [{agent: writer}]"
	for range 12 {
		text = "steps: [{loop: {max: 1000000, until: \"true\", " + text + "}}]"
	}
	p := check.PlanOf(check.Input{Bundle: bundle(t, [2]string{"root", text}), Agents: cast{}})
	if n, ok := p.Steps.Amount(); !ok || n <= 0 {
		t.Errorf("steps %+v", p.Steps)
	}
}

func TestPlanOfCyclesEnds(t *testing.T) {
	b := bundle(t, [2]string{"root", "steps: [{workflow: other}]"}, [2]string{"other", "steps: [{workflow: root}]"})
	if p := check.PlanOf(check.Input{Bundle: b, Agents: cast{}}); p.Steps.Known {
		t.Errorf("plan %+v", p)
	}
}

func TestPlanSaysWhatBecomesOfWorkspaces(t *testing.T) {
	b := bundle(t, [2]string{"f", "steps: [{id: a, agent: x, workspace: own}, {id: m, merge: {pick: human}}, {id: s, land: patch}]"})
	var got []string
	for _, n := range check.PlanOf(check.Input{Bundle: b}).Workflows[0].Nodes {
		got = append(got, fmt.Sprintf("%s %q %t", n.ID, n.Does, n.Own))
	}
	if want := `a "" true, m "pick by a person" false, s "land: patch" false`; strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
}
