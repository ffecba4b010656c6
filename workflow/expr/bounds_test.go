package expr_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/workflow/expr"
)

func TestWhatIsParsedIsBounded(t *testing.T) {
	parseExpr := func(text string) error {
		_, err := expr.ParseExpr(text, expr.Canonical)
		return err
	}
	parseTemplate := func(text string) error {
		_, err := expr.ParseTemplate(text, expr.Mixed)
		return err
	}
	tests := []struct {
		name  string
		parse func(string) error
		text  string
		want  string // "": it parses
	}{
		{"deep parentheses", parseExpr, strings.Repeat("(", 100) + "a" + strings.Repeat(")", 100), ""},
		{"deeper parentheses", parseExpr, strings.Repeat("(", 101) + "a" + strings.Repeat(")", 101), "expression nested too deeply"},
		{"many negations", parseExpr, strings.Repeat("!", 101) + "a", "expression nested too deeply"},
		{"many brackets", parseExpr, strings.Repeat("[", 1000), "expression nested too deeply"},
		{"long chain", parseExpr, "a" + strings.Repeat(" && a", 10_000), ""},
		{"long path", parseExpr, "a" + strings.Repeat(".a", 10_000), ""},
		{"long expression", parseExpr, strings.Repeat(" ", 64<<10) + "a", "expression too long"},
		{"long expression in text", parseTemplate, "${" + strings.Repeat(" ", 64<<10) + "a}", "expression too long"},
		{"long text", parseTemplate, strings.Repeat("x", 4<<20), ""},
		{"longer text", parseTemplate, strings.Repeat("x", 4<<20+1), "text too long"},
		{"long pattern", parseExpr, `a matches "` + strings.Repeat("x", 1001) + `"`, "the pattern has 1001 bytes; at most 1000 are allowed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.parse(tt.text)
			var syntax *expr.SyntaxError
			got := ""
			if errors.As(err, &syntax) {
				got = syntax.Summary
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	var deep any = "x"
	for range 1001 {
		deep = []any{deep}
	}
	if _, err := expr.ParseValue(deep, expr.Canonical); err == nil || !strings.Contains(err.Error(), "value nested too deeply") {
		t.Errorf("got %v", err)
	}
}

func TestLongTextIsNotMatched(t *testing.T) {
	e, err := expr.ParseExpr(`vars.x matches "x(?:a?){510}"`, expr.Canonical)
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Eval(env{"vars.x": strings.Repeat("a", 1<<20)})
	if want := "expr: a text of 1048576 bytes is too long for this pattern; at most 262400"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestTruthy(t *testing.T) {
	for _, v := range []any{nil, false, num("0"), num("-0.0"), "", " ", "0", "false", "No", []any{}, map[string]any{}} {
		if expr.Truthy(v) {
			t.Errorf("%#v is truthy", v)
		}
	}
	for _, v := range []any{true, num("0.1"), "yes", "nope", "0.0", []any{nil}, map[string]any{"a": nil}} {
		if !expr.Truthy(v) {
			t.Errorf("%#v is not truthy", v)
		}
	}
	e, err := expr.ParseExpr("vars.x", expr.Canonical)
	if err != nil {
		t.Fatal(err)
	}
	if yes, err := e.Bool(env{"vars.x": "no"}); yes || err != nil {
		t.Errorf("got %t, %v", yes, err)
	}
}

func TestEquality(t *testing.T) {
	list := func(items ...any) any { return items }
	object := func(v any) any { return map[string]any{"k": v} }
	tests := []struct {
		a, b any
		want bool
	}{
		{num("1"), num("1.0"), true}, {num("1"), "1", true}, {num("1"), "one", false}, {"1", "1.0", false},
		{num("100000000000000000000"), num("1e20"), true}, {num("0.1000000000000000055"), num("0.1"), false},
		{true, "true", true}, {true, "yes", false}, {nil, "", false}, {nil, nil, true}, {"a", list("a"), false},
		{list(num("1"), "a"), list(num("1.0"), "a"), true}, {list("a"), list("a", "b"), false}, {list("a"), list("b"), false},
		{object(num("1")), object("1"), true}, {object("a"), object("b"), false}, {object("a"), map[string]any{}, false}, {object("a"), map[string]any{"l": "a"}, false},
	}
	e, err := expr.ParseExpr("vars.a == vars.b", expr.Canonical)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		for _, env := range []env{{"vars.a": tt.a, "vars.b": tt.b}, {"vars.a": tt.b, "vars.b": tt.a}} {
			if got, err := e.Bool(env); got != tt.want || err != nil {
				t.Errorf("%v == %v: got %t (%v), want %t", env["vars.a"], env["vars.b"], got, err, tt.want)
			}
		}
	}
}

func TestMentionsOfExpr(t *testing.T) {
	e, err := expr.ParseExpr("steps[1].output == vars.x && groups.g", expr.Mixed)
	if err != nil {
		t.Fatal(err)
	}
	want := []expr.Mention{
		{Kind: expr.MentionStep, Step: 1, From: 0, To: 15}, {Kind: expr.MentionName, Name: "x", From: 19, To: 25}, {Kind: expr.MentionGroup, Name: "g", From: 29, To: 37},
	}
	if diff := cmp.Diff(want, e.Mentions()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	v, err := expr.ParseValue(map[string]any{"b": "{{x}}", "a": []any{"${nodes.n.output}", "no"}}, expr.Mixed)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Refs()) != 3 || len(v.Refs()) != 2 {
		t.Errorf("got %d and %d references", len(e.Refs()), len(v.Refs()))
	}
}
