package http_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/http"
	"github.com/hocket-dev/hocket/workflow"
)

// server returns a server that echoes requests, and has some special paths.
func server(t *testing.T) *httptest.Server {
	t.Helper()
	mux := nethttp.NewServeMux()
	mux.HandleFunc("/echo", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s type=%s auth=%s x=%s key=%s agent=%s body=%s", r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"),
			r.Header.Get("Authorization"), r.Header.Get("X-Secret"), r.Header.Get("Idempotency-Key"), r.UserAgent(), body)
	})
	mux.HandleFunc("/status/{code}", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		var code int
		fmt.Sscan(r.PathValue("code"), &code)
		if after := r.URL.Query().Get("after"); after != "" {
			w.Header().Set("Retry-After", after)
		}
		w.WriteHeader(code)
		fmt.Fprint(w, "  what went wrong\n")
	})
	mux.HandleFunc("/big", func(w nethttp.ResponseWriter, _ *nethttp.Request) { fmt.Fprint(w, strings.Repeat("x", 3000)) })
	mux.HandleFunc("/endless", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		for r.Context().Err() == nil {
			fmt.Fprint(w, "more\n")
			w.(nethttp.Flusher).Flush()
			time.Sleep(time.Millisecond)
		}
	})
	mux.HandleFunc("/broken", func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "half")
	})
	mux.HandleFunc("/latin", func(w nethttp.ResponseWriter, _ *nethttp.Request) { _, _ = w.Write([]byte("caf\xe9")) })
	mux.HandleFunc("/loop", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		nethttp.Redirect(w, r, "/loop", nethttp.StatusFound)
	})
	mux.HandleFunc("/goto", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		nethttp.Redirect(w, r, r.URL.Query().Get("to"), nethttp.StatusTemporaryRedirect)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// attempt returns a task; HOST in its settings is the server.
func attempt(t *testing.T, s *httptest.Server, settings string) *agent.Task {
	t.Helper()
	v, err := workflow.ParseJSON([]byte(strings.ReplaceAll(settings, "HOST", s.URL)))
	if err != nil {
		t.Fatal(err)
	}
	return &agent.Task{Key: "run/n@1", Agent: &agent.Definition{Name: "http", Builtin: true}, Settings: v.(map[string]any), Written: v.(map[string]any)}
}

func run(t *testing.T, task *agent.Task) (string, error) {
	t.Helper()
	secrets := map[string]string{"TOKEN": "s3cret", "EMPTY": ""}
	h := http.New(http.Options{Getenv: func(name string) (string, bool) { v, ok := secrets[name]; return v, ok }})
	r, err := h.Run(t.Context(), task, func([]byte) {})
	return r.Output, err
}

func TestRequests(t *testing.T) {
	s := server(t)
	for _, c := range []struct{ settings, want string }{
		{`{"url": "HOST/echo"}`, "GET /echo type= auth= x= key= agent=hocket body="},
		{`{"url": "HOST/echo?a=1", "query": {"q": "a b&c=d#/?ü", "n": 3, "l": ["x", true], "none": null}}`,
			"GET /echo?a=1&l=x&l=true&n=3&q=a+b%26c%3Dd%23%2F%3F%C3%BC type= auth= x= key= agent=hocket body="},
		{`{"url": "HOST/echo", "body": "hello"}`, `POST /echo type=text/plain; charset=utf-8 auth= x= key="run/n@1" agent=hocket body=hello`},
		{`{"url": "HOST/echo", "json": {"n": 12345678901234567890, "s": "<b>"}}`, `POST /echo type=application/json auth= x= key="run/n@1" agent=hocket body={"n":12345678901234567890,"s":"<b>"}`},
		{`{"url": "HOST/echo", "method": "PUT", "json": null}`, "PUT /echo type=application/json auth= x= key= agent=hocket body=null"},
		{`{"url": "HOST/echo", "json": [1], "headers": {"content-type": "application/x", "idempotency-key": "mine", "User-Agent": "me"}}`, "POST /echo type=application/x auth= x= key=mine agent=me body=[1]"},
		{`{"url": "HOST/echo", "headers": {"Authorization": {"env": "TOKEN", "prefix": "Bearer "}, "X-Secret": {"env": "TOKEN"}}}`, "GET /echo type= auth=Bearer s3cret x=s3cret key= agent=hocket body="},
		{`{"url": "HOST/goto?to=/echo", "headers": {"X-Secret": {"env": "TOKEN"}}, "body": "b"}`, `POST /echo type=text/plain; charset=utf-8 auth= x=s3cret key="run/n@1" agent=hocket body=b`},
		{`{"url": "HOST/status/404", "expect": [200, 404]}`, "  what went wrong\n"},
		{`{"url": "HOST/status/503", "expect": "5xx"}`, "  what went wrong\n"},
		{`{"url": "HOST/status/201", "expect": 201}`, "  what went wrong\n"},
		{`{"url": "HOST/big", "max_output_kb": 3}`, strings.Repeat("x", 3000)},
		{`{"url": "HOST/goto?to=/echo", "expect": 307}`, "<a href=\"/echo\">Temporary Redirect</a>.\n\n"},
		{`{"url": "HOST/goto?to=/echo", "expect": [200, "3xx"]}`, "<a href=\"/echo\">Temporary Redirect</a>.\n\n"},
		{`{"url": "HOST/goto?to=/echo", "expect": 200}`, "GET /echo type= auth= x= key= agent=hocket body="},
	} {
		if got, err := run(t, attempt(t, s, c.settings)); err != nil || got != c.want {
			t.Errorf("%s\ngot  %.300s, %v\nwant %.300s", c.settings, got, err, c.want)
		}
	}
}

// A server in a private network can be reached only if the workflow itself names it.
func TestPrivateNetworks(t *testing.T) {
	s := server(t)
	host := strings.TrimPrefix(s.URL, "http://")
	elsewhere := "http://localhost:" + host[strings.LastIndex(host, ":")+1:]
	for _, c := range []struct {
		settings, written string
		reached           bool
	}{
		{`{"url": "HOST/echo"}`, "HOST/echo", true},
		{`{"url": "HOST/echo"}`, "HOST/${path}", true},
		{`{"url": "HOST/echo"}`, "HOST?${query}", true},
		{`{"url": "HOST/echo"}`, "${x}", false},
		{`{"url": "HOST/echo"}`, "http://${host}/echo", false},
		{`{"url": "HOST/echo"}`, "http://127.0.0.1:${port}/echo", false},
		{`{"url": "HOST/echo"}`, "http://127.0.0.1${rest}", false},
		{`{"url": "HOST/echo"}`, "http://public.example/${rest}", false},
		{`{"url": "HOST/echo"}`, "${scheme}://` + host + `/echo", false},
		{`{"url": "HOST/echo", "private_network": true}`, "${x}", true},
		{`{"url": "HOST/echo", "private_network": ["127.0.0.1"]}`, "${x}", true},
		{`{"url": "HOST/echo", "private_network": ["` + host + `"]}`, "${x}", true},
		{`{"url": "HOST/echo", "private_network": ["127.0.0.1:1"]}`, "${x}", false},
		{`{"url": "HOST/goto?to=HOST/echo"}`, "HOST/goto?to=HOST/echo", true},
		{`{"url": "HOST/goto?to=` + elsewhere + `/echo"}`, "HOST/goto", false},
		{`{"url": "HOST/goto?to=` + elsewhere + `/echo", "private_network": ["localhost"]}`, "HOST/goto", true},
	} {
		task := attempt(t, s, c.settings)
		task.Written = map[string]any{"url": strings.ReplaceAll(c.written, "HOST", s.URL)}
		out, err := run(t, task)
		var failed *agent.Error
		switch {
		case c.reached && (err != nil || !strings.HasPrefix(out, "GET /echo")):
			t.Errorf("%s, written %s: got %q, %v", c.settings, c.written, out, err)
		case !c.reached && (!errors.As(err, &failed) || !failed.Permanent || !strings.Contains(err.Error(), "private_network")):
			t.Errorf("%s, written %s: got %q, %v", c.settings, c.written, out, err)
		}
	}
}

func TestFailures(t *testing.T) {
	s := server(t)
	for _, c := range []struct {
		settings  string
		permanent bool
		want      string
	}{
		{`{"url": "HOST/latin"}`, true, "GET HOST/latin: the response is not UTF-8 text at byte 4; use a shell step to write it to a file, for example with curl -o"},
		{`{"url": "HOST/goto?to=/echo", "expect": 302}`, false, "GET HOST/goto: 307 Temporary Redirect: <a href=\"/echo\">Temporary Redirect</a>."},
		{`{"url": "HOST/status/404?token=x"}`, true, "GET HOST/status/404: 404 Not Found: what went wrong"},
		{`{"url": "HOST/status/500", "method": "DELETE"}`, false, "DELETE HOST/status/500: 500 Internal Server Error: what went wrong"},
		{`{"url": "HOST/status/401"}`, true, "GET HOST/status/401: 401 Unauthorized: what went wrong"},
		{`{"url": "HOST/status/422"}`, true, "GET HOST/status/422: 422 Unprocessable Entity: what went wrong"},
		{`{"url": "HOST/status/503"}`, false, "GET HOST/status/503: 503 Service Unavailable: what went wrong"},
		{`{"url": "HOST/status/200", "expect": 404}`, false, "GET HOST/status/200: 200 OK: what went wrong"},
		{`{"url": "HOST/loop"}`, false, "GET HOST/loop: more than 5 redirects"},
		{`{"url": "HOST/goto?to=file:///etc/passwd"}`, false, `GET HOST/goto: unsupported protocol scheme "file"`},
		{`{"url": "HOST/big", "max_output_kb": 2}`, true, "GET HOST/big: the response exceeds 2 KiB; raise max_output_kb"},
		{`{"url": "HOST/broken"}`, false, "GET HOST/broken: the response is incomplete: unexpected EOF"},
		{`{"url": "ftp://example.org/"}`, true, `settings: setting "url" cannot be "ftp://example.org/"; it is: http or https address of the request`},
		{`{"url": "http://%zz"}`, true, `invalid url "http://%zz"`},
		{`{"url": "http:///x"}`, true, `invalid url "http:///x"`},
		{`{"url": "HOST/echo", "headers": {"X": {"env": "MISSING"}}}`, true, "header X: the environment variable MISSING is not set"},
		{`{"url": "HOST/echo", "headers": {"X": {"env": "EMPTY"}}}`, true, "header X: the environment variable EMPTY is not set"},
		{`{"url": "HOST/echo", "headers": {"X": {"file": "a"}}}`, true, `settings: setting "headers.X.env" is missing; unknown setting "file"`},
		{`{"url": "HOST/echo", "body": "a", "json": 1}`, true, `settings: setting "json" cannot be combined with the others; remove it`},
		{`{"url": "HOST/echo", "method": "get"}`, true, `settings: setting "method" cannot be "get"; did you mean "GET"?`},
		{`{"url": "HOST/echo", "timeout": "5"}`, true, `settings: setting "timeout" cannot be "5"; it is: Duration for the whole exchange, such as 30s. Default: 60s`},
		{`{"url": "HOST/echo", "timeout": "0s"}`, true, `timeout "0s" is not a duration`},
		{`{}`, true, `settings: setting "url" is missing`},
	} {
		_, err := run(t, attempt(t, s, c.settings))
		var failed *agent.Error
		want := strings.ReplaceAll(c.want, "HOST", s.URL)
		if !errors.As(err, &failed) || failed.Kind != agent.Failed || failed.Message != want || failed.Permanent != c.permanent {
			t.Errorf("%s\ngot  %#v\nwant %s", c.settings, err, want)
		}
	}
}

func TestNobodyListens(t *testing.T) {
	s := server(t)
	s.Close()
	_, err := run(t, attempt(t, s, `{"url": "HOST/echo?q=private"}`))
	if err == nil || !strings.Contains(err.Error(), "refused") || strings.Contains(err.Error(), "private") {
		t.Errorf("got %v", err)
	}
}

func TestQuota(t *testing.T) {
	s := server(t)
	date := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(nethttp.TimeFormat) }
	const nobodySays = "; without Retry-After this counts as an ordinary failure"
	for _, c := range []struct {
		status, after string
		kind          agent.Kind
		permanent     bool
		wait          time.Duration // zero if unknown
		why           string        // the end of the message
	}{
		{"429", "30", agent.Quota, false, 30 * time.Second, "what went wrong"},
		{"503", "7", agent.Quota, false, 7 * time.Second, "what went wrong"},
		{"503", date(time.Hour), agent.Quota, false, time.Hour, "what went wrong"},
		{"429", "0", agent.Quota, false, time.Second, "what went wrong"},
		{"429", "86400", agent.Quota, false, 24 * time.Hour, "what went wrong"},
		{"503", date(-time.Hour), agent.Quota, false, time.Second, "what went wrong"},
		{"429", "", agent.Failed, false, 0, nobodySays},
		{"429", "soon", agent.Failed, false, 0, `; Retry-After "soon" is invalid, so this counts as an ordinary failure`},
		{"429", "-5", agent.Failed, false, 0, `; Retry-After "-5" is invalid, so this counts as an ordinary failure`},
		{"429", "Sat, 01 Jan 2118 00:00:00 GMT", agent.Failed, true, 0, "; retry after 2118-01-01 00:00:00 UTC, but a request waits at most 24 h"},
		{"503", "99999999", agent.Failed, true, 0, " UTC, but a request waits at most 24 h"},
		{"429", "99999999999999", agent.Failed, true, 0, " UTC, but a request waits at most 24 h"},
		{"503", "", agent.Failed, false, 0, "what went wrong"},
		{"500", "30", agent.Failed, false, 0, "what went wrong"},
	} {
		_, err := run(t, attempt(t, s, `{"url": "HOST/status/`+c.status+`", "query": {"after": "`+c.after+`"}}`))
		var failed *agent.Error
		if !errors.As(err, &failed) || failed.Kind != c.kind || failed.Permanent != c.permanent || !strings.HasSuffix(failed.Message, c.why) {
			t.Errorf("%s, Retry-After %q: got %#v", c.status, c.after, err)
			continue
		}
		if off := time.Until(failed.Until) - c.wait; c.wait != 0 && (off < -10*time.Second || off > 0) || c.wait == 0 && !failed.Until.IsZero() {
			t.Errorf("%s, Retry-After %q: until %v", c.status, c.after, failed.Until)
		}
	}
}

// TestWrongRequests checks which statuses are not retried.
func TestWrongRequests(t *testing.T) {
	s := server(t)
	again := map[int]bool{408: true, 425: true, 429: true, 500: true, 502: true, 503: true, 504: true}
	for _, status := range []int{400, 401, 403, 404, 405, 408, 409, 410, 418, 422, 423, 425, 429, 431, 451, 500, 501, 502, 503, 504, 505} {
		_, err := run(t, attempt(t, s, fmt.Sprintf(`{"url": "HOST/status/%d"}`, status)))
		var failed *agent.Error
		if !errors.As(err, &failed) || failed.Permanent == again[status] {
			t.Errorf("%d: got %#v", status, err)
		}
	}
}

func TestSecretsStayWithTheirServer(t *testing.T) {
	first, other := server(t), server(t)
	got, err := run(t, attempt(t, first, `{"url": "HOST/goto?to=`+other.URL+`/echo", "private_network": true, "headers": {"X-Secret": {"env": "TOKEN"}, "Authorization": {"env": "TOKEN"}}}`))
	if err != nil || strings.Contains(got, "s3cret") || !strings.HasPrefix(got, "GET /echo") {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestTimeout(t *testing.T) {
	_, err := run(t, attempt(t, server(t), `{"url": "HOST/endless", "timeout": "50ms"}`))
	var failed *agent.Error
	if !errors.As(err, &failed) || failed.Kind != agent.TimedOut || failed.Message != "no complete response within 50ms" {
		t.Errorf("got %#v", err)
	}
}

func TestCancelInTheMiddleOfTheBody(t *testing.T) {
	task := attempt(t, server(t), `{"url": "HOST/endless"}`)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := http.New(http.Options{}).Run(ctx, task, func(piece []byte) {
		if strings.Contains(string(piece), "200 OK") { // the headers have arrived, the body is still coming
			time.AfterFunc(20*time.Millisecond, cancel)
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestDefinitionLimits(t *testing.T) {
	task := attempt(t, server(t), `{"url": "HOST/big"}`)
	task.Agent.MaxOutputKB = 1
	if _, err := run(t, task); err == nil || !strings.Contains(err.Error(), "exceeds 1 KiB") {
		t.Errorf("got %v", err)
	}
}

func TestSchemaIsDescribed(t *testing.T) {
	properties := http.New(http.Options{}).Traits().Settings.Properties()
	for name, p := range properties {
		if p.(map[string]any)["description"] == nil {
			t.Errorf("setting %q has no description", name)
		}
	}
}

// deaf answers every request itself, so that a fuzzed URL reaches no server.
type deaf struct{}

func (deaf) RoundTrip(*nethttp.Request) (*nethttp.Response, error) {
	return &nethttp.Response{Status: "200 OK", StatusCode: 200, Header: nethttp.Header{}, Body: nethttp.NoBody}, nil
}

func FuzzSettings(f *testing.F) {
	f.Add(`{"url": "http://a/b?c=d", "query": {"x": [1, "y"]}, "headers": {"A": "b", "Host": "c"}, "expect": ["2xx", 404], "timeout": "1m"}`)
	f.Add(`{"url": "https://[::1]:99999/%", "json": {"a": null}, "method": "PATCH", "headers": {"A": {"env": "X", "prefix": "\n"}}}`)
	h := http.New(http.Options{Transport: deaf{}, Getenv: func(string) (string, bool) { return "s3cret", true }})
	f.Fuzz(func(t *testing.T, text string) {
		v, err := workflow.ParseJSON([]byte(text))
		m, ok := v.(map[string]any)
		if err != nil || !ok {
			return
		}
		_, err = h.Run(t.Context(), &agent.Task{Key: "k", Settings: m}, func([]byte) {})
		if err != nil && strings.Contains(err.Error(), "s3cret") && !strings.Contains(text, "s3cret") {
			t.Errorf("the error tells a secret: %v", err)
		}
	})
}
