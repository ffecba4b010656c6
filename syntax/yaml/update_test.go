package yaml_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

const commented = `# What this is for.
name: flow   # a short name
inputs: {file: string}

steps:
# the first
- agent: a    # who
  prompt: "Look at ${file}"

# a loop
- id: polish
  loop:
    max: 3
    while: score < 8   # good enough
    steps:
    # writes
    - agent: writer
      output: draft
    # judges
    - {agent: critic, output: score}
- agent: z
`

func TestUpdateRewritesOnlyWhatChanged(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(w *workflow.Workflow)
		old    string
		new    string
	}{
		{"nothing", func(*workflow.Workflow) {}, "", ""},
		{"a step", func(w *workflow.Workflow) { w.Body.Nodes[2].Timeout = time.Minute }, "- agent: z\n", "- agent: z\n  timeout: 1m\n"},
		{"the name", func(w *workflow.Workflow) { w.Name = "other" }, "name: flow   # a short name\n", "name: other\n"},
		{"a step in a loop", func(w *workflow.Workflow) { w.Body.Nodes[1].Body().Nodes[0].Step.(*workflow.Task).Agent = "poet" }, "    - agent: writer\n", "    - id: writer\n      agent: poet\n"},
	} {
		w, found := yaml.Parse("flow.yml", []byte(commented))
		if found.Errors() {
			t.Fatal(found)
		}
		c.change(w)
		got, err := yaml.Update("flow.yml", []byte(commented), w)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Replace(commented, c.old, c.new, 1)
		if string(got) != want {
			t.Errorf("%s: got\n%s", c.name, got)
		}
	}
}
