package strictyaml_test

import (
	"testing"

	"github.com/hocket-dev/hocket/internal/strictyaml"
)

// Quoted text is read back as the same text, in brackets too.
func TestQuotedTextIsReadAgain(t *testing.T) {
	for _, text := range []string{"plain", "ok?", "2025-01-09?", "a ? b", "a: b", "a #b", "-", "[x]", "{x}", "yes", "12", "it's", `say "hi"`, "two\nlines", "", " x "} {
		for _, inFlow := range []bool{false, true} {
			written := "key: " + strictyaml.Quote(text, inFlow) + "\n"
			if inFlow {
				written = "key: [" + strictyaml.Quote(text, inFlow) + "]\n"
			}
			doc := strictyaml.Read("x.yml", []byte(written))
			n := doc.Root().Map().Get("key")
			if inFlow {
				list := n.List()
				if len(list) != 1 {
					t.Errorf("%q is written as %s, and read with %v", text, written, doc.Diagnostics())
					continue
				}
				n = list[0]
			}
			if got := n.Text(); got != text || len(doc.Diagnostics()) > 0 {
				t.Errorf("%q is written as %s, and read as %q with %v", text, written, got, doc.Diagnostics())
			}
		}
	}
}
