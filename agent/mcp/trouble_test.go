package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/mcp"
)

// web serves a handler at an address.
func web(t *testing.T, h http.HandlerFunc) agent.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return agent.Server{Name: "x", URL: s.URL}
}

// status answers with a status and a text.
func status(t *testing.T, code int, kind, text string) agent.Server {
	return web(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(code)
		fmt.Fprint(w, text)
	})
}

// initialized answers every request with a result.
func initialized(t *testing.T, result string) agent.Server {
	return web(t, func(w http.ResponseWriter, r *http.Request) {
		var req struct{ ID json.RawMessage }
		if json.NewDecoder(r.Body).Decode(&req) != nil || len(req.ID) == 0 {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, req.ID, result)
	})
}

func TestServersThatDoNotWork(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	locked := site(t)
	locked.Headers = nil
	wrong := site(t)
	wrong.Headers["Authorization"] = "Bearer wrong"
	other := site(t)
	other.Headers = map[string]string{"X-Api-Key": "wrong"}
	at := func(s agent.Server) string { return s.URL }
	page, missing, none := status(t, 200, "text/html; charset=utf-8", "<html>"), status(t, 404, "text/plain", "no"), status(t, 405, "text/plain", "no")
	plain := status(t, 200, "text/plain", "hello")
	for _, c := range []struct {
		name      string
		server    agent.Server
		want      string // with … as a wildcard
		permanent bool
	}{
		{"absent", agent.Server{Name: "x", Command: []string{"no-such-server-here"}}, `cannot start MCP server "x": program "no-such-server-here" not found; check that it is installed and on the PATH`, true},
		{"absent file", agent.Server{Name: "x", Command: []string{"./bin/no-such-server"}}, `cannot start MCP server "x": program "./bin/no-such-server" not found; check its path, which is relative to the project`, true},
		{"directory", agent.Server{Name: "x", Command: []string{t.TempDir()}}, `cannot start MCP server "x": cannot run program "…": permission denied`, true},
		{"broken", program(t, "broken"), `MCP server "test" exited before it responded, with exit status 7; it said: the database not found`, false},
		{"silent end", program(t, "silent end"), `MCP server "test" exited before it responded; is it an MCP server that uses its standard streams?`, false},
		{"garbage", program(t, "garbage"), `MCP server "test" did not respond within 2s; it printed: Welcome to my server!`, false},
		{"broken message", program(t, "broken message"), `MCP server "test" sent an invalid message (invalid character 'o' looking for beginning of object key string)`, false},
		{"mute", program(t, "mute"), `MCP server "test" did not respond within 2s; it said: still loading`, false},
		{"not found", missing, `MCP server "x": there is nothing at ` + at(missing) + ` (404 Not Found); check the url, which often ends in /mcp`, true},
		{"no messages", none, `MCP server "x": the server at ` + at(none) + ` does not accept messages (405 Method Not Allowed); check the url, which often ends in /mcp`, true},
		{"web page", page, `MCP server "x": ` + at(page) + ` is a web page and does not support MCP; check the url, which often ends in /mcp`, true},
		{"plain text", plain, `MCP server "x": the server at ` + at(plain) + ` does not support MCP; check the url, which often ends in /mcp`, true},
		{"no JSON", status(t, 200, "application/json", "hello"), `MCP server "x": the server at … does not support MCP; check the url, which often ends in /mcp`, true},
		{"bad request", status(t, 400, "text/plain", "what\x1b[2J is\nthis"), `MCP server "x" does not accept messages (400 Bad Request); it said: what` + "\x1b" + `[2J is this`, true},
		{"overloaded", status(t, 503, "text/plain", "later"), `MCP server "x" failed (503 Service Unavailable); it said: later`, false},
		{"too often", status(t, 429, "application/json", `{"a":1}`), `MCP server "x" failed (429 Too Many Requests); it said: {"a":1}`, false},
		{"login", locked, "MCP server \"test\" requires a login; log in with `hocket mcp login test`, or set a key under headers in config.yml", true},
		{"wrong key", wrong, `MCP server "test" rejected the Authorization header of config.yml (401 Unauthorized); check that the key is correct and has not expired`, true},
		{"other key", other, "MCP server \"test\" requires authentication, and the headers of config.yml do not provide it (401 Unauthorized); fix them, or log in with `hocket mcp login test`", true},
		{"forbidden", status(t, 403, "text/plain", "no"), `MCP server "x" denied access (403 Forbidden); ask its operator`, true},
		{"gone", agent.Server{Name: "x", URL: gone.URL}, `cannot reach MCP server "x": nothing responds at ` + gone.Listener.Addr().String() + `; is it running?`, false},
		{"elsewhere", web(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://other.example/mcp", http.StatusTemporaryRedirect)
		}), `MCP server "x" redirects to https://other.example/mcp; if that is correct, set it as its url in config.yml`, true},
		{"another path", web(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) }), `MCP server "x" redirects to http://…/login; if that is correct, set it as its url in config.yml`, true},
		{"certificate", agent.Server{Name: "x", URL: tls(t)}, `cannot reach MCP server "x" at https://…: x509: certificate signed by unknown authority`, false},
		{"version", initialized(t, `"result":{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"a","version":"1"}}`), `MCP server "x" uses an unsupported version of the protocol (unsupported protocol version: "1999-01-01"); update the server or Hocket`, true},
		{"refusal", initialized(t, `"error":{"code":-32000,"message":"no\nlicence"}`), `MCP server "x" failed to start: no licence`, true},
		{"address", agent.Server{Name: "x", URL: "ftp://a"}, `MCP server "x": its url must begin with http:// or https://`, true},
		{"nothing", agent.Server{Name: "x"}, `MCP server "x" has neither a command nor a url`, true},
		{"both", agent.Server{Name: "x", URL: "http://a", Command: []string{"a"}}, `MCP server "x" has both a command and a url; remove one of them`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := mcp.Options{Connect: 30 * time.Second}
			if c.name == "mute" || c.name == "garbage" {
				o.Connect = 2 * time.Second
			}
			tools, done, err := mcp.Tools(t.Context(), c.server, o)
			if err == nil {
				done()
				t.Fatalf("%d tools", len(tools))
			}
			var known *agent.Error
			if !errors.As(err, &known) || !like(err.Error(), c.want) || known.Permanent != c.permanent {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// like compares a text with one in which … is a wildcard.
func like(text, want string) bool {
	head, tail, some := strings.Cut(want, "…")
	return text == want || some && strings.HasPrefix(text, head) && strings.HasSuffix(text, tail)
}

func tls(t *testing.T) string {
	s := httptest.NewUnstartedServer(nil)
	s.Config.ErrorLog = quiet
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

// Tests servers that are not correct but can be used.
func TestServersThatWork(t *testing.T) {
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newServer() }, nil)
	stateless := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newServer() }, &sdk.StreamableHTTPOptions{Stateless: true})
	events := sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return newServer() }, nil)
	for name, server := range map[string]agent.Server{
		"greets":  program(t, "greeting"),
		"by hand": {Name: "x", Command: []string{"sh", "-c", byHand}},
		"slash at its end": web(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				t.Errorf("asked for %s", r.URL)
			}
			handler.ServeHTTP(w, r)
		}),
		"old transport": web(t, events.ServeHTTP),
		"no initialize": web(t, func(w http.ResponseWriter, r *http.Request) { onlyNew(stateless).ServeHTTP(w, r) }),
	} {
		t.Run(name, func(t *testing.T) {
			s, err := mcp.Open(t.Context(), server, mcp.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if got, err := s.Call(t.Context(), "add", map[string]any{"a": 1, "b": 2}, nil); err != nil || got != `{"sum":3}` {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

// byHand is a minimal handwritten server: it does not answer requests that it does not
// know.
const byHand = `while read -r line; do
	id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	case $line in
	*'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"a","version":"1"}}}' ;;
	*'"tools/list"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}}' ;;
	*'"tools/call"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"{\"sum\":3}"}]}}' ;;
	esac
done`

// onlyNew is a server that does not support initialize.
func onlyNew(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "initialize" || !strings.HasPrefix(r.Header.Get("Mcp-Protocol-Version"), "2026") {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found"}}`)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// A server that dies fails the call, and is restarted for the next one.
func TestServerThatDies(t *testing.T) {
	s, err := mcp.Open(t.Context(), program(t, "tools"), mcp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 2 {
		if _, err = s.Call(t.Context(), "die", nil, nil); err == nil || err.Error() != `MCP server "test" ended, with exit status 9; it said: out of memory` {
			t.Error(err)
		}
		if got, err := s.Call(t.Context(), "file_drop", nil, nil); err != nil || got != "other" {
			t.Errorf("%s, %v", got, err)
		}
	}
}

// A restarted server at an address has forgotten the session, and reports it in one of
// several ways. The session is renewed without an error.
func TestServerThatForgets(t *testing.T) {
	fresh := func() http.Handler {
		return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newServer() }, nil)
	}
	for name, forgotten := range map[string]http.HandlerFunc{
		"as the protocol says": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "session not found", http.StatusNotFound) },
		"as many servers do": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var now atomic.Pointer[http.Handler]
			var known sync.Map // sessions
			restart := func() { h := fresh(); now.Store(&h); known.Clear() }
			restart()
			server := web(t, func(w http.ResponseWriter, r *http.Request) {
				id := r.Header.Get("Mcp-Session-Id")
				if _, ok := known.Load(id); id != "" && !ok {
					forgotten(w, r)
					return
				}
				(*now.Load()).ServeHTTP(noting{w, &known}, r)
			})
			s, err := mcp.Open(t.Context(), server, mcp.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for range 2 {
				if got, err := s.Call(t.Context(), "file_drop", nil, nil); err != nil || got != "other" {
					t.Fatalf("%s, %v", got, err)
				}
				restart()
			}
		})
	}
}

// noting records the sessions that a server begins, before the client sees them.
type noting struct {
	http.ResponseWriter
	known *sync.Map
}

func (n noting) WriteHeader(status int) {
	n.known.Store(n.Header().Get("Mcp-Session-Id"), true)
	n.ResponseWriter.WriteHeader(status)
}

func (n noting) Write(b []byte) (int, error) {
	n.known.Store(n.Header().Get("Mcp-Session-Id"), true)
	return n.ResponseWriter.Write(b)
}

func (n noting) Unwrap() http.ResponseWriter { return n.ResponseWriter }

// A broken connection fails the call with a clear message; the session continues.
func TestConnectionThatBreaks(t *testing.T) {
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newServer() }, nil)
	var broken atomic.Bool
	server := web(t, func(w http.ResponseWriter, r *http.Request) {
		if broken.Swap(false) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			fmt.Fprint(w, ": working\n\n")
			return
		}
		handler.ServeHTTP(w, r)
	})
	s, err := mcp.Open(t.Context(), server, mcp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	broken.Store(true)
	if _, err := s.Call(t.Context(), "file_drop", nil, nil); err == nil || err.Error() != `MCP server "x" closed the connection without a response; it may have been restarted` {
		t.Error(err)
	}
	if got, err := s.Call(t.Context(), "file_drop", nil, nil); err != nil || got != "other" {
		t.Errorf("%s, %v", got, err)
	}
}

// A cancelled call is also cancelled at the server.
func TestCancelReachesTheServer(t *testing.T) {
	called, ended := make(chan struct{}), make(chan struct{})
	s := newServer()
	s.AddTool(&sdk.Tool{Name: "wait", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		close(called)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	session, err := mcp.Open(t.Context(), web(t, handler.ServeHTTP), mcp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-called; cancel() }()
	if _, err := session.Call(ctx, "wait", nil, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-ended
}
