package project_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/project"
)

// strict is an executor that works from a prompt, enforces one mode only, and does not support a
// turn limit.
var strict = agent.New(agent.Traits{
	Prompted: true,
	Supports: func(_ *agent.Definition, key string) bool { return key != "max_turns" },
	Permissions: func(written map[string]any) []agent.Problem {
		if written["mode"] != "read-only" {
			return []agent.Problem{{Summary: "it can only read", Detail: "choose the mode read-only"}}
		}
		return nil
	},
}, nil)

// What an agent may do, and where its tools are, is checked before anything runs.
func TestDefinitionsFitTheProject(t *testing.T) {
	dir := write(t, map[string]string{
		".hocket/config.yml":      "mcp: {tickets: {command: [x]}}\n",
		".hocket/agents/good.yml": "agent: strict\npermissions: {mode: read-only}\nmcp: [tickets]\n",
		".hocket/agents/wild.yml": "agent: strict\npermissions: {mode: full}\n",
		".hocket/agents/lost.yml": "agent: strict\nprompt: x\nmcp: [tickest]\n",
		".hocket/agents/typo.yml": "agent: strit\nprompt: x\n",
		".hocket/agents/deaf.yml": "agent: strict\nprompt: x\nmax_turns: 5\n",
	})
	p, err := project.Open(dir, project.Options{State: dir, Executors: fixed(map[string]agent.Executor{"strict": strict})})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, d := range p.Diagnostics() {
		if d.Code != agent.CodeDefinition {
			t.Errorf("found %v", d)
		}
		found = append(found, strings.TrimPrefix(d.Pos.String(), dir+"/")+" "+d.Summary+"; "+d.Detail)
	}
	slices.Sort(found)
	want := []string{
		`.hocket/agents/deaf.yml:3:1 agent "deaf": strict does not support "max_turns"; remove it, or set ` + "`agent` to one that supports it",
		`.hocket/agents/lost.yml:3:1 agent "lost": unknown MCP server "tickest"; did you mean "tickets"?`,
		`.hocket/agents/typo.yml:1:1 agent "typo": unknown executor "strit"; did you mean "strict"?`,
		`.hocket/agents/wild.yml:2:1 permissions of "wild": it can only read; choose the mode read-only`,
	}
	if !slices.Equal(found, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(found, "\n"), strings.Join(want, "\n"))
	}
}

// Settings are checked in the same way if the agent's program is missing.
func TestSettingsWithoutTheProgram(t *testing.T) {
	settings := agent.NewSchema(map[string]any{"type": "object", "properties": map[string]any{"max_turns": map[string]any{"type": "integer"}}, "additionalProperties": false})
	dir := write(t, map[string]string{
		"w.yml": "steps:\n  - {agent: away, prompt: x, config: {mode: subagnet}}\n  - {agent: away, prompt: x, config: {maxSteps: five, permission: {edit: never}}}\n",
	})
	away := agent.New(agent.Traits{Prompted: true, Settings: settings, Missing: func() string { return "away is not installed" }}, nil)
	p, err := project.Open(dir, project.Options{State: dir, Executors: fixed(map[string]agent.Executor{"away": away})})
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.Load(filepath.Join(dir, "w.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, d := range l.Check(nil) {
		found = append(found, strings.TrimPrefix(d.String(), dir+"/"))
	}
	text := strings.Join(found, "\n")
	for _, want := range []string{
		`mode cannot be "subagnet"; did you mean "subagent"?`,
		`w.yml:3:49: error[settings-invalid]: "away-2": setting "maxSteps" must be integer`,
		`permission.edit cannot be "never"`,
		"away is not installed",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// What an agent lacks on this machine is looked up once per check, not once per step.
func TestAgentsAreLookedUpOnce(t *testing.T) {
	lookups := func(steps int) int {
		count := 0
		absent := agent.New(agent.Traits{Prompted: true, Missing: func() string { count++; return "install it" }}, nil)
		dir := write(t, map[string]string{"a.yml": "name: a\nsteps:\n" + strings.Repeat("- {prompt: x}\n- {agent: absent, prompt: x}\n", steps)})
		p, err := project.Open(dir, project.Options{State: dir, Executors: fixed(map[string]agent.Executor{"absent": absent})})
		if err != nil {
			t.Fatal(err)
		}
		l, err := p.Load(filepath.Join(dir, "a.yml"))
		if err != nil {
			t.Fatal(err)
		}
		if !l.Check(nil).Errors() {
			t.Fatal("a check found an agent that is missing")
		}
		l.Powers()
		return count
	}
	if few, many := lookups(2), lookups(50); many > few {
		t.Errorf("looked %d times for 4 steps, and %d times for 100", few, many)
	}
}
