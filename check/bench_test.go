package check_test

import (
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/shell"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// The goal: 10,000 steps are parsed and checked in 300 ms, and the time grows linearly with the
// number of steps.

// shapes are workflows of n steps with different structures.
var shapes = []struct {
	name string
	text func(n int) string
}{
	{"chain", func(n int) string {
		return steps(n, func(b *strings.Builder, i int) {
			fmt.Fprintf(b, "  - id: s%d\n    agent: writer\n    prompt: Go on from ${steps.s%d.output ?? \"nothing\"} about ${topic}.\n    output: v%d\n", i, max(i-1, 0), i)
		})
	}},
	{"dag", func(n int) string {
		return "execution: dag\n" + steps(n, func(b *strings.Builder, i int) {
			fmt.Fprintf(b, "  - id: s%d\n    agent: writer\n    prompt: About ${topic}.\n    needs: [s%d, s%d]\n", i, i/2, i*2/3)
		})
	}},
	{"fan", func(n int) string {
		return "execution: parallel\n" + steps(n, func(b *strings.Builder, i int) {
			fmt.Fprintf(b, "  - {id: s%d, agent: writer, parallel_group: all, prompt: \"About ${topic}.\"}\n", i)
		}) + "  - {id: sum, agent: writer, prompt: \"${parallel_group.all.outputs}\"}\n"
	}},
	{"loops", func(n int) string {
		return steps(n/4, func(b *strings.Builder, i int) {
			fmt.Fprintf(b, "  - loop:\n      max: 3\n      until: v%[1]d == \"good\"\n      steps:\n        - {agent: writer}\n        - {agent: reviewer, output: v%[1]d}\n", i)
		})
	}},
	{"shell", func(n int) string { // as people write steps: settings over several lines, and two references
		return steps(n, func(b *strings.Builder, i int) {
			fmt.Fprintf(b, "  - id: s%d\n    agent: shell\n    inputs:\n      before: ${v%d}\n      topic: ${topic}\n", i, max(i-1, 0))
			fmt.Fprintf(b, "    config:\n      command: |\n        printf '%%s\\n' \"$before\" > part-%[1]d.txt\n        grep -c \"$topic\" part-%[1]d.txt\n", i)
			fmt.Fprintf(b, "      dir: build\n    output: v%d\n\n", i)
		})
	}},
}

func steps(n int, step func(b *strings.Builder, i int)) string {
	var b strings.Builder
	b.WriteString("steps:\n")
	for i := range n {
		step(&b, i)
	}
	return b.String()
}

// textOf leaves out the first step's references to itself, and files that are larger than a parser
// accepts.
func textOf(b *testing.B, text string) []byte {
	b.Helper()
	for _, self := range []string{"    needs: [s0, s0]\n", "${steps.s0.output ?? \"nothing\"}", "      before: ${v0}\n"} {
		text = strings.Replace(text, self, "", 1)
	}
	if len(text) > 15<<20 {
		b.Skip("the file would be too large")
	}
	return []byte("name: large\ninputs: {topic: string}\nlimits: {max_steps: 1000000}\n" + text)
}

// troupe is the cast with the real schema of shell settings.
type troupe struct {
	cast
	shell *agent.Schema
}

func newTroupe() troupe { return troupe{shell: shell.New(shell.Options{}).Traits().Settings} }

func (t troupe) Agent(name, role string) check.Agent {
	a := t.cast.Agent(name, role)
	if name == "shell" {
		a.Validate = func(settings map[string]any) []check.Problem {
			var list []check.Problem
			for _, p := range t.shell.CheckTemplates(settings) {
				list = append(list, check.Problem{Summary: p.Summary})
			}
			return list
		}
	}
	return a
}

func BenchmarkParseAndCheck(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as cmd/hocket has it
	for _, shape := range shapes {
		for _, n := range []int{1000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", shape.name, n), func(b *testing.B) {
				text, agents := textOf(b, shape.text(n)), newTroupe()
				for b.Loop() {
					w, found := yaml.Parse("large.yml", text)
					demandClean(b, append(found, check.Run(check.Input{Bundle: workflow.Bundle{Root: w}, Agents: agents, Limits: w.Limits})...))
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/step")
			})
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, shape := range shapes {
		for _, n := range []int{1000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", shape.name, n), func(b *testing.B) {
				w, found := yaml.Parse("large.yml", textOf(b, shape.text(n)))
				demandClean(b, found)
				agents := newTroupe()
				for b.Loop() {
					demandClean(b, check.Run(check.Input{Bundle: workflow.Bundle{Root: w}, Agents: agents, Limits: w.Limits}))
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/step")
			})
		}
	}
}

func demandClean(b *testing.B, found workflow.Diagnostics) {
	b.Helper()
	if len(found) > 0 {
		b.Fatal(found[0])
	}
}
