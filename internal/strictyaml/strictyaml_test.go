package strictyaml_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

func TestBindsWhatIsAskedFor(t *testing.T) {
	doc := strictyaml.Read("a.yml", []byte(`
name: Ann
age: 42
tall: true
wait: 1h30m
share: 0.25
tags: [a, b]
one: c
nested: {deep: [1, 1.50, null, "x"]}
answer: yes
`))
	m := doc.Root().Map()
	check := func(got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	check(m.String("name"), "Ann")
	check(m.Int("age", 1), 42)
	check(m.Bool("tall"), true)
	check(m.Duration("wait"), 90*time.Minute)
	check(m.Float("share"), 0.25)
	check(m.Strings("tags"), []string{"a", "b"})
	check(m.Strings("one"), []string{"c"})
	check(m.Value("nested"), map[string]any{"deep": []any{json.Number("1"), json.Number("1.50"), nil, "x"}})
	check(m.Name("answer"), "yes")
	check(m.String("missing"), "")
	m.Done()
	if found := doc.Diagnostics(); len(found) != 0 {
		t.Errorf("unexpected:\n%s", found)
	}
}

// Every error is reported, each at its position.
func TestReportsAllMistakes(t *testing.T) {
	doc := strictyaml.Read("a.yml", []byte(`nmae: Ann
age: old
age: 3
tall: yes
wait: 90
when: -5s
colour: bleu
list: {a: 1}
empty:
more: 1
prompt: {{topic}}
`))
	m := doc.Root().Map()
	m.String("name")
	m.Int("age", 1)
	m.Bool("tall")
	m.Duration("wait")
	m.Duration("when")
	m.Word("colour", "red", "blue")
	m.List("list")
	m.String("empty")
	m.Int("more", 2)
	m.String("prompt")
	m.Done()
	want := strings.Join([]string{
		`a.yml:1:1: error[yaml-unknown-key]: unknown key "nmae"; did you mean "name"?`,
		`a.yml:2:6: error[yaml-type]: "age" must be a whole number, not text`,
		`a.yml:3:1: error[yaml-duplicate-key]: duplicate key "age"; remove one of them`,
		`a.yml:4:7: error[yaml-type]: "tall" must be true or false, not text; write true`,
		`a.yml:5:7: error[yaml-duration]: "90" is not a duration; write a number with its unit, such as 90s, 10m, 2h or 1h30m`,
		`a.yml:6:7: error[yaml-duration]: "-5s" is not a duration; write a number with its unit, such as 90s, 10m, 2h or 1h30m`,
		`a.yml:7:9: error[yaml-word]: "colour" cannot be "bleu"; did you mean "blue"?`,
		`a.yml:8:7: error[yaml-type]: "list" must be a list, not a map`,
		`a.yml:9:1: error[yaml-empty]: "empty" is empty; it must be text; set a value, or remove the key`,
		`a.yml:10:7: error[yaml-number]: "more" cannot be 1; write 2 or more`,
		`a.yml:11:9: error[yaml-type]: "prompt" must be text, not a map; put it in quotes: "{{topic}}"`,
	}, "\n")
	if diff := cmp.Diff(want, doc.Diagnostics().String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPositionsAreTight(t *testing.T) {
	text := "ключ: значение\nquoted: \"a \\\" b\"   # c\nsingle: 'it''s'\nflow: [a, {b: c}] # d\nblock: &x\n  k: v\nuse: *x\ntagged: !!str 12\nmany: one\n  two  three\n"
	for key, want := range map[string]workflow.Pos{
		"ключ":   {File: "f", Line: 1, Column: 7, EndLine: 1, EndColumn: 15},
		"quoted": {File: "f", Line: 2, Column: 9, EndLine: 2, EndColumn: 17},
		"single": {File: "f", Line: 3, Column: 9, EndLine: 3, EndColumn: 16},
		"flow":   {File: "f", Line: 4, Column: 7, EndLine: 4, EndColumn: 18},
		"block":  {File: "f", Line: 6, Column: 3, EndLine: 6, EndColumn: 4},
		"use":    {File: "f", Line: 6, Column: 3, EndLine: 6, EndColumn: 4},
		"tagged": {File: "f", Line: 8, Column: 15, EndLine: 8, EndColumn: 17},
		"many":   {File: "f", Line: 9, Column: 7, EndLine: 10, EndColumn: 13},
	} {
		doc := strictyaml.Read("f", []byte(text))
		if got := doc.Root().Map().Get(key).Pos(); got != want {
			t.Errorf("%s: got %v–%d:%d, want %v–%d:%d", key, got, got.EndLine, got.EndColumn, want, want.EndLine, want.EndColumn)
		}
	}
}

// Each text contains one §, and At must point to it.
func TestSourceFindsACharacter(t *testing.T) {
	for name, text := range map[string]string{
		"plain":             "a: some § text",
		"plain list":        "- x\n- some § text # c",
		"double":            `a: "some § text"`,
		"single":            `a: 'some § text'`,
		"wide characters":   `a: "日本 § text"`,
		"literal":           "a: |\n  first\n\n  second § x\n",
		"literal deep":      "a:\n  - b: |-\n      first\n        § more\n",
		"literal indicator": "a:\n  - b: |2\n        first\n      § more\n",
		"literal kept":      "a: |+\n\n\n   § more\n\n\n",
		"folded":            "a: >\n  one\n  two § x\n\n  three\n",
		"plain over lines":  "a: one\n  two § x\n  three\n",
		"double over lines": "a: \"one\n  two § x\n  three\"\n",
		"tagged":            "a: !!str some § text",
		"anchored":          "a: &x some § text",
		"crlf":              "a: |\r\n  first\r\n  second § x\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			doc := strictyaml.Read("f", []byte(text))
			src := deepest(doc.Root()).Source()
			i := strings.Index(src.Text, "§")
			if i < 0 {
				t.Fatalf("no § in %q", src.Text)
			}
			got, want := src.At(i, i+len("§")), find(text, '§')
			if got.Line != want.Line || got.Column != want.Column || got.EndColumn != want.Column+1 {
				t.Errorf("got %v to %d:%d, want %v", got, got.EndLine, got.EndColumn, want)
			}
			if end := find(text, '\000'); src.Pos.EndLine > end.Line {
				t.Errorf("the source ends in line %d of %d", src.Pos.EndLine, end.Line)
			}
		})
	}
}

func deepest(n strictyaml.Node) strictyaml.Node {
	for {
		switch {
		case n.IsList():
			list := n.List()
			n = list[len(list)-1]
		case n.IsMap():
			n = n.Map().Entries()[0].Value
		default:
			return n
		}
	}
}

func find(text string, r rune) workflow.Pos {
	line, column := 1, 1
	for _, c := range text {
		if c == r {
			break
		}
		column++
		if c == '\n' {
			line, column = line+1, 1
		}
	}
	return workflow.Pos{File: "f", Line: line, Column: column}
}

func TestValues(t *testing.T) {
	for text, want := range map[string]any{
		"12345678901234567890123": json.Number("12345678901234567890123"),
		"1.10":                    json.Number("1.10"),
		"1e400":                   json.Number("1e400"),
		"-0":                      json.Number("-0"),
		"+5":                      json.Number("5"),
		".5":                      json.Number("0.5"),
		"5.":                      json.Number("5"),
		"-0x10":                   json.Number("-16"),
		"0o17":                    json.Number("15"),
		"~":                       nil,
		"yes":                     "yes",
		"off":                     "off",
		"True":                    true,
		"2025-01-09":              "2025-01-09",
		"!!str 5":                 "5",
		"'5'":                     "5",
		"1:30":                    "1:30",
		"<<":                      "<<",
		"{1: a, true: b}":         map[string]any{"1": "a", "true": "b"},
		"[{<<: {a: 1, b: 2}, a: 3}]": []any{map[string]any{
			"a": json.Number("3"), "b": json.Number("2"),
		}},
		"[&a {x: 1}, *a, {<<: [*a, {x: 2, y: 3}]}]": []any{
			map[string]any{"x": json.Number("1")}, map[string]any{"x": json.Number("1")},
			map[string]any{"x": json.Number("1"), "y": json.Number("3")},
		},
	} {
		doc := strictyaml.Read("f", []byte(text))
		got := doc.Root().Value()
		if diff := cmp.Diff(want, got); diff != "" || len(doc.Diagnostics()) > 0 {
			t.Errorf("%s: %v\n%s", text, doc.Diagnostics(), diff)
		}
	}
}

func TestRefusedValues(t *testing.T) {
	for text, code := range map[string]string{
		"010":                    "yaml-number",
		"-08":                    "yaml-number",
		"1_000":                  "yaml-number",
		".inf":                   "yaml-number",
		".nan":                   "yaml-number",
		"!!binary aGk=":          "yaml-tag",
		"!secret x":              "yaml-tag",
		"!!int \"5\"":            "yaml-tag",
		"{[a]: b}":               "yaml-key",
		"{a: 1, a: 2}":           "yaml-duplicate-key",
		"{<<: text}":             "yaml-type",
		"&a [*a]":                "yaml-alias",
		"---\na\n---\nb":         "yaml-documents",
		"a: \x01":                "yaml-encoding",
		"a: \xff":                "yaml-encoding",
		"a: b\u2028c":            "yaml-encoding",
		"a: b\rc: d":             "yaml-encoding",
		manyTimes("[", 300, "]"): "yaml-size",
		bomb():                   "yaml-alias",
	} {
		doc := strictyaml.Read("f", []byte(text))
		doc.Root().Value()
		found := doc.Diagnostics()
		if len(found) != 1 || found[0].Code != code {
			t.Errorf("%.40q: want %s, got %v", text, code, found)
		}
	}
}

func manyTimes(open string, n int, end string) string {
	return strings.Repeat(open, n) + strings.Repeat(end, n)
}

// bomb expands to 9^9 values.
func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 9; i++ {
		alias := "*a" + string(rune('0'+i-1))
		b.WriteString("a" + string(rune('0'+i)) + ": &a" + string(rune('0'+i)) + " [" + strings.TrimSuffix(strings.Repeat(alias+",", 9), ",") + "]\n")
	}
	return b.String()
}

func TestPiecesOfAFileHaveItsPositions(t *testing.T) {
	doc := strictyaml.ReadAt("x.md", []byte("a: x\n  b: |\n"), 7, 5)
	if got := doc.Diagnostics(); len(got) == 0 || got[0].Line < 7 {
		t.Errorf("a mistake in line 8 is reported as %v", got)
	}
	doc = strictyaml.ReadAt("x.md", []byte("a: x\nb: |\n  one\n  two\nc: 'y'\n"), 7, 5)
	m := doc.Root().Map()
	for key, want := range map[string]string{"a": "x.md:7:8", "b": "x.md:9:3", "c": "x.md:11:5"} {
		if got := m.Get(key).Source().Pos.String(); got != want {
			t.Errorf("the text of %s is at %s, not at %s", key, got, want)
		}
	}
}

// A key that is looked up twice is listed once.
func TestUnknownKeyListsEachKeyOnce(t *testing.T) {
	doc := strictyaml.Read("a.yml", []byte("zz: 1\n"))
	m := doc.Root().Map()
	for _, key := range []string{"one", "two", "one"} {
		m.Get(key)
	}
	m.Done()
	if found := doc.Diagnostics(); len(found) != 1 || found[0].Detail != "the keys here are one, two" {
		t.Errorf("%v", found)
	}
}
