package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// small is a manifest with only the required keys.
const small = `program: tool
args: [run, "{prompt}"]
reply:
  rules:
    - {when: {type: done}, take: {result: .text}, means: success}
`

func mustRead(t testing.TB, text string) *Manifest {
	t.Helper()
	m, found := ReadManifest("tool.yml", []byte(text))
	if found.Errors() {
		t.Fatalf("the manifest of the test: %s", describe(found))
	}
	return m
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct{ name, text, summary, detail string }{
		{"empty", "", "the manifest is empty", "write at least"},
		{"no program", "args: [\"{prompt}\"]\nreply: {format: text}", "the manifest has no `program`", "as on the command line"},
		{"no way to run", "program: x", "does not say how to run", "`acp`"},
		{"no prompt", "program: x\nargs: [run]\nreply: {format: text}", "does not pass the prompt", `stdin: "{prompt}"`},
		{"no success", "program: x\nstdin: \"{prompt}\"\nargs: []", "no output of the CLI would count as success", "means: success"},
		{"relative", small + "user_files: .tool", `".tool" is not absolute`, "{env.HOME}/.poet/"},
		{"no such mode", small + "mounts: [all]", "all", "read-only"},
		{"unknown key", small + "argz: 1", "argz", "args"},
		{"unknown value", "program: x\nargs: [\"{promt}\"]\nreply: {format: text}", `unknown value "promt"`, `did you mean "prompt"?`},
		{"open brace", "program: x\nargs: [\"{prompt\"]\nreply: {format: text}", "unclosed {", "{{"},
		{"lone brace", "program: x\nargs: [\"prompt}\"]\nreply: {format: text}", "unmatched }", "{{"},
		{"form", "program: x\nargs: [\"{prompt:xml}\"]\nreply: {format: text}", "json or toml, not as xml", "{name}"},
		{"path", strings.Replace(small, ".text", "text", 1), `invalid path "text"`, ".message.content"},
		{"take", strings.Replace(small, "result:", "resul:", 1), "resul", "result"},
		{"means", strings.Replace(small, "means: success", "means: sucess", 1), "sucess", "success"},
		{"pattern", strings.Replace(small, "type: done", "type: {matches: '('}", 1), "invalid pattern", "RE2"},
		{"condition", strings.Replace(small, "type: done", "type: {not: 1, matches: x}", 1), "needs either", "{not: VALUE}"},
		{"condition on a map", strings.Replace(small, "type: done", "type: [[1]]", 1), "", "a string, a number"},
		{"where alone", strings.Replace(small, "take:", "where: {a: 1}, take:", 1), "but there is no list", "each"},
		{"version", small + "version: {oldest: new}", `"new" is not a version`, "numbers with dots"},
		{"exit", small + "exit: {0: login}", `"0" is not a failing exit status`, "1 to 255"},
		{"exit success", small + "exit: {1: success}", "success", "failure"},
		{"error rule", small + "errors: [{matches: x}]", "needs `matches` and `means`", "both"},
		{"file", small + "files: {f: {name: ../x, text: y}}", "is outside", "settings.json"},
		{"file content", small + "files: {f: {name: x}}", "a file needs either `text` or `json`", "one of them"},
		{"file name", small + "files: {prompt: {text: y}}", `the value "prompt" exists already`, "another name"},
		{"value name", small + "files: {My-File: {text: y}}", "invalid value name", "lower-case letters"},
		{"value", small + "values: {v: {if: model}}", `the value "v" is empty`, "`is`"},
		{"variable", small + "env: {A-B: x}", "invalid variable name", "letters"},
		{"argument", strings.Replace(small, "run,", "{if: model},", 1), "the arguments are missing", "`args`"},
		{"text with rules", strings.Replace(small, "reply:", "reply:\n  format: text", 1), "plain text has no events", "remove them"},
		{"reply file", strings.Replace(small, "reply:", "reply:\n  file: ../usage.json", 1), "is outside", "usage.json"},
		{"reply file nobody knows of", strings.Replace(small, "reply:", "reply:\n  file: usage.json", 1), "does not tell the CLI where to write", "{tmp}/usage.json"},
		{"mode", small + "permissions: {all: {x: 1}}", "all", ""},
		{"power", small + "permissions: {shel: {deny: {x: 1}}}", "shel", "shell"},
		{"permission of a power", small + "permissions: {shell: {forbid: {x: 1}}}", "forbid", ""},
		{"list", small + "permissions: {shell: {deny: {deny: x}}}", "", "a list"},
		{"pattern of nothing", small + "permissions: {shell: {pattern: Bash}}", "{pattern} is missing", "{pattern}"},
		{"value of a power", small + "permissions: {shell: {deny: {model: x}}}", `the value "model" exists already`, "another name"},
		{"note", strings.Replace(small, "take:", `note: "{error}", take:`, 1), `invalid path "error"`, "{.error.status}"},
		{"note that does not end", strings.Replace(small, "take:", `note: "{.error", take:`, 1), "unclosed {", "{.path}"},
		{"asks", small + "acp: {asks: [shell, files]}", "files", "write"},
		{"kinds", small + "acp: {kinds: {run: x}}", "run", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, found := ReadManifest("tool.yml", []byte(c.text))
			if m != nil {
				t.Error("a manifest with a mistake can be used")
			}
			for _, d := range found {
				if strings.Contains(d.Summary, c.summary) && strings.Contains(d.Summary+d.Detail, c.detail) {
					return
				}
			}
			t.Errorf("got %s\nwant %q and %q", describe(found), c.summary, c.detail)
		})
	}
}

func TestArguments(t *testing.T) {
	m := mustRead(t, `program: tool
permissions:
  edit: {mode: [--mode, edit]}
args:
  - "--model={model}"
  - [--system, "{system}"]
  - {if: resume, args: [again, "{resume}"]}
  - {unless: resume, args: new}
  - {each: allow, args: "--allow={item}"}
  - {each: servers, args: [-c, "servers.{key}={item:toml}"]}
  - [--schema, "{schema:json}"]
  - "{mode}"
  - "{extra}"
  - "{{{prompt}}}"
servers: {url: {url: "{url}", headers: "{headers}"}}
reply: {format: text}
`)
	for _, c := range []struct {
		name string
		v    values
		want string
	}{
		{"nothing", values{"prompt": "p"}, "new|{p}"},
		{"much", values{"prompt": "p", "model": "m", "resume": "s", "allow": []any{"a b", "c"}, "mode": []any{"--mode", "edit"}, "schema": map[string]any{"a": true},
			"servers": map[string]any{"x": map[string]any{"url": "http://h", "headers": map[string]any{"K-1": "a\"b\n"}}}, "extra": []any{"-v"}},
			`--model=m|again|s|--allow=a b|--allow=c|-c|servers.x={"headers" = {"K-1" = "a\"b\n"}, "url" = "http://h"}|--schema|{"a":true}|--mode|edit|-v|{p}`},
	} {
		if got := strings.Join(arguments(m.args, c.v), "|"); got != c.want {
			t.Errorf("%s: got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestTOML(t *testing.T) {
	v, err := workflow.ParseJSON([]byte(`{"b": [1, 2.5, true, null, "x"], "a b": {}, "n": null, "s": "\u0001\u007f\\\"é\n"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"a b" = {}, "b" = [1, 2.5, true, "x"], "s" = "\u0001\u007F\\\"é\n"}`
	if got := formatTOML(v); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestReset(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones here")
	}
	for text, want := range map[string]time.Time{
		"1794754800":                   time.Unix(1794754800, 0),
		"1794754800000":                time.Unix(1794754800, 0),
		"90":                           noon.Add(90 * time.Second),
		"2026-11-15T15:00:00Z":         noon.Add(3 * time.Hour),
		"1h2m3s":                       noon.Add(time.Hour + 2*time.Minute + 3*time.Second),
		"in 3 days 4 hours 9 minutes.": noon.Add(76*time.Hour + 9*time.Minute),
		"20.5s":                        noon.Add(20500 * time.Millisecond),
		"1 hour and 5 minutes":         noon.Add(65 * time.Minute),
		"3pm":                          noon.Add(3 * time.Hour),
		"3:30 PM":                      noon.Add(3*time.Hour + 30*time.Minute),
		"11:00":                        noon.Add(23 * time.Hour),
		"12am (UTC)":                   noon.Add(12 * time.Hour),
		"3pm (Europe/Berlin)":          time.Date(2026, 11, 15, 15, 0, 0, 0, berlin),
		"Nov 20, 3pm (Europe/Berlin)":  time.Date(2026, 11, 20, 15, 0, 0, 0, berlin),
		"Nov 20th, 2026 3:05 PM":       time.Date(2026, 11, 20, 15, 5, 0, 0, time.UTC),
		"":                             {}, "soon": {}, "5": noon.Add(5 * time.Second), "-5": {}, "1000000000": {}, "2026-11-15T11:00:00Z": {}, "400 days": {}, "25:00": {}, "13pm": {}, "Foo 3, 3pm": {}, "3pm (Nowhere/Land)": {},
	} {
		if got := parseReset(text, noon); !got.Equal(want) {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

func TestOlder(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"2.1.9", "2.1.10", true}, {"2.1.10", "2.1.9", false}, {"2.1", "2.1.0", false}, {"2", "2.0.1", true}, {"10.0", "9.9.9", false}} {
		if got := older(c.a, c.b); got != c.want {
			t.Errorf("%s older than %s: %v", c.a, c.b, got)
		}
	}
}

func TestStrict(t *testing.T) {
	for text, want := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`: true,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                              false,
		`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`:                  false,
		`{"type":"array","items":{"type":"object"}}`:                                                           false,
		`{"type":"array","items":{"type":"string"}}`:                                                           true,
	} {
		v, err := workflow.ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := strict(v); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// A manifest is accepted or refused, and an accepted one can be filled in.
func FuzzReadManifest(f *testing.F) {
	for _, name := range Builtin() {
		text, _ := manifests.ReadFile("manifests/" + name + ".yml")
		f.Add(text)
	}
	f.Add([]byte(small))
	f.Add([]byte(small + "permissions: {edit: {m: {a: b}}, shell: {deny: {m: {c: d}}, some: {m: 1}, pattern: \"x {pattern}\"}}\nacp: {asks: shell, kinds: {edit: y}, meta: {a: \"{m}\"}}\n"))
	may := []map[string]any{{"shell": "deny", "write": "deny"}, {"mode": "ask", "shell": map[string]any{"a *": "allow"}}, {"shell": map[string]any{"a *": "allow", "a b*": "deny"}, "deny": []any{"x"}}}
	v := values{"prompt": "p", "servers": map[string]any{"x": map[string]any{"url": "u"}}, "allow": []any{"a"}}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, found := ReadManifest("f.yml", text)
		if (m == nil) != found.Errors() {
			t.Errorf("manifest %v with %s", m != nil, describe(found))
		}
		if m == nil {
			return
		}
		arguments(m.args, v)
		for _, written := range may {
			if allowed, problems := m.permit(written); len(problems) == 0 {
				arguments(m.args, allowed.values)
			}
		}
		for i := range m.files {
			m.files[i].fill(v)
		}
		_, _ = readAll(m, []byte("{\"type\":\"result\"}\n[{}]\n"), 5, func([]byte) {})
	})
}

// Any output of a CLI is read safely, and the same however it is split.
func FuzzReading(f *testing.F) {
	f.Add("claude", []byte(`{"type":"result","is_error":false,"result":"x","total_cost_usd":-1e400,"modelUsage":{"m":{"inputTokens":1e99}}}`), 3)
	f.Add("codex", []byte(`{"type":"turn.completed","usage":{"input_tokens":1}}`+"\n"+`{"type":"turn.failed"}`), 1)
	f.Add("gemini", []byte(`{"type":"message","role":"assistant","content":{"a":[1]},"delta":true}`), 9)
	f.Add("goose", []byte(`{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"Ran into this error: "}]}}`), 9)
	f.Fuzz(func(t *testing.T, name string, text []byte, size int) {
		m := BuiltinManifest(name)
		if m == nil || size < 1 {
			return
		}
		whole, err := readAll(m, text, len(text)+1, func([]byte) {})
		pieces, err2 := readAll(m, text, size, func([]byte) {})
		if err == nil && err2 == nil && whole.summary() != pieces.summary() {
			t.Errorf("whole %s\npieces %s", whole.summary(), pieces.summary())
		}
		if used := whole.spent.usage(nil, whole.before); used.TokensIn < 0 || used.TokensOut < 0 || used.CostUSD < 0 {
			t.Errorf("used %+v", used)
		}
	})
}

func FuzzReset(f *testing.F) {
	for _, text := range []string{"3pm", "1h2m", "1794754800", "Nov 20th, 2026 3:05 PM (Europe/Berlin)", "in 3 days"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if at := parseReset(text, noon); !at.IsZero() && (!at.After(noon) || at.Sub(noon) > longestReset) {
			t.Errorf("%q: %v", text, at)
		}
	})
}
