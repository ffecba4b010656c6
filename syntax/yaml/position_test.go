package yaml_test

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// A problem with a reference is reported at the reference, wherever it is written.
func TestProblemsPointToTheReference(t *testing.T) {
	for name, text := range map[string]string{
		"plain":      "  - agent: a\n    prompt: some ${nobody} text\n",
		"braces":     "  - agent: a\n    prompt: \"{{nobody}} text\"\n",
		"single":     "  - agent: a\n    prompt: 'it: ${nobody}'\n",
		"literal":    "  - agent: a\n    prompt: |\n      First\n        second ${nobody} line\n",
		"folded":     "  - agent: a\n    prompt: >-\n      First\n      second {{nobody}} line\n",
		"many lines": "  - agent: a\n    prompt: First\n      second ${nobody} line\n",
		"input":      "  - agent: a\n    inputs:\n      x: ünï ${nobody}\n",
		"when":       "  - agent: a\n    when: 1 == nobody\n",
		"route":      "  - agent: a\n    route:\n      - when: \"nobody > 1\"\n        to: end\n    else: end\n",
		"until":      "  - loop:\n      until: nobody\n      steps:\n        - agent: a\n",
		"for_each":   "  - agent: a\n    for_each: ${nobody}\n",
		"choice":     "  - choice: {on: nobody}\n    route: {a: end}\n    else: end\n",
		"setting":    "  - agent: a\n    config: {x: \"a ${nobody}\"}\n",
		"in a list":  "  - agent: a\n    config:\n      x: [a, \"b ${nobody}\"]\n",
		"in a map":   "  - agent: a\n    config:\n      x:\n        y: [{z: \"${nobody}\"}]\n",
		"human":      "  - human: {question: \"Is {{nobody}} there?\"}\n",
	} {
		t.Run(name, func(t *testing.T) {
			file := "name: x\ninputs: {topic: string}\nsteps:\n" + text
			w, found := yaml.Parse("f.yml", []byte(file))
			if len(found) > 0 {
				t.Fatal(found)
			}
			problems := expr.Problems(w)
			if len(problems) != 1 {
				t.Fatalf("want one problem, got %v", problems)
			}
			pos := problems[0].Pos
			lines := strings.Split(file, "\n")
			line := []rune(lines[pos.Line-1])
			if pos.EndLine != pos.Line || strings.Trim(string(line[pos.Column-1:pos.EndColumn-1]), "${}") != "nobody" {
				t.Errorf("%v–%d:%d is %q", pos, pos.EndLine, pos.EndColumn, lines[pos.Line-1])
			}
		})
	}
}
