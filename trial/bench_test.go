package trial_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/trial"
)

// many is a project with 100 cases of a workflow that has a loop, a for_each, a call and a gate that waits for a day.
func many(b *testing.B) string {
	var cases strings.Builder
	cases.WriteString(`workflow: work.yml
replies: {"*": ok, approve: {output: approve, delay: 23h}}
cases:
`)
	for i := range 100 {
		fmt.Fprintf(&cases, `  - name: case %d
    inputs: {items: [a, b, c]}
    replies: {judge: ['{"pass": false}', '{"pass": true}']}
    expect: {status: success, attempts: {each: 3, judge: 2}, taken: [inner, approve]}
`, i)
	}
	return project(b, map[string]string{
		"work.yml": `name: work
inputs: {items: array}
steps:
  - id: each
    for_each: ${items}
    as: one
    agent: worker
    prompt: Do ${one}
  - id: sub
    workflow: called
  - loop:
      max: 3
      until: verdict.pass
      steps:
        - id: write
          agent: writer
          prompt: Write
        - id: judge
          agent: judge
          output: {var: verdict, mode: json}
          prompt: Judge
  - id: approve
    human: Publish?
    timeout: 24h
`,
		".hocket/workflows/called.yml": `name: called
steps:
  - id: inner
    agent: worker
    prompt: Work
`,
		".hocket/tests/work.yml": cases.String(),
	})
}

// BenchmarkCases runs 100 cases.
func BenchmarkCases(b *testing.B) {
	root := many(b)
	b.ReportAllocs()
	for b.Loop() {
		all := run(b, root, trial.Options{Parallel: 4})
		mustPass(b, all)
		if len(all) != 100 {
			b.Fatal(len(all))
		}
	}
}
