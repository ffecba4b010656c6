package tool_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/agenttest"
	"github.com/hocket-dev/hocket/agent/tool"
)

// project writes tools, by name, and loads them. HOST in them is a server.
func project(t *testing.T, host string, tools map[string]string) *tool.Set {
	t.Helper()
	dir := t.TempDir()
	for name, text := range tools {
		file := filepath.Join(dir, ".hocket", "tools", name)
		if filepath.Ext(name) == "" {
			file = filepath.Join(file, tool.File)
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "HOST", host)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, found, err := tool.Load(dir, tool.Options{Secret: secret, Env: append(os.Environ(), "LEAK=inherited")})
	if err != nil || len(found) > 0 {
		t.Fatal(err, found)
	}
	return s
}

func secret(name string) (string, error) {
	if name == "KEY" {
		return "s3cr3t", nil
	}
	return "", errors.New("set the variable " + name)
}

func call(t *testing.T, s *tool.Set, name string, args map[string]any) (string, error) {
	t.Helper()
	out, _, err := callLogged(t.Context(), t, s, name, args)
	return out, err
}

func callLogged(ctx context.Context, t *testing.T, s *tool.Set, name string, args map[string]any) (string, string, error) {
	t.Helper()
	one, err := s.Tool(name)
	if err != nil {
		t.Fatal(err)
	}
	var r agenttest.Log
	out, err := one.Call(ctx, args, &agent.Task{Key: "run/a@1", Agent: &agent.Definition{Permissions: map[string]any{"mode": "full"}}}, r.Add)
	for what, text := range map[string]string{"output": out, "log": r.String(), "error": fmt.Sprint(err)} {
		if strings.Contains(text, "s3cr3t") {
			t.Errorf("the %s of %s has the secret: %s", what, name, text)
		}
	}
	return out, r.String(), err
}

func echo(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/echo/", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s auth=%s x=%s type=%s body=%s", r.Method, r.RequestURI, r.Header.Get("Authorization"), r.Header.Get("X-Place"), r.Header.Get("Content-Type"), body)
	})
	mux.HandleFunc("/goto", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/big", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 3000)) })
	mux.HandleFunc("/no", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, "key "+r.Header.Get("Authorization")+" is refused")
	})
	mux.HandleFunc("/json", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Query().Get("v")) })
	mux.HandleFunc("/never", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/find", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"web":{"results":[{"title":%q,"url":"https://a","description":1},{"title":"two"},{"title":"three"}]}}`, r.URL.Query().Get("q")+r.Header.Get("X-Key"))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func tools(t *testing.T, s *httptest.Server) *tool.Set {
	t.Helper()
	const head = "description: d\nkind: http\npermissions: {network: [127.0.0.1], secrets: KEY}\n"
	return project(t, s.URL, map[string]string{
		"get":      head + "inputs: {place: string, tags: {type: array, required: false}}\nhttp: {url: 'HOST/echo/{place}?p={place}', query: {tag: '{tags}', k: {secret: KEY}}, headers: {X-Place: 'in {place}', Authorization: {secret: KEY, prefix: 'Bearer '}}}",
		"post":     head + "inputs: {v: {required: false}}\nhttp: {url: HOST/echo/, body: {a: ['{v}', 'x{v}'], lit: '{{v}}'}}",
		"text":     head + "inputs: {v: string}\nhttp: {method: PUT, url: HOST/echo/, body: 'is {v}'}",
		"no":       head + "http: {url: HOST/no, headers: {Authorization: {secret: KEY}}}",
		"big":      head + "max_output_kb: 2\nhttp: {url: HOST/big}",
		"json":     head + "inputs: {v: string}\noutputs: {n: integer}\nhttp: {url: HOST/json, query: {v: '{v}'}}",
		"never":    head + "timeout: 30ms\nhttp: {url: HOST/never}",
		"goto":     head + "inputs: {to: string}\nhttp: {url: HOST/goto, query: {to: '{to}'}, headers: {Authorization: {secret: KEY}}}",
		"anywhere": "description: d\nkind: http\npermissions: {network: true}\ninputs: {url: string}\nhttp: {url: '{url}'}",
		"locked":   "description: d\nkind: http\npermissions: {network: true, secrets: [OTHER]}\nhttp: {url: HOST/}",
		"find":     "description: d\nkind: search\npermissions: {network: [127.0.0.1], secrets: KEY}\nsearch: {url: 'HOST/find?q={query}', headers: {X-Key: {secret: KEY}}, results: $.web.results, snippet: $.description}",
	})
}

func TestRequests(t *testing.T) {
	server := echo(t)
	s := tools(t, server)
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"get", map[string]any{"place": "a/b ü?&"}, "GET /echo/a%2Fb%20%C3%BC%3F&?p=a%2Fb+%C3%BC%3F%26&k=*** auth=Bearer *** x=in a/b ü?& type= body="},
		{"get", map[string]any{"place": "x", "tags": []any{"p", 2}}, "GET /echo/x?p=x&k=***&tag=p&tag=2 auth=Bearer *** x=in x type= body="},
		{"post", map[string]any{"v": map[string]any{"q": `"}`}}, `POST /echo/ auth= x= type=application/json body={"a":[{"q":"\"}"},"x{\"q\":\"\\\"}\"}"],"lit":"{v}"}`},
		{"post", nil, `POST /echo/ auth= x= type=application/json body={"a":["x"],"lit":"{v}"}`},
		{"text", map[string]any{"v": "so"}, "PUT /echo/ auth= x= type=text/plain; charset=utf-8 body=is so"},
		{"json", map[string]any{"v": `{"n": 3}`}, `{"n": 3}`},
		{"goto", map[string]any{"to": "/echo/there"}, "GET /echo/there auth=*** x= type= body="},
		{"find", map[string]any{"query": "go & co", "count": 2}, `[{"snippet":"1","title":"go & co***","url":"https://a"},{"snippet":"","title":"two","url":""}]`},
	} {
		if got, err := call(t, s, c.tool, c.args); err != nil || got != c.want {
			t.Errorf("%s %v\ngot  %s, %v\nwant %s", c.tool, c.args, got, err, c.want)
		}
	}
}

func TestRequestsThatFail(t *testing.T) {
	server, other := echo(t), echo(t)
	s := tools(t, server)
	u, _ := url.Parse(other.URL)
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"get", nil, "tool get: the arguments do not match its inputs:\n- /: expected the property place, found an empty object"},
		{"get", map[string]any{"place": 3}, "- /place: expected string, found the number 3"},
		{"get", map[string]any{"place": "x", "plase": 3}, "plase"},
		{"get", map[string]any{"place": ".."}, `the url has the path /echo/..; an input must not contain`},
		{"no", nil, "tool no: GET HOST/no: 403 Forbidden key *** is refused"},
		{"big", nil, "tool big: the output exceeds 2 KiB; ask for less, or raise max_output_kb"},
		{"json", map[string]any{"v": "x"}, "tool json did not return valid JSON: x"},
		{"json", map[string]any{"v": `{"n": "x"}`}, "the result of tool json does not match its outputs:\n- /n: expected integer"},
		{"never", nil, "tool never timed out after 30ms"},
		{"goto", map[string]any{"to": "http://localhost:" + u.Port() + "/echo/"}, "tool goto: the tool may not connect to localhost; its permissions allow 127.0.0.1"},
		{"goto", map[string]any{"to": "/goto?to=/goto"}, "GET HOST/goto: "},
		{"anywhere", map[string]any{"url": server.URL}, "127.0.0.1 is in a private network; to allow it, name the host in the tool's permissions"},
		{"anywhere", map[string]any{"url": "http://localhost:" + u.Port()}, "localhost is in a private network"},
		{"anywhere", map[string]any{"url": "http://[::ffff:127.0.0.1]:" + u.Port()}, "is in a private network"},
		{"anywhere", map[string]any{"url": "file:///etc/passwd"}, `"file:///etc/passwd" does not begin with http:// or https://`},
		{"locked", nil, "tool locked needs the secret OTHER: set the variable OTHER"},
		{"web_search", map[string]any{"query": "x"}, "web_search has no search engine yet; run `hocket tools new web_search --kind search`"},
		{"http_request", map[string]any{"url": server.URL}, "is in a private network"},
		{"http_request", map[string]any{"url": server.URL, "method": "TRACE"}, "/method: expected one of"},
	} {
		_, err := call(t, s, c.tool, c.args)
		want := strings.ReplaceAll(c.want, "HOST", server.URL)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s %v\ngot  %v\nwant %s", c.tool, c.args, err, want)
		}
	}
}

// A tool's secret is sent only to the server it was meant for.
func TestSecretsStayWithTheirServer(t *testing.T) {
	server, other := echo(t), echo(t)
	got, err := call(t, tools(t, server), "goto", map[string]any{"to": other.URL + "/echo/"})
	if err != nil || !strings.Contains(got, "auth= x=") {
		t.Errorf("%s, %v", got, err)
	}
}

// A project's own http_request replaces the built-in one, and may name hosts.
func TestBuiltinsAreReplaced(t *testing.T) {
	server := echo(t)
	text, err := os.ReadFile("builtin/http_request/tool.yml")
	if err != nil {
		t.Fatal(err)
	}
	s := project(t, server.URL, map[string]string{"http_request": strings.Replace(string(text), "network: true", "network: [127.0.0.1]", 1)})
	got, err := call(t, s, "http_request", map[string]any{"url": server.URL + "/no", "headers": map[string]any{"Authorization": "mine", "Host": "evil"}})
	if want := `{"body":"key mine is refused","status":"403 Forbidden","type":"text/plain; charset=utf-8"}`; err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
	got, err = call(t, s, "http_request", map[string]any{"url": server.URL + "/echo/", "body": map[string]any{"a": 1}})
	if err != nil || !strings.Contains(got, `POST /echo/ auth= x= type=application/json body={\"a\":1}`) {
		t.Errorf("%s, %v", got, err)
	}
	if len(s.Names()) != 2 {
		t.Errorf("there are %v", s.Names())
	}
}

func TestUnknownTool(t *testing.T) {
	_, err := project(t, "", nil).Tool("htp_request")
	if err == nil || err.Error() != `unknown tool "htp_request"; did you mean "http_request"?` {
		t.Error(err)
	}
}

func TestCancelledCall(t *testing.T) {
	server := echo(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := callLogged(ctx, t, tools(t, server), "get", map[string]any{"place": "x"})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// If the agent chooses the address, the agent's own permissions apply.
func TestPermissionsOfTheAgent(t *testing.T) {
	server := echo(t)
	text, err := os.ReadFile("builtin/http_request/tool.yml")
	if err != nil {
		t.Fatal(err)
	}
	s := project(t, server.URL, map[string]string{"http_request": strings.Replace(string(text), "network: true", "network: [127.0.0.1]", 1)})
	one, err := s.Tool("http_request")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		permissions map[string]any
		answer      string
		args        map[string]any
		asked, want string
	}{
		{nil, "", map[string]any{"url": "HOST/echo/a"}, "", "GET /echo/a"},
		{nil, "allow", map[string]any{"url": "HOST/echo/", "body": "hi"}, "POST HOST/echo/\n\nhi", "body=hi"},
		{nil, "deny", map[string]any{"url": "HOST/echo/", "body": "hi"}, "POST HOST/echo/\n\nhi", "a person was asked and did not allow this"},
		{map[string]any{"network": "deny"}, "", map[string]any{"url": "HOST/echo/"}, "", "the permissions of this agent do not allow this"},
		{map[string]any{"network": map[string]any{"HOST/goto*": "allow", "*": "deny"}}, "", map[string]any{"url": "HOST/goto?to=/echo/"}, "", "it redirects to HOST/echo/, which the permissions of the agent do not allow"},
		{map[string]any{"mode": "nonsense"}, "", map[string]any{"url": "HOST/echo/"}, "", "permissions: mode cannot be"},
	} {
		asked := ""
		task := &agent.Task{Agent: &agent.Definition{Name: "a", Permissions: hosts(c.permissions, server.URL)}, Ask: func(_ context.Context, q agent.Question) (string, error) {
			asked = q.Detail
			return c.answer, nil
		}}
		got, err := one.Call(t.Context(), hosts(c.args, server.URL), task, func([]byte) {})
		here := func(s string) string { return strings.ReplaceAll(s, "HOST", server.URL) }
		if !strings.Contains(got+fmt.Sprint(err), here(c.want)) || asked != here(c.asked) {
			t.Errorf("%v %v\ngot  %s, %v, asked %q\nwant %s", c.permissions, c.args, got, err, asked, here(c.want))
		}
	}
}

// hosts inserts the server's address into the texts of a map.
func hosts(m map[string]any, host string) map[string]any {
	out := map[string]any{}
	for key, value := range m {
		switch v := value.(type) {
		case string:
			value = strings.ReplaceAll(v, "HOST", host)
		case map[string]any:
			value = hosts(v, host)
		}
		out[strings.ReplaceAll(key, "HOST", host)] = value
	}
	return out
}
