package jsonpath_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/workflow/jsonpath"
)

// decode parses JSON and keeps numbers as they are written.
func decode(t testing.TB, text string) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

const report = `{
	"summary": "two problems",
	"issues": [
		{"severity": "high", "line": 10, "tags": ["a", "b"]},
		{"severity": "low", "line": 2.5, "fix": null},
		{"severity": "HIGH", "line": 10}
	],
	"limit": 10,
	"odd name": {"é": "x", "'": 1},
	"big": 12345678901234567890
}`

func TestSelect(t *testing.T) {
	tests := []struct{ path, want string }{
		{`$.summary`, `["two problems"]`},
		{`$['summary']`, `["two problems"]`},
		{`$.missing.deeper`, `[]`},
		{`$.issues[0].severity`, `["high"]`},
		{`$.issues[-1].severity`, `["HIGH"]`},
		{`$.issues[9]`, `[]`},
		{`$.issues[0,2].line`, `[10, 10]`},
		{`$.issues[*].line`, `[10, 2.5, 10]`},
		{`$.issues[1:].line`, `[2.5, 10]`},
		{`$.issues[::-1].line`, `[10, 2.5, 10]`},
		{`$.issues[:1:0]`, `[]`},
		{`$.issues[-2:-1].line`, `[2.5]`},
		{`$..severity`, `["high", "low", "HIGH"]`},
		{`$..tags[*]`, `["a", "b"]`},
		{`$["odd name"].*`, `[1, "x"]`},
		{`$["odd name"]["\u00e9"]`, `["x"]`},
		{`$['odd name']['\'']`, `[1]`},
		{`$.issues[?@.severity == 'high'].line`, `[10]`},
		{`$.issues[?@.line < $.limit].line`, `[2.5]`},
		{`$.issues[?@.line <= 10 && @.tags].line`, `[10]`},
		{`$.issues[?@.tags || @.line == 2.5].line`, `[10, 2.5]`},
		{`$.issues[?!@.tags].line`, `[2.5, 10]`},
		{`$.issues[?!(@.line == 10)].line`, `[2.5]`},
		{`$.issues[?@.fix].line`, `[2.5]`},
		{`$.issues[?@.fix == null].line`, `[2.5]`},
		{`$.issues[?@.none == @.nothing].line`, `[10, 2.5, 10]`},
		{`$.issues[?match(@.severity, '[Hh].*')].line`, `[10, 10]`},
		{`$.issues[?match(@.severity, 'ig')].line`, `[]`},
		{`$.issues[?search(@.severity, 'ig')].line`, `[10]`},
		{`$.issues[?search(@.severity, '(')].line`, `[]`},
		{`$.issues[?length(@.tags) == 2].line`, `[10]`},
		{`$.issues[?count(@.*) > 2].severity`, `["high", "low"]`},
		{`$.issues[?value(@..tags[0]) == 'a'].severity`, `["high"]`},
		{`$[?@ == 12345678901234567890]`, `[12345678901234567890]`},
		{`$[?@ == 12345678901234567891]`, `[]`},
		{`$.issues[?@.tags == $.issues[0].tags].severity`, `["high"]`},
		{`$.issues[?@.severity < 'i'].line`, `[10, 10]`},
		{`$.issues[?@.severity > @.line]`, `[]`},
		{`$.issues[?@ == $.issues[1]].line`, `[2.5]`},
		{`$.issues[?@.line >= 2.5e0 && @.line != 1E+1].line`, `[2.5]`},
		{`$.issues[?search(@.severity, value($.issues[0].tags[1]))].line`, `[]`},
		{`$.issues[?match(@.severity, $.issues[0].severity)].line`, `[10]`},
		{`$.issues[?match(@.severity, 'h\\.gh') || match(@.severity, '[.h]igh')].line`, `[10]`},
		{`$.issues[?match(@.severity, 'h.gh')].line`, `[10]`},
		{`$.issues[?true == false]`, `[]`},
		{"$ .issues\n[ 0 , 1 ] .line", `[10, 2.5]`},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			p, err := jsonpath.Parse(tt.path)
			if err != nil {
				t.Fatal(err)
			}
			printed, err := jsonpath.Parse(p.String())
			if err != nil {
				t.Fatalf("printed as %s: %v", p, err)
			}
			for _, p := range []*jsonpath.Path{p, printed} {
				got, err := p.Select(decode(t, report))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(decode(t, tt.want), append([]any{}, got...)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", p, diff)
				}
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct {
		path   string
		offset int
		want   string
	}{
		{``, 0, `a path must begin with $`},
		{`a.b`, 0, `a path must begin with $`},
		{`$ `, 1, `unexpected ' '`},
		{`$.`, 2, `expected a name or * after the dot, found end`},
		{`$.1`, 2, `expected a name or * after the dot, found '1'`},
		{`$[`, 2, `expected a selector, found end`},
		{`$[a]`, 2, `expected a selector, found 'a'`},
		{`$[01]`, 2, `01 is not an index`},
		{`$[-0]`, 2, `-0 is not an index`},
		{`$[9007199254740992]`, 2, `9007199254740992 is not an index`},
		{`$[0`, 3, `expected , or ], found end`},
		{`$['a]`, 5, `string without closing quote`},
		{`$['\x']`, 4, `unknown escape \x`},
		{`$['\ud800']`, 9, `incomplete surrogate pair`},
		{"$['\n']", 3, `control character '\n' in a string`},
		{`$[?1]`, 3, `a literal must be compared with something`},
		{`$[?@.a = 1]`, 7, `expected , or ], found '='`},
		{`$[?@.* == 1]`, 3, `the path may find several values; only one can be used here`},
		{`$[?!@.a == 1]`, 7, `write !(…) to negate a comparison`},
		{`$[?foo]`, 3, `unknown word foo; to select a member, write @.foo`},
		{`$[?foo(@)]`, 3, `unknown function foo`},
		{`$[?length(@.a)]`, 3, `the result of length must be compared with something`},
		{`$[?match(@.a, 'x') == true]`, 3, `the result of match cannot be used here`},
		{`$[?count(1) == 1]`, 9, `expected a path, found a literal`},
		{`$[?match(@.a)]`, 12, `match takes 2 arguments; expected a comma, found ')'`},
		{`$[?length(@.a, 1) == 1]`, 13, `expected ) to close the call of length, found ','`},
		{`$[?` + strings.Repeat("(", 60), 53, `nested more than 50 levels deep`},
	}
	for _, tt := range tests {
		_, err := jsonpath.Parse(tt.path)
		var bad *jsonpath.Error
		if !errors.As(err, &bad) {
			t.Errorf("%s: got %v, want an error", tt.path, err)
			continue
		}
		if bad.Offset != tt.offset || bad.Message != tt.want {
			t.Errorf("%s: got %d %s, want %d %s", tt.path, bad.Offset, bad.Message, tt.offset, tt.want)
		}
	}
}

func TestSelectionIsBounded(t *testing.T) {
	wide := make([]any, 2000)
	for i := range wide {
		wide[i] = []any{json.Number("1"), json.Number("2")}
	}
	tests := []struct{ path, want string }{
		{`$[*,*,*,*,*,*,*,*,*,*][*,*,*,*,*,*,*,*,*,*]`, "jsonpath: the path selects too many values"},
		{`$..[?count($..*) > 1]`, "jsonpath: the path visits too many values"},
		{`$[?search($[0], 'x(?:a?){400}')]`, "jsonpath: matching patterns takes too long"},
		{`$[?count($[?count($[*]) > 0]) > 0]`, "jsonpath: the path visits too many values"},
	}
	wide[0] = strings.Repeat("a", 1<<20)
	for _, tt := range tests {
		p, err := jsonpath.Parse(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Select(wide); err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", tt.path, err, tt.want)
		}
	}
}

// FuzzPath parses any text: it must neither panic nor hang, and a path that was printed and parsed
// again must select the same values.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{
		`$`, `$.a[0]['b'][*]`, `$..[1:2:-1]`, `$[?@.a == 1 && !($.b || match(@.c, "x.*"))]`,
		`$[?count(@..*) >= length(@) || value($['\u00e9\ud83d\ude00']) < -1.5e3]`, `$[?!(!(@.a))]`, `$[?!(@ == null)]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := jsonpath.Parse(text)
		if err != nil || len(text) > 1000 { // a printed path is longer, and is limited too
			return
		}
		again, err := jsonpath.Parse(p.String())
		if err != nil {
			t.Fatalf("%q is printed as %q: %v", text, p, err)
		}
		if again.String() != p.String() {
			t.Fatalf("%q is printed as %q, then as %q", text, p, again)
		}
		doc := decode(t, report)
		got, err := p.Select(doc)
		same, errSame := again.Select(doc)
		if (err == nil) != (errSame == nil) {
			t.Fatalf("%q: %v, printed as %q: %v", text, err, again, errSame)
		}
		if diff := cmp.Diff(got, same); diff != "" {
			t.Fatalf("%q and %q find different values:\n%s", text, again, diff)
		}
	})
}
