package mermaid

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/workflow"
)

const sample = `---
title: Notes
---
flowchart LR
    %% a comment
    start((Begin)) --> draft["Draft #quot;it#quot;"]:::hot & plan(Plan)
    draft e1@-->|"good enough"| review{Good?}
    review -- no --> draft
    subgraph outer [The outer]
        direction TB
        subgraph inner
            review -.-> done@{ shape: stadium, label: "All done" }
        end
        plan
    end
    e1@{ animate: true }
    outer@{ view: collapsed }
    classDef hot fill:#f00;
    class plan,review hot
    style done fill:#0f0
    linkStyle 0 stroke:#00f
    click plan "https://example.org"
    accTitle: Notes
    done@{
        agent: writer
        output: note
    }
    outer <==> start
`

func TestChart(t *testing.T) {
	src := source.New("f.mmd", []byte(sample))
	c, found := Parse(src)
	if found.Errors() {
		t.Fatal(found)
	}
	text := func(s source.Span) string { return sample[s.From:s.To] }
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q %q\n", c.Direction, c.Title, text(c.Header))
	for _, n := range c.Nodes {
		fmt.Fprintf(&b, "node %s %q %s %v sub %d group %d: %q %q %q", n.ID, Unescape(n.Text), n.Shape, n.Classes, n.Subgraph, n.Group,
			text(n.Mention), text(n.Label), text(n.Whole))
		for _, m := range n.Meta {
			fmt.Fprintf(&b, " meta %q %v", strings.Join(strings.Fields(text(m.YAML)), " "), m.Flow)
		}
		b.WriteByte('\n')
	}
	for _, e := range c.Edges {
		fmt.Fprintf(&b, "edge %s %s %s %q %s %d: %q %q\n", e.ID, e.From, e.To, e.Text, looks(e), len(e.Meta), text(e.Span), text(e.Label))
	}
	for _, g := range c.Subgraphs {
		fmt.Fprintf(&b, "subgraph %s %q in %d %v %s %d: %q %q\n", g.ID, g.Title, g.Outer, g.Nodes, g.Direction, len(g.Meta), text(g.Head), text(g.Label))
	}
	const want = `LR "Notes" "flowchart LR"
node start "Begin" circle [] sub -1 group -1: "start" "Begin" "start((Begin))"
node draft "Draft \"it\"" square [hot] sub -1 group -1: "draft" "Draft #quot;it#quot;" "draft[\"Draft #quot;it#quot;\"]"
node plan "Plan" round [hot] sub 0 group -1: "plan" "Plan" "plan(Plan)"
node review "Good?" diamond [hot] sub 1 group -1: "review" "Good?" "review{Good?}"
node done "All done" stadium [] sub 1 group -1: "done" " shape: stadium, label: \"All done\" " "done@{ shape: stadium, label: \"All done\" }" meta "shape: stadium, label: \"All done\"" true meta "agent: writer output: note" false
node outer "outer"  [] sub -1 group 0: "outer" "" "outer"
edge  start draft "" arrow_point normal 1 0: "-->" ""
edge  start plan "" arrow_point normal 1 0: "-->" ""
edge e1 draft review "good enough" arrow_point normal 1 1: "e1@-->|\"good enough\"|" "good enough"
edge  review draft "no" arrow_point normal 1 0: "-- no -->" "no"
edge  review done "" arrow_point dotted 1 0: "-.->" ""
edge  outer start "" double_arrow_point thick 1 0: "<==>" ""
subgraph outer "The outer" in -1 [inner plan] TB 1: "subgraph outer [The outer]" "The outer"
subgraph inner "inner" in 0 [done review]  0: "subgraph inner" "inner"
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	checkPlaces(t, c, len(sample))
}

// Positions in a chart are positions in the file that contains it.
func TestPlacesInAFile(t *testing.T) {
	file := "> ```mermaid\r\n> flowchart TD\r\n> a[x (y)] --> b\r\n> ```\r\n"
	whole := source.New("f.md", []byte(file))
	var spans []source.Span
	for _, line := range []string{"flowchart TD\r\n", "a[x (y)] --> b\r\n"} {
		at := strings.Index(file, line)
		spans = append(spans, source.Span{From: at, To: at + len(line)})
	}
	_, found := Parse(whole.Cut(spans...))
	if len(found) != 1 || found[0].String() != `f.md:3:7: error[mermaid-label]: "(" in the label of a must be in quotes; write a["x (y)"] --> b` {
		t.Error(found)
	}
	if fixed, _ := found.Fixed([]byte(file)); string(fixed) != strings.Replace(file, "x (y)", `"x (y)"`, 1) {
		t.Errorf("%q", fixed)
	}
}

// Texts that would take forever if anything were read repeatedly.
func TestStrangeTexts(t *testing.T) {
	for _, piece := range []string{
		"[", "(", "{", "\"", "`", "@", "@{", "%%{", "%%{x", "a-->", "a[x (", "a[x (\n", "subgraph\n", "subgraph x\n", "end\n", "direction LR ", "#a", " \n", "\n \n",
		"accDescr {\n", "click a call b\n", "a--b\n", "a-. b\n", "a\"b\n", "a[\"b\n", "x---ox\n", "a&b\n", "style a,b c:d\n", "a b\n", "A B --> C D\n", "end --> a\n",
		"é", "→", "a@b ", "a@x --> b\n", "L_a_b_0\n", "a --> b\n", "a & ", "a --> b & ", "```\n", "---\n", "}\n\n", "<a ", "<a =\"x\"", "style:#;", "a[]\n", "-->", "~~~", "a:::b",
		"a@{ x: {y} }\n", "\"x y\" --> b\n", "a---ops\n", "linkStyle 9 x:y\n", "title x\n", "a]\n", "&gt;", "a-->b<br/>", "\r", "\xff", "\u200b",
	} {
		const size = 60_000
		text := "flowchart TD\n" + strings.Repeat(piece, size/len(piece))
		c, found := parse(text)
		checkPlaces(t, c, len(text))
		if len(found) > 2000 || len(c.Edges) > 100_000+len(text) {
			t.Errorf("%q: %d findings, %d edges", piece, len(found), len(c.Edges))
		}
	}
}

func TestTooManyEdges(t *testing.T) {
	nodes := strings.Repeat("a & ", 999) + "a"
	_, found := parse("flowchart TD\n" + nodes + " --> " + nodes + "\n")
	if !slices.ContainsFunc(found, func(d workflow.Diagnostic) bool { return d.Code == codeEdges }) {
		t.Error(found)
	}
}
