package llm

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// The cost of an attempt is known to be zero only if nothing can have been generated,
// whether the price of the model is known or not.
func TestWhatCostsNothing(t *testing.T) {
	drop := func(w http.ResponseWriter, begin string) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(conn, begin)
		_ = conn.Close()
	}
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	stream := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, text)
		}
	}
	for name, c := range map[string]struct {
		answer  http.HandlerFunc
		unknown bool
	}{
		"the request is wrong":  {status(400, `{"error":{"message":"no"}}`), false},
		"the key":               {status(401, `{"error":{"message":"no"}}`), false},
		"no money":              {status(402, `{"error":{"message":"no"}}`), false},
		"forbidden":             {status(403, `{"error":{"message":"no"}}`), false},
		"the model":             {status(404, `{"error":{"message":"no"}}`), false},
		"too large":             {status(413, `{"error":{"message":"no"}}`), false},
		"too many requests":     {status(429, `{"error":{"message":"no"}}`), false},
		"overloaded":            {status(529, `{"error":{"type":"overloaded_error","message":"no"}}`), false},
		"unavailable":           {status(503, ``), false},
		"overloaded, in stream": {stream("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"no\"}}\n\n"), false},
		"timed out there":       {status(408, ``), true},
		"out of order":          {status(500, `{"error":{"message":"no"}}`), true},
		"a gateway":             {status(502, ``), true},
		"a gateway that waits":  {status(504, ``), true},
		"failed, in stream":     {stream("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"no\"}}\n\n"), true},
		"nothing in the stream": {stream(""), true},
		"no answer":             {func(w http.ResponseWriter, _ *http.Request) { drop(w, "") }, true},
		"a cut answer": {func(w http.ResponseWriter, _ *http.Request) {
			drop(w, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 900\r\n\r\nevent: ping\n")
		}, true},
	} {
		for _, model := range []string{"m", "fake/unpriced"} {
			t.Run(name+", "+model, func(t *testing.T) {
				server := httptest.NewServer(c.answer)
				defer server.Close()
				tk := task("hello")
				tk.Settings = map[string]any{"model": model}
				got, err := executor(t, Anthropic, server.URL, "k").Run(t.Context(), tk, func([]byte) {})
				if err == nil || got.Usage != (agent.Usage{CostUnknown: c.unknown}) {
					t.Errorf("usage %+v, %v", got.Usage, err)
				}
			})
		}
	}
}

// A request that never reached an API cost nothing.
func TestUnreachedCostsNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	got, err := executor(t, Anthropic, "http://"+address, "k").Run(t.Context(), task("hello"), func([]byte) {})
	wantError(t, err, agent.Failed, false, "cannot reach")
	if got.Usage != (agent.Usage{}) {
		t.Errorf("usage %+v", got.Usage)
	}
}

func TestUnbounded(t *testing.T) {
	e := executor(t, Anthropic, "http://127.0.0.1:1", "k")
	for _, c := range []struct {
		model string
		most  workflow.Budget
		want  string
	}{
		{"m", workflow.Budget{CostUSD: workflow.AtMost(1), Tokens: workflow.AtMost(9)}, ""},
		{"fake/m", workflow.Budget{CostUSD: workflow.AtMost(1)}, ""},
		{"fake/new", workflow.Budget{Tokens: workflow.AtMost(9)}, ""},
		{"fake/new", workflow.Budget{CostUSD: workflow.AtMost(1)}, "the price of new is unknown; set it under prices in .hocket/config.yml"},
	} {
		tk := task("hello")
		tk.Agent.Model = c.model
		if got := e.unbounded(tk, c.most); got != c.want {
			t.Errorf("%s within %s: %q", c.model, c.most, got)
		}
	}
}
