package source_test

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/workflow"
)

func TestPositionsOfACutAreThoseOfTheFile(t *testing.T) {
	file := "> über\n> ab-cd\nend\n"
	whole := source.New("x.md", []byte(file))
	cut := whole.Cut(source.Span{From: 2, To: 8}, source.Span{From: 10, To: 16})
	if got, want := string(cut.Bytes), "über\nab-cd\n"; got != want {
		t.Fatalf("the cut is %q, not %q", got, want)
	}
	at := strings.Index(string(cut.Bytes), "-cd")
	if got, want := cut.Pos(source.Span{From: at, To: at + 3}).String(), "x.md:2:5"; got != want {
		t.Errorf("-cd is at %s, not %s", got, want)
	}
	over := cut.Pos(source.Span{From: 0, To: at})
	if want := (workflow.Pos{File: "x.md", Line: 1, Column: 3, EndLine: 2, EndColumn: 5}); over != want {
		t.Errorf("the range over the cut is %+v, not %+v", over, want)
	}
	changed := workflow.Apply([]byte(file), []workflow.Edit{cut.Edit(source.Span{From: at, To: at + 1}, "+")})
	if want := "> über\n> ab+cd\nend\n"; string(changed) != want {
		t.Errorf("the edit gave %q, not %q", changed, want)
	}
}

// Lines added to a cut belong to it.
func TestEditsOfACut(t *testing.T) {
	const file = "> one\n> two\n> ```\n"
	cut := source.New("x.md", []byte(file)).Cut(source.Span{From: 2, To: 6}, source.Span{From: 8, To: 12})
	for _, test := range []struct {
		from, to   int
		text, want string
	}{
		{0, 0, "new\n", "> new\n> one\n> two\n> ```\n"},
		{4, 4, "new\n", "> one\n> new\n> two\n> ```\n"},
		{8, 8, "a\nb\n", "> one\n> two\n> a\n> b\n> ```\n"},
		{0, 4, "", "> two\n> ```\n"},
		{0, 4, "new\n", "> new\n> two\n> ```\n"},
		{0, 3, "a\nb", "> a\n> b\n> two\n> ```\n"},
		{4, 8, "new\n", "> one\n> new\n> ```\n"},
		{0, 8, "new\n", "> new\n> ```\n"},
	} {
		edit := cut.Edit(source.Span{From: test.from, To: test.to}, test.text)
		if got := string(workflow.Apply([]byte(file), []workflow.Edit{edit})); got != test.want {
			t.Errorf("%q in place of %d to %d gives %q, not %q", test.text, test.from, test.to, got, test.want)
		}
	}
}

// Positions do not depend on the order of the calls.
func TestPlacesInAnyOrder(t *testing.T) {
	const file = "über alles\n\n日本語 und mehr\nend"
	var at []int
	for i := range file {
		at = append(at, i)
	}
	asked := source.New("x", []byte(file))
	for i := range 500 {
		from := i * 7 % len(at)
		span := source.Span{From: at[from], To: at[min(from+i%5, len(at)-1)]}
		if got, want := asked.Pos(span), source.New("x", []byte(file)).Pos(span); got != want {
			t.Fatalf("%v is at %v, not %v", span, got, want)
		}
	}
}
