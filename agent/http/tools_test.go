package http_test

import (
	"context"
	nethttp "net/http"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/http"
	"github.com/hocket-dev/hocket/internal/outbound"
	"github.com/hocket-dev/hocket/workflow"
)

// tool returns the tool of an agent with permissions.
func tool(t *testing.T, task *agent.Task, o http.Options, permissions string) func(args string) (string, error) {
	t.Helper()
	object := func(text string) map[string]any {
		v, err := workflow.ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return v.(map[string]any)
	}
	task.Agent = &agent.Definition{Name: "http", Permissions: object(permissions)}
	tools, done, err := http.New(o).Traits().Tools(task)
	if err != nil || len(tools) != 1 {
		t.Fatalf("got %d tools, %v", len(tools), err)
	}
	t.Cleanup(done)
	return func(args string) (string, error) {
		return tools[0].Call(t.Context(), object(args), task, func([]byte) {})
	}
}

func TestToolRequests(t *testing.T) {
	s := server(t)
	s.Config.Handler.(*nethttp.ServeMux).HandleFunc("/png", func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write([]byte(strings.Repeat("\x00\xff", 100)))
	})
	here := http.Options{Network: outbound.Policy{Allowed: []string{strings.TrimPrefix(s.URL, "http://")}}, Getenv: func(string) (string, bool) { return "s3cret", true }}
	call := tool(t, &agent.Task{Key: "k"}, here, `{"network": "allow"}`)
	for _, c := range []struct{ args, want string }{
		{`{"url": "HOST/echo", "query": {"q": "a b"}, "headers": {"X-Secret": "x"}}`, "200 OK\nContent-Type: text/plain; charset=utf-8\n\nGET /echo?q=a+b type= auth= x=x key= agent=hocket body="},
		{`{"url": "HOST/echo", "json": {"a": [1]}}`, `POST /echo type=application/json auth= x= key= agent=hocket body={"a":[1]}`},
		{`{"url": "HOST/echo", "method": "PUT", "body": "text"}`, "PUT /echo type=text/plain; charset=utf-8"},
		{`{"url": "HOST/status/404"}`, "404 Not Found\n"},
		{`{"url": "HOST/status/503", "query": {"after": "7"}}`, "Retry-After: 7"},
		{`{"url": "HOST/latin"}`, "caf\uFFFD"},
		{`{"url": "HOST/png"}`, "(200 bytes of binary data, but image/png)"},
		{`{"url": "HOST/goto", "query": {"to": "/echo"}}`, "GET /echo"},
	} {
		got, err := call(strings.ReplaceAll(c.args, "HOST", s.URL))
		if err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s\ngot  %q, %v\nwant %q", c.args, got, err, c.want)
		}
	}
	for _, c := range []struct{ args, want string }{
		{`{"url": "file:///etc/passwd"}`, "invalid url"},
		{`{"url": "ftp://example.com/"}`, "must begin with http"},
		{`{"url": "HOST/echo", "headers": {"Authorization": {"env": "TOKEN"}}}`, "invalid arguments for the tool"},
		{`{"url": "HOST/echo", "headers": {"Host": "other.example"}}`, "remove the header Host"},
		{`{"url": "HOST/echo", "headers": {"A": "b\r\nC: d"}}`, "invalid header"},
		{`{"url": "HOST/echo", "body": "a", "json": 1}`, "not both"},
		{`{"url": "HOST/loop"}`, "more than 5 redirects"},
		{`{"url": "HOST/broken"}`, "is incomplete"},
		{`{"url": "http://127.0.0.2:9/"}`, "127.0.0.2 is not a public address"},
		{`{"url": "http://localhost:9/"}`, "localhost leads to"},
		{`{"url": "HOST/goto", "query": {"to": "http://169.254.169.254/latest"}}`, "169.254.169.254 is not a public address"},
	} {
		if got, err := call(strings.ReplaceAll(c.args, "HOST", s.URL)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\ngot  %q, %v\nwant %q", c.args, got, err, c.want)
		}
	}
}

func TestToolAsksBeforeItSends(t *testing.T) {
	s, other := server(t), server(t)
	var asked []string
	task := &agent.Task{Ask: func(_ context.Context, q agent.Question) (string, error) {
		asked = append(asked, q.Detail)
		return "deny", nil
	}}
	here := http.Options{Network: outbound.Policy{Private: true}}
	call := tool(t, task, here, `{}`)
	if _, err := call(`{"url": "` + s.URL + `/echo"}`); err != nil || len(asked) > 0 {
		t.Errorf("got %v, asked %q", err, asked)
	}
	if _, err := call(`{"url": "` + s.URL + `/echo", "body": "to send"}`); err == nil || len(asked) != 1 || asked[0] != "POST "+s.URL+"/echo\n\nto send" {
		t.Errorf("got %v, asked %q", err, asked)
	}
	call = tool(t, task, here, `{"network": {"`+s.URL+`/*": "allow", "*": "deny"}}`)
	if _, err := call(`{"url": "` + other.URL + `/echo"}`); err == nil || !strings.Contains(err.Error(), "do not allow this") {
		t.Errorf("got %v", err)
	}
	if _, err := call(`{"url": "` + s.URL + `/goto", "query": {"to": "` + other.URL + `/echo"}}`); err == nil || !strings.Contains(err.Error(), "needs permission") {
		t.Errorf("got %v", err)
	}
	task.Agent.Permissions = map[string]any{"network": "deny"}
	if tools, done, err := http.New(here).Traits().Tools(task); err != nil || len(tools) > 0 {
		t.Errorf("got %v, %v", tools, err)
	} else {
		done()
	}
}

func TestExact(t *testing.T) {
	exact := http.New(http.Options{}).Traits().Exact
	if exact(&agent.Task{}) || !exact(&agent.Task{Settings: map[string]any{"url": "http://a"}}) {
		t.Error("a url, and nothing else, is exact")
	}
}
