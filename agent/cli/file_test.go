//go:build unix

package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
)

// TestFileOfUsage tests a CLI that reports its usage in a file.
func TestFileOfUsage(t *testing.T) {
	const manifest = `program: tool
args: ["{tmp}/used.json"]
stdin: "{prompt}"
reply:
  file: used.json
  rules:
    - {when: {in: {not: null}}, total: {tokens_in: .in, tokens_out: .out}}
    - {when: {type: done}, take: {result: .result}, means: success}
`
	const done = `echo '{"type":"done","result":"ok"}'; `
	for _, c := range []struct {
		name, script string
		told         bool
	}{
		{"written", `echo '{"in":7,"out":3}' > "$1"`, true},
		{"not written", ":", false},
		{"garbage", `echo '{"in":' > "$1"`, false},
		{"a pipe that nobody writes to", `mkfifo "$1"`, false},
		{"a link", `echo '{"in":7,"out":3}' > "$HOME/other"; ln -s "$HOME/other" "$1"`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := install(t, manifest, done+c.script)
			result, err := p.Run(t.Context(), p.task(), func([]byte) {})
			want := agent.Usage{CostUnknown: true}
			if c.told {
				want.TokensIn, want.TokensOut = 7, 3
			}
			if err != nil || result.Output != "ok" || result.Usage != want {
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
}

// TestServerWithoutArguments checks that an empty list of arguments is written: goose
// accepts no server without one.
func TestServerWithoutArguments(t *testing.T) {
	manifest := strings.Replace(described, `{command: "{argv}", env: "{env}"}`, `{command: "{command}", args: "{args}", env: "{env}"}`, 1)
	p := install(t, manifest, `while [ $# -gt 0 ]; do [ "$1" = --mcp ] && cp "$2" "$HOME/mcp.json"; shift; done; echo '{"type":"done","result":"ok"}'`)
	task := p.task()
	task.Servers = []agent.Server{{Name: "bare", Command: []string{"serve"}}}
	if _, err := p.Run(t.Context(), task, func([]byte) {}); err != nil {
		t.Fatal(err)
	}
	task.Conversation = &agent.Conversation{Native: "c1"}
	if _, err := p.Run(t.Context(), task, func([]byte) {}); err != nil {
		t.Error(err)
	}
	stuck := install(t, strings.Replace(manifest, "servers:\n  command", "servers:\n  new_only: true\n  command", 1), `echo '{"type":"done","result":"ok"}'`)
	if _, err := stuck.Run(t.Context(), task, func([]byte) {}); err == nil || !strings.Contains(err.Error(), "cannot change the tools of a conversation") {
		t.Errorf("new servers in an old conversation: %v", err)
	}
	written, err := os.ReadFile(p.dir + "/mcp.json")
	if err != nil || !strings.Contains(string(written), `"args":[]`) || strings.Contains(string(written), "env") {
		t.Errorf("%s, %v", written, err)
	}
}
