package strictyaml_test

import (
	"testing"

	"github.com/hocket-dev/hocket/internal/strictyaml"
)

// JSON escapes characters beyond U+FFFF as two surrogates, also in a value in YAML. Elsewhere, the same
// characters are text.
func TestSurrogatePairs(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": "x \ud83d\ude00 y", "b": ["\uD83D\uDE00"]}`:                 "x 😀 y",
		"a: \"x \\ud83d\\ude00\\ud83d\\ude01 y\"\nb: \"\\ud83d\\ude00\"\n": "x 😀😁 y",
		"b: \"\\ud83d\\ude00\"\na: 'x \\ud83d\\ude00 y'\n":                 `x \ud83d\ude00 y`,
	} {
		doc := strictyaml.Read("x.yml", []byte(text))
		if got := doc.Root().Map().String("a"); got != want || doc.Failed() {
			t.Errorf("%s: %q %v", text, got, doc.Diagnostics())
		}
	}
	for _, text := range []string{`{"a": "\ud83d"}`, `a: "\ude00\ud83d"`} { // half of a pair, and the wrong order
		if doc := strictyaml.Read("x.yml", []byte(text)); !doc.Failed() {
			t.Errorf("%s is accepted", text)
		}
	}
}
