package plantuml_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/hocket-dev/hocket/syntax/plantuml"
)

// plain returns a diagram of n steps without notes, with some conditions, forks and loops.
func plain(n int) []byte {
	var b bytes.Buffer
	b.WriteString("@startuml\ntitle Long\n|writer|\n|reader|\nstart\n")
	for i := 0; i < n; i += 10 {
		fmt.Fprintf(&b, `|writer|
:Draft part %[1]d of the text;
if (draft contains "part %[1]d") then (yes)
  :Finish part %[1]d;
else (no)
  :Begin part %[1]d anew;
endif
fork
  |reader|
  :Read part %[1]d aloud;
fork again
  |reader|
  :Read part %[1]d in silence;
end fork
repeat
  :Polish part %[1]d;
repeat while (score < 8) is (yes) not (no)
:Print part %[1]d;
`, i)
	}
	b.WriteString("stop\n@enduml\n")
	return b.Bytes()
}

// noted returns a diagram of n steps, each with a note.
func noted(n int) []byte {
	var b bytes.Buffer
	b.WriteString("@startuml\ntitle Long\n|writer|\nstart\n")
	for i := range n {
		fmt.Fprintf(&b, `:Draft part %[1]d;
note right
  <<prompt>>
  id: part-%[1]d
  template: |
    Write part %[1]d.
    Use {{topic}}.
  input: {{topic}}, {{style}}
  output: text%[1]d
  retries: 1
end note
`, i)
	}
	b.WriteString("stop\n@enduml\n")
	return b.Bytes()
}

func BenchmarkParse(b *testing.B) {
	for _, kind := range []struct {
		name string
		make func(int) []byte
	}{{"plain", plain}, {"noted", noted}} {
		for _, n := range []int{1_000, 10_000, 100_000} {
			text := kind.make(n)
			b.Run(fmt.Sprintf("%s/nodes=%d", kind.name, n), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if _, found := plantuml.Parse("f.puml", text); found.Errors() {
						b.Fatal(found)
					}
				}
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "nodes/s")
			})
		}
	}
}

func BenchmarkFormat(b *testing.B) {
	w, _ := plantuml.Parse("f.puml", plain(1_000))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := plantuml.Format(w); err != nil {
			b.Fatal(err)
		}
	}
}
