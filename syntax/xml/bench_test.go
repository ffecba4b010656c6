package xml_test

import (
	"bytes"
	library "encoding/xml"
	"fmt"
	"runtime"
	"testing"

	"github.com/hocket-dev/hocket/syntax/xml"
)

// agents returns a workflow of n agents, each with a task and the result of the one
// before it.
func agents(n int) []byte {
	var b bytes.Buffer
	b.WriteString("<workflow name=\"long\" taskId=\"1\">\n")
	for i := 1; i <= n; i++ {
		if i == 1 {
			b.WriteString("  <agent name=\"browser\" id=\"1\">\n    <task>Open the page and search for news.</task>\n  </agent>\n")
			continue
		}
		fmt.Fprintf(&b, "  <agent name=\"llm\" id=\"%d\" depends=\"%d\">\n    <task>Summarize the results of part %d in a few words.</task>\n    <input>{{agent_%d_result}}</input>\n  </agent>\n", i, i-1, i-1, i-1)
	}
	b.WriteString("</workflow>\n")
	return b.Bytes()
}

// BenchmarkParse parses whole workflows and, for comparison, reads the tokens of the same bytes
// with the standard library.
func BenchmarkParse(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		text := agents(n)
		b.Run(fmt.Sprintf("agents=%d/hocket", n), func(b *testing.B) {
			measure(b, text, func() {
				if _, found := xml.Parse("f.xml", text); len(found) > 0 {
					b.Fatal(found[0])
				}
			})
		})
		b.Run(fmt.Sprintf("agents=%d/encoding-xml", n), func(b *testing.B) {
			measure(b, text, func() {
				d := library.NewDecoder(bytes.NewReader(text))
				for {
					if _, err := d.Token(); err != nil {
						return
					}
				}
			})
		})
	}
}

// measure also reports how much memory is allocated in total, as a multiple of the size of the
// text.
func measure(b *testing.B, text []byte, what func()) {
	b.SetBytes(int64(len(text)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	rounds := 0
	for b.Loop() {
		what()
		rounds++
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(rounds)/float64(len(text)), "text/op")
}

func BenchmarkFormat(b *testing.B) {
	w, _ := xml.Parse("f.xml", agents(1_000))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := xml.Format(w); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRecover parses a plan of a hundred agents, as a display does whenever more of it has
// been written.
func BenchmarkRecover(b *testing.B) {
	text := agents(100)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		xml.Recover("f.xml", text)
	}
}
