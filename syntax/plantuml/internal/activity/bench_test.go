package activity

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/internal/source"
)

// flowOf returns a diagram of about n steps, with branches, loops and notes.
func flowOf(n int) []byte {
	var b strings.Builder
	b.WriteString("@startuml Big\n|Writer|\nstart\n")
	for i := 0; i < n; i += 10 {
		fmt.Fprintf(&b, ":Read part %d;\n", i)
		fmt.Fprintf(&b, ":Write part %d;\nnote right\n  <<prompt>>\n  template: write\n  input: {{part%d}}\nend note\n", i+1, i)
		fmt.Fprintf(&b, "if (part%d.score > 0.8?) then (yes)\n  :Publish %d;\nelse (no)\n  :Revise %d;\nendif\n", i, i+3, i+4)
		fmt.Fprintf(&b, "fork\n  |A|\n  :Check %d;\nfork again\n  |B|\n  :Test %d;\nend fork\n", i+6, i+7)
		fmt.Fprintf(&b, "repeat\n  :Try %d;\nrepeat while (again?) is (yes) not (no)\n", i+9)
	}
	b.WriteString("stop\n@enduml\n")
	return []byte(b.String())
}

// stepsOf returns a diagram of n short steps.
func stepsOf(n int) []byte {
	var b strings.Builder
	b.WriteString("@startuml\n")
	for i := range n {
		fmt.Fprintf(&b, ":Step %d;\n", i)
	}
	b.WriteString("@enduml\n")
	return []byte(b.String())
}

func BenchmarkParse(b *testing.B) {
	for _, shape := range []struct {
		name string
		make func(int) []byte
	}{{"flow", flowOf}, {"steps", stepsOf}} {
		for _, n := range []int{1_000, 10_000, 100_000} {
			text := shape.make(n)
			b.Run(fmt.Sprintf("%s/%d", shape.name, n), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if _, ds := Parse(source.New("", text)); len(ds) > 0 {
						b.Fatal(ds[0])
					}
				}
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "nodes/s")
			})
		}
	}
}

// hostile are lines on which a parser with quadratic running time would be slow.
var hostile = map[string]func(n int) string{
	"parentheses":   func(n int) string { return "if (" + strings.Repeat(")", n) + " x" },
	"then":          func(n int) string { return "if (a" + strings.Repeat(") then (b", n) + " x" },
	"is":            func(n int) string { return "repeat\nrepeat while (a" + strings.Repeat(") is (b) not (c", n) + " x" },
	"semicolons":    func(n int) string { return ":" + strings.Repeat("a;", n) + " x" },
	"stereotypes":   func(n int) string { return ":a" + strings.Repeat(" <<a>>", n) },
	"angles":        func(n int) string { return ":a; " + strings.Repeat("<", n) + strings.Repeat(">", n) },
	"open":          func(n int) string { return strings.Repeat(":a\n", n) },
	"open notes":    func(n int) string { return ":a;\n" + strings.Repeat("note right\nx\n", n) },
	"open titles":   func(n int) string { return ":a;\n" + strings.Repeat("title\n", n) },
	"open arrows":   func(n int) string { return ":a;\n" + strings.Repeat("-> x\n", n) },
	"open ifs":      func(n int) string { return ":a;\n" + strings.Repeat("if (a\n", n) },
	"open styles":   func(n int) string { return ":a;\n" + strings.Repeat("<style>\n", n) },
	"open skins":    func(n int) string { return ":a;\n" + strings.Repeat("skinparam a {\n", n) },
	"open sprites":  func(n int) string { return ":a;\n" + strings.Repeat("sprite a {\n", n) },
	"notes":         func(n int) string { return "while (a)\n:a;\nendwhile\n" + strings.Repeat("note right: x\n", n) },
	"notes of":      func(n int) string { return ":a;\n" + strings.Repeat("note right of a: x\n", n) },
	"backslashes":   func(n int) string { return strings.Repeat("\\\n", n) },
	"dashes":        func(n int) string { return strings.Repeat("–\\\n", n) },
	"comments":      func(n int) string { return strings.Repeat("/' a\n", n) },
	"inner comment": func(n int) string { return strings.Repeat("/' a '/ :b;\n", n) },
	"returns":       func(n int) string { return strings.Repeat(":a;\r", n) },
	"joined":        func(n int) string { return strings.Repeat(":a; ", n) },
	"words":         func(n int) string { return strings.Repeat("start ", n) },
	"end comments":  func(n int) string { return ":a" + strings.Repeat(" 'a", n) },
	"bare":          func(n int) string { return "if a" + strings.Repeat(" then a", n) },
	"lanes":         func(n int) string { return strings.Repeat("|a|\n", n) + strings.Repeat("|", n) },
	"strays":        func(n int) string { return ":a;\n" + strings.Repeat("endif\n", n) },
	"elses":         func(n int) string { return "if (a) then (b)\n" + strings.Repeat("else (c)\n", n) },
	"unknown":       func(n int) string { return ":a;\n" + strings.Repeat("what is this\n", n) },
	"first unknown": func(n int) string { return strings.Repeat("what is this\n", n) + ":a;" },
	"labelled":      func(n int) string { return "(" + strings.Repeat(") else", n) },
	"swimlane":      func(n int) string { return "swimlane a" + strings.Repeat(" as", n) },
	"embedded":      func(n int) string { return ":a;\nnote right\n" + strings.Repeat("{{\n", n) },
	"deep":          func(n int) string { return strings.Repeat("repeat\n", n) },
	"starts":        func(n int) string { return strings.Repeat("@startuml\nx\n", n) },
	"old":           func(n int) string { return strings.Repeat(":a|\n' c\n", n) },
	"blank":         func(n int) string { return ":a|" + strings.Repeat("\n", n) + "x" },
	"skip old":      func(n int) string { return strings.Repeat(":a|\n", n/2) + strings.Repeat("' c\n", n/2) },
}

// Times are not asserted: with quadratic running time, the test would not finish.
func TestTimeIsLinear(t *testing.T) {
	for name, text := range hostile {
		d, _ := Parse(source.New("", []byte(text(100_000))))
		if d == nil {
			t.Errorf("%s gives no diagram", name)
		}
	}
}
