package mermaid

import (
	"fmt"
	"html"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/syntax/internal/tooltest"
	"github.com/hocket-dev/hocket/workflow"
)

// Mermaid reads the project's own charts as Hocket does.
func TestReadsOurChartsAsMermaidDoes(t *testing.T) {
	tooltest.Agree(t, ourCharts, tooltest.Mermaid, *update, theirs, func(text string) (string, bool) {
		c, found := parse(text)
		return ours(c), !found.Errors()
	})
}

func TestReadsOtherPeoplesChartsAsMermaidDoes(t *testing.T) {
	for _, set := range []string{"vectors/mermaid.jsonl", "corpus/mermaid.golden.jsonl", "corpus/md.golden.jsonl"} {
		t.Run(set, func(t *testing.T) {
			for _, v := range known(t, set) {
				if d := disagreement(v.Src, v.ok(newest), &v.Reading); d != "" {
					t.Errorf("%s: %s\n%s", v.Name, d, v.Src)
				}
			}
		})
	}
}

// disagreement describes how Hocket and Mermaid read a chart differently, or "".
func disagreement(text string, accepted bool, r *tooltest.Reading) string {
	c, found := parse(text)
	if found.Errors() == accepted {
		return fmt.Sprintf("Mermaid accepts it: %v %s\n%v", accepted, r.Error, found)
	}
	if !accepted {
		return ""
	}
	return cmp.Diff(theirs(r), ours(c))
}

func parse(text string) (*Chart, workflow.Diagnostics) {
	return Parse(source.New("f.mmd", []byte(text)))
}

// theirs prints what Mermaid read.
func theirs(r *tooltest.Reading) string {
	var p printer
	p.line("direction", r.Direction)
	for _, v := range r.Vertices {
		p.node(v.ID, v.Shape, v.Text)
	}
	for _, e := range r.Edges {
		if !e.UserID {
			e.ID = ""
		}
		looks := fmt.Sprintf("%s %s %d", e.Type, e.Stroke, e.Length)
		if e.Type == "INVALID" {
			looks = differentEnds
		}
		p.edge(e.ID, e.From, e.To, looks, e.Text)
	}
	for _, g := range slices.SortedFunc(slices.Values(r.Subgraphs), func(a, b tooltest.Subgraph) int { return strings.Compare(a.ID, b.ID) }) {
		// Mermaid counts a second semicolon as a node.
		p.subgraph(g.ID, g.Dir, g.Title, slices.DeleteFunc(slices.Clone(g.Nodes), func(id string) bool { return id == ";" }))
	}
	return p.String()
}

// ours prints what Hocket read, in the same format.
func ours(c *Chart) string {
	var p printer
	p.line("direction", c.Direction)
	for _, n := range c.Nodes {
		p.node(n.ID, string(n.Shape), n.Text)
	}
	for _, e := range c.Edges {
		p.edge(e.ID, e.From, e.To, looks(e), e.Text)
	}
	for _, g := range slices.SortedFunc(slices.Values(c.Subgraphs), func(a, b Subgraph) int { return strings.Compare(a.ID, b.ID) }) {
		p.subgraph(g.ID, g.Direction, g.Title, g.Nodes)
	}
	return p.String()
}

type printer struct{ strings.Builder }

// line prints the words that are not empty.
func (p *printer) line(words ...string) {
	p.WriteString(strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), " ") + "\n")
}

func (p *printer) node(id, shape, text string) {
	p.line("node", id, shape, strconv.Quote(shown(text)))
}

func (p *printer) edge(id, from, to, looks, text string) {
	if id != "" {
		id += "@"
	}
	p.line("edge", id, from, to, looks, strconv.Quote(shown(text)))
}

func (p *printer) subgraph(id, direction, title string, nodes []string) {
	p.line("subgraph", id, direction, strconv.Quote(shown(title)), strings.Join(nodes, " "))
}

const differentEnds = "two different ends"

// looks returns the arrow of an edge in Mermaid's terms.
func looks(e Edge) string {
	head := [...]string{"arrow_open", "arrow_point", "arrow_circle", "arrow_cross"}[e.Head]
	if e.Tail != NoHead {
		head = "double_" + head
	}
	if e.Tail != NoHead && e.Tail != e.Head {
		return differentEnds
	}
	return fmt.Sprintf("%s %s %d", head, [...]string{"normal", "thick", "dotted", "invisible"}[e.Stroke], e.Length)
}

// shown returns roughly what a browser would show: the text without tags.
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
	for _, v := range append(everything(t), verdict{Name: "generated", Src: string(generated(60)), Ok: true}) {
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

// Hocket accepts and refuses charts with random changes as Mermaid does.
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
	for i, r := range tooltest.Mermaid[0].Read(t, sources...) {
		if r.OK && !r.Accepted() {
			continue
		}
		if d := disagreement(sources[i], r.OK, &r); d != "" {
			t.Errorf("%s\n%s", d, sources[i])
		}
	}
}

var tokens = strings.Split(`-->|---|--|==>|-.->|-.|~~~| & |&|[|]|(|)|{|}|"|;|:|:::|@|@{|%%|%%{|end|subgraph |style |class |`+
	`click |direction LR|x|o|<|>|#|#quot;|v|1|é|→|[/|/]|\|((|))|[[|]]|{{|([|[(|,|=|.|-|*|default|linkStyle 0 |classDef a |`+
	"_self|call |href |accTitle: |\t|graph|\n| |`|LR", "|")

// changed returns a chart with a few random changes after its header.
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
