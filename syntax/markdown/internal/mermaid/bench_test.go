package mermaid

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/internal/source"
)

// generated returns a chart as people and agents write them: labels, decisions with
// labelled edges, subgraphs, and every tenth node with an @{…}.
func generated(nodes int) []byte {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for i := range nodes {
		switch {
		case i%50 == 0:
			fmt.Fprintf(&b, "    subgraph phase%d [\"Phase %d\"]\n", i/50, i/50)
		case i%50 == 49:
			b.WriteString("    end\n")
		}
		switch i % 10 {
		case 3:
			fmt.Fprintf(&b, "    n%d{\"Is part %d good?\"} -->|\"yes\"| n%d\n    n%d -->|\"no\"| n%d\n", i, i, i+1, i, i-1)
		case 7:
			fmt.Fprintf(&b, "    n%d@{ shape: rect, label: \"Look at part %d\", agent: \"reviewer\" } --> n%d\n", i, i, i+1)
		default:
			fmt.Fprintf(&b, "    n%d[\"Do the work of part %d\"] --> n%d\n", i, i, i+1)
		}
	}
	b.WriteString("    classDef done fill:#9f9,stroke:#333\n")
	return []byte(b.String())
}

func BenchmarkParse(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		text := generated(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for b.Loop() {
				if _, found := Parse(source.New("f.mmd", text)); found.Errors() {
					b.Fatal(found)
				}
			}
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "nodes/s")
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/float64(len(text)), "B/byte")
		})
	}
}

// BenchmarkRepair reads charts in which every line has a mistake.
func BenchmarkRepair(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		text := []byte("flowchart TD\n" + strings.Repeat("    a[Do (it)] --> b[And (that)]\n", n))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				Parse(source.New("f.mmd", text))
			}
		})
	}
}
