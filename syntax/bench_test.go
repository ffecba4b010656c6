//go:build unix

package syntax_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// prose is the text of a prompt after its first words. It makes a node about 200 bytes long, as in
// files that people write.
const prose = ". Read what was said before, name the three findings that matter most, and say for each of them what to do next and who should do it"

// chart returns a flowchart of n nodes, with a choice and a bypass at every tenth node.
func chart(n int, more string) []byte {
	var b bytes.Buffer
	b.WriteString("flowchart TD\n")
	for i := range n {
		if i%10 == 9 {
			fmt.Fprintf(&b, "    step_%d{\"Is part %d right?\"}\n", i, i)
		} else {
			fmt.Fprintf(&b, "    step_%d[\"Do part %d of the work, and look at part %d again%s\"]\n", i, i, i/2, more)
		}
	}
	for i := range n - 1 {
		if i%10 < 9 {
			fmt.Fprintf(&b, "    step_%d --> step_%d\n", i, i+1)
			continue
		}
		fmt.Fprintf(&b, "    step_%d -->|\"yes\"| step_%d\n", i, i+1)
		if i+3 < n {
			fmt.Fprintf(&b, "    step_%d -->|\"no\"| step_%d\n", i, i+3)
		}
	}
	return b.Bytes()
}

// activities returns an activity diagram of n nodes, some of them choices.
func activities(n int, more string) []byte {
	var b bytes.Buffer
	b.WriteString("@startuml\n|worker|\nstart\n")
	for i := 0; i < n; i += 10 {
		for part := i; part < i+7; part++ {
			fmt.Fprintf(&b, ":Do part %d of the work, and look at part %d again%s;\n", part, part/2, more)
		}
		fmt.Fprintf(&b, "if (Is part %[1]d right?) then (yes)\n  :Publish part %[1]d%[2]s;\nelse (no)\n  :Do part %[1]d once more%[2]s;\nendif\n", i, more)
	}
	b.WriteString("stop\n@enduml\n")
	return b.Bytes()
}

// agents returns XML with n agents, each of which uses the result of the one before it.
func agents(n int, more string) []byte {
	var b bytes.Buffer
	b.WriteString("<workflow name=\"long\">\n")
	for i := range n {
		fmt.Fprintf(&b, "  <agent name=\"worker\" id=\"%d\"", i)
		if i > 0 {
			fmt.Fprintf(&b, " depends=\"%d\"", i-1)
		}
		fmt.Fprintf(&b, ">\n    <task>Do part %d of the work, and look at part %d again%s.</task>\n", i, i/2, more)
		if i > 0 {
			fmt.Fprintf(&b, "    <input>{{agent_%d_result}}</input>\n", i-1)
		}
		b.WriteString("  </agent>\n")
	}
	b.WriteString("</workflow>\n")
	return b.Bytes()
}

// BenchmarkParse parses drawings into the model: with short labels, where the number of nodes
// matters, and with prose, where the number of bytes matters. For comparison, the standard library
// reads the tokens of the same XML.
func BenchmarkParse(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		for _, c := range []struct {
			name, file string
			text       []byte
		}{
			{"mermaid/short", "f.mmd", chart(n, "")},
			{"mermaid/prose", "f.mmd", chart(n, prose)},
			{"plantuml/short", "f.puml", activities(n, "")},
			{"plantuml/prose", "f.puml", activities(n, prose)},
			{"xml/short", "f.xml", agents(n, "")},
			{"xml/prose", "f.xml", agents(n, prose)},
		} {
			w, found := syntax.Parse(c.file, c.text)
			if found.Errors() || len(w.Body.Nodes) != n {
				b.Fatalf("%s has %d nodes: %v", c.name, len(w.Body.Nodes), found)
			}
			b.Run(fmt.Sprintf("%s/nodes=%d", c.name, n), func(b *testing.B) {
				measure(b, n, c.text, func() any { w, _ := syntax.Parse(c.file, c.text); return w })
			})
			if c.file == "f.xml" {
				b.Run(fmt.Sprintf("encoding-%s/nodes=%d", c.name, n), func(b *testing.B) {
					measure(b, n, c.text, func() any { tokens(b, c.text); return nil })
				})
			}
		}
	}
}

// BenchmarkParseWritten parses what Hocket writes: one workflow in every notation, with the prompts
// and inputs of its tasks.
func BenchmarkParseWritten(b *testing.B) {
	const n = 10_000
	w, _ := syntax.Parse("f.mmd", chart(n, ""))
	for i := range w.Body.Nodes {
		if task, ok := w.Body.Nodes[i].Step.(*workflow.Task); ok {
			task.Agent = "worker"
		}
	}
	for _, name := range []string{"yaml", "xml", "mermaid", "plantuml"} {
		notation, _ := syntax.Named(name)
		text, err := notation.Format(w)
		if err != nil {
			b.Fatal(err)
		}
		file := "f" + notation.Endings[0]
		if again, found := syntax.Parse(file, text); found.Errors() || workflow.Digest(again) != workflow.Digest(w) {
			b.Fatalf("%s means something else: %v", name, found)
		}
		b.Run(name, func(b *testing.B) {
			measure(b, n, text, func() any { w, _ := syntax.Parse(file, text); return w })
		})
	}
}

func tokens(b *testing.B, text []byte) {
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		if _, err := d.Token(); err != nil {
			if d.InputOffset() != int64(len(text)) {
				b.Fatal(err)
			}
			return
		}
	}
}

// measure reports the processor time of the fastest round, including garbage collection: a busy
// machine only makes it longer. It also reports, as multiples of the size of the text, how much
// memory is allocated in total and how much the model keeps.
func measure(b *testing.B, nodes int, text []byte, read func() any) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	model := read()
	asked := func() uint64 { runtime.ReadMemStats(&after); return after.TotalAlloc - before.TotalAlloc }()
	runtime.GC()
	runtime.ReadMemStats(&after)
	kept := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	runtime.KeepAlive(model)
	rounds, best := 0, time.Duration(0)
	for b.Loop() {
		start := processorTime()
		read()
		if took := processorTime() - start; rounds == 0 || took < best {
			best = took
		}
		rounds++
	}
	b.ReportMetric(float64(asked)/float64(len(text)), "text-asked")
	b.ReportMetric(float64(kept)/float64(len(text)), "text-kept")
	b.ReportMetric(float64(nodes)/best.Seconds(), "best-nodes/s")
	b.ReportMetric(float64(len(text))/best.Seconds()/1e6, "best-MB/s")
}

// processorTime returns the processor time that this process has used.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
