package mcp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket/mcp"
)

// installed returns the path of a program that mcp/setup has installed.
func installed(t *testing.T, path string) string {
	t.Helper()
	dir := os.Getenv("HOCKET_SERVERS")
	if dir == "" {
		t.Skip("HOCKET_SERVERS does not say where the MCP inspector and the conformance suite are installed; `make servers` does that, and runs this")
	}
	file := filepath.Join(dir, "node_modules", path)
	if _, err := os.Stat(file); err != nil {
		t.Skipf("%s is not installed; mcp/setup does that", filepath.Base(path))
	}
	return file
}

// The MCP inspector lists and uses what the server offers over standard input and output, and finds
// nothing in the schemas that clients may not understand.
func TestRealInspector(t *testing.T) {
	inspector := installed(t, ".bin/mcp-inspector")
	self, dir, home := program(t), t.TempDir(), t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		text = strings.ReplaceAll(text, "agent: echo", "agent: shell")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args   []string
		want   string
		status int // of the inspector; 5: the call has failed
	}{
		{[]string{"tools/list", "--strict"}, `"name": "hocket_workflow_create"`, 0},
		{[]string{"tools/call", "--tool-name", "hocket_agents_list"}, `\"name\":\"shell\"`, 0},
		{[]string{"tools/call", "--tool-name", "hocket_workflows_list"}, `\"name\":\"gated\",\"inputs\"`, 0},
		{[]string{"tools/call", "--tool-name", "hocket_workflow", "--tool-arg", "name=strict"}, "nobody has approved it", 5},
		{[]string{"tools/call", "--tool-name", "hocket_memory_add", "--tool-arg", "text=The key is green."}, "The key is green.", 0},
		{[]string{"resources/list"}, `"uri": "hocket://workflows/gated"`, 0},
		{[]string{"resources/templates/list"}, "hocket://runs/{run}", 0},
		{[]string{"resources/read", "--uri", "hocket://workflows/gated"}, "Ship it?", 0},
		{[]string{"prompts/list"}, `"name": "review"`, 0},
		{[]string{"prompts/get", "--prompt-name", "review", "--prompt-args", "file=a.go"}, "Review a.go and be kind.", 0},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), patience)
			defer stop()
			cmd := exec.CommandContext(ctx, inspector, append([]string{"--cli", self, "mcp", "serve", "--method"}, c.args...)...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "XDG_CONFIG_HOME="+home)
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != c.status || !strings.Contains(string(out), c.want) || strings.Contains(string(out), "Warning") {
				t.Errorf("%v: %s; want %s", err, out, c.want)
			}
		})
	}
}

// baseline are the scenarios of the conformance suite that the server does not pass: they call what the
// suite's own example server has, or what this server does not declare, because it is optional. The suite
// reports those that pass nevertheless.
const baseline = `server:
# They call tools, prompts and resources of the suite's example server.
- tools-call-simple-text
- tools-call-image
- tools-call-audio
- tools-call-embedded-resource
- tools-call-mixed-content
- tools-call-with-logging
- tools-call-error
- tools-call-with-progress
- tools-call-sampling
- tools-call-elicitation
- json-schema-2020-12
- elicitation-sep1034-defaults
- elicitation-sep1330-enums
- resources-read-text
- resources-read-binary
- resources-templates-read
- prompts-get-embedded-resource
- prompts-get-with-image
- server-sse-polling
# The server declares neither completions nor subscriptions.
- completion-complete
- resources-subscribe
- resources-unsubscribe
`

// The server passes the scenarios of the MCP conformance suite that do not need the suite's own example
// server. The suite speaks HTTP, so the SDK's handler is put in front of the server.
func TestRealConformance(t *testing.T) {
	suite, node := installed(t, "@modelcontextprotocol/conformance/dist/index.js"), installed(t, "node/bin/node")
	f := newFixture(t, mcp.Options{}, nil)
	f.write(".hocket/prompts/test_simple_prompt.md", "---\ndescription: Greets\n---\nSay hello.\n")
	f.write(".hocket/prompts/test_prompt_with_arguments.md", "---\ndescription: Uses both\ninputs: {arg1: {description: the first}, arg2: {description: the second}}\n---\nUse ${arg1} and ${arg2}.\n")
	expected := filepath.Join(t.TempDir(), "expected.yml")
	if err := os.WriteFile(expected, []byte(baseline), 0o600); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server {
		return mcp.NewServer(t.Context(), f.p, mcp.Options{Version: "1"})
	}, nil))
	t.Cleanup(web.Close)
	ctx, stop := context.WithTimeout(t.Context(), 4*patience)
	defer stop()
	out, err := exec.CommandContext(ctx, node, suite, "server", "--url", web.URL, "--suite", "all", "--expected-failures", expected).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
