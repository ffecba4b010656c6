package cli

import (
	"testing"

	"github.com/hocket-dev/hocket/agent"
)

// Settings that a CLI does not support are known before it runs, also in a conversation.
func TestSupports(t *testing.T) {
	asks := map[string]any{"mode": "ask"}
	for _, c := range []struct {
		cli         string
		key         string
		permissions map[string]any
		want        bool
	}{
		{"claude", "max_turns", nil, true},
		{"claude", "max_turns", asks, false},
		{"claude", "model", asks, true},
		{"gemini", "model", asks, true},
		{"opencode", "max_turns", asks, true}, // is in a file that it reads in both cases
		{"codex", "max_turns", nil, false},
		{"copilot", "max_turns", nil, false},
		{"codex", "model", nil, true},
		{"codex", "tools", nil, true},
		{"codex", "mcp", asks, true},
		{"codex", "prompt", nil, true},
		{"codex", "budget", nil, true},
	} {
		if got := New(Options{Builtin: c.cli}).supports(&agent.Definition{Permissions: c.permissions}, c.key); got != c.want {
			t.Errorf("%s heeds %s with %v: %t", c.cli, c.key, c.permissions, got)
		}
	}
	bare := New(Options{Manifest: mustRead(t, "program: x\nargs: [\"{prompt}\"]\nreply: {format: text}\n")})
	for _, key := range []string{"model", "tools", "mcp", "max_turns"} {
		if bare.supports(&agent.Definition{}, key) {
			t.Errorf("a CLI that is given nothing but a prompt heeds %s", key)
		}
	}
}
