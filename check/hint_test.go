package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/workflow"
)

// troop are agents by their names; "" is the project's default agent.
type troop map[string]check.Agent

func (a troop) Agent(name, _ string) check.Agent { return a[name] }

// run checks a workflow without calls.
func run(t *testing.T, in check.Input, text string) string {
	t.Helper()
	in.Bundle = bundle(t, [2]string{"f", text})
	return check.Run(in).String()
}

func TestDefaultAgent(t *testing.T) {
	broken := troop{"": {Found: check.NoExecutor, Install: "install it"}}
	if got, want := run(t, check.Input{Agents: broken}, "steps: [{id: a, prompt: x}]"),
		`f.yml:1:14: error[agent-no-executor]: "a": cannot run the project's default agent; install it`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := run(t, check.Input{Agents: troop{"": {Found: check.Unknown, Install: "install one"}}}, "steps: [{id: a, prompt: x}]"),
		`f.yml:1:14: error[agent-missing]: "a" has no agent; install one`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := run(t, check.Input{Agents: troop{"": {Found: check.Unknown, Candidates: []string{"anna"}}}}, "steps: [{id: a, prompt: x}]"); !strings.HasSuffix(got, "available agents: anna") {
		t.Error(got)
	}
	const question = "steps: [{id: a, agent: x}, {id: c, choice: {ask: Good}, route: {yes: end, no: end}}]"
	for name, want := range map[string]string{"anna": "default agent anna is asked", "": "default agent is asked"} {
		if got := run(t, check.Input{Agents: troop{"": {Name: name}, "x": {}}}, question); !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// The settings of a task override those of its agent.
func TestMergedSettings(t *testing.T) {
	var got map[string]any
	a := troop{"x": {Settings: map[string]any{"a": "1", "b": "1"}, Validate: func(settings map[string]any) []check.Problem {
		got = settings
		return nil
	}}}
	if found := run(t, check.Input{Agents: a}, "steps: [{agent: x, config: {b: '2'}}]"); found != "" || fmt.Sprint(got) != "map[a:1 b:2]" {
		t.Errorf("%v %s", got, found)
	}
}

// Settings that a person approves before a run cannot contain references.
func TestFixedSettings(t *testing.T) {
	a := troop{"x": {Executor: "model", Fixed: []string{"tools"}, Validate: func(map[string]any) []check.Problem { return nil }}}
	for value, wrong := range map[string]bool{"'${x}'": true, "['${x}']": true, "'$${x}'": false, "read": false} {
		got := run(t, check.Input{Agents: a}, "steps: [{agent: x, config: {tools: "+value+", other: '${x}'}}]")
		if strings.Contains(got, `"x": tools cannot contain a reference`) != wrong {
			t.Errorf("%s: %s", value, got)
		}
	}
}

// What seems to be missing may be in a part of the step that could not be read.
func TestUnreadSettings(t *testing.T) {
	a := troop{"x": {Executor: "x", Validate: func(map[string]any) []check.Problem {
		return []check.Problem{{Setting: "a", Missing: true, Summary: "missing"}, {Summary: "whole"}, {Setting: "b", Summary: "wrong"}}
	}}}
	for unread, want := range map[bool]int{true: 1, false: 3} {
		in := check.Input{Agents: a, Bundle: bundle(t, [2]string{"f", "steps: [{agent: x, config: {b: 1}}]"}), Unread: func(workflow.Pos) bool { return unread }}
		if found := check.Run(in); len(found) != want {
			t.Errorf("unread %v: %v", unread, found)
		}
	}
}

// A note about an agent is found once for all of its tasks.
func TestNotesAboutSettings(t *testing.T) {
	note := func(map[string]any) []check.Problem {
		return []check.Problem{{Setting: "effort", Note: true, Summary: "no effect"}}
	}
	a := troop{"x": {Validate: note, Executor: "model"}}
	got := run(t, check.Input{Agents: a}, "steps: [{agent: x}, {agent: x}, {agent: x, config: {effort: high}}]")
	if want := `f.yml:1:17: note[settings-invalid]: "x": no effect; the same applies to "x-2"
f.yml:1:61: note[settings-invalid]: "x-3": no effect`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A hint lists only as many names as a person would read.
func TestHintsForManyNames(t *testing.T) {
	for n, want := range map[int]string{7: "available: 1, 2, 3, 4, 5, 6, 7, 8", 8: "name one of the workflow's steps, or end"} {
		w := workflow.Sequence("", append([]*workflow.Job{write().OnFailure("xyz")}, slices.Repeat([]*workflow.Job{write()}, n)...)...)
		if got := check.Run(check.Input{Bundle: workflow.Bundle{Root: w}, Agents: cast{}}).String(); !strings.HasSuffix(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	names := strings.Fields("aa bb cc dd ee ff gg hh ii jj kk")
	for n, want := range map[int]string{0: "put it next to this file, or into .hocket/workflows", 10: "available: aa, bb, cc, dd, ee, ff, gg, hh, ii, jj", 11: "put it next to this file, or into .hocket/workflows"} {
		if got := run(t, check.Input{Agents: cast{}, Names: names[:n]}, "steps: [{workflow: xyz}]"); !strings.HasSuffix(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for n, hinted := range map[int]bool{9: true, 10: false} {
		text := "steps: [{id: review, agent: writer}, {id: reviw, prompt: ''}"
		for i := range n {
			text += fmt.Sprintf(", {id: s%d, prompt: ''}", i)
		}
		if got := run(t, check.Input{Agents: cast{}}, text+"]"); strings.Contains(got, `did you mean "review"`) != hinted {
			t.Errorf("with %d: %s", n, got)
		}
	}
}

// Every word that has a meaning in a reference is reserved.
func TestReservedNames(t *testing.T) {
	for _, word := range strings.Fields("inputs vars nodes groups previous output failure item index iteration _iteration_count true false null contains matches in") {
		if got := run(t, check.Input{Agents: cast{}}, "steps: [{agent: writer, output: {var: '"+word+"', mode: full}}]"); !strings.Contains(got, "name-reserved") {
			t.Errorf("%s: %s", word, got)
		}
	}
}

// The limits of a run apply to its root, and to no workflow that it calls.
func TestLimitsOfTheRun(t *testing.T) {
	b := bundle(t, [2]string{"root", "steps: [{agent: writer}, {workflow: child}]"}, [2]string{"child", "limits: {max_depth: 1, max_steps: 1}\nsteps: [{agent: writer}, {workflow: last}, {workflow: last}]"}, [2]string{"last", "steps: [{agent: shell, config: {command: [ls]}}]"})
	const always = `child.yml:2:37: warning[budget-exceeded]|child.yml:2:37: error[workflow-depth]`
	for limits, want := range map[workflow.Limits]string{
		{}:         always,
		{Steps: 3}: always + `|root.yml:1:37: error[budget-exceeded]`,
		{Steps: 4}: always,
		{Depth: 2}: always + `|root.yml:1:37: error[workflow-depth]`,
		{Depth: 3}: always,
	} {
		var codes []string
		for _, d := range check.Run(check.Input{Bundle: b, Agents: cast{}, Limits: limits}) {
			codes = append(codes, fmt.Sprintf("%s: %s[%s]", d.Pos, d.Severity, d.Code))
		}
		if got := strings.Join(codes, "|"); got != want {
			t.Errorf("%+v: %s, want %s", limits, got, want)
		}
	}
	if got, want := fmt.Sprint(check.Defaults()), "{100 10 5 30m0s 0 0 0}"; got != want {
		t.Errorf("defaults are %s, want %s", got, want)
	}
	if p := check.PlanOf(check.Input{Bundle: b, Agents: cast{}}); p.Limits != check.Defaults() {
		t.Errorf("the plan has the limits %v", p.Limits)
	}
}

// Workflows that call each other often are not checked once for each path to them.
func TestManyPathsToAWorkflow(t *testing.T) {
	var files [][2]string
	for i := range 60 {
		files = append(files, [2]string{fmt.Sprint("w", i), fmt.Sprintf("limits: {max_depth: 100}\nsteps: [{workflow: w%d}, {workflow: w%d}]", i+1, i+1)})
	}
	files = append(files, [2]string{"w60", "limits: {max_depth: 100}\nsteps: [{human: '${x}'}]"})
	b := bundle(t, files...)
	if found := check.Run(check.Input{Bundle: b, Agents: cast{}, Limits: workflow.Limits{Depth: 100}}); found.Errors() {
		t.Error(found)
	}
	if needs := check.RequiredInputs(b); len(needs) != 1 || needs[0].Name != "x" {
		t.Errorf("needs %v", needs)
	}
}
