//go:build unix

package tool_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent/tool"
)

const gleeHead = "description: d\nversion: 1\ninputs: {schema: {type: object, properties: {x: {type: string}, n: {type: integer, default: 3}}}}\napproval: {required: false}\n"

// Tools in Glee's format work as they do in Glee.
func TestGlee(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body := make([]byte, r.ContentLength)
			_, _ = r.Body.Read(body)
			fmt.Fprintf(w, `{"ok": %s}`, body)
			return
		}
		fmt.Fprintf(w, `{"web": {"results": [{"title": %q, "more": 1, "deep": {"at": "b"}}]}}`, r.URL.RawQuery+" "+r.Header.Get("Authorization"))
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	s := project(t, host, map[string]string{
		"get": gleeHead + `kind: http
outputs: {format: json, schema: {type: array}}
exec:
  http:
    method: GET
    url: http://HOST/search
    headers: {Authorization: "Bearer ${KEY}"}
    query: {q: "${x}", count: "${n}", none: "{x}"}
    response: {json_path: web.results, fields: [{name: title, path: title}, {name: at, path: deep.at}, {name: gone, path: nowhere}]}
permissions: {network: [HOST], secrets: {KEY: {type: string, required: true}}}
`,
		"post": gleeHead + "kind: http\noutputs: {format: json}\npermissions: {network: [HOST]}\nexec: {http: {method: POST, url: 'http://HOST/', body: {text: '${x}', n: '${n}'}}}\n",
		"args": gleeHead + "kind: command\noutputs: {format: text}\nexec: {command: {entrypoint: printf, args: ['%s|', 'a ${x}', '${n}'], cwd: ., stdout: {format: text}, exit_codes_ok: [0], timeout_ms: 30000}}\n",
		"odd":  gleeHead + "kind: command\nexec: {command: {entrypoint: sh, args: [-c, 'echo three; exit 3'], exit_codes_ok: [0, 3]}}\n",
	})
	for _, c := range []struct{ tool, want string }{
		{"get", `[{"at":"b","title":"count=3&none=%7Bx%7D&q=%24%28id%29+%3B Bearer ***"}]`},
		{"post", `{"ok": {"n":3,"text":"$(id) ;"}}`},
		{"args", "a $(id) ;|3|"},
		{"odd", "three"},
	} {
		if got, err := call(t, s, c.tool, map[string]any{"x": "$(id) ;"}); err != nil || got != c.want {
			t.Errorf("%s\ngot  %s, %v\nwant %s", c.tool, got, err, c.want)
		}
	}
}

// A function of a module is called with the values of the inputs.
func TestGleePython(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	s := project(t, "", map[string]string{
		"stats":                gleeHead + "kind: python\noutputs: {format: json}\npermissions: {fs: {read: [.]}}\nexec: {python: {module: tools.stats, function: run, args: ['${x}', '${n}'], return: json, timeout_ms: 30000}}\n",
		"../../tools/stats.py": "def run(x, n):\n    return {'x': x, 'next': n + 1}\n",
	})
	if got, err := call(t, s, "stats", map[string]any{"x": "a"}); err != nil || got != `{"x": "a", "next": 4}` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestGleeMistakes(t *testing.T) {
	for _, c := range []struct{ rest, want string }{
		{"kind: http\n", "exec.http"},
		{"kind: script\nexec: {}\n", `"kind" cannot be "script"`},
		{"kind: http\npermissions: {network: true}\nexec: {http: {url: 'https://a.example/${y}'}}\n", `unknown input "y"`},
		{"kind: http\npermissions: {network: true, secrets: {KEY: {}}}\nexec: {http: {url: 'https://a.example/${KEY}'}}\n", "the secret KEY cannot be sent here"},
		{"kind: http\nexec: {http: {url: 'https://a.example/'}}\n", `do not name the host "a.example"`},
		{"kind: command\nexec: {command: {entrypoint: sh, args: [-c, '${x}']}}\n", "argument 2 would run as code"},
		{"kind: command\nexec: {command: {entrypoint: /usr/bin/python3.12, args: ['${x}']}}\n", "argument 1 would run as code"},
		{"kind: command\nexec: {command: {entrypoint: env, args: [A=1, '${x}']}}\n", "argument 2 would run as code"},
		{"kind: command\nexec: {command: {args: [a]}}\n", "does not name a program"},
		{"kind: command\nexec: {command: {entrypoint: a, shell: true}}\n", `unknown key "shell"`},
		{"kind: python\nexec: {python: {module: a}}\n", "does not say what to call"},
		{"kind: command\nexec: {command: {entrypoint: a}}\nexamples: [{params: {x: 1}}]\n", "an example does not match the inputs"},
	} {
		text := gleeHead + c.rest
		if !strings.Contains(c.rest, "exec") {
			text += "exec: {}\n"
		}
		_, found := tool.Read("tools/t/tool.yml", []byte(text))
		if len(found) != 1 || !strings.Contains(found[0].Summary+found[0].Detail, c.want) {
			t.Errorf("%s\n%v\nwant %s", c.rest, found, c.want)
		}
	}
	if m, _ := tool.Read("tools/t/tool.yml", []byte(strings.Replace(gleeHead, "required: false", "required: true, reason: x", 1)+"kind: command\nexec: {command: {entrypoint: a}}\n")); !m.Approval {
		t.Error("nobody is asked")
	}
}

// Checks the examples in Glee's own documentation, if available.
func TestGleeExamples(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/found/glee-tools/.glee/tools/*/tool.yml")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, found := tool.Read(file, text); len(found) > 0 {
			t.Error(found)
		}
	}
}
