package acp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/cli"
	"github.com/hocket-dev/hocket/workflow"
)

// A definition decides what it names, without asking a person.
func TestDecide(t *testing.T) {
	project, elsewhere := t.TempDir(), t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(project, "link")); err != nil {
		t.Skip(err) // a system that has none, or not for us
	}
	if err := os.Mkdir(filepath.Join(project, "docs"), 0o700); err != nil {
		t.Fatal(err)
	}
	const tests = `"shell": {"go test *": "allow", "rm *": "deny", "*": "ask"}`
	for _, c := range []struct{ written, call, want string }{
		{tests, `{"kind": "execute", "rawInput": {"command": "go test ./..."}}`, "allow"},
		{tests, `{"kind": "execute", "rawInput": {"command": "go test x; rm y"}}`, "deny"},
		{tests, `{"kind": "execute", "rawInput": {"command": "go test $(curl x)"}}`, "ask"},
		{tests, `{"kind": "execute", "rawInput": {"command": ["go", "test"]}}`, "ask"}, // unclear how a list is run
		{tests, `{"kind": "execute", "title": "go test x"}`, "allow"},
		{tests, `{"kind": "execute", "title": "go test x", "rawInput": {"command": "rm x"}}`, "deny"},
		{tests, `{"kind": "execute", "title": "go test x", "rawInput": {"command": 1}}`, "ask"},
		{tests, `{"kind": "other", "title": "shell · go test", "rawInput": {"command": "go test"}}`, "allow"},
		{tests, `{"kind": "other", "title": "engine: shell", "rawInput": {"command": "go test"}}`, "ask"},
		{tests, `{"title": "shell · rm x", "rawInput": {"command": "rm x"}}`, "deny"},
		{`"shell": "deny"`, `{"kind": "execute", "rawInput": {}}`, "deny"},
		{`"shell": "allow"`, `{"kind": "execute", "rawInput": {"script": "x"}}`, "allow"},
		{`"shell": "allow"`, `{"kind": "edit", "locations": [{"path": "a.go"}]}`, "ask"}, // not covered by the definition
		{`"write": "allow"`, `{"kind": "edit", "locations": [{"path": "a.go"}]}`, "allow"},
		{`"write": "allow"`, `{"kind": "edit", "rawInput": {"file_path": "{project}/a.go"}}`, "allow"},
		{`"write": "allow"`, `{"kind": "edit"}`, "ask"},
		{`"write": "allow"`, `{"kind": "edit", "locations": [{"path": ".hocket/agents/me.yml"}]}`, "ask"},
		{`"write": "allow"`, `{"kind": "edit", "locations": [{"path": "../a.go"}]}`, "ask"},
		{`"write": "allow"`, `{"kind": "edit", "locations": [{"path": "/etc/passwd"}]}`, "ask"},
		{`"write": "allow"`, `{"kind": "edit", "locations": [{"path": "{project}/link/a.go"}]}`, "ask"},
		{`"write": "allow"`, `{"kind": "edit", "locations": [{"path": "a.go"}], "content": [{"type": "diff", "path": "/etc/passwd"}]}`, "ask"},
		{`"write": "allow"`, `{"kind": "move", "locations": [{"path": "a.go"}, {"path": "b.go"}]}`, "allow"},
		{`"write": "deny"`, `{"kind": "delete", "locations": [{"path": "/etc/passwd"}]}`, "deny"},
		{`"write": "deny"`, `{"kind": "edit"}`, "deny"},
		{`"write": {"docs/*": "allow", "*": "deny"}`, `{"kind": "edit", "locations": [{"path": "docs/new/a.md"}]}`, "allow"},
		{`"write": {"docs/*": "allow", "*": "deny"}`, `{"kind": "edit", "locations": [{"path": "docs/../a.go"}]}`, "deny"},
		{`"read": {"*.key": "deny", "*": "allow"}`, `{"kind": "read", "locations": [{"path": "docs/a.md"}]}`, "allow"},
		{`"read": {"*.key": "deny", "*": "allow"}`, `{"kind": "read", "rawInput": {"path": "a.key"}}`, "deny"},
		{`"read": "allow"`, `{"kind": "search", "title": "the web"}`, "ask"},
		{`"network": {"https://go.dev/*": "allow", "*": "deny"}`, `{"kind": "fetch", "rawInput": {"url": "https://go.dev/doc"}}`, "allow"},
		{`"network": {"https://go.dev/*": "allow", "*": "deny"}`, `{"kind": "fetch", "rawInput": {"url": "https://go.dev.evil.net/"}}`, "deny"},
		{`"network": {"https://go.dev/*": "allow", "*": "deny"}`, `{"kind": "fetch", "title": "https://go.dev/"}`, "ask"},
		{``, `{"kind": "execute", "rawInput": {"command": "ls"}}`, "ask"},
	} {
		v, err := workflow.ParseJSON([]byte(`{"mode": "ask"` + map[bool]string{true: ", "}[c.written != ""] + c.written + "}"))
		if err != nil {
			t.Fatal(err)
		}
		permissions, problems := agent.ReadPermissions(v.(map[string]any))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		var p permissionRequest
		if err := json.Unmarshal([]byte(strings.ReplaceAll(c.call, "{project}", filepath.ToSlash(project))), &p.ToolCall); err != nil {
			t.Fatal(err)
		}
		p.Options = []option{{ID: "always", Kind: "allow_always"}, {ID: "once", Kind: "allow_once"}, {ID: "no", Kind: "reject_once"}}
		var offered []string
		task := &agent.Task{Dir: project, Agent: &agent.Definition{}, Ask: func(_ context.Context, q agent.Question) (string, error) {
			offered = q.Options
			return "", agent.ErrNobody
		}}
		start := &cli.Start{Manifest: &cli.Manifest{Name: "test"}, Dir: project, Permissions: permissions,
			Quirks: cli.Quirks{TitleCommand: true, Kinds: map[string]*regexp.Regexp{"execute": regexp.MustCompile("^shell · ")}}}
		answer := newClient(t.Context(), start, task, func([]byte) {}, func(error) {}).permit(t.Context(), &p)
		got := "deny"
		switch {
		case offered != nil:
			got = "ask"
		case answer.Outcome.OptionID == "once":
			got = "allow"
		}
		if got != c.want || got != "allow" && answer.Outcome.OptionID != "no" {
			t.Errorf("%s: %s: %s (%v), want %s", c.written, c.call, got, answer, c.want)
		}
		if slices.Contains(offered, "allow always") != (c.written == "" && offered != nil) {
			t.Errorf("%s: %s: offered %v", c.written, c.call, offered)
		}
	}
}
