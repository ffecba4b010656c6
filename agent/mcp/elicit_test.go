package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/mcp"
)

// asking returns a server whose tools ask for something before they answer, and return
// what they were told.
func asking(t *testing.T, forms map[string]string) agent.Server {
	s := newServer()
	tool := func(name string, does func(ctx context.Context, req *sdk.CallToolRequest) (any, error)) {
		s.AddTool(&sdk.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			told, err := does(ctx, req)
			if err != nil {
				told = map[string]any{"error": err.Error()}
			}
			text, err := json.Marshal(told)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}, err
		})
	}
	for name, form := range forms {
		tool(name, func(ctx context.Context, req *sdk.CallToolRequest) (any, error) {
			return req.Session.Elicit(ctx, &sdk.ElicitParams{Message: "Really\x1b[2J delete\nit?", RequestedSchema: json.RawMessage(form)})
		})
	}
	tool("model", func(ctx context.Context, req *sdk.CallToolRequest) (any, error) {
		return req.Session.CreateMessage(ctx, &sdk.CreateMessageParams{MaxTokens: 9, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: "hi"}}}}) //nolint:staticcheck // servers still do
	})
	tool("roots", func(ctx context.Context, req *sdk.CallToolRequest) (any, error) {
		return req.Session.ListRoots(ctx, nil) //nolint:staticcheck // servers still do
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	return web(t, handler.ServeHTTP)
}

func TestServerAsksAPerson(t *testing.T) {
	const (
		confirm = `{"type":"object","properties":{}}`
		choice  = `{"type":"object","properties":{"how":{"type":"string","title":"How","enum":["soft","hard"]},"sure":{"type":"boolean","description":"Are you sure"},"why":{"type":"string"}},"required":["how","sure"]}`
		words   = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
	)
	server := asking(t, map[string]string{"confirm": confirm, "choice": choice, "words": words})
	for _, c := range []struct {
		tool      string
		says      []string // in turn; if none, no person is present
		want      string
		questions string
	}{
		{"confirm", []string{"accept"}, `{"action":"accept"}`, `MCP server "x" asks: Really` + "\x1b" + `[2J delete it? [] accept decline`},
		{"confirm", []string{"decline"}, `{"action":"decline"}`, ""},
		{"confirm", nil, `{"action":"cancel"}`, ""},
		{"choice", []string{"hard", "yes"}, `{"action":"accept","content":{"how":"hard","sure":true}}`, "[how: How] soft hard decline\n…[sure: Are you sure] yes no decline"},
		{"choice", []string{"hard", "no"}, `{"action":"accept","content":{"how":"hard","sure":false}}`, ""},
		{"choice", []string{"hard", "decline"}, `{"action":"decline"}`, ""},
		{"words", []string{"accept"}, `{"action":"decline"}`, ""},
	} {
		var asked []string
		o := mcp.Options{Ask: func(_ context.Context, q agent.Question) (string, error) {
			asked = append(asked, q.Text+" ["+q.Detail+"] "+strings.Join(q.Options, " "))
			if len(asked) > len(c.says) {
				return "", agent.ErrNobody
			}
			return c.says[len(asked)-1], nil
		}}
		s, err := mcp.Open(t.Context(), server, o)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Call(t.Context(), c.tool, nil, nil); err != nil || got != c.want {
			t.Errorf("%s %q\ngot  %s, %v\nwant %s", c.tool, c.says, got, err, c.want)
		}
		for part := range strings.SplitSeq(c.questions, "\n…") {
			if !strings.Contains(strings.Join(asked, "\n"), part) {
				t.Errorf("%s asked %q, want %s", c.tool, asked, part)
			}
		}
		s.Close()
	}
}

// A person may take longer than a call's timeout.
func TestPersonTakesTime(t *testing.T) {
	const limit = time.Second
	o := mcp.Options{Call: limit, Ask: func(ctx context.Context, _ agent.Question) (string, error) {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(limit + limit/2):
			return "accept", nil
		}
	}}
	s, err := mcp.Open(t.Context(), asking(t, map[string]string{"confirm": `{"type":"object","properties":{}}`}), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got, err := s.Call(t.Context(), "confirm", nil, nil); err != nil || got != `{"action":"accept"}` {
		t.Errorf("%s, %v", got, err)
	}
}

// A server that requests something unsupported gets an error, and continues.
func TestServerAsksForMore(t *testing.T) {
	s, err := mcp.Open(t.Context(), asking(t, map[string]string{"confirm": `{"type":"object","properties":{}}`}), mcp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, tool := range []string{"model", "roots", "confirm"} {
		if got, err := s.Call(t.Context(), tool, nil, nil); err != nil || !strings.Contains(got, `"error"`) && got != `{"roots":[]}` {
			t.Errorf("%s: %s, %v", tool, got, err)
		}
	}
}

func TestProgressIsLogged(t *testing.T) {
	logged := make(chan string, 8)
	server := newServer()
	server.AddTool(&sdk.Tool{Name: "steps", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for i := range 3 { // only the first is reported, since they come at once
			if err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3, Message: "still\nat it"}); err != nil {
				return nil, err
			}
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: <-logged}}}, nil
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	s, err := mcp.Open(t.Context(), web(t, handler.ServeHTTP), mcp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := s.Call(t.Context(), "steps", nil, func(piece []byte) { logged <- string(piece) })
	if err != nil || !strings.HasPrefix(got, "[steps: ") || !strings.HasSuffix(got, " of 3: still at it]\n") {
		t.Errorf("%q, %v", got, err)
	}
}
