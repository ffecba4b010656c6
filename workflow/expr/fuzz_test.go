package expr_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// FuzzTemplate parses any text in every dialect: it must neither panic nor hang, and a template
// written in any dialect must be parsed as the same template.
func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{
		"plain", "${a.b[0]} and {{c ?? \"d\"}} for $E", "$${x} $$${y} ${\"$\"}${z}", `${"{{"} ${'\u00e9\q'}`,
		"{{a}", "${", "$a-b", `${nodes["odd id"].output}`, "${inputs[0].x}", "${true} ${-1.5e3} ${[1,[]]}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range []expr.Dialect{expr.Canonical, expr.Mixed, expr.PlantUML} {
			tpl, err := expr.ParseTemplate(text, d)
			if err != nil {
				continue
			}
			for _, r := range tpl.Refs() {
				if r.From < 0 || r.From >= r.To || r.To > len(text) {
					t.Fatalf("%q: reference %s at %d-%d", text, r, r.From, r.To)
				}
			}
			want, wantErr := tpl.Eval(world)
			if v, err := expr.ParseValue(text, d); wantErr == nil && (err != nil || !v.CanBe(want)) {
				t.Fatalf("%q gives %v, which it cannot be: %v", text, want, err)
			}
			for _, other := range []expr.Dialect{expr.Canonical, expr.Mixed, expr.PlantUML} {
				written := tpl.Format(other)
				again, err := expr.ParseTemplate(written, other)
				if err != nil {
					t.Fatalf("%q is written as %q: %v", text, written, err)
				}
				if again.Format(other) != written || again.String() != tpl.String() {
					t.Fatalf("%q is written as %q, then as %q", text, written, again.Format(other))
				}
				got, err := again.Eval(world)
				if (err == nil) != (wantErr == nil) || cmp.Diff(want, got) != "" {
					t.Fatalf("%q gives %v (%v), written as %q it gives %v (%v)", text, want, wantErr, written, got, err)
				}
			}
		}
	})
}

// FuzzCondition does the same with conditions.
func FuzzCondition(f *testing.F) {
	for _, seed := range []string{
		`a == 1 && !b || c ?? d`, `(a || b) && c matches "^x.*$"?`, `${x} contains 'y'`, `!!(!a)`, `x in ["a", 1, null]`,
		`vars.score >= "8" && vars.list contains 1`, `((a ?? b) ?? c) != -0.0`, `a.b["c\"d"][10] < 1e9`, `$x {{y}}`, `previous.output matches vars.text_score`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := expr.ParseExpr(text, expr.Mixed)
		if err != nil || len(text) > 10_000 { // the printed text is longer, and is limited too
			return
		}
		again, err := expr.ParseExpr(e.String(), expr.Canonical)
		if err != nil {
			t.Fatalf("%q is printed as %q: %v", text, e, err)
		}
		if again.String() != e.String() {
			t.Fatalf("%q is printed as %q, then as %q", text, e, again)
		}
		want, wantErr := e.Eval(world)
		got, err := again.Eval(world)
		if (err == nil) != (wantErr == nil) || cmp.Diff(want, got) != "" {
			t.Fatalf("%q gives %v (%v), printed as %q it gives %v (%v)", text, want, wantErr, again, got, err)
		}
	})
}

// FuzzResolve resolves a text in the middle of a workflow: resolving it again changes nothing, and
// looking for problems never fails.
func FuzzResolve(f *testing.F) {
	for _, seed := range []string{"{{x}} ${steps[1].output} $late", "{{input.a}} {{input}}", "{{agent_2_result}} {{b.draft.x}}", "{{a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w := line(text)
		expr.Resolve(w, expr.PlantUML, []string{"a", "b", "c", "d"})
		once := workflow.Print(w)
		expr.Resolve(w, expr.Canonical, nil)
		if again := workflow.Print(w); again != once {
			t.Fatalf("%q resolved, and resolved again:\n%s", text, cmp.Diff(once, again))
		}
		expr.Problems(w)
	})
}
