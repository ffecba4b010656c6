package agent_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

func TestReadDefinition(t *testing.T) {
	const text = `
name: security-scanner
description: Scan code
role: reviewer
capabilities: [security, go]
agent: codex
prompt: |
  You are a security expert.
model: large
tools: grep
mcp: [docs, tickets]
max_turns: 12
permissions: {write: false}
settings: {depth: 3, mode: "on"}
timeout_mins: 1.5
max_output_kb: 50
retry: {attempts: 3, backoff: exponential, delay: 2s, max_delay: 1m}
budget: {max_cost_usd: 0.5, max_tokens: 10000}
source:
  from: claude
  file: .claude/agents/security-scanner.md
  imported_at: 2025-01-09T15:00:00Z
  digest: sha256:ab
  written: sha256:cd
`
	got, found := agent.ReadDefinition(".hocket/agents/scan.yml", []byte(text))
	want := &agent.Definition{
		Name: "security-scanner", ID: "scan", Description: "Scan code", Role: "reviewer", Capabilities: []string{"security", "go"},
		Agent: "codex", Prompt: "You are a security expert.\n", Model: "large", Tools: []string{"grep"}, Servers: []string{"docs", "tickets"}, MaxTurns: 12,
		Permissions: map[string]any{"write": false}, Settings: map[string]any{"depth": json.Number("3"), "mode": "on"},
		Timeout: 90 * time.Second, MaxOutputKB: 50,
		Retry:  workflow.Retry{Attempts: 3, Backoff: workflow.Exponential, Delay: 2 * time.Second, MaxDelay: time.Minute},
		Budget: workflow.Budget{CostUSD: workflow.AtMost(0.5), Tokens: workflow.AtMost(10000)},
		Source: &agent.Source{From: "claude", File: ".claude/agents/security-scanner.md", ImportedAt: "2025-01-09T15:00:00Z", Digest: "sha256:ab", Written: "sha256:cd"},
		Pos:    workflow.Pos{File: ".hocket/agents/scan.yml", Line: 2, Column: 7, EndLine: 2, EndColumn: 23},
	}
	if at := got.At("permissions"); at.Line != 13 || at.Column != 1 {
		t.Errorf("the permissions stand at %v", at)
	}
	got.Keys = nil
	if diff := cmp.Diff(want, got); diff != "" || len(found) > 0 {
		t.Errorf("%s\n%s", found, diff)
	}
}

func TestReadDefinitionShort(t *testing.T) {
	got, found := agent.ReadDefinition("dir/lint.v2.yaml", []byte("agent: shell\nretry: 2\ntimeout: 10s\n"))
	if len(found) > 0 || got.Name != "lint.v2" || got.ID != "lint.v2" || got.Retry.Attempts != 2 || got.Timeout != 10*time.Second {
		t.Errorf("%+v\n%s", got, found)
	}
}

// An unset limit stays unknown, and an input of a task may have a default.
func TestReadDefinitionParts(t *testing.T) {
	for text, want := range map[string]workflow.Budget{
		"budget: {max_tokens: 1}":      {Tokens: workflow.AtMost(1)},
		"budget: {max_cost_usd: 0.25}": {CostUSD: workflow.AtMost(0.25)},
		"budget: {}":                   {},
	} {
		if got, found := agent.ReadDefinition("a.yml", []byte("agent: shell\n"+text)); len(found) > 0 || got.Budget != want {
			t.Errorf("%s: %v, %v", text, got.Budget, found)
		}
	}
	for text, want := range map[string]workflow.Retry{
		"retry: 1": {Attempts: 1}, "retry: {attempts: 1}": {Attempts: 1}, "retry: {attempts: 2, backoff: fixed}": {Attempts: 2},
		"retry: {attempts: 2, backoff: linear}": {Attempts: 2, Backoff: workflow.Linear},
	} {
		if got, found := agent.ReadDefinition("a.yml", []byte("agent: shell\nmax_turns: 1\nmax_output_kb: 1\n"+text)); len(found) > 0 || got.Retry != want {
			t.Errorf("%s: %v, %v", text, got.Retry, found)
		}
	}
	for text, want := range map[string]map[string]any{
		"inputs: [a, b]":                                         {"a": nil, "b": nil},
		"inputs: {a: string, b: any}":                            {"a": nil, "b": nil},
		"inputs: {a: red, b: 7}":                                 {"a": "red", "b": json.Number("7")},
		"inputs: {a: {type: string}}":                            {"a": nil},
		"inputs: {a: {default: x, type: y}}":                     {"a": "x"},
		"inputs: {a: {description: d, required: true}, b: list}": {"a": nil, "b": nil},
		"inputs: null":                                           nil,
	} {
		if got, found := agent.ReadDefinition("a.yml", []byte("agent: shell\n"+text)); len(found) > 0 || !cmp.Equal(got.Inputs, want) {
			t.Errorf("%s: %v, %v", text, got.Inputs, found)
		}
	}
	if _, found := agent.ReadDefinition("a.yml", []byte("agent: shell\ninputs: {a: {defualt: x}}")); !found.Errors() {
		t.Error("an unknown key of an input was taken")
	}
}

func TestReadDefinitionMistakes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"executor: claude\nprompt: x", `a.yml:1:1: error[yaml-unknown-key]: unknown key "executor"; use "agent" instead`},
		{"agent: claude\nsystem: x", `a.yml:2:1: error[yaml-unknown-key]: unknown key "system"; use "prompt" instead`},
		{"nam: x\nagent: shell", `a.yml:1:1: error[yaml-unknown-key]: unknown key "nam"; did you mean "name"?`},
		{"agent: shell\nsource: {form: x}", `a.yml:2:10: error[yaml-unknown-key]: unknown key "form"; did you mean "from"?`},
		{"agent: shell\nretry: {attempts: 0}", `a.yml:2:19: error[yaml-number]: "attempts" cannot be 0; write 1 or more`},
		{"agent: shell\ntimeout: 5", `a.yml:2:10: error[yaml-duration]: "5" is not a duration; write a number with its unit, such as 90s, 10m, 2h or 1h30m`},
		{"agent: shell\ntimeout: 5s\ntimeout_mins: 5", `a.yml:3:1: error[agent-definition]: both timeout and timeout_mins are given; keep one of them`},
		{"agent: shell\ntimeout_mins: 1e300", `a.yml:2:15: error[yaml-number]: "timeout_mins" cannot be 1e300; write a smaller number`},
		{"agent: shell\ntimeout: 0s", `a.yml:2:10: error[agent-definition]: "timeout" must be positive; set a positive duration, or remove it`},
		{"agent: shell\ntimeout_mins: 0.0", `a.yml:2:15: error[agent-definition]: "timeout_mins" must be positive; set a positive duration, or remove it`},
		{"agent: shell\ntimeout: -1s", `a.yml:2:10: error[yaml-duration]: "-1s" is not a duration; write a number with its unit, such as 90s, 10m, 2h or 1h30m`},
		{"agent: shell\nretry: {delay: 2s}", `a.yml:2:8: error[agent-definition]: retry is missing attempts; write, for example, attempts: 3, or remove retry`},
		{"agent: shell\nbudget: {max_cost_usd: 0}", `a.yml:2:24: error[agent-definition]: "max_cost_usd" must be positive; set a number above 0, or remove it for no limit`},
		{"agent: shell\nbudget: {max_token: 5}", `a.yml:2:10: error[yaml-unknown-key]: unknown key "max_token"; did you mean "max_tokens"?`},
		{"agent: shell\nretry: {attempts: 2, dely: 1s}", `a.yml:2:22: error[yaml-unknown-key]: unknown key "dely"; did you mean "delay"?`},
		{"agent: shell\nbudget: {max_cost_usd: x}", `a.yml:2:24: error[yaml-type]: "max_cost_usd" must be a number, not text`},
		{"name: ''\nagent: shell", `a.yml:1:7: error[agent-definition]: the agent's name is empty; write a name, or remove the key to use the file name`},
		{"name: [x]\nagent: shell", `a.yml:1:7: error[yaml-type]: "name" must be text, not a list`},
		{"description: only this", `a.yml:1:1: error[agent-definition]: agent "a" has neither a prompt nor an executor; add a ` + "`prompt`, or set `agent` to an executor"},
		{"", `a.yml:1:1: error[agent-definition]: agent "a" has neither a prompt nor an executor; add a ` + "`prompt`, or set `agent` to an executor"},
		{"- a\n- b", `a.yml:1:1: error[yaml-type]: the file must be a map, not a list`},
		{"prompt: [a]\nagent: {}", `a.yml:1:9: error[yaml-type]: "prompt" must be text, not a list` + "\n" + `a.yml:2:8: error[yaml-type]: "agent" must be text, not a map`},
	} {
		_, found := agent.ReadDefinition("a.yml", []byte(c.text))
		if diff := cmp.Diff(c.want, found.String()); diff != "" {
			t.Errorf("%s\n%s", c.text, diff)
		}
	}
}

// A definition with an invalid name can still be told apart from others.
func TestReadDefinitionAlwaysHasAName(t *testing.T) {
	for _, text := range []string{"name: [x]", "name: ''", "name:", "name: '  '", "- a"} {
		if d, _ := agent.ReadDefinition("poet.yml", []byte(text)); d == nil || d.Name != "poet" {
			t.Errorf("%q: %+v", text, d)
		}
	}
}

func FuzzReadDefinition(f *testing.F) {
	f.Add("name: a\nagent: shell\nsettings: {a: [1, {b: c}]}\nretry: 3\ntimeout_mins: 5\nsource: {from: claude}")
	f.Add("timeout: 5s\ntimeout_mins: 1e400\nbudget: {max_cost_usd: -1}\nretry: null\ntools: [a, [b]]")
	f.Add("<<: *a\nname: &a x")
	f.Fuzz(func(t *testing.T, text string) {
		d, found := agent.ReadDefinition("a.yml", []byte(text))
		if d == nil && !found.Errors() {
			t.Error("no definition, and no reason")
		}
		if d == nil || found.Errors() {
			return
		}
		if strings.TrimSpace(d.Name) == "" || d.Timeout < 0 || d.Retry.Attempts < 0 || d.MaxOutputKB < 0 {
			t.Errorf("accepted %+v", d)
		}
		if _, err := json.Marshal(d); err != nil {
			t.Errorf("cannot be stored: %v", err)
		}
	})
}
