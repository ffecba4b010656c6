package yaml_test

import (
	"bytes"
	"fmt"
	"testing"

	library "go.yaml.in/yaml/v3"

	"github.com/hocket-dev/hocket/syntax/yaml"
)

// steps returns a workflow of n steps, each with inputs, a prompt and a reference to
// the step before.
func steps(n int) []byte {
	var b bytes.Buffer
	b.WriteString("name: long\ndescription: Many steps\nsteps:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - id: step-%d\n    agent: worker\n    prompt: |\n      Do part %d.\n      Use ${topic}.\n    inputs:\n      target: ${target}\n", i, i)
		if i > 0 {
			fmt.Fprintf(&b, "      before: ${steps[%d].output ?? \"none\"}\n", i-1)
		}
	}
	return b.Bytes()
}

func BenchmarkParse(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		text := steps(n)
		b.Run(fmt.Sprintf("steps=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, ds := yaml.Parse("f.yml", text); len(ds) > 0 {
					b.Fatal(ds[0])
				}
			}
		})
	}
}

func BenchmarkFormat(b *testing.B) {
	w, _ := yaml.Parse("f.yml", steps(1_000))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := yaml.Format(w); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFmt(b *testing.B) {
	text := steps(1_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, found := yaml.Fmt("f.yml", text); len(found) > 0 {
			b.Fatal(found)
		}
	}
}

// BenchmarkLibrary measures the YAML library alone on the same text.
func BenchmarkLibrary(b *testing.B) {
	text := steps(10_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		var n library.Node
		if err := library.Unmarshal(text, &n); err != nil {
			b.Fatal(err)
		}
	}
}
