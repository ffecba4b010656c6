package strictyaml_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/internal/strictyaml"
)

func TestWrite(t *testing.T) {
	object := map[string]any{
		"zeta": true, "alpha": nil, "name": "x", "none": map[string]any{}, "nothing": []any{},
		"steps": []any{
			map[string]any{"prompt": "one\n\n  two\n", "id": "a", "tools": []any{"b", "c, d"}},
			[]any{[]any{map[string]any{"k": "v"}}, strings.Repeat("long ", 20)},
			"- x", json.Number("3.5"), map[string]any{},
		},
	}
	const want = `name: x
steps:
  - id: a
    prompt: |
      one

        two
    tools: [b, "c, d"]
`
	text := strictyaml.Write(object, []string{"name", "id", "prompt", "steps"})
	if !strings.HasPrefix(string(text), want) {
		t.Errorf("%s", text)
	}
	same(t, text, object)
}

// Every text is the same after it was written and read.
func TestWriteTexts(t *testing.T) {
	for _, s := range []string{"", " ", "\n", "a\n", "a\nb", "a\nb\n\n", " a\nb", "a \nb", "a\n ", "a\n\tb", "yes", "null", "1e3", "0x1", "~", "- a", "a: b", "a #b", "#b\nc", "${x}", "'", "\"", "\\", "\u2028\na", "\x1b\na", "é\nü", "%a\nb", "---\na", "a\r\nb"} {
		object := map[string]any{"k": s, "list": []any{s, map[string]any{"x": s}}, "flow": []any{s}}
		if s != "" {
			object[s] = "key"
		}
		same(t, strictyaml.Write(object, nil), object)
	}
}

func same(t *testing.T, text []byte, object map[string]any) {
	t.Helper()
	doc := strictyaml.Read("x.yml", text)
	if got := doc.Root().Value(); len(doc.Diagnostics()) > 0 || !cmp.Equal(got, any(object)) {
		t.Errorf("%s\n%v\n%s", text, doc.Diagnostics(), cmp.Diff(any(object), got))
	}
}
