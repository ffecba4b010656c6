package agent_test

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
)

// exact is a specialist that needs no prompt if its settings name a command.
var exact = talker(func(t *agent.Traits) {
	t.Specialist = true
	t.Exact = func(task *agent.Task) bool { return task.Settings["command"] != nil }
	t.Supports = func(d *agent.Definition, _ string) bool { return d.Settings["command"] == nil }
})

// endless is a talker that does not support a turn limit.
var endless = talker(func(t *agent.Traits) {
	t.Supports = func(_ *agent.Definition, key string) bool { return key != "max_turns" }
})

// A key that has no effect is reported, whatever the executor.
func TestIgnored(t *testing.T) {
	executors := map[string]agent.Executor{"claude": talker(), "codex": endless, "shell": exact, "mcp": plain}
	const all = "prompt: p\nmodel: m\ntools: [t]\nmcp: [s]\npermissions: {mode: edit}\nmax_turns: 1\nbudget: {max_tokens: 9}\ntimeout: 5s\nretry: 2\nmax_output_kb: 9\n"
	for _, c := range []struct{ text, want string }{
		{"agent: claude\n" + all, ""},
		{"agent: nobody\n" + all, ""},
		{"agent: shell\n" + all, ""},
		{"agent: shell\nsettings: {command: ls}\n", ""},
		{"agent: shell\nsettings: {command: ls}\n" + all, "prompt model tools mcp permissions max_turns"},
		{"agent: mcp\nsettings: {tool: x}\n" + all, "prompt model tools mcp permissions max_turns"},
		{"agent: mcp\nsettings: {tool: x}\nprompt: ' '\ntools: []\n", ""},
		{"agent: codex\n" + all, "max_turns"},
	} {
		d, found := agent.ReadDefinition("a.yml", []byte(c.text))
		if found.Errors() {
			t.Fatal(found)
		}
		var keys []string
		for _, p := range agent.NewSet(executors, []*agent.Definition{d}, "").Ignored(d) {
			keys = append(keys, p.Path[0])
			if at := d.At(p.Path[0]); at == d.Pos || p.Summary == "" || p.Detail == "" {
				t.Errorf("%s: %+v at %v", c.text, p, at)
			}
		}
		if got := strings.Join(keys, " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
}
