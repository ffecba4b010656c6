package mcp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/mcp"
)

// The test binary is also the server that the tests start.
const asServer = "HOCKET_TEST_MCP"

func TestMain(m *testing.M) {
	switch os.Getenv(asServer) {
	case "":
		os.Exit(m.Run())
	case "tools":
		if err := newServer().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "orphan": // leaves a child behind that keeps the pipes open
		child := exec.Command("sleep", "60")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			os.Exit(1)
		}
		fmt.Fprintln(os.Stderr, child.Process.Pid)
		_ = newServer().Run(context.Background(), &sdk.StdioTransport{})
	case "broken":
		fmt.Fprintln(os.Stderr, "the database not found")
		os.Exit(7)
	case "greeting": // prints more on its output than it should
		fmt.Println("Welcome to my server!\n\n  [1/2] loading\x1b[0m\n{\"level\":30}")
		_ = newServer().Run(context.Background(), &sdk.StdioTransport{})
	case "garbage":
		fmt.Println("Welcome to my server!")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\x00')
	case "broken message":
		fmt.Println(`{"jsonrpc":"2.0",oh no`)
		_, _ = bufio.NewReader(os.Stdin).ReadString('\x00')
	case "silent end":
	case "mute":
		fmt.Fprintln(os.Stderr, "still loading")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\x00')
	case "stubborn": // does not exit when its input ends
		_ = newServer().Run(context.Background(), &sdk.StdioTransport{})
		select {}
	}
}

type addArgs struct {
	A int `json:"a"`
	B int `json:"b"`
}

type sum struct {
	Sum int `json:"sum"`
}

func newServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	yes := true
	sdk.AddTool(s, &sdk.Tool{Name: "add", Description: "Adds"}, func(_ context.Context, _ *sdk.CallToolRequest, in addArgs) (*sdk.CallToolResult, sum, error) {
		return nil, sum{in.A + in.B}, nil
	})
	text := func(name string, annotations *sdk.ToolAnnotations, does func(ctx context.Context) (*sdk.CallToolResult, error)) {
		s.AddTool(&sdk.Tool{Name: name, Title: "Title of " + name, Annotations: annotations, InputSchema: map[string]any{"type": "object"}},
			func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return does(ctx) })
	}
	say := func(text string) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
	}
	text("env", nil, func(context.Context) (*sdk.CallToolResult, error) { return say(strings.Join(os.Environ(), "\n")) })
	text("file.drop", &sdk.ToolAnnotations{DestructiveHint: &yes}, func(context.Context) (*sdk.CallToolResult, error) { return say("dropped") })
	text("file_drop", nil, func(context.Context) (*sdk.CallToolResult, error) { return say("other") })
	text("fail", nil, func(context.Context) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "no such row"}}}, nil
	})
	text("mixed", nil, func(context.Context) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.TextContent{Text: "a"}, &sdk.ImageContent{MIMEType: "image/png", Data: []byte("12345")},
			&sdk.ResourceLink{Name: "doc", URI: "file:///doc"}, &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "x:y", Text: "inside"}},
		}}, nil
	})
	text("huge", nil, func(context.Context) (*sdk.CallToolResult, error) { return say(strings.Repeat("x", 2<<20)) })
	text("enormous", nil, func(context.Context) (*sdk.CallToolResult, error) { return say(strings.Repeat("x", 17<<20)) })
	text("never", nil, func(ctx context.Context) (*sdk.CallToolResult, error) { <-ctx.Done(); return say("late") })
	text("die", nil, func(context.Context) (*sdk.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(9)
		return say("")
	})
	return s
}

func program(t *testing.T, how string) agent.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return agent.Server{Name: "test", Command: []string{self}, Env: map[string]string{asServer: how, "ITS_KEY": "k"}}
}

// site serves the same tools over HTTP, to clients with the key.
func site(t *testing.T) agent.Server {
	t.Helper()
	s := newServer()
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer k" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return agent.Server{Name: "test", URL: web.URL, Headers: map[string]string{"Authorization": "Bearer k"}}
}

func both(t *testing.T, f func(t *testing.T, server agent.Server)) {
	t.Run("stdio", func(t *testing.T) { f(t, program(t, "tools")) })
	t.Run("http", func(t *testing.T) { f(t, site(t)) })
}

func TestTools(t *testing.T) {
	both(t, func(t *testing.T, server agent.Server) {
		tools, done, err := mcp.Tools(t.Context(), server, mcp.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		byName := map[string]agent.Tool{}
		var names []string
		for _, one := range tools {
			byName[one.Name] = one
			names = append(names, one.Name)
		}
		slices.Sort(names)
		if got, want := strings.Join(names, " "), "test_add test_die test_enormous test_env test_fail test_file_drop test_file_drop_2 test_huge test_mixed test_never"; got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
		if add := byName["test_add"]; add.Description != "Adds" || add.Input["type"] != "object" || add.Approval {
			t.Errorf("%+v", add)
		}
		if !byName["test_file_drop"].Approval || byName["test_file_drop"].Description != "Title of file.drop" {
			t.Errorf("%+v", byName["test_file_drop"])
		}
		for name, want := range map[string]string{
			"test_add": `{"sum":5}`, "test_file_drop": "dropped", "test_file_drop_2": "other",
			"test_mixed": "a\n[image, image/png, 5 bytes]\n[resource doc: file:///doc]\ninside",
		} {
			got, err := byName[name].Call(t.Context(), map[string]any{"a": 2, "b": 3}, nil, nil)
			if err != nil || got != want {
				t.Errorf("%s: %s, %v", name, got, err)
			}
		}
		got, err := byName["test_huge"].Call(t.Context(), nil, nil, nil)
		if err != nil || len(got) > 257<<10 || !strings.HasSuffix(got, "[cut off here: the result is 2048 KiB long, and these are the first 256]") {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		_, err = byName["test_fail"].Call(t.Context(), nil, nil, nil)
		if err == nil || err.Error() != `MCP server "test": fail failed: no such row` {
			t.Error(err)
		}
		if _, err = byName["test_add"].Call(t.Context(), map[string]any{"a": "x"}, nil, nil); err == nil || !strings.Contains(err.Error(), "add") {
			t.Errorf("wrong arguments: %v", err)
		}
	})
}

func TestCallsThatFail(t *testing.T) {
	both(t, func(t *testing.T, server agent.Server) {
		s, err := mcp.Open(t.Context(), server, mcp.Options{Call: 200 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		_, err = s.Call(t.Context(), "ad", nil, nil)
		if err == nil || err.Error() != `MCP server "test" has no tool "ad"; did you mean "add"?` {
			t.Error(err)
		}
		_, err = s.Call(t.Context(), "never", nil, nil)
		var failed *agent.Error
		if !errors.As(err, &failed) || failed.Kind != agent.TimedOut || failed.Message != `MCP server "test" did not respond to the call of never within 200ms` {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err = s.Call(ctx, "never", nil, nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if got, err := s.Call(t.Context(), "file_drop", nil, nil); err != nil || got != "other" {
			t.Errorf("the session is of no use any more: %s, %v", got, err)
		}
	})
}

// A message that is too large fails the call, but does not crash this process.
func TestEnormousResult(t *testing.T) {
	both(t, func(t *testing.T, server agent.Server) {
		s, err := mcp.Open(t.Context(), server, mcp.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if got, err := s.Call(t.Context(), "enormous", nil, nil); err == nil {
			t.Errorf("%d bytes are taken", len(got))
		}
	})
}

// A server sees a few harmless variables, its own and the key of its attempt, but no
// others that were inherited.
func TestEnvironmentOfAServer(t *testing.T) {
	s, err := mcp.Open(t.Context(), program(t, "tools"), mcp.Options{Env: append(os.Environ(), "LEAK=inherited"), Task: &agent.Task{Key: "run/a@1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := s.Call(t.Context(), "env", nil, nil)
	if err != nil || !strings.Contains(got, "ITS_KEY=k") || !strings.Contains(got, "HOCKET_KEY=run/a@1/mcp/") || strings.Contains(got, "LEAK") {
		t.Errorf("%s, %v", got, err)
	}
}

// A session leaves no process and no goroutine behind.
func TestNothingIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, how := range []string{"tools", "stubborn", "orphan"} {
		s, err := mcp.Open(t.Context(), program(t, how), mcp.Options{})
		if err != nil {
			t.Fatal(err)
		}
		pid := ""
		if how == "orphan" {
			_, err := s.Call(t.Context(), "die", nil, nil)
			pid = strings.Fields(after(err, "it said: "))[0]
		}
		s.Close()
		if pid != "" && alive(pid) {
			t.Errorf("process %s lives on", pid)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	s, err := mcp.Open(ctx, program(t, "tools"), mcp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	s.Close()
	web := site(t)
	if s, err = mcp.Open(t.Context(), web, mcp.Options{}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	deadline := time.Now().Add(10 * time.Second)
	const ofTheServer = 4 // the test's own site is still running
	for runtime.NumGoroutine() > before+ofTheServer && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	if n := runtime.NumGoroutine(); n > before+ofTheServer {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines, %d before\n%s", n, before, stacks[:runtime.Stack(stacks, true)])
	}
}

func after(err error, mark string) string {
	_, rest, _ := strings.Cut(fmt.Sprint(err), mark)
	return rest + " ?"
}

func alive(pid string) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", pid).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

var quiet = log.New(io.Discard, "", 0)
