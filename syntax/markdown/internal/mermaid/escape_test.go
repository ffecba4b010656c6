package mermaid

import (
	"fmt"
	"html"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/internal/tooltest"
)

func TestUnescape(t *testing.T) {
	for written, want := range map[string]string{
		"plain":                 "plain",
		"say #quot;hi#quot;":    `say "hi"`,
		"#35;1 &amp; &#x41;":    "#1 & A",
		"one<br/>two<br>three":  "one\ntwo\nthree",
		`one\ntwo`:              "one\ntwo",
		"#nothing; &nothing; #": "#nothing; &nothing; #",
		"  around  ":            "around",
	} {
		if got := Unescape(written); got != want {
			t.Errorf("%q stands for %q, not %q", written, got, want)
		}
	}
}

// nasty are texts that Mermaid shows differently unless they are escaped.
var nasty = []string{
	"", " ", "a", "say \"hi\"", "a\nb", "\n", "#35;", "#quot;", "&lt;", "a & b", "R&D", "List<String>", "<br/>", "</a>", "a < b",
	"direction LR", "set direction  TB now", "direction\tRL", "directionLR", "1. First", "12) x", "- item", "* item", "+ item",
	"a\n- b", "# heading", "> quote", "`code`", "```", "*bold* and _italic_", "snake_case_name", "__init__", "~~gone~~",
	"[text](url)", "https://example.org/x", "www.example.org", "me@example.org", "a\\nb", `C:\new`, "%%{init: {}}%%", "%% x",
	"style: #fff;", "style a:\"x\"", "classDef x fill:#f00;", "$$x$$", "fa:fa-user", "tab\there", "  two  blanks  ", "a\r\nb",
	"{{input}}", "(x) [y] {z} |w|", "end", "é→🚀", "\u00a0x\u00a0", "\ufeff", "===", "---", "~~~", "| a |", "a -- b --> c", "\x00\x7f",
	"no\u2028line", "#;", "#a", "a;b;c", "@{ x: y }", "\"", "\\\"", "'quoted'",
}

func TestEscapeIsReversible(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 20_000 {
		text := ""
		if i < len(nasty) {
			text = nasty[i]
		} else {
			for range 1 + rng.IntN(5) {
				text += nasty[rng.IntN(len(nasty))]
			}
			cut := rng.IntN(len(text) + 1)
			text = text[cut:] + text[:cut] // also invalid UTF-8
		}
		escaped := Escape(text)
		if strings.ContainsAny(escaped, "\"\n\r") || escaped == "" {
			t.Fatalf("%q is written as %q", text, escaped)
		}
		if got := Unescape(escaped); got != text {
			t.Fatalf("%q is written as %q, which stands for %q", text, escaped, got)
		}
	}
}

// Every version of Mermaid shows an escaped text unchanged.
func TestMermaidReadsWhatIsEscaped(t *testing.T) {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for i, text := range nasty {
		fmt.Fprintf(&b, "    style_%d[\"%s\"]\n    style_%d -->|\"%s\"| b\n", i, Escape(text), i, Escape(text))
	}
	if c, found := parse(b.String()); found.Errors() || len(c.Nodes) != len(nasty)+1 {
		t.Fatal(found)
	}
	for _, tool := range tooltest.Mermaid {
		r := tool.Read(t, b.String())[0]
		if !r.OK || len(r.Edges) != len(nasty) {
			t.Errorf("Mermaid %s does not read it: %s", tool.Version, r.Error)
			continue
		}
		for i, text := range nasty {
			for _, got := range []string{r.Edges[i].Text, vertex(r, fmt.Sprint("style_", i))} {
				if strings.Contains(text, "\x00") {
					continue // no HTML has it
				}
				// Mermaid has converted it to HTML once.
				if plain := Unescape(strings.ReplaceAll(got, "<br>", "<br/>")); plain != text && html.UnescapeString(plain) != text {
					t.Errorf("Mermaid %s reads %q as %q", tool.Version, text, got)
				}
			}
		}
	}
}

func vertex(r tooltest.Reading, id string) string {
	for _, w := range r.Vertices {
		if w.ID == id {
			return w.Text
		}
	}
	return ""
}

func TestSafeID(t *testing.T) {
	for _, id := range []string{"", "end", "end-x", "1st", "-a", "a-", "a--b", "a b", "é", "class", "style-guide", "graph", "a.b", "constructor", "_self", "call", "a:b"} {
		if SafeID(id) {
			t.Errorf("%q is no safe id", id)
		}
	}
	safe := []string{"a", "A1", "code-review", "end_", "ending", "x", "o", "v", "_x", "class_a", "styles", "graphs", "callback", "TB", "LR",
		"x1", "o-1", "x-ray", "a-1-b", "subgraphs", "clicked", "hrefs", "node", "linkStyles", "v-1", "v1", "directions", "accent", "END", "End"}
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for i, id := range safe {
		if !SafeID(id) {
			t.Errorf("%q is a safe id", id)
		}
		fmt.Fprintf(&b, "    %s[\"%s\"]\n    %s --> %s\n    subgraph s%d [\"x\"]\n        %s\n    end\n", id, id, id, safe[(i+1)%len(safe)], i, id)
	}
	for _, tool := range tooltest.Mermaid {
		r := tool.Read(t, b.String())[0]
		if !r.OK || len(r.Vertices) != len(safe) || len(r.Edges) != len(safe) {
			t.Errorf("Mermaid %s does not read them: %s", tool.Version, r.Error)
		}
	}
}
