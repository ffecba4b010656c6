//go:build linux

package hostile

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket/server"
)

// askMCP connects a client to the MCP server of the project, and calls everything that reads.
func (g *ground) askMCP(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	client, err := sdk.NewClient(&sdk.Implementation{Name: "client"}, nil).Connect(ctx, &sdk.CommandTransport{Command: g.command(ctx, []string{"mcp", "serve"})}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.ListTools(ctx, nil); err != nil {
		t.Error(err)
	}
	if _, err := client.ListPrompts(ctx, nil); err != nil {
		t.Error(err)
	}
	if list, err := client.ListResources(ctx, nil); err == nil { // otherwise the project's driver is refused
		for _, r := range list.Resources {
			for _, form := range []string{"", "/tree"} {
				_, _ = client.ReadResource(ctx, &sdk.ReadResourceParams{URI: r.URI + form}) // one with mistakes is refused
			}
		}
	}
	for tool, args := range map[string]map[string]any{
		"hocket_workflows_list": {}, "hocket_agents_list": {}, "hocket_runs": {}, "hocket_memory_search": {"query": "x"},
		"hocket_check": {"name": "w"}, "hocket_convert": {"name": "w", "to": "xml"},
	} {
		if _, err := client.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args}); err != nil {
			t.Errorf("%s: %v", tool, err)
		}
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	g.unharmed(t, "mcp serve")
}

// askHTTP sends all requests to the server of the project that only read, except those that follow.
func (g *ground) askHTTP(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	token, err := server.OpenAccess(filepath.Join(g.path("state"), "hocket", "server")).Create("reader", []server.Scope{server.Read}, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := g.command(ctx, []string{"serve", "--listen", "127.0.0.1:0"})
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	address, lines := "", bufio.NewScanner(said)
	for address == "" && lines.Scan() {
		_, address, _ = strings.Cut(lines.Text(), "serving on ")
	}
	if address == "" {
		err := cmd.Wait()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 2 { // a project with mistakes is not served
			t.Errorf("serve: %v", err)
		}
		g.unharmed(t, "serve")
		return
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	get := func(path string, into any) { // a project with mistakes may be refused
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err == nil && into != nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil || res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden {
			t.Errorf("%s: %s, %v\n%s", path, res.Status, err, text)
		}
	}
	var described struct {
		Paths map[string]map[string]any
	}
	get("/api/openapi.json", &described)
	if len(described.Paths) == 0 {
		t.Fatal("there are no requests")
	}
	fill := strings.NewReplacer("{project}", "project", "{name}", "w", "{id}", "g", "{run}", "none-1", "{address}", "s", "{attempt}", "1", "{stream}", "output")
	for path, methods := range described.Paths {
		if methods["get"] != nil && !strings.HasSuffix(path, "/events") {
			get("/api"+strings.TrimPrefix(fill.Replace(path), "/api"), nil)
		}
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // strace ends with the signal of the program
	g.unharmed(t, "serve")
}
