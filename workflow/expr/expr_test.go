package expr_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/workflow/expr"
)

// env looks up references by their canonical text without the path.
type env map[string]any

func (e env) Lookup(ref *expr.Ref) (any, bool) {
	bare := *ref
	bare.Path = nil
	v, ok := e[bare.String()]
	return v, ok
}

func num(s string) json.Number { return json.Number(s) }

var world = env{
	"inputs":          map[string]any{"topic": "Go"},
	"inputs.topic":    "Go",
	"inputs.empty":    "",
	"inputs.off":      false,
	"inputs.no":       " No\n",
	"vars.score":      num("8"),
	"vars.text_score": "8.50",
	"vars.list":       []any{"a", num("1"), map[string]any{"k": true}},
	"vars.object":     map[string]any{"a b": num("1"), "deep": map[string]any{"x": "y"}},
	"vars.big":        num("12345678901234567891"),
	"vars.price":      "$",

	"nodes.security-scanner.output": "ok",
	`nodes["odd id"].output`:        "odd",
	"nodes.a.status":                "error",
	"previous.output":               "APPROVED, mostly",
	"item":                          map[string]any{"name": "n"},
	"index":                         num("3"),
}

func TestConditions(t *testing.T) {
	tests := []struct {
		text string
		want any
	}{
		{`inputs.topic`, "Go"},
		{`inputs.missing`, nil},
		{`inputs.missing.deep[3].x ?? "d"`, "d"},
		{`inputs.empty ?? "d"`, ""},
		{`inputs.a ?? inputs.b ?? inputs.topic`, "Go"},
		{`inputs.a ?? "x" == "x"`, true},
		{`vars.score == 8`, true},
		{`vars.score == "8.0"`, true},
		{`vars.text_score > 8`, true},
		{`vars.text_score == 8.5`, true},
		{`vars.big == 12345678901234567890`, false},
		{`vars.big > 12345678901234567890`, true},
		{`1e2 == 100`, true},
		{`"10" < "9"`, true},
		{`10 < 9`, false},
		{`"10" < 9`, false},
		{`inputs.missing < 5 || inputs.missing >= 5`, false},
		{`inputs.missing == null`, true},
		{`inputs.off == null`, false},
		{`inputs.off == "false"`, true},
		{`!inputs.off && !inputs.no && !inputs.empty && !inputs.missing`, true},
		{`!(vars.score > 10)`, true},
		{`!!vars.score`, true},
		{`previous.output contains "APPROVED"`, true},
		{`"PROV" in previous.output`, true},
		{`vars.list contains 1`, true},
		{`"z" in vars.list`, false},
		{`inputs.topic in ["Go", 'C']`, true},
		{`"deep" in vars.object`, true},
		{`inputs.missing contains "x"`, false},
		{`previous.output matches "^APP.*ly$"`, true},
		{`vars.score matches '^\d$'`, true},
		{`inputs.missing matches "x"`, false},
		{`vars.list[2].k`, true},
		{`vars.list[9]`, nil},
		{`vars.list.k`, nil},
		{`vars.object["a b"]`, num("1")},
		{`vars.object.deep == vars.object["deep"]`, true},
		{`vars.list == ["a", 1.0, null]`, false},
		{`nodes.security-scanner.output`, "ok"},
		{`nodes.security-scanner`, "ok"},
		{`nodes["odd id"].output`, "odd"},
		{`${vars.score} >= 8 && {{vars.score}} <= 8 && ($index == 3)`, true},
		{`item.name == "n" ?`, true},
		{`(true || false) && false`, false},
		{`true || false && false`, true},
		{`"\u00e9\n\q" == 'é` + "\n" + `\q'`, true},
		{`-1 < 0`, true},
		{`false || 0 || "no"`, false},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			e, err := expr.ParseExpr(tt.text, expr.Mixed)
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.Eval(world)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			again, err := expr.ParseExpr(e.String(), expr.Canonical)
			if err != nil {
				t.Fatalf("printed as %s: %v", e, err)
			}
			if again.String() != e.String() {
				t.Errorf("printed as %s, then as %s", e, again)
			}
		})
	}
}

func TestConditionPrecedence(t *testing.T) {
	tests := []struct{ text, want string }{
		{`a||b&&c`, `a || b && c`},
		{`(a||b)&&c`, `(a || b) && c`},
		{`a??b==c`, `a ?? b == c`},
		{`a??(b==c)`, `a ?? (b == c)`},
		{`(!a)==b`, `(!a) == b`},
		{`!(a==b)`, `!(a == b)`},
		{`! a ?? b`, `!a ?? b`},
		{`((a))`, `a`},
		{`(a ?? b) ?? c`, `(a ?? b) ?? c`},
		{`${a.b[0]['c d']}`, `a.b[0]["c d"]`},
		{`nodes.a[0]`, `nodes.a.output[0]`},
		{`groups.g`, `groups.g.outputs`},
		{`previous`, `previous.output`},
		{`x in [ 'a' ,1 , ]?`, ``},
	}
	for _, tt := range tests {
		e, err := expr.ParseExpr(tt.text, expr.Mixed)
		if err != nil {
			if tt.want != "" {
				t.Errorf("%s: %v", tt.text, err)
			}
			continue
		}
		if e.String() != tt.want {
			t.Errorf("%s is printed as %s, want %s", tt.text, e, tt.want)
		}
	}
}

func TestConditionErrors(t *testing.T) {
	tests := []struct {
		text     string
		from, to int
		summary  string
	}{
		{``, 0, 0, "the expression ends too early"},
		{`a ==`, 4, 4, "the expression ends too early"},
		{`a = b`, 2, 3, `unexpected "="`},
		{`a and b`, 2, 5, `unexpected "and"`},
		{`a b`, 2, 3, `unexpected "b"`},
		{`(a`, 2, 2, "the expression ends too early"},
		{`a[-1]`, 2, 4, `"-1" is not an index`},
		{`a.0`, 1, 2, "a name is missing after the dot"},
		{`a?.b`, 1, 3, `unexpected "?."`},
		{`"abc`, 0, 4, "text without closing quote"},
		{`a < b < c`, 6, 7, "comparisons do not chain"},
		{`!a contains b`, 3, 11, "! applies to the left side only"},
		{`a matches "("`, 10, 13, "error parsing regexp: missing closing ): `(`"},
		{`a matches "(abc[xy]{1,31}){1,31}"`, 10, 33, "the pattern contains too many repetitions"},
		{`a == 01`, 5, 7, "a number cannot begin with 0"},
		{`a == ü`, 5, 7, "unexpected character 'ü'"},
		{`{{a}`, 3, 4, "{{ is closed by a single }"},
		{`a ??`, 4, 4, "the expression ends too early"},
		{`a == 3x`, 5, 7, `"3x" is neither a number nor a name`},
	}
	for _, tt := range tests {
		_, err := expr.ParseExpr(tt.text, expr.Mixed)
		var syntax *expr.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%s: got %v, want a syntax error", tt.text, err)
			continue
		}
		if syntax.Summary != tt.summary || syntax.From != tt.from || syntax.To != tt.to {
			t.Errorf("%s: got %d-%d %s, want %d-%d %s", tt.text, syntax.From, syntax.To, syntax.Summary, tt.from, tt.to, tt.summary)
		}
	}
}

func TestEvaluationErrors(t *testing.T) {
	tests := []struct{ text, want string }{
		{`vars.list < 3`, "expr: cannot order a list of length 3 and 3"},
		{`inputs.topic >= 8`, `expr: cannot order the text "Go" and 8`},
		{`8 contains 8`, "expr: cannot use contains on 8"},
		{`vars.list matches "x"`, "expr: cannot use matches on a list of length 3"},
		{`inputs.topic matches vars.score`, "expr: matches needs a pattern as text, not 8"},
	}
	for _, tt := range tests {
		e, err := expr.ParseExpr(tt.text, expr.Canonical)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Eval(world); err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", tt.text, err, tt.want)
		}
	}
}

func TestTemplates(t *testing.T) {
	tests := []struct {
		text    string
		dialect expr.Dialect
		want    any
		printed string
	}{
		{`plain`, expr.Canonical, "plain", `plain`},
		{``, expr.Canonical, "", ``},
		{`${vars.score}`, expr.Canonical, num("8"), `${vars.score}`},
		{`{{ vars.list }}`, expr.Mixed, world["vars.list"], `${vars.list}`},
		{`{{ vars.list }}`, expr.Canonical, "{{ vars.list }}", `{{ vars.list }}`},
		{`a ${vars.score} b {{inputs.missing}} c`, expr.Mixed, "a 8 b  c", `a ${vars.score} b ${inputs.missing} c`},
		{`${vars.list}!`, expr.Canonical, `["a",1,{"k":true}]!`, `${vars.list}!`},
		{`$${x} $$ $5 { } }}`, expr.PlantUML, `${x} $$ $5 { } }}`, `$${x} $$ $5 { } }}`},
		{`$$${x}`, expr.Canonical, `$${x}`, `$$${x}`},
		{`$item-$index.`, expr.PlantUML, `{"name":"n"}-3.`, `${item}-${index}.`},
		{`$item`, expr.Mixed, `$item`, `$item`},
		{`${"{{"}x}}`, expr.Mixed, `{{x}}`, `{{x}}`},
		{`${"$"}${vars.score}`, expr.Mixed, `$8`, `${"$"}${vars.score}`},
		{`${vars.price}${vars.score}`, expr.Mixed, `$8`, `${vars.price}${vars.score}`},
		{`${inputs.missing ?? "}"}`, expr.Canonical, `}`, `${inputs.missing ?? "}"}`},
		{`${vars.score}}`, expr.Canonical, `8}`, `${vars.score}}`},
		{`${true}`, expr.Canonical, true, `${true}`},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			tpl, err := expr.ParseTemplate(tt.text, tt.dialect)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tpl.Eval(world)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if tpl.String() != tt.printed {
				t.Errorf("printed as %s, want %s", tpl, tt.printed)
			}
			for _, d := range []expr.Dialect{expr.Canonical, expr.Mixed, expr.PlantUML} {
				again, err := expr.ParseTemplate(tpl.Format(d), d)
				if err != nil || again.String() != tpl.String() {
					t.Errorf("in dialect %d written as %s, read as %v (%v)", d, tpl.Format(d), again, err)
				}
			}
		})
	}
}

func TestTemplateErrors(t *testing.T) {
	tests := []struct {
		text     string
		from, to int
		summary  string
	}{
		{`a ${b`, 2, 4, "${ is never closed"},
		{`a {{b`, 2, 4, "{{ is never closed"},
		{`a {{b} c`, 5, 6, "{{ is closed by a single }"},
		{`${}`, 2, 3, `unexpected "}"`},
		{`${a b}`, 4, 5, `unexpected "b"`},
	}
	for _, tt := range tests {
		_, err := expr.ParseTemplate(tt.text, expr.Mixed)
		var syntax *expr.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%s: got %v, want a syntax error", tt.text, err)
			continue
		}
		if syntax.Summary != tt.summary || syntax.From != tt.from || syntax.To != tt.to {
			t.Errorf("%s: got %d-%d %s, want %d-%d %s", tt.text, syntax.From, syntax.To, syntax.Summary, tt.from, tt.to, tt.summary)
		}
	}
}

func TestReferencesHavePositions(t *testing.T) {
	const text = `x {{ nodes.a.output.deep[1] ?? b }} and $topic`
	tpl, err := expr.ParseTemplate(text, expr.PlantUML)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range tpl.Refs() {
		got = append(got, text[r.From:r.To])
	}
	if diff := cmp.Diff([]string{"nodes.a.output.deep[1]", "b", "$topic"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	first := tpl.Refs()[0]
	if first.Kind != expr.Nodes || first.Name != "a" || first.Field != "output" || len(first.Path) != 2 || !first.Guarded() {
		t.Errorf("got %+v", first)
	}
}

func TestValues(t *testing.T) {
	tree := map[string]any{
		"a": []any{"${vars.score}", "n: ${vars.score}", num("1"), nil},
		"b": map[string]any{"c": "$${x}", "d": []any{}},
	}
	v, err := expr.ParseValue(tree, expr.Canonical)
	if err != nil {
		t.Fatal(err)
	}
	got, err := v.Eval(world)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"a": []any{num("8"), "n: 8", num("1"), nil},
		"b": map[string]any{"c": "${x}", "d": []any{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = expr.ParseValue(map[string]any{"k": []any{"${"}}, expr.Canonical)
	if err == nil || err.Error() != "k: [0]: expr: ${ is never closed at offset 0; close it, or write $${ for a literal ${" {
		t.Errorf("got %v", err)
	}
}

func TestEvaluationAllocates(t *testing.T) {
	tests := []struct {
		text string
		most float64
	}{
		{"no reference", 0},
		{"${nodes.a.status}", 0},
		{"see ${nodes.a.status} here", 2},
	}
	var env expr.Env = fixed{"error"}
	for _, tt := range tests {
		tpl, err := expr.ParseTemplate(tt.text, expr.Canonical)
		if err != nil {
			t.Fatal(err)
		}
		got := testing.AllocsPerRun(100, func() {
			if _, err := tpl.Eval(env); err != nil {
				t.Fatal(err)
			}
		})
		if got > tt.most {
			t.Errorf("%q: %v allocations, want at most %v", tt.text, got, tt.most)
		}
	}
}

// fixed gives every reference the same value.
type fixed struct{ value any }

func (f fixed) Lookup(*expr.Ref) (any, bool) { return f.value, true }

func BenchmarkTemplate(b *testing.B) {
	var env expr.Env = fixed{"the value"}
	for _, text := range []string{"no reference", "${nodes.a.output}", "see ${nodes.a.output} and ${vars.x ?? 1}"} {
		tpl, err := expr.ParseTemplate(text, expr.Canonical)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := tpl.Eval(env); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Any text can be written as a template that means nothing but the text.
func TestLiteral(t *testing.T) {
	for _, text := range []string{"", "plain", "${x}", "$${x}", "$$${", "{{x}}", "costs $5", "$", "a ${"} {
		template := expr.Literal(text)
		parsed, err := expr.ParseTemplate(template, expr.Canonical)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := parsed.Text(nil); err != nil || got != text {
			t.Errorf("%q is %q, %v", template, got, err)
		}
		if got, ok := expr.LiteralOf(template); !ok || got != text {
			t.Errorf("LiteralOf(%q) = %q, %t", template, got, ok)
		}
	}
	for _, template := range []string{"${inputs.x}", "${1}", `${"x"}`, "${"} {
		if got, ok := expr.LiteralOf(template); ok {
			t.Errorf("LiteralOf(%q) = %q", template, got)
		}
	}
}

// What a tree can evaluate to has the literal text around its expressions, and the same keys and lengths.
func TestCanBe(t *testing.T) {
	tree := map[string]any{"args": []any{"git", "${inputs.a}"}, "text": "a ${inputs.a}, ${inputs.b} ab ${inputs.c}!", "n": 1}
	v, err := expr.ParseValue(tree, expr.Canonical)
	if err != nil {
		t.Fatal(err)
	}
	with := func(key string, value any) map[string]any {
		m := map[string]any{"args": []any{"git", nil}, "text": "a x, y ab z!", "n": 1.0}
		if m[key] = value; value == "absent" {
			delete(m, key)
		}
		return m
	}
	for _, c := range []struct {
		value any
		want  bool
	}{
		{with("n", 1), true}, {with("n", 2), false}, {with("n", "1"), false}, {with("n", "absent"), false}, {with("more", 1), false}, {"text", false},
		{with("args", []any{"git", map[string]any{"any": "thing"}}), true}, {with("args", []any{"sh", "x"}), false}, {with("args", []any{"git"}), false}, {with("args", "git x"), false},
		{with("text", "a ,  ab !"), true}, {with("text", "a , , ab  ab !!"), true}, {with("text", "b x, y ab z!"), false}, {with("text", "a x, y ab z"), false},
		{with("text", "a x ab y, z!"), false}, {with("text", "a ,  ab"), false}, {with("text", 1), false}, {with("text", "absent"), false},
	} {
		if got := v.CanBe(c.value); got != c.want {
			t.Errorf("%v: %t", c.value, got)
		}
	}
}
