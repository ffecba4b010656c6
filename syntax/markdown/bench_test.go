package markdown_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/hocket-dev/hocket/syntax/markdown"
)

// bare returns a flowchart of n tasks without Markdown, with a diamond and a bypass at every tenth.
func bare(n int) []byte {
	var b bytes.Buffer
	b.WriteString("flowchart TD\n")
	for i := range n {
		if i%10 == 9 {
			fmt.Fprintf(&b, "    step_%d{\"Is part %d right?\"}\n", i, i)
		} else {
			fmt.Fprintf(&b, "    step_%d[\"Do part %d of the work, and look at part %d again\"]\n", i, i, i/2)
		}
	}
	for i := range n - 1 {
		if i%10 == 9 {
			fmt.Fprintf(&b, "    step_%d -->|\"yes\"| step_%d\n", i, i+1)
			if i+3 < n {
				fmt.Fprintf(&b, "    step_%d -->|\"no\"| step_%d\n", i, i+3)
			}
		} else {
			fmt.Fprintf(&b, "    step_%d --> step_%d\n", i, i+1)
		}
	}
	return b.Bytes()
}

// sections returns Markdown with n tasks, each with a section.
func sections(n int) []byte {
	var b bytes.Buffer
	b.WriteString("---\nname: long\n---\n\n# Long\n\n```mermaid\nflowchart TD\n")
	for i := range n - 1 {
		fmt.Fprintf(&b, "    step_%d --> step_%d\n", i, i+1)
	}
	b.WriteString("```\n")
	for i := range n {
		fmt.Fprintf(&b, "\n### step_%d\n\n---\nagent: worker\noutput: part_%d\n---\n\nDo part %d of {{topic}}.\n\nUse what is there.\n", i, i, i)
	}
	return b.Bytes()
}

func BenchmarkParse(b *testing.B) {
	for _, form := range []struct {
		name string
		text func(int) []byte
	}{{"bare", bare}, {"sections", sections}} {
		for _, n := range []int{1_000, 10_000, 100_000} {
			text := form.text(n)
			b.Run(fmt.Sprintf("%s/nodes=%d", form.name, n), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if w, ds := markdown.Parse("f.md", text); ds.Errors() || len(w.Body.Nodes) != n {
						b.Fatal(ds[0])
					}
				}
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "nodes/s")
			})
		}
	}
}

func BenchmarkFormat(b *testing.B) {
	w, _ := markdown.Parse("f.md", sections(1_000))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := markdown.Format(w); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFmt(b *testing.B) {
	text := sections(1_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, found := markdown.Fmt("f.md", text); found.Errors() {
			b.Fatal(found)
		}
	}
}
