package check_test

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// The caret of a diagnostic points at what it is about.
func TestPositions(t *testing.T) {
	for _, c := range []struct{ text, code, under string }{
		{"state: {a b: 1}\nsteps: [{agent: writer}]", "name-invalid", "a b"},
		{"inputs: {n: {type: integer, default: many}}\nsteps: [{agent: writer}]", "input-default", "many"},
		{"steps: [{agent: writer, output: a b}]", "name-invalid", "a b"},
		{"steps: [{agent: strict, config: {comand: ls}}]", "settings-invalid", "comand"},
		{"steps: [{agent: strict, config: {mode: ''}}]", "settings-invalid", "''"},
		{"steps: [{agent: strict, config: {mode: {a: b}}}]", "settings-invalid", "mode"},
		{"steps: [{agent: writer, output: {var: a, path: 'b['}}]", "jsonpath-invalid", "'b['"},
		{"steps: [{agent: writer, output: {var: a, pattern: 'b('}}]", "regex-invalid", "'b('"},
		{"steps: [{agent: writer, output: {var: a, schema: {required: 1}}}]", "schema-invalid", "{required: 1}"},
		{"steps: [{agent: writer, output: {var: a, mode: regex}}]", "output-pattern-missing", "regex"},
		{"steps: [{human: {question: q, options: [a, b]}, route: {a: end, c: end}, else: end}]", "label-not-answerable", "c"},
		{"steps: [{human: {question: q, options: [a, b]}, route: [{label: c, to: end}], else: end}]", "label-not-answerable", "c"},
		{"inputs: {x: string}\nsteps: [{agent: shell, config: {command: 'ls ${x} ${x}'}}]", "shell-splice", "${x}"},
	} {
		w, found := yaml.Parse("f.yml", []byte(c.text))
		if len(found) > 0 {
			t.Fatalf("%s: %v", c.text, found)
		}
		list := check.Run(check.Input{Bundle: workflow.Bundle{Root: w}, Agents: strictCast{}})
		if len(list) != 1 || list[0].Code != c.code {
			t.Errorf("%s: %v", c.text, list)
			continue
		}
		d := list[0]
		line := strings.Split(c.text, "\n")[d.Line-1]
		if d.EndLine != d.Line || line[d.Column-1:d.EndColumn-1] != c.under {
			t.Errorf("%s: %q is under the caret, not %q", d, line[d.Column-1:d.EndColumn-1], c.under)
		}
	}
}

// strictCast is cast with an agent that accepts only one setting.
type strictCast struct{ cast }

func (c strictCast) Agent(name, role string) check.Agent {
	if name != "strict" {
		return c.cast.Agent(name, role)
	}
	return check.Agent{Executor: "model", Validate: func(settings map[string]any) []check.Problem {
		for key, value := range settings {
			if key != "mode" {
				return []check.Problem{{Setting: key, Unknown: true, Summary: "unknown"}}
			}
			if value != "fast" {
				return []check.Problem{{Setting: key, Summary: "wrong"}}
			}
		}
		return nil
	}}
}

// The hint about replies names the only label of a question.
func TestReplyOfAQuestionWithOneLabel(t *testing.T) {
	in := check.Input{Agents: cast{}, Replied: func(*workflow.Node) bool { return false }}
	if got := run(t, in, "steps: [{id: c, choice: {ask: Good, agent: stranger}, route: {yes: end}, else: end}]"); !strings.Contains(got, "add `c: yes` to the replies; its answers are yes; ") {
		t.Error(got)
	}
}

// A missing reply for the question of a choice is reported only if other steps have replies.
func TestUnknownAgentOfAChoice(t *testing.T) {
	w, found := yaml.Parse("f.yml", []byte("steps:\n  - {id: a, agent: writer}\n  - {id: c, choice: {ask: 'Good?', agent: stranger}, route: [{label: yes, to: a2}, {label: yes, to: end}, {label: no, to: end}], else: end}\n  - {id: a2, agent: writer}"))
	if found.Errors() {
		t.Fatal(found)
	}
	for _, replies := range []bool{false, true} {
		in := check.Input{Bundle: workflow.Bundle{Root: w}, Agents: cast{}}
		if replies {
			in.Replied = func(*workflow.Node) bool { return false }
		}
		list := check.Run(in).String()
		if !strings.Contains(list, "stranger") || strings.Contains(list, "add `c: yes` to the replies; its answers are yes, no; `") != replies {
			t.Errorf("with replies %v: %s", replies, list)
		}
	}
}
