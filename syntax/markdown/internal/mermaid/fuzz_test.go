package mermaid

import (
	"bytes"
	"testing"

	"github.com/hocket-dev/hocket/syntax/internal/source"
)

// check fails if the chart of a text is impossible: positions outside the text or out of order, or
// fixes that never end.
func check(t *testing.T, text []byte) {
	t.Helper()
	for range 6 {
		src := source.New("f.mmd", text)
		c, found := Parse(src)
		checkPlaces(t, c, len(text))
		fixed, n := found.Fixed(text)
		if n == 0 || bytes.Equal(fixed, text) {
			return
		}
		text = fixed
	}
}

func checkPlaces(t *testing.T, c *Chart, size int) {
	t.Helper()
	in := func(what string, s source.Span) {
		if s.From < 0 || s.To < s.From || s.To > size {
			t.Fatalf("%s at %v of %d", what, s, size)
		}
	}
	last := c.Header.To
	in("header", c.Header)
	in("front matter", c.FrontMatter)
	for _, s := range c.Statements {
		in("statement", s)
		if s.From < last {
			t.Fatalf("statement %v starts before %d", s, last)
		}
		last = s.To
	}
	for _, n := range c.Nodes {
		in("node", n.Mention)
		in("label", n.Label)
		in("whole", n.Whole)
		if n.Subgraph >= len(c.Subgraphs) || n.Group >= len(c.Subgraphs) {
			t.Fatalf("node %+v of %d subgraphs", n, len(c.Subgraphs))
		}
		for _, m := range n.Meta {
			in("meta", m.YAML)
		}
	}
	for _, e := range c.Edges {
		in("edge", e.Span)
		in("label", e.Label)
	}
	for i, g := range c.Subgraphs {
		in("subgraph", g.Span)
		in("head", g.Head)
		in("title", g.Label)
		seen := 0
		for o := i; o >= 0; o = c.Subgraphs[o].Outer {
			if seen++; seen > len(c.Subgraphs) {
				t.Fatal("subgraphs stand in a circle")
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) { check(t, text) })
}

var seeds = []string{
	"flowchart TD\nA[foo (bar)] -->|x| B{y} & C --> D\n",
	"graph LR;a-->b;subgraph s [t]\nc@{ shape: rect, label: \"x\" }\nend\nstyle a fill:#fff;\n",
	"---\ntitle: x\n---\n%%{init: {}}%%\nflowchart TD\n%% c\nA -- no --> B -. v1.2 .-> C == a ==> D\n",
	"flowchart TD\nA[\"say \\\"hi\\\"\"] --&gt; B<br/>C -> D: label\nend --> class\n",
	"flowchart TD\nsubgraph a(b)\nsubgraph c {\nX\n}\nlinkStyle 9 stroke:#000\nclick A href \"x\" _self\n",
	"flowchart td\nA-->>B e1@--x C~~~D((x(y)))\nA[/api/{id}] direction LR\n```text\n",
	"subgraph click ",
	"\xef\xbb\xbfgraph\nTD\n\"q\" --> 🚀\nA\u200b@{ a: {b} }:::c\naccDescr { x\n",
}
