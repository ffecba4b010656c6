package complete_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/complete"
)

var names = complete.Names{Agents: []string{"claude", "codex"}, Workflows: []string{"review"}, Templates: []string{"brief"}}

const yamlText = `name: letters
inputs:
  topic:
    type: string
steps:
  - id: draft
    agent: claude
    prompt: |
      Write about ${topic}
      pr
    output:
      var: text
  - id: check
    needs: [draft]
    human:
      question: Good?
`

// At the mark ‸, in a text to which a line is added.
func TestComplete(t *testing.T) {
	markdown := "---\nname: x\n---\n## Flow\n```mermaid\nflowchart TD\n  a[Write it] --> b[Print it]\n```\n## Nodes\n### a\n\n---\nagent: claude\n---\nWrite.\n"
	for _, test := range []struct {
		file, text string
		from       string // the word that is completed
		has, not   []string
	}{
		{"a.yml", yamlText + "ex‸", "ex", []string{"execution"}, []string{"id"}},
		{"a.yml", yamlText + "  - ‸", "", []string{"agent", "human", "id", "prompt"}, []string{"execution"}},
		{"a.yml", yamlText + "  - id: last\n    pro‸", "pro", []string{"prompt"}, nil},
		{"a.yml", yamlText + "  - id: last\n    ag‸", "ag", []string{"agent"}, []string{"agents"}},
		{"a.yml", yamlText + "  - id: last\n    agent: c‸", "c", []string{"claude", "codex"}, []string{"review"}},
		{"a.yml", yamlText + "  - id: last\n    workflow: ‸", "", []string{"review"}, nil},
		{"a.yml", yamlText + "  - id: last\n    template: ‸", "", []string{"brief"}, nil},
		{"a.yml", yamlText + "  - id: last\n    on_error: ‸", "", []string{"continue", "stop", "replan"}, nil},
		{"a.yml", yamlText + "  - id: last\n    needs: [draft, ch‸", "ch", []string{"check"}, []string{"draft"}},
		{"a.yml", yamlText + "  - id: last\n    needs:\n      - dr‸", "dr", []string{"draft"}, nil},
		{"a.yml", yamlText + "  - id: last\n    output:\n      mo‸", "mo", []string{"mode"}, nil},
		{"a.yml", yamlText + "  - id: last\n    output:\n      mode: ‸", "", []string{"json", "regex"}, nil},
		{"a.yml", yamlText + "  - id: last\n    loop:\n      max: 3\n      steps:\n        - id: inner\n          ag‸", "ag", []string{"agent"}, nil},
		{"a.yml", yamlText + "  - id: last\n    prompt: About ${to‸", "to", []string{"topic"}, nil},
		{"a.yml", yamlText + "  - id: last\n    prompt: About {{ ‸", "", []string{"topic", "steps.draft.output", "steps.check.output", "text"}, nil},
		{"a.yml", yamlText + "  - id: last\n    when: ${topic == te‸", "te", []string{"text"}, nil},
		{"a.yml", strings.Replace(yamlText, "      pr\n", "      pr‸\n", 1), "pr", nil, []string{"prompt"}},
		{"a.yml", yamlText + "limits:\n  max_‸", "max_", []string{"max_steps", "max_cost_usd"}, nil},
		{"a.yml", yamlText + "# a‸", "", nil, []string{"agents"}},
		{"a.xml", "<‸", "", []string{"workflow"}, nil},
		{"a.xml", "<workflow>\n  <a‸", "a", []string{"agent"}, nil},
		{"a.xml", "<workflow>\n  <agent id=\"1\" name=\"llm\"><‸", "", []string{"task", "input", "retry"}, []string{"param"}},
		{"a.xml", "<workflow>\n  <agent de‸", "de", []string{"depends"}, []string{"label"}},
		{"a.xml", "<workflow>\n  <agent name=\"c‸", "c", []string{"claude", "codex"}, nil},
		{"a.xml", "<workflow>\n  <agent id=\"1\" name=\"claude\"><task>A</task></agent>\n  <agent id=\"2\" depends=\"‸\"><task>B</task></agent></workflow>", "", []string{"1"}, nil},
		{"a.xml", "<workflow>\n  <param name=\"topic\"/><agent id=\"1\" name=\"claude\"><task>A {{‸</task></agent></workflow>", "", []string{"topic"}, nil},
		{"a.md", strings.Replace(markdown, "name: x\n", "name: x\nex‸\n", 1), "ex", []string{"execution"}, nil},
		{"a.md", strings.Replace(markdown, "agent: claude\n", "agent: claude\nti‸\n", 1), "ti", []string{"timeout", "title"}, nil},
		{"a.md", strings.Replace(markdown, "agent: claude\n", "agent: co‸\n", 1), "co", []string{"codex"}, nil},
		{"a.md", markdown + "### ‸", "", []string{"a", "b"}, nil},
		{"a.md", strings.Replace(markdown, "```\n##", "  b --> ‸\n```\n##", 1), "", []string{"a", "b"}, nil},
		{"a.puml", "@startuml\n|cl‸", "cl", []string{"claude"}, nil},
		{"a.puml", "@startuml\nstart\n:Write;\nnote right\n  <<‸\nend note\n@enduml\n", "", []string{"prompt", "approval"}, nil},
		{"a.puml", "@startuml\nstart\n:Write;\nnote right\n  <<prompt>>\n  out‸\nend note\n@enduml\n", "out", []string{"output"}, nil},
		{"a.puml", "@startuml\nstart\n:Write;\nnote right\n  <<prompt>>\nend note\n:out‸", "", nil, []string{"output"}},
		{"a.yml", "steps:\n  - {id: a, agent: x, prompt: y}\n  - id: b\n    agent: x\n    prompt: \"${st‸\"\n", "st", []string{"steps.a.output"}, []string{"steps.b.output"}},
		{"a.yml", "steps:\n  - {id: a, agent: x, prompt: y}\n  - {id: b, agent: shell, config: {command: \"echo ${st‸\"}}\n", "", nil, []string{"steps.a.output"}},
		{"a.yml", "steps:\n  - {id: a, agent: x, prompt: y}\n  - id: b\n    agent: shell\n    config:\n      command: |\n        echo ${st‸\n", "", nil, []string{"steps.a.output"}},
		{"a.txt", "na‸", "", nil, nil},
		{"a.yml", "‸", "", []string{"name", "steps"}, nil},
	} {
		at := strings.Index(test.text, "‸")
		text := strings.Replace(test.text, "‸", "", 1)
		from, found := complete.At(test.file, []byte(text), at, names)
		var texts []string
		for _, s := range found {
			texts = append(texts, s.Text)
		}
		show := test.file + " …" + test.text[max(0, at-40):]
		if got := text[from:at]; len(test.has) > 0 && got != test.from {
			t.Errorf("%q: completes %q, want %q", show, got, test.from)
		}
		for _, want := range test.has {
			if !slices.Contains(texts, want) {
				t.Errorf("%q: no %q in %q", show, want, texts)
			}
		}
		for _, no := range test.not {
			if slices.Contains(texts, no) {
				t.Errorf("%q: offers %q in %q", show, no, texts)
			}
		}
	}
}

// Every place of every text can be completed, and what is offered continues the word.
func FuzzComplete(f *testing.F) {
	f.Add("a.yml", yamlText, 20)
	f.Add("a.xml", "<workflow><agent name=\"", 23)
	f.Add("a.md", "---\nname\n---\n### a", 8)
	f.Add("a.puml", "@startuml\nnote right\n<<", 23)
	f.Fuzz(func(t *testing.T, file, text string, at int) {
		from, found := complete.At(file, []byte(text), at, names)
		at = max(0, min(at, len(text)))
		if from < 0 || from > at {
			t.Fatalf("the word begins at %d, the place is %d", from, at)
		}
		for _, s := range found {
			if !strings.HasPrefix(strings.ToLower(s.Text), strings.ToLower(text[from:at])) {
				t.Fatalf("%q does not complete %q", s.Text, text[from:at])
			}
		}
	})
}
