package agent_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

var schema = map[string]any{
	"type": "object", "additionalProperties": false, "required": []any{"mode"},
	"oneOf": []any{map[string]any{"required": []any{"left"}}, map[string]any{"required": []any{"right"}}},
	"properties": map[string]any{
		"mode":  map[string]any{"enum": []any{"fast", "slow"}},
		"left":  map[string]any{"type": "string", "pattern": "^[a-z]+$"},
		"right": map[string]any{"type": []any{"string", "array"}, "items": map[string]any{"type": "integer", "minimum": 1}},
		"names": map[string]any{"propertyNames": map[string]any{"pattern": "^[a-z]+$"}},
		"list":  map[string]any{"type": "array", "minItems": 1},
		"dir":   agent.PathInside("A directory."),
		"deep":  map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{"inner": map[string]any{"type": "boolean"}}},
	},
}

func settings(t testing.TB, text string) map[string]any {
	t.Helper()
	v, err := workflow.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

func TestValidateSettings(t *testing.T) {
	for _, c := range []struct{ settings, want string }{
		{`{"mode": "fast", "left": "abc"}`, ""},
		{`{"mode": "fast", "right": [1, 2]}`, ""},
		{`{"mode": "fast"}`, `setting "left" or "right" is missing`},
		{`{"mode": "fast", "left": "a", "right": "b"}`, `only one of "left" and "right" may be set`},
		{`{"left": "a"}`, `setting "mode" is missing`},
		{`{"mode": "quick", "left": "A"}`, `setting "left" cannot be "A"; write a text that matches ^[a-z]+$` + "\n" + `setting "mode" cannot be "quick"; write one of fast, slow`},
		{`{"mode": "fast", "left": "a", "mod": 1}`, `unknown setting "mod"; did you mean "mode"?`},
		{`{"other": 1, "left": "a"}`, `setting "mode" is missing` + "\n" + `unknown setting "other"; available: deep, dir, left, list, mode, names, right`},
		{`{"mode": "fast", "left": "a", "deep": {"iner": true}}`, `unknown setting "iner"; did you mean "inner"?`},
		{`{"mode": "fast", "left": "a", "deep": {"inner": "x"}}`, `setting "deep.inner" must be boolean, not string`},
		{`{"mode": "fast", "right": [0, "x"]}`, `setting "right.0" must be at least 1; write a larger number` + "\n" + `setting "right.1" must be integer, not string`},
		{`{"mod": "fast", "lft": "a"}`, `unknown setting "lft"; did you mean "left"?` + "\n" + `unknown setting "mod"; did you mean "mode"?`},
		{`{"mode": "fst", "left": "", "names": {"a=b": 1}, "list": []}`, `invalid name "a=b" in setting "names"; names must match ^[a-z]+$` + "\n" +
			`setting "left" cannot be ""; write a text that matches ^[a-z]+$` + "\n" + `setting "list" is empty; set a value, or remove it` + "\n" + `setting "mode" cannot be "fst"; did you mean "fast"?`},
		{`{"mode": "fast", "left": "a", "dir": "../x"}`, `setting "dir" is outside the project; write a path inside the project, such as src/main.go`},
		{`{"mode": "fast", "left": "a", "dir": "/etc"}`, `setting "dir" is outside the project; write a path inside the project, such as src/main.go`},
		{`{"mode": "fast", "left": "a", "dir": "..x/y"}`, ""},
		// A reference may have any value.
		{`{"mode": "${inputs.mode}", "left": "${vars.x}!"}`, ""},
		{`{"mode": "fast", "right": [1, "${item}"]}`, ""},
		{`{"mode": "fast", "left": "a", "deep": "${vars.x}"}`, ""},
		{`{"mode": "$${inputs.mode}", "left": "a"}`, `setting "mode" cannot be "$${inputs.mode}"; write one of fast, slow`},
		{`{"mode": "$${x} ${y}", "left": "a"}`, ""},
	} {
		var lines []string
		for _, p := range agent.NewSchema(schema).CheckTemplates(settings(t, c.settings)) {
			lines = append(lines, p.String())
		}
		if diff := cmp.Diff(c.want, strings.Join(lines, "\n")); diff != "" {
			t.Errorf("%s\n%s", c.settings, diff)
		}
	}
}

// Every kind of error has a clear message that says what to do.
func TestPhrases(t *testing.T) {
	type object = map[string]any
	s := agent.NewSchema(object{
		"type": "object", "additionalProperties": false,
		"properties": object{
			"command": object{"type": "string", "minLength": 1}, "long": object{"type": "string", "minLength": 3}, "short": object{"maxLength": 2},
			"some": object{"type": "array", "minItems": 1}, "two": object{"type": "array", "minItems": 2},
			"least": object{"type": "number", "minimum": 0.5}, "most": object{"type": "integer", "maximum": 9},
			"word": object{"enum": []any{"fast", 7}}, "id": object{"type": "string", "pattern": "^[a-z]$", "description": "One letter."},
			"env":   object{"type": "object", "propertyNames": object{"pattern": "^[A-Z]+$", "description": "capital letters"}},
			"names": object{"type": "object"}, "never": false, "dir": agent.PathInside("A directory."),
			"empty": object{"type": "object", "additionalProperties": false},
			"deep":  object{"type": "object", "required": []any{"a", "b"}, "properties": object{"a": object{"type": []any{"string", "array"}}}},
		},
	})
	for _, c := range []struct{ settings, path, want string }{
		{`{"command": ""}`, "command", `setting "command" is empty; set a value, or remove it`},
		{`{"long": "ab"}`, "long", `setting "long" is shorter than 3 characters; set a value, or remove it`},
		{`{"short": "abc"}`, "short", `setting "short": maxLength: got 3, want 2`},
		{`{"some": []}`, "some", `setting "some" is empty; set a value, or remove it`},
		{`{"two": [1]}`, "two", `setting "two" is a list of fewer than 2; set a value, or remove it`},
		{`{"least": 0.25}`, "least", `setting "least" must be at least 0.5; write a larger number`},
		{`{"most": 10}`, "most", `setting "most" must be at most 9; write a smaller number`},
		{`{"word": "fst"}`, "word", `setting "word" cannot be "fst"; did you mean "fast"?`},
		{`{"word": "other"}`, "word", `setting "word" cannot be "other"; write one of fast, 7`},
		{`{"word": 8}`, "word", `setting "word" cannot be 8; write one of fast, 7`},
		{`{"id": "A"}`, "id", `setting "id" cannot be "A"; it is: One letter`},
		{`{"names": {"a": 1}, "env": {"a": 1}}`, "env", `invalid name "a" in setting "env"; a name has capital letters`},
		{`{"never": 1}`, "never", `setting "never" cannot be combined with the others; remove it`},
		{`{"dir": "C:\\x"}`, "dir", `setting "dir" is outside the project; write a path inside the project, such as src/main.go`},
		{`{"dir": ".."}`, "dir", `setting "dir" is outside the project; write a path inside the project, such as src/main.go`},
		{`{"deep": {"a": 1}}`, "deep.a, deep without b", `setting "deep.a" must be string or array, not number; setting "deep.b" is missing`},
		{`{"cmd": "ls"}`, "cmd unknown", `unknown setting "cmd"; use "command" instead`},
		{`{"uri": "x"}`, "uri unknown", `unknown setting "uri"; available: command, deep, dir, empty, env, id, least, long, most, names, never, short, some, two, word`},
		{`{"empty": {"x": 1}}`, "empty.x unknown", `unknown setting "x"`},
	} {
		var said, at []string
		for _, p := range s.CheckTemplates(settings(t, c.settings)) {
			said = append(said, p.String())
			place := strings.Join(p.Path, ".")
			if p.Unknown {
				place += " unknown"
			}
			if p.Missing != nil {
				place += " without " + strings.Join(p.Missing, ", ")
			}
			at = append(at, place)
		}
		if got := strings.Join(said, "; "); got != c.want || strings.Join(at, ", ") != c.path {
			t.Errorf("%s\ngot  %s (%s)\nwant %s (%s)", c.settings, got, at, c.want, c.path)
		}
	}
	if got := (*agent.Schema)(nil); got.Properties() != nil || got.Check(object{"a": 1}) != nil {
		t.Error("no schema refuses something")
	}
	if got := s.Check(settings(t, `{"dir": "/etc"}`)); len(got) > 0 {
		t.Errorf("where a path leads is not for the schema to say at last: %v", got)
	}
	few := agent.NewSchema(object{"type": "object", "minProperties": 1})
	if got := few.Check(object{}); len(got) != 1 || got[0].String() != "the settings: minProperties: got 0, want 1" {
		t.Errorf("%v", got)
	}
	if err := new(agent.Text).UnmarshalJSON([]byte("{")); err == nil {
		t.Error("half an object is a text")
	}
	var into struct{ Command int }
	if err := s.Decode(settings(t, `{"command": "x"}`), &into); err == nil || !strings.HasPrefix(err.Error(), "settings: json: cannot unmarshal") {
		t.Error(err)
	}
}

// A setting with a name from another tool is answered with ours.
func TestOtherNames(t *testing.T) {
	free := map[string]any{}
	s := agent.NewSchema(map[string]any{"additionalProperties": false, "properties": map[string]any{"command": free, "dir": free, "env": free, "max_tokens": free, "url": free}})
	for want, names := range map[string]string{
		"command": "cmd run", "dir": "cwd workdir working_dir working_directory", "env": "environment", "max_tokens": "maxTokens", "url": "link uri",
	} {
		for _, name := range strings.Fields(names) {
			if got := s.Check(map[string]any{name: "x"}); len(got) != 1 || got[0].Detail != `use "`+want+`" instead` {
				t.Errorf("%s: %v", name, got)
			}
		}
	}
}

func TestValidateNoSettings(t *testing.T) {
	if got := agent.NewSchema(schema).CheckTemplates(nil); len(got) != 2 {
		t.Errorf("got %v", got)
	}
}

func TestDecodeSettings(t *testing.T) {
	var into struct {
		Mode  string
		Right []agent.Text
	}
	s := agent.NewSchema(schema)
	if err := s.Decode(settings(t, `{"mode": "slow", "right": [10, 2]}`), &into); err != nil || into.Mode != "slow" || into.Right[0] != "10" {
		t.Errorf("got %+v, %v", into, err)
	}
	err := s.Decode(settings(t, `{"mode": "${x}", "left": "a"}`), &into)
	var failed *agent.Error
	if !errors.As(err, &failed) || !failed.Permanent || failed.Message != `settings: setting "mode" cannot be "${x}"; write one of fast, slow` {
		t.Errorf("rendered settings are text, not templates: %v", err)
	}
}

func TestSetValidates(t *testing.T) {
	s := agent.NewSet(map[string]agent.Executor{"x": agent.New(agent.Traits{Settings: agent.NewSchema(schema)}, nil)}, nil, "")
	d, _, err := s.Resolve("x")
	if err != nil || len(s.ValidateSettings(d, nil)) == 0 || len(s.ValidateSettings(d, settings(t, `{"mode": "fast", "left": "a"}`))) > 0 {
		t.Errorf("the set does not check settings: %v", err)
	}
	if got := s.ValidateSettings(&agent.Definition{Agent: "codex"}, settings(t, `{"a": 1}`)); got != nil {
		t.Errorf("settings of an agent without executor: %v", got)
	}
}

func TestWith(t *testing.T) {
	d := &agent.Definition{Settings: map[string]any{"a": "1", "b": map[string]any{"x": "1"}}}
	got := d.With(map[string]any{"b": map[string]any{"y": "2"}})
	if diff := cmp.Diff(map[string]any{"a": "1", "b": map[string]any{"y": "2"}}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"a": "1", "b": map[string]any{"x": "1"}}, d.Settings); diff != "" {
		t.Errorf("the definition was changed: %s", diff)
	}
}

func FuzzValidateSettings(f *testing.F) {
	f.Add(`{"mode": "${x}", "left": "$${", "deep": {"inner": [1]}}`)
	f.Add(`{"right": [[], {"a": "${b}"}, null, 1.5e3]}`)
	s := agent.NewSchema(schema)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := workflow.ParseJSON([]byte(text))
		m, ok := v.(map[string]any)
		if err != nil || !ok {
			return
		}
		strict, lenient := s.Check(m), s.CheckTemplates(m)
		if len(lenient) > len(strict) {
			t.Errorf("templates make it worse: %v, %v", strict, lenient)
		}
		for _, p := range strict {
			if p.Summary == "" {
				t.Error("a problem without words")
			}
		}
	})
}

func BenchmarkValidateSettings(b *testing.B) {
	s := agent.NewSchema(schema)
	m := map[string]any{"mode": "fast", "right": []any{json.Number("1")}}
	for b.Loop() {
		s.CheckTemplates(m)
	}
}
