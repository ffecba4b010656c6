package mcp_test

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/mcp"
	"github.com/hocket-dev/hocket/server"
)

// withToken sends a token with every request.
type withToken string

func (t withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(t))
	return http.DefaultTransport.RoundTrip(r)
}

// Clients with a token use a project over HTTP, and the server goes on with their runs in the background.
func TestHTTP(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	p := f.p
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	access := server.OpenAccess(t.TempDir())
	s, err := server.New(server.Options{Projects: []*hocket.Project{p}, Access: access, Listen: l.Addr(), MCP: func(p *hocket.Project, client func(*http.Request) (string, string), resume func(string) error) (http.Handler, func()) {
		return mcp.Handler(p, client, mcp.Options{Detach: resume})
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	projects, err := s.Projects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String() + "/mcp/" + projects[0].Name
	token := func(name string, scope server.Scope) withToken {
		secret, err := access.Create(name, []server.Scope{scope}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return withToken(secret)
	}
	connect := func(as http.RoundTripper) (*sdk.ClientSession, error) {
		return sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: address, HTTPClient: &http.Client{Transport: as}, DisableStandaloneSSE: true}, nil)
	}
	for name, as := range map[string]http.RoundTripper{"no token": http.DefaultTransport, "a wrong token": withToken("x"), "a token for reading": token("reader", server.Read), "a token for everything": token("admin", server.Admin)} {
		if c, err := connect(as); err == nil {
			c.Close()
			t.Errorf("a client with %s is served", name)
		}
	}
	link, err := s.Link("")
	if err != nil {
		t.Fatal(err)
	}
	there, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	enter, _ := http.NewRequest(http.MethodGet, "http://"+l.Addr().String()+there.RequestURI(), nil)
	enter.Host = there.Host
	res, err := http.DefaultClient.Do(enter)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	req, _ := http.NewRequest(http.MethodPost, address, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	req.Host = there.Host
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	for _, c := range res.Cookies() {
		req.AddCookie(c)
	}
	if res, err = http.DefaultClient.Do(req); err != nil || res.StatusCode != http.StatusForbidden {
		t.Errorf("a browser is served: %v, %v", res, err)
	}
	res.Body.Close()

	ci, other := token("ci", server.Model), token("other", server.Model)
	asked := 0
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		asked++
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "yes"}}, nil
	}}).Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: address, HTTPClient: &http.Client{Transport: ci}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	call := func(name string, args map[string]any) string {
		t.Helper()
		res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
		if err != nil || res.IsError {
			t.Fatalf("%s: %+v, %v", name, res, err)
		}
		return res.Content[0].(*sdk.TextContent).Text
	}
	text := call("hocket_workflow", map[string]any{"name": "hello", "inputs": map[string]any{"name": "Ada"}})
	if !strings.Contains(text, "Hello Ada") {
		t.Error(text)
	}
	run := parse(t, call("hocket_workflow", map[string]any{"name": "gated"})).Run
	if text := call("hocket_run", map[string]any{"run": run, "action": "wait"}); parse(t, text).Status != "waiting" || asked > 0 {
		t.Errorf("a client that cannot answer was asked %d times: %s", asked, text)
	}
	r, err := p.Run(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := r.Info(t.Context()); err != nil || info.Owner.By != "ci (MCP client test)" || info.Owner.Via != "mcp" {
		t.Errorf("%+v, %v", info.Owner, err)
	}

	// Such a token opens nothing else, and no session of another one.
	send := func(as withToken, method, url, session, body string) int {
		t.Helper()
		req, err := http.NewRequest(method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		res, err := (&http.Client{Transport: as}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	base := "http://" + l.Addr().String()
	for path, method := range map[string]string{"/api/projects": "GET", "/api/projects/" + projects[0].Name + "/runs": "POST", "/metrics": "GET", "/": "GET", "/api/openapi.json": "GET"} {
		if got := send(ci, method, base+path, "", `{"workflow": "hello"}`); got != http.StatusForbidden {
			t.Errorf("%s %s with the token of a model: %d", method, path, got)
		}
	}
	if got := send(other, "POST", address, c.ID(), `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`); got != http.StatusForbidden {
		t.Errorf("a session of another token: %d", got)
	}
	second, err := connect(other)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if res, err := second.CallTool(t.Context(), &sdk.CallToolParams{Name: "hocket_run", Arguments: map[string]any{"run": run, "action": "cancel"}}); err != nil || !res.IsError {
		t.Errorf("a run of another token was cancelled: %+v, %v", res, err)
	}

	// A server that stops interrupts the runs of its calls, and the next one continues them.
	slow := make(chan *sdk.CallToolResult, 1)
	go func() {
		res, _ := c.CallTool(context.Background(), &sdk.CallToolParams{Name: "hocket_workflow", Arguments: map[string]any{"name": "slow"}})
		slow <- res
	}()
	var info hocket.Info
	for info.Status != "running" {
		time.Sleep(10 * time.Millisecond)
		if all, err := p.Runs(t.Context(), hocket.Filter{Workflow: "slow"}); err == nil && len(all) > 0 {
			info = all[0]
		}
	}
	go func() { time.Sleep(100 * time.Millisecond); close(f.release) }()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	done <- nil // for the deferred function
	<-slow
	if all, err := p.Runs(t.Context(), hocket.Filter{Workflow: "slow"}); err != nil || len(all) != 1 || all[0].Status == "cancelled" {
		t.Errorf("%+v, %v", all, err)
	}
}
