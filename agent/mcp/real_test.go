package mcp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/mcp"
)

// installed returns the command of a server that was installed from its package.
func installed(t *testing.T, name string, args ...string) []string {
	t.Helper()
	dir := os.Getenv("HOCKET_SERVERS")
	if dir == "" {
		t.Skip("HOCKET_SERVERS does not say where MCP servers are installed; `make servers` does that, and runs this")
	}
	return append([]string{"node", filepath.Join(dir, "node_modules", ".bin", name)}, args...)
}

// realSite starts such a server at an address.
func realSite(t *testing.T, kind, path string) agent.Server {
	t.Helper()
	command := installed(t, "mcp-server-everything", kind)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("PORT=%d", port))
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "on port") {
			go func() {
				for lines.Scan() { // drain it, so that the server does not block
				}
			}()
			return agent.Server{Name: "everything", URL: fmt.Sprintf("http://127.0.0.1:%d%s", port, path)}
		}
	}
	t.Fatal("the server does not listen")
	return agent.Server{}
}

func TestRealEverything(t *testing.T) {
	for name, server := range map[string]func(t *testing.T) agent.Server{
		"stdio": func(t *testing.T) agent.Server {
			return agent.Server{Name: "everything", Command: installed(t, "mcp-server-everything")}
		},
		"streamable HTTP": func(t *testing.T) agent.Server { return realSite(t, "streamableHttp", "/mcp") },
		"old SSE":         func(t *testing.T) agent.Server { return realSite(t, "sse", "/sse") },
	} {
		t.Run(name, func(t *testing.T) { everything(t, server(t)) })
	}
}

func everything(t *testing.T, server agent.Server) {
	var asked []agent.Question
	o := mcp.Options{Ask: func(_ context.Context, q agent.Question) (string, error) {
		asked = append(asked, q)
		return q.Options[0], nil
	}}
	s, err := mcp.Open(t.Context(), server, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var mu sync.Mutex
	var logged strings.Builder
	log := func(piece []byte) {
		mu.Lock()
		defer mu.Unlock()
		logged.Write(piece)
	}
	for _, c := range []struct {
		tool string
		args map[string]any
		want string // in the result or the error
	}{
		{"echo", map[string]any{"message": "hi"}, "Echo: hi"},
		{"get-tiny-image", nil, "[image, image/png, "},
		{"get-structured-content", map[string]any{"location": "Chicago"}, `"temperature":`},
		{"get-resource-reference", map[string]any{"resourceType": "Text", "resourceId": 1}, "plaintext resource"},
		{"get-resource-links", nil, "[resource "},
		{"trigger-long-running-operation", map[string]any{"duration": 1, "steps": 2}, "completed"},
		{"get-sum", map[string]any{"a": "x"}, `MCP server "everything": get-sum failed: MCP error -32602: Input validation error`},
		{"trigger-elicitation-request", nil, "declined"}, // its form requires free text
		{"trigger-sampling-request", map[string]any{"prompt": "x"}, "has no tool"},
		{"get-roots-list", nil, "has no tool"},
	} {
		got, err := s.Call(t.Context(), c.tool, c.args, log)
		if text := got + fmt.Sprint(err); !strings.Contains(text, c.want) {
			t.Errorf("%s: %s", c.tool, text)
		}
	}
	mu.Lock()
	if !strings.Contains(logged.String(), "[trigger-long-running-operation: 1 of 2") {
		t.Errorf("progress: %q", logged.String())
	}
	mu.Unlock()
	if len(asked) != 0 {
		t.Errorf("a person was asked %v", asked)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	var late *agent.Error
	if _, err := s.Call(ctx, "trigger-long-running-operation", map[string]any{"duration": 60, "steps": 2}, log); !errors.As(err, &late) || late.Kind != agent.TimedOut {
		t.Error(err)
	}
	if got, err := s.Call(t.Context(), "echo", map[string]any{"message": "after"}, log); err != nil || got != "Echo: after" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestRealFilesystem(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := mcp.Open(t.Context(), agent.Server{Name: "files", Command: installed(t, "mcp-server-filesystem", dir)}, mcp.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got, err := s.Call(t.Context(), "read_text_file", map[string]any{"path": filepath.Join(dir, "a.txt")}, nil); err != nil || !strings.Contains(got, "hello") {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := s.Call(t.Context(), "read_text_file", map[string]any{"path": "/etc/hostname"}, nil); err == nil || !strings.Contains(err.Error(), "Access denied") {
		t.Error(err)
	}
	for _, tool := range s.Tools() {
		if writes := tool.Name == "files_write_file"; writes && !tool.Approval {
			t.Errorf("%s asks nobody", tool.Name)
		}
	}
	_, err = mcp.Open(t.Context(), agent.Server{Name: "files", Command: installed(t, "mcp-server-filesystem", filepath.Join(dir, "missing"))}, mcp.Options{})
	if err == nil || !strings.Contains(err.Error(), `MCP server "files" exited before it responded, with exit status 1; it said: `) {
		t.Error(err)
	}
}
