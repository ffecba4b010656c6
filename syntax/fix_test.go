package syntax_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// A typo in a keyword can be fixed wherever it is, and nothing else is changed.
func TestFixesOfWords(t *testing.T) {
	for _, test := range []struct{ file, text, want string }{
		{
			"flow.yml",
			"name: über\nsteps:\n  - {id: a, agnet: x, prompt: hi}\n  - agent: y\n    prompt: hi # twice?\n",
			"name: über\nsteps:\n  - {id: a, agent: x, prompt: hi}\n  - agent: y\n    prompt: hi # twice?\n",
		},
		{
			"flow.yml",
			"name: x\ninputs:\n  n: int\n  s: {type: str}\n  l: list\nsteps:\n  - agent: x\n    prompt: hi\n    output: {mode: json, schema: {n: int}}\n",
			"name: x\ninputs:\n  n: integer\n  s: {type: string}\n  l: array\nsteps:\n  - agent: x\n    prompt: hi\n    output: {mode: json, schema: {n: integer}}\n",
		},
		{
			"flow.yml",
			"name: 7\nsteps:\n  - agent: x\n    prompt: Ask: {{topic}}\n    on_error: contine\n  - agent: x\n    prompt: {{topic}}\n",
			"name: 7\nsteps:\n  - agent: x\n    prompt: \"Ask: {{topic}}\"\n    on_error: continue\n  - agent: x\n    prompt: \"{{topic}}\"\n",
		},
		{
			"flow.yml",
			"\uFEFFnaem: x\r\nsteps:\r\n  - agent: x\r\n    prompt: @home\r\n    when: a = 1 and b\r\n",
			"\uFEFFname: x\r\nsteps:\r\n  - agent: x\r\n    prompt: \"@home\"\r\n    when: a == 1 && b\r\n",
		},
		{
			"flow.yml",
			"name: x\nsteps:\n  - human: ok?\n    custom: yes\n",
			"name: x\nsteps:\n  - human: ok?\n    custom: yes\n",
		},
		{
			"flow.yml",
			"name: x\nsteps:\n  - human:\n      question: ok?\n      allowCustomInput: yes\n",
			"name: x\nsteps:\n  - human:\n      question: ok?\n      custom: true\n",
		},
		{
			"flow.puml",
			"@startuml\nstart\n:Ask;\nnote right\n  <<promt>>\n  agnet: x\n  template: Ask: {{topic}}\n  on_error: contine\nend note\nif (a = 1) then (yes)\n:b;\nendif\nstop\n@enduml\n",
			"@startuml\nstart\n:Ask;\nnote right\n  <<prompt>>\n  agent: x\n  template: \"Ask: {{topic}}\"\n  on_error: continue\nend note\nif (a == 1) then (yes)\n:b;\nendif\nstop\n@enduml\n",
		},
		{
			"flow.md",
			"---\ntitle: Über\non_error: contine\n---\n```mermaid\nflowchart TD\n  a --> b\n  b@{ shape: rect, agnet: x }\n```\n\n### a\n\n---\nagnet: x\ntimeout: 1m\nprompt: Ask: {{topic}}\n---\n",
			"---\nname: Über\non_error: continue\n---\n```mermaid\nflowchart TD\n  a --> b\n  b@{ shape: rect, agent: x }\n```\n\n### a\n\n---\nagent: x\ntimeout: 1m\nprompt: \"Ask: {{topic}}\"\n---\n",
		},
		{
			"flow.md",
			"```mermaid\r\nflowchart TD\r\n  a[\"say \"hi\"\"] --> b\r\n  subgraph x\r\n  b --> c\r\n```\r\n",
			"```mermaid\r\nflowchart TD\r\n  a[\"say #quot;hi#quot;\"] --> b\r\n  subgraph x\r\n  b --> c\r\n  end\r\n```\r\n",
		},
		{
			"flow.md",
			"# T\n\nflowchart TD\n  a --> b\n```\n\n### a\n\nGo.\n",
			"# T\n\n```mermaid\nflowchart TD\n  a --> b\n```\n\n### a\n\nGo.\n",
		},
		{
			"flow.xml",
			"<workflow name=\"x\">\n  <agent id=\"1\">\n    <task>go</task>\n  <agent id=\"2\" depends=\"1\">\n    <task>on</task>\n  </agent>\n</workflow>\n",
			"<workflow name=\"x\">\n  <agent id=\"1\">\n    <task>go</task>\n  </agent>\n  <agent id=\"2\" depends=\"1\">\n    <task>on</task>\n  </agent>\n</workflow>\n",
		},
		{
			"flow.xml",
			"<workflw name=\"x\">\n  <agnet id=\"1\"><task>go</task></agent>\n</workflow>\n",
			"<workflow name=\"x\">\n  <agent id=\"1\"><task>go</task></agent>\n</workflow>\n",
		},
		{
			"flow.xml",
			"<workflw name=\"x\">\n  <agent id=\"1\"><task>go</task></agent>\n</workflw>\n",
			"<workflow name=\"x\">\n  <agent id=\"1\"><task>go</task></agent>\n</workflow>\n",
		},
		{
			"flow.xml",
			"<workflow name=\"x\">\n  <agent id=\"1\" on_error=\"contine\"><task>go</task><output>x</output></agent>\n</workflow>\n",
			"<workflow name=\"x\">\n  <agent id=\"1\" on_error=\"continue\"><task>go</task><output>x</output></agent>\n</workflow>\n",
		},
	} {
		got, _ := fixAll(test.file, test.text)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.file, diff)
		}
	}
}

// Advice about a drawing uses the words of its notation.
func TestHelpInMermaid(t *testing.T) {
	for text, want := range map[string]string{
		"A[Write] --> B{{Fine?}}\nB -->|yes| C[Print]\nB --> A": "write B -->|else| A if that is what you mean",
		"A[Write] --> B{Good?}\nB --> C[Print]\nB --> D[Drop]":  "label its arrows with the possible answers, such as B -->|yes| …",
		"A[Write] --> B[Read]\nB --> A":                         "draw an arrow with a label from one of its nodes to a node outside, or to an end; an error edge does not count as an exit",
	} {
		w, _ := syntax.Parse("f.md", []byte("```mermaid\nflowchart TD\n"+text+"\n```\n"))
		found := check.Run(check.Input{Bundle: workflow.Bundle{Root: w}})
		if !slices.ContainsFunc(found, func(d workflow.Diagnostic) bool { return d.Detail == want }) {
			t.Errorf("%s\n%s\nwant help %q", text, found, want)
		}
	}
}
