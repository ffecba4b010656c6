package mermaid

import (
	"fmt"
	"html"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/workflow"
)

func TestAgreesWithMermaid(t *testing.T) {
	for _, set := range []string{"vectors/mermaid.jsonl", "corpus/mermaid.golden.jsonl", "corpus/md.golden.jsonl"} {
		t.Run(set, func(t *testing.T) {
			for _, v := range known(t, set) {
				if d := disagreement(v); d != "" {
					t.Errorf("%s: %s\n%s", v.Name, d, v.Src)
				}
			}
		})
	}
}

// disagreement is how a chart is read otherwise than Mermaid reads it, or "".
func disagreement(v verdict) string {
	c, found := parse(v.Src)
	if found.Errors() == v.ok(newest) {
		return fmt.Sprintf("Mermaid accepts it: %v %s\n%v", v.ok(newest), v.Error, found)
	}
	if !v.ok(newest) {
		return ""
	}
	return difference(c, &v)
}

func parse(text string) (*Chart, workflow.Diagnostics) {
	return Parse(source.New("f.mmd", []byte(text)))
}

func difference(c *Chart, v *verdict) string {
	if c.Direction != v.Direction {
		return fmt.Sprintf("direction %s, not %s", c.Direction, v.Direction)
	}
	if len(c.Nodes) != len(v.Vertices) || len(c.Edges) != len(v.Edges) || len(c.Subgraphs) != len(v.Subgraphs) {
		return fmt.Sprintf("%d nodes, %d edges, %d subgraphs, not %d, %d, %d",
			len(c.Nodes), len(c.Edges), len(c.Subgraphs), len(v.Vertices), len(v.Edges), len(v.Subgraphs))
	}
	for i, n := range c.Nodes {
		if w := v.Vertices[i]; n.ID != w.ID || string(n.Shape) != w.Shape || shown(n.Text) != shown(w.Text) {
			return fmt.Sprintf("node %+v, not %+v", n, w)
		}
	}
	for i, e := range c.Edges {
		w := v.Edges[i]
		id := ""
		if w.UserID {
			id = w.ID
		}
		if e.From != w.From || e.To != w.To || shown(e.Text) != shown(w.Text) || e.ID != id {
			return fmt.Sprintf("edge %+v, not %+v", e, w)
		}
		if w.Type != "INVALID" && looks(e) != fmt.Sprint(w.Type, w.Stroke, w.Length) {
			return fmt.Sprintf("edge %s, not %+v", looks(e), w)
		}
	}
	return nesting(c, v)
}

func nesting(c *Chart, v *verdict) string {
	for _, w := range v.Subgraphs {
		i := slices.IndexFunc(c.Subgraphs, func(g Subgraph) bool { return g.ID == w.ID })
		if i < 0 {
			return "no subgraph " + w.ID
		}
		// Mermaid counts a second semicolon as a node.
		nodes := slices.DeleteFunc(slices.Clone(w.Nodes), func(id string) bool { return id == ";" })
		if g := c.Subgraphs[i]; shown(g.Title) != shown(w.Title) || g.Direction != w.Dir || !slices.Equal(g.Nodes, nodes) {
			return fmt.Sprintf("subgraph %+v, not %+v", g, w)
		}
	}
	return ""
}

// looks is the arrow of an edge in the words of Mermaid.
func looks(e Edge) string {
	head := [...]string{"arrow_open", "arrow_point", "arrow_circle", "arrow_cross"}[e.Head]
	if e.Tail != NoHead {
		head = "double_" + head
	}
	return fmt.Sprint(head, [...]string{"normal", "thick", "dotted", "invisible"}[e.Stroke], e.Length)
}

// shown is what a browser would show of a text, roughly: without tags.
func shown(s string) string {
	s = html.UnescapeString(html.UnescapeString(s))
	var b strings.Builder
	depth := false
	for _, r := range s {
		switch {
		case r == '<':
			depth = true
		case r == '>':
			depth = false
		case !depth:
			b.WriteRune(r)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// Between the statements of a chart there are only blanks, semicolons, comments
// and directives.
func TestStatementsCoverTheText(t *testing.T) {
	sets := []verdict{{Name: "own", Src: string(generated(60)), Ok: []byte("true")}}
	for _, set := range []string{"vectors/mermaid.jsonl", "corpus/mermaid.golden.jsonl"} {
		sets = append(sets, known(t, set)...)
	}
	for _, v := range sets {
		if !v.ok(newest) {
			continue
		}
		c, _ := parse(v.Src)
		at := max(c.FrontMatter.To, 0)
		spans := append([]source.Span{c.Header}, c.Statements...)
		for _, s := range append(spans, source.Span{From: len(v.Src), To: len(v.Src)}) {
			gap := newView([]byte(v.Src[at:s.From]))
			gap = gap.cut(directives(gap.text))
			gap = gap.cut(newlines(gap.text))
			gap = gap.cut(comments(gap.text))
			if rest := strings.Trim(gap.text, "; \t\n\ufeff\u00a0"); rest != "" {
				t.Errorf("%s: %q stands between statements\n%s", v.Name, rest, v.Src)
			}
			at = s.To
		}
	}
}

// What Mermaid 12 reads but an older version does not has a warning.
func TestOlderVersionsAreNamed(t *testing.T) {
	told, all := 0, 0
	for _, v := range known(t, "vectors/mermaid.jsonl") {
		if !v.ok(newest) || v.ok("11.12.2") && v.ok("10.9.1") {
			continue
		}
		all++
		if _, found := parse(v.Src); slices.ContainsFunc(found, func(d workflow.Diagnostic) bool { return d.Code == codeVersion }) {
			told++
		} else {
			t.Logf("%s: no version is named\n%s", v.Name, v.Src)
		}
	}
	if told*10 < all*9 {
		t.Errorf("%d of %d differences between versions are named", told, all)
	}
}

// Charts with random changes are accepted and refused as Mermaid does.
func TestAgreesOnChangedCharts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pool := slices.Clone(seeds)
	for _, m := range mistakes {
		pool = append(pool, m.src, m.fixed)
	}
	sources := make([]string, 300)
	for i := range sources {
		sources[i] = changed(rng, pool[rng.IntN(len(pool))])
	}
	for i, v := range ask(t, "12", sources) {
		if v.Type != "" && !strings.HasPrefix(v.Type, "flowchart") {
			continue
		}
		v.Src = sources[i]
		if d := disagreement(v); d != "" {
			t.Errorf("%s\n%s", d, v.Src)
		}
	}
}

var tokens = strings.Split(`-->|---|--|==>|-.->|-.|~~~| & |&|[|]|(|)|{|}|"|;|:|:::|@|@{|%%|%%{|end|subgraph |style |class |`+
	`click |direction LR|x|o|<|>|#|#quot;|v|1|é|→|[/|/]|\|((|))|[[|]]|{{|([|[(|,|=|.|-|*|default|linkStyle 0 |classDef a |`+
	"_self|call |href |accTitle: |\t|graph|\n| |`|LR", "|")

// changed is a chart with a few random changes behind its header.
func changed(rng *rand.Rand, s string) string {
	const header = 13
	for range 1 + rng.IntN(3) {
		if len(s) <= header {
			return s
		}
		at := header + rng.IntN(len(s)-header)
		end := min(len(s), at+1+rng.IntN(4))
		switch rng.IntN(3) {
		case 0:
			s = s[:at] + tokens[rng.IntN(len(tokens))] + s[at:]
		case 1:
			s = s[:at] + s[end:]
		case 2:
			s = s[:at] + tokens[rng.IntN(len(tokens))] + s[end:]
		}
	}
	return strings.ToValidUTF8(s, "?")
}
