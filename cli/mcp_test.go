//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/mcp"
	"github.com/hocket-dev/hocket/agent/mcp/mcptest"
	"github.com/hocket-dev/hocket/cli"
	"github.com/hocket-dev/hocket/internal/fakemodel"
)

// asAgent makes the test binary act as a CLI agent that calls a tool of its server.
const asAgent = "HOCKET_TEST_AS_AGENT"

// callServer calls the server that the CLI agent was configured with, and prints the
// answer and the agent's own configuration.
func callServer() {
	var told struct {
		URL     string
		Headers map[string]string
	}
	if err := json.Unmarshal([]byte(os.Args[1]), &told); err != nil {
		fmt.Println(err)
		return
	}
	s, err := mcp.Open(context.Background(), agent.Server{Name: "told", URL: told.URL, Headers: told.Headers}, mcp.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	text, err := s.Call(context.Background(), "add", map[string]any{"a": 40, "b": 2}, nil)
	fmt.Println(text, err, os.Args[1])
}

type numbers struct {
	A int `json:"a"`
	B int `json:"b"`
}

// browsing collects what a command writes, and opens the first address in it.
type browsing struct {
	t    *testing.T
	text bytes.Buffer
	done bool
}

var address = regexp.MustCompile(`(?m)^  (http://\S+)$`)

func (b *browsing) Write(text []byte) (int, error) {
	b.text.Write(text)
	if found := address.FindSubmatch(b.text.Bytes()); found != nil && !b.done {
		b.done = true
		go func() {
			if page, err := mcptest.Visit(string(found[1])); err != nil || !strings.Contains(page, "You can close this page.") {
				b.t.Errorf("the browser ends at %s, %v", page, err)
			}
		}()
	}
	return len(text), nil
}

// From a login to a step with each kind of agent, the token is never printed.
func TestLoginAndRun(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	var calls atomic.Int32
	sdk.AddTool(server, &sdk.Tool{Name: "add", Description: "Adds"}, func(_ context.Context, _ *sdk.CallToolRequest, in numbers) (*sdk.CallToolResult, map[string]int, error) {
		calls.Add(1)
		return nil, map[string]int{"sum": in.A + in.B}, nil
	})
	site, model := mcptest.Start(t, server), fakemodel.Start(t)
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	t.Setenv("OWL_KEY", "sk-owl-0123456789")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		".hocket/config.yml":       fmt.Sprintf("providers: {birds: {api: anthropic, base_url: %q, key: {env: OWL_KEY}}}\nmcp: {tracker: {url: %q}}\n", model.URL, site.Address),
		".hocket/agents/owl.yml":   "agent: llm\nmodel: birds/owl-1\ndescription: Counts\nmcp: [tracker]\n",
		".hocket/agents/probe.yml": "agent: caller\ndescription: Probes\nmcp: [tracker]\n",
		".hocket/clis/caller.yml":  fmt.Sprintf("program: %q\nargs: [{each: servers, args: [\"{item:json}\"]}]\nstdin: \"{prompt}\"\nenv: {%s: '1'}\nservers: {url: {url: \"{url}\", headers: \"{headers}\"}}\nreply: {format: text}\n", self, asAgent),
		"exact.yml":                "steps: [{agent: mcp, config: {server: tracker, tool: add, arguments: {a: 40, b: 2}}}]\n",
		"program.yml":              "steps: [{agent: probe, prompt: Add.}]\n",
		"model.yml":                "steps:\n  - agent: owl\n    prompt: 'Add. FAKE{\"steps\":[{\"tool\":\"tracker_add\",\"args\":{\"a\":40,\"b\":2}},{\"text\":\"the sum is there\"}]}'\n",
		"leak.yml":                 fmt.Sprintf("steps: [{agent: shell, config: {command: [sh, -c, 'cat %s/hocket/mcp/*.json']}}]\n", state),
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var printed strings.Builder
	hocket := func(want int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		errs := &browsing{t: t, done: args[0] != "mcp"}
		code := cli.Main(append([]string{"-C", dir}, args...), cli.Stdio{In: strings.NewReader(""), Out: &out, Err: errs})
		if code != want {
			t.Errorf("hocket %q: exit code %d\n%s%s", args, code, out.String(), errs.text.String())
		}
		if args[0] != "mcp" { // the address to open is not a secret
			_, _ = io.WriteString(&printed, errs.text.String())
		}
		printed.Write(out.Bytes())
		return out.String() + errs.text.String()
	}
	has := func(text string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("%q is not in\n%s", part, text)
			}
		}
	}

	trustDir(t, dir, "exact.yml", "program.yml", "model.yml")
	for _, flow := range []string{"exact.yml", "program.yml", "model.yml"} {
		has(hocket(1, "run", flow), "MCP server \"tracker\" requires a login; log in with `hocket mcp login tracker`")
	}
	has(hocket(0, "mcp", "login", "tracker", "--no-browser"), "Open this address in a browser to log in to tracker:", "logged in to tracker, which has 1 tool\n")
	has(hocket(0, "mcp"), "tracker  yes")
	has(hocket(0, "mcp", "check"), "1 tool")
	files, err := filepath.Glob(filepath.Join(state, "hocket", "mcp", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	var kept struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
	}
	if text, err := os.ReadFile(files[0]); err != nil || json.Unmarshal(text, &kept) != nil || kept.Access == "" {
		t.Fatalf("%s, %v", text, err)
	}
	has(hocket(0, "run", "exact.yml"), `{"sum":42}`)
	has(hocket(0, "run", "program.yml"), `{"sum":42}`, `http://127.0.0.1:`)
	has(hocket(0, "run", "model.yml"), "the sum is there")
	if n := calls.Load(); n != 3 {
		t.Errorf("the tool was called %d times", n)
	}
	has(hocket(0, "run", "leak.yml"), `"access_token":"***"`)
	has(hocket(0, "mcp", "logout", "tracker", "--json"), `"logged_out":true`)
	if site.Authority.Good(kept.Access, site.Address) {
		t.Error("the token is still good")
	}
	everything := printed.String() + inFiles(t, state)
	for _, secret := range []string{kept.Access, kept.Refresh} {
		if strings.Contains(everything, secret) {
			t.Errorf("%s was printed or kept", secret)
		}
	}
}

// inFiles returns the content of all files in a directory.
func inFiles(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
