package mcp_test

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/mcp"
	"github.com/hocket-dev/hocket/agent/mcp/login"
	"github.com/hocket-dev/hocket/agent/mcp/mcptest"
)

// private returns a server behind a login, and options with a stored login.
func private(t *testing.T) (*mcptest.Site, agent.Server, mcp.Options) {
	t.Helper()
	site := mcptest.Start(t, newServer())
	o := mcp.Options{Logins: login.Open(login.Options{Dir: filepath.Join(t.TempDir(), "mcp")})}
	logIn(t, site, o)
	return site, agent.Server{Name: "tracker", URL: site.Address}, o
}

func logIn(t *testing.T, site *mcptest.Site, o mcp.Options) {
	t.Helper()
	_, err := o.Logins.Login(t.Context(), login.Server{Address: site.Address}, login.Person{
		Show: func(address string) { go func() { _, _ = mcptest.Visit(address) }() },
		Tell: func(string) {}, Wait: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
}

func add(t *testing.T, s *mcp.Session) error {
	t.Helper()
	got, err := s.Call(t.Context(), "add", map[string]any{"a": 1, "b": 2}, nil)
	if err == nil && got != `{"sum":3}` {
		t.Errorf("got %s", got)
	}
	return err
}

func TestServerWithALogin(t *testing.T) {
	site, server, o := private(t)
	s, err := mcp.Open(t.Context(), server, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := add(t, s); err != nil {
		t.Error(err)
	}
	site.Authority.Revoke(false) // revokes the access token but not the refresh token
	if err := add(t, s); err != nil || site.Authority.Asked("refresh_token") != 1 {
		t.Error(err)
	}
	site.Authority.Revoke(true)
	if err := add(t, s); err == nil || !like(err.Error(), "the login at MCP server \"tracker\" has ended (…); log in again with `hocket mcp login tracker`") || strings.Contains(err.Error(), "\x1b") {
		t.Error(err)
	}
	_, err = mcp.Open(t.Context(), server, o)
	if err == nil || !like(err.Error(), "the login at MCP server \"tracker\" has ended (…); log in again with `hocket mcp login tracker`") {
		t.Error(err)
	}
	logIn(t, site, o)
	if err := add(t, s); err != nil { // in the middle of a run
		t.Error(err)
	}
}

// A run never waits for a login, and a key in the settings takes precedence over a login.
func TestServerWithoutItsLogin(t *testing.T) {
	_, server, o := private(t)
	for name, c := range map[string]struct {
		o       mcp.Options
		headers map[string]string
		want    string
	}{
		"no logins": {mcp.Options{}, nil, "MCP server \"tracker\" requires a login; log in with `hocket mcp login tracker`, or set a key under headers in config.yml"},
		"another":   {mcp.Options{Logins: login.Open(login.Options{Dir: t.TempDir()})}, nil, "MCP server \"tracker\" requires a login…"},
		"a key":     {o, map[string]string{"authorization": "Bearer k"}, `MCP server "tracker" rejected the Authorization header of config.yml…`},
	} {
		server := server
		server.Headers = c.headers
		_, err := mcp.Open(t.Context(), server, c.o)
		if err == nil || !like(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A token is only for its server: not for one that it redirects to, and not for another
// path on the same host.
func TestTokenStaysWithItsServer(t *testing.T) {
	site, server, o := private(t)
	var leaked []string
	other := web(t, func(w http.ResponseWriter, r *http.Request) {
		leaked = append(leaked, r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusNotFound)
	})
	if _, err := mcp.Open(t.Context(), agent.Server{Name: "x", URL: other.URL}, o); err == nil || strings.Join(leaked, "") != "" {
		t.Errorf("%v, leaked %q", err, leaked)
	}
	before := site.Tokens.Load()
	elsewhere := agent.Server{Name: "x", URL: strings.TrimSuffix(server.URL, "mcp") + "other"}
	if _, err := mcp.Open(t.Context(), elsewhere, o); err == nil || site.Tokens.Load() != before {
		t.Errorf("%v", err)
	}
}

// A program that connects to servers by itself can reach one with a login, and never sees
// the token.
func TestRelay(t *testing.T) {
	site, server, o := private(t)
	there, done, err := mcp.Relay(t.Context(), server, o)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	token, err := o.Logins.Token(t.Context(), server.URL)
	if err != nil || there.Name != "tracker" || strings.Contains(there.Headers["Authorization"], token) || there.URL == server.URL {
		t.Fatalf("%+v, %v", there, err)
	}
	s, err := mcp.Open(t.Context(), there, mcp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := add(t, s); err != nil {
		t.Error(err)
	}
	site.Authority.Revoke(false)
	if err := add(t, s); err != nil {
		t.Error(err)
	}
	site.Authority.Revoke(true)
	if err := add(t, s); err == nil || !strings.Contains(err.Error(), "`hocket mcp login tracker`") {
		t.Error(err)
	}
	for path, key := range map[string]string{there.URL: "", there.URL + "/../admin": there.Headers["Authorization"], there.URL + "x": there.Headers["Authorization"]} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", key)
		before := site.Tokens.Load()
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode < 400 || site.Tokens.Load() != before {
			t.Errorf("%s: %s %s", path, resp.Status, text)
		}
	}
}

// A login, and the relay that needs it, leave nothing behind.
func TestLoginsLeaveNothing(t *testing.T) {
	site, server, o := private(t)
	http.DefaultClient.CloseIdleConnections()
	before := runtime.NumGoroutine()
	for range 3 {
		logIn(t, site, o)
		there, done, err := mcp.Relay(t.Context(), server, o)
		if err != nil {
			t.Fatal(err)
		}
		s, err := mcp.Open(t.Context(), there, mcp.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := add(t, s); err != nil {
			t.Error(err)
		}
		s.Close()
		done()
	}
	http.DefaultClient.CloseIdleConnections()
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	if n := runtime.NumGoroutine(); n > before {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines, %d before\n%s", n, before, stacks[:runtime.Stack(stacks, true)])
	}
}

func TestRelayOfOthers(t *testing.T) {
	_, server, o := private(t)
	empty := mcp.Options{Logins: login.Open(login.Options{Dir: t.TempDir()})}
	if _, _, err := mcp.Relay(t.Context(), server, empty); err == nil || !strings.Contains(err.Error(), "`hocket mcp login tracker`") {
		t.Error(err)
	}
	open := site(t)
	for _, same := range []agent.Server{program(t, "tools"), open, {Name: "x", URL: "http://127.0.0.1:1/"}} {
		got, done, err := mcp.Relay(t.Context(), same, o)
		if err != nil || got.URL != same.URL || got.Headers["Authorization"] != same.Headers["Authorization"] {
			t.Errorf("%+v, %v", got, err)
		}
		done()
	}
}

// Names that models do not accept, and names that several servers share, are told apart;
// each calls its own tool.
func TestNamesOfTools(t *testing.T) {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	long := strings.Repeat("long.", 30)
	names := []string{long + "a", long + "b", "größe", "gr__e"}
	for _, name := range names {
		s.AddTool(&sdk.Tool{Name: name, Description: strings.Repeat("ö", 1<<14), InputSchema: map[string]any{"type": "object", "description": strings.Repeat("x", 1<<17)}},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: name}}}, nil
			})
	}
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{})
	tools, done, err := mcp.Tools(t.Context(), web(t, handler.ServeHTTP), mcp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	seen, called := map[string]bool{}, map[string]bool{}
	for _, tool := range tools {
		if len(tool.Name) > 64 || strings.Trim(tool.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || seen[tool.Name] {
			t.Errorf("name %q", tool.Name)
		}
		seen[tool.Name] = true
		if len(tool.Description) > 9<<10 || len(tool.Input) > 2 {
			t.Errorf("%d bytes of description, %d keys", len(tool.Description), len(tool.Input))
		}
		got, err := tool.Call(t.Context(), nil, nil, nil)
		if err != nil {
			t.Error(err)
		}
		called[got] = true
	}
	if len(called) != len(names) {
		t.Errorf("called %v", called)
	}
}
