package mermaid

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/syntax/internal/tooltest"
	"github.com/hocket-dev/hocket/workflow"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// mistake is a chart with a mistake, the expected diagnostics, and the chart after all fixes.
type mistake struct{ name, src, said, fixed string }

const mistakesFile = "testdata/mistakes.txt"

// mistakes reads the file: === name, the chart, --- the diagnostics, +++ the chart after all fixes.
var mistakes = func() (all []mistake) {
	text, err := os.ReadFile(mistakesFile)
	if err != nil {
		panic(err)
	}
	for _, part := range strings.Split("\n"+string(text), "\n=== ")[1:] {
		var m mistake
		m.name, m.src, _ = strings.Cut(strings.TrimSuffix(part, "\n")+"\n", "\n")
		m.src, m.said, _ = strings.Cut(m.src, "--- said\n")
		m.said, m.fixed, _ = strings.Cut(m.said, "+++ fixed\n")
		all = append(all, m)
	}
	return all
}()

func TestMistakes(t *testing.T) {
	var b strings.Builder
	for _, m := range mistakes {
		_, found := parse(m.src)
		said := ""
		for _, d := range found {
			said += fmt.Sprintf("%d:%d %s %s: %s", d.Line, d.Column, d.Severity, d.Code, d.Summary)
			if d.Detail != "" {
				said += "; " + d.Detail
			}
			said += "\n"
		}
		fixed, _ := repaired(m.src)
		fmt.Fprintf(&b, "=== %s\n%s--- said\n%s+++ fixed\n%s", m.name, m.src, said, fixed)
		if !strings.HasSuffix(fixed, "\n") {
			b.WriteByte('\n')
		}
		if *update {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			if said != m.said {
				t.Errorf("said:\n%s\nnot:\n%s", said, m.said)
			}
			if strings.TrimSuffix(fixed, "\n") != strings.TrimSuffix(m.fixed, "\n") {
				t.Errorf("fixed:\n%s\nnot:\n%s", fixed, m.fixed)
			}
			sameChart(t, m.src, fixed)
		})
	}
	if *update {
		if err := os.WriteFile(mistakesFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// repaired returns a chart after all fixes.
func repaired(src string) (fixed string, found workflow.Diagnostics) {
	text := []byte(src)
	for range 6 {
		_, found = Parse(source.New("f.mmd", text))
		next, n := found.Fixed(text)
		if n == 0 {
			break
		}
		text = next
	}
	return string(text), found
}

// sameChart fails if a chart with mistakes was read differently than after its fixes. Fixes of
// warnings may change the result, so only errors count.
func sameChart(t *testing.T, src, fixed string) {
	t.Helper()
	before, found := parse(src)
	after, left := parse(fixed)
	if left.Errors() || slices.ContainsFunc(found, func(d workflow.Diagnostic) bool { return d.Severity == workflow.Warning && d.Fix != nil }) {
		return
	}
	if a, b := summary(before), summary(after); a != b {
		t.Errorf("read\n%s\nfixed\n%s", a, b)
	}
}

func summary(c *Chart) string {
	var b strings.Builder
	for _, n := range c.Nodes {
		fmt.Fprintln(&b, n.ID, n.Text, n.Shape, n.Subgraph)
	}
	for _, e := range c.Edges {
		fmt.Fprintln(&b, e.From, e.To, e.Text, e.Head, e.Tail, e.Stroke)
	}
	for _, g := range c.Subgraphs {
		fmt.Fprintln(&b, g.ID, g.Title, g.Outer, g.Nodes)
	}
	return b.String()
}

// Mermaid refuses the charts with errors, and accepts them after the fixes.
func TestMermaidAgreesWithTheFixes(t *testing.T) {
	var sources []string
	for _, m := range mistakes {
		sources = append(sources, m.src, m.fixed)
	}
	readings := tooltest.Mermaid[0].Read(t, sources...)
	for i, m := range mistakes {
		_, found := parse(m.src)
		_, left := parse(m.fixed)
		if r := readings[2*i]; r.OK == found.Errors() && r.OK == r.Accepted() {
			t.Errorf("%s: %v, but Mermaid says %q", m.name, found, r.Error)
		}
		if r := readings[2*i+1]; r.OK == left.Errors() && r.OK == r.Accepted() {
			t.Errorf("%s, fixed: %v, but Mermaid says %q", m.name, left, r.Error)
		}
	}
}

// Other people's charts that Mermaid refuses are repaired, and keep their ids and labels.
func TestRepairsChartsOfOtherPeople(t *testing.T) {
	var refused []verdict
	var sources []string
	for _, set := range []string{"corpus/mermaid.golden.jsonl", "corpus/md.golden.jsonl"} {
		for _, v := range known(t, set) {
			if v.ok(newest) || !strings.HasPrefix(v.Name, "md/") && !strings.HasPrefix(v.Name, "mermaid/wild") {
				continue
			}
			fixed, _ := repaired(v.Src)
			sameChart(t, v.Src, fixed)
			refused = append(refused, v)
			sources = append(sources, fixed)
		}
	}
	good := 0
	for i, r := range tooltest.Mermaid[0].Read(t, sources...) {
		if r.OK {
			good++
		} else {
			t.Logf("%s: %s\n%s", refused[i].Name, r.Error, sources[i])
		}
	}
	t.Logf("%d of %d charts are repaired", good, len(refused))
	if good*10 < len(refused)*9 {
		t.Errorf("only %d of %d charts are repaired", good, len(refused))
	}
}
