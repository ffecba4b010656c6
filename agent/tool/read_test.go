package tool

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/workflow"
)

const file = ".hocket/tools/weather/tool.yml"

const weather = `
name: weather
description: Current weather of a place
kind: http
inputs:
  place: {type: string, description: Name of a city}
  units: {enum: [metric, imperial], default: metric}
  days: {type: integer, minimum: 1, required: false}
  tags: {type: array, required: false}
outputs:
  temperature: number
  text: {type: string, required: false}
permissions:
  network: [api.example.com, "*.example.org"]
  fs: {read: [data], write: [out]}
  secrets: [WEATHER_KEY]
approval: true
timeout: 20s
max_output_kb: 64
examples:
  - inputs: {place: Zürich}
    output: {temperature: 12.5}
http:
  method: POST
  url: https://api.example.com/v1/{place}?units={units}
  query: {days: "{days}", key: {secret: WEATHER_KEY}}
  headers: {Authorization: {secret: WEATHER_KEY, prefix: "Bearer "}, X-Place: "in {place}"}
  body: {q: "{place}", literal: "{{place}}", nested: ["{units}"]}
`

func TestReadsEveryKey(t *testing.T) {
	m, found := Read(file, []byte(weather))
	if len(found) > 0 {
		t.Fatal(found)
	}
	got := map[string]any{
		"name": m.Name, "kind": m.Kind(), "approval": m.Approval, "timeout": m.Timeout.String(), "kb": m.MaxOutputKB,
		"inputs": workflow.FormatJSON(m.Inputs), "outputs": workflow.FormatJSON(m.Outputs), "network": m.Permissions.Network.String(),
		"read": m.Permissions.Read, "write": m.Permissions.Write, "secrets": m.Permissions.Secrets, "examples": len(m.Examples),
	}
	want := map[string]any{
		"name": "weather", "kind": "http", "approval": true, "timeout": "20s", "kb": 64,
		"inputs":  `{"additionalProperties":false,"properties":{"days":{"minimum":1,"type":"integer"},"place":{"description":"Name of a city","type":"string"},"tags":{"type":"array"},"units":{"default":"metric","enum":["metric","imperial"]}},"required":["place"],"type":"object"}`,
		"outputs": `{"properties":{"temperature":{"type":"number"},"text":{"type":"string"}},"required":["temperature"],"type":"object"}`,
		"network": "api.example.com, *.example.org", "read": []string{"data"}, "write": []string{"out"}, "secrets": []string{"WEATHER_KEY"}, "examples": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMistakesAreReportedAtTheirPlace(t *testing.T) {
	const head = "description: d\nkind: http\n"
	for _, c := range []struct{ text, want string }{
		{"", "1:1: the tool is missing description; the tool is missing kind"},
		{"description: d\nkind: htpt", `2:7: error[yaml-word]: "kind" cannot be "htpt"`},
		{"descripton: d", `unknown key "descripton"`},
		{"name: other\n" + head + "permissions: {network: true}\nhttp: {url: 'https://a.b'}", `1:7: the tool "other" is in the folder "weather"`},
		{head, "the tool of kind http is missing http"},
		{head + "command: [ls]\npermissions: {network: true}\nhttp: {url: 'https://a.b'}", "3:1: a tool of kind http does not support command"},
		{head + "http: {url: 'https://api.example.com/x'}", "3:13: the permissions do not name the host \"api.example.com\""},
		{head + "permissions: {network: ['api.example.com:8443']}\nhttp: {url: 'https://api.example.com/x'}", `do not name the host "api.example.com"`},
		{head + "permissions: {network: ['https://x.y']}\nhttp: {url: 'https://x.y'}", `3:25: invalid host "https://x.y"`},
		{head + "permissions: {network: ['*']}\nhttp: {url: 'https://x.y'}", `invalid host "*"`},
		{head + "permissions: {network: true}\nhttp: {url: 'ftp://x.y'}", "invalid url: it does not begin with http:// or https://"},
		{head + "permissions: {network: true}\nhttp: {url: 'https://u:p@x.y'}", "invalid url: it contains a user or a password"},
		{head + "permissions: {network: true}\nhttp: {}", "the request has no url"},
		{head + "permissions: {network: true}\nhttp: {url: 'https://a.b', methd: GET}", `unknown key "methd"`},
		{head + "permissions: {network: true}\nhttp: {url: 'https://a.b', method: get}", `"method" cannot be "get"`},
		{head + "permissions: {network: true}\ninputs: {place: string}\nhttp: {url: 'https://a.b/{plac}'}", `unknown input "plac"`},
		{head + "permissions: {network: true}\nhttp: {url: 'https://a.b', headers: {X: {secret: KEY}}}", `the permissions do not name the secret "KEY"`},
		{head + "permissions: {network: true}\nhttp: {url: 'https://a.b', headers: {'a b': c}}", `invalid header name "a b"`},
		{head + "permissions: {network: true}\nhttp: {url: 'https://a.b', headers: {A: {prefix: x}}}", "A does not name a secret"},
		{head + "permissions: {network: true, secrets: [1x]}\nhttp: {url: 'https://a.b'}", `invalid secret name "1x"`},
		{head + "permissions: {network: true}\ninputs: {n: numbr}\nhttp: {url: 'https://a.b'}", `"numbr"`},
		{head + "permissions: {network: true}\ninputs: {type: string}\nhttp: {url: 'https://a.b'}", "the inputs of a tool must be an object"},
		{head + "permissions: {network: true}\ninputs: {n: {type: integer, default: x}}\nhttp: {url: 'https://a.b'}", `the default of input "n" does not match its type: /: expected integer, found the text "x"`},
		{head + "permissions: {network: true}\ninputs: {n: {type: nonsense}}\nhttp: {url: 'https://a.b'}", "invalid inputs"},
		{head + "permissions: {network: true}\ninputs: {n: integer}\nexamples: [{inputs: {n: x}}]\nhttp: {url: 'https://a.b'}", `5:21: an example does not match the inputs: /n: expected integer, found the text "x"`},
		{head + "permissions: {network: true}\noutputs: {n: integer}\nexamples: [{output: {}}]\nhttp: {url: 'https://a.b'}", "an example does not match the outputs: /: expected the property n"},
		{"description: d\nkind: command\ncommand: ls -l", "3:10: a command must be a list, not a shell command line"},
		{"description: d\nkind: command\ncommand: []", "the command does not name a program"},
		{"description: d\nkind: command\ninputs: {x: string}\ncommand: [sh, -c, 'echo {x}']", `4:19: a command cannot contain input "x"`},
		{"description: d\nkind: command\ncommand: {argv: [ls], dir: ../..}", `"../.." is outside the project`},
		{"description: d\nkind: command\ncommand: {argv: [ls], env: {a-b: c}}", `invalid variable name "a-b"`},
		{"description: d\nkind: script\nscript: {file: ../x.py, interpreter: python3}", `"../x.py" is outside the folder`},
		{"description: d\nkind: script\nscript: {}", "the script has no file; the script has no interpreter"},
		{"description: d\nkind: command\npermissions: {fs: {write: [..]}}\ncommand: [ls]", `3:28: warning[tool-definition]: the tool may write Hocket's own configuration`},
		{"description: d\nkind: command\npermissions: {fs: {read: ['src/*.go']}}\ncommand: [ls]", `invalid path "src/*.go" in a permission; name a folder`},
		{"description: d\nkind: command\npermissions: {fs: {read: [$HOME/x]}}\ncommand: [ls]", `variables are not expanded`},
		{"description: d\nkind: command\npermissions: {fs: {read: [~ada/x]}}\ncommand: [ls]", `write ~/… for a path in the home directory`},
		{"description: d\nkind: command\npermissions: {fs: {read: ['']}}\ncommand: [ls]", `invalid path "" in a permission`},
		{"description: d\nkind: command\npermissions: {fs: {read: [~]}}\ncommand: [ls]", `3:27: error[tool-definition]: a path is missing; write "~" in quotes`},
		{"description: d\nkind: command\npermissions: {fs: {write: [.]}}\ncommand: [ls]", `3:28: warning[tool-definition]: the tool may write Hocket's own configuration`},
		{"description: d\nkind: command\npermissions: {fs: {write: [.hocket/tools]}}\ncommand: [ls]", `the tool may write Hocket's own configuration`},
		{"description: d\nkind: command\npermissions: {fs: {write: [.hocket/tools/other/run.sh]}}\ncommand: [ls]", `the tool may write Hocket's own configuration`},
		{"description: d\nkind: command\npermissions: {fs: {write: [.glee/tools/weather/]}}\ncommand: [ls]", `the tool may write Hocket's own configuration`},
		{"description: d\nkind: search\ninputs: {}\npermissions: {network: true}\nsearch: {url: 'https://a.b?q={query}', results: '$.a['}", `a tool of kind search has fixed inputs and outputs; "$.a[" is not a valid JSONPath`},
		{"description: d\nkind: search\npermissions: {network: true}\nsearch: {url: 'https://a.b?q={query}'}", "the search does not say where its results are"},
	} {
		_, found := Read(file, []byte(c.text))
		var got []string
		for _, d := range found {
			got = append(got, strings.TrimPrefix(d.String(), file+":"))
		}
		all := strings.Join(got, "\n")
		for want := range strings.SplitSeq(c.want, "; ") {
			at, summary, placed := strings.Cut(want, ": ")
			if !placed || !strings.ContainsAny(at, "0123456789") || strings.ContainsAny(at, " ") {
				at, summary = "", want
			}
			if !strings.Contains(all, summary) || at != "" && !strings.Contains(all, at+":") {
				t.Errorf("%q\ngot  %s\nwant %s", c.text, all, want)
			}
		}
	}
}

// Valid tools of every kind are accepted.
func TestOtherKinds(t *testing.T) {
	for kind, text := range map[string]string{
		"command": "description: d\nkind: command\npermissions: {fs: {read: [., ../.git, ~/.gitconfig, /srv, 'C:\\\\x'], write: [out/, .hocketed, .hocket/cache, .hocket/tools/weather/data]}}\ninputs: {x: string}\ncommand: {argv: [awk, '{print}'], dir: src, env: {A: 1}}",
		"script":  "description: d\nkind: script\nscript: {file: run.py, interpreter: [python3, -u]}",
		"search":  "description: d\nkind: search\npermissions: {network: [s.example.com], secrets: KEY}\nsearch: {url: 'https://s.example.com/?q={query}&n={count}', headers: {X-Key: {secret: KEY}}, results: '$.r[*]'}",
	} {
		m, found := Read(file, []byte(text))
		if len(found) > 0 || m.Kind() != kind || m.inputs == nil {
			t.Errorf("%s: %v %v", kind, m, found)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(weather))
	f.Add([]byte("description: d\nkind: script\nscript: {file: run.py, interpreter: [python3, -u]}"))
	f.Add([]byte("kind: search\nsearch: {url: 'https://a.b?q={query}', results: '$.a'}"))
	f.Add([]byte("inputs: {type: object, properties: {a: {$ref: '#/x'}}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, found := Read(file, text)
		if m == nil && !found.Errors() {
			t.Error("nothing was read, and nothing is said to be wrong")
		}
		if m != nil && !found.Errors() && (m.inputs == nil || m.Work == nil || m.Timeout <= 0) {
			t.Errorf("nothing is said to be wrong, but it cannot be called: %+v", m)
		}
	})
}

func FuzzTemplate(f *testing.F) {
	f.Add("https://a.b/{x}?q={x}", "v")
	f.Add("{{x}} {x}{y", "../..")
	f.Fuzz(func(t *testing.T, template, value string) {
		args := map[string]any{"x": value}
		if len(references(template)) == 0 && !strings.Contains(template, "{{") && fillText(template, args) != template {
			t.Errorf("%q was changed", template)
		}
		u, err := fillURL("https://host/a/{x}/b?c={x}", args)
		if err == nil && (u.Host != "host" || u.Query().Get("c") != value && !strings.Contains(value, ";") || strings.Count(u.EscapedPath(), "/") != 3) {
			t.Errorf("%q broke out: %s", value, u)
		}
	})
}
