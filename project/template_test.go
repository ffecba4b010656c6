package project_test

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/workflow"
)

// The references of a prompt mean what they mean at the task that names it.
func TestPromptsByName(t *testing.T) {
	dir := write(t, map[string]string{
		".hocket/prompts/house/sum.md": "Sum up {{draft}} for ${reader}.\n",
		"a.yml":                        "inputs: {reader: string}\nsteps:\n  - {agent: shell, config: {command: [ls]}, output: draft}\n  - {id: sum, agent: shell, template: house/sum, config: {command: [cat]}}\n",
	})
	l := load(t, open(t, dir), "a.yml")
	if found := l.Check(nil); found.Errors() {
		t.Fatal(found)
	}
	task := l.Bundle.Root.Body.Node("sum").Step.(*workflow.Task)
	if task.Prompt.Text != "Sum up ${vars.draft} for ${inputs.reader}." || task.Settings["template"] != nil {
		t.Errorf("the prompt is %q, the settings are %v", task.Prompt.Text, task.Settings)
	}
	if file := task.Prompt.Src.Pos.File; !strings.HasSuffix(file, "sum.md") {
		t.Errorf("the prompt is said to stand in %q", file)
	}
}

func TestMissingPrompts(t *testing.T) {
	dir := write(t, map[string]string{
		".hocket/prompts/sum.md": "Sum up.\n",
		"secret.md":              "Nobody reads this.\n",
		"a.yml":                  "steps:\n  - {id: a, agent: shell, template: smu, config: {command: [cat]}}\n  - {id: b, agent: shell, template: ../../secret, config: {command: [cat]}}\n",
	})
	l := load(t, open(t, dir), "a.yml")
	found := l.Check(nil)
	if len(found) != 2 || found[0].Code != "template-unknown" || !strings.Contains(found[0].Detail, `"sum"`) || found[1].Code != "template-unknown" {
		t.Errorf("found %v", found)
	}
	if found[0].Line != 2 || found[0].Column != 37 {
		t.Errorf("the first mistake stands at %s", found[0].Pos)
	}
	replied := func(_ *workflow.Workflow, node string) bool { return node == "a" }
	if found = l.Check(replied); found[0].Severity != workflow.Warning || found[1].Severity != workflow.Error {
		t.Errorf("with a reply for one of them: %v", found)
	}
}
