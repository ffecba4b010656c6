package project_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/workflow"
)

// References in a prompt resolve as they would in the task that names the prompt.
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
	if other := load(t, open(t, write(t, map[string]string{
		"a.yml": "steps:\n  - {id: a, agent: shell, template: mus, config: {command: [cat]}}\n  - {id: b, agent: shell, template: ../../secret, config: {command: [cat]}}\n",
	})), "a.yml"); workflow.Digest(other.Bundle.Root) == workflow.Digest(l.Bundle.Root) {
		t.Error("which prompt is missing changes nothing")
	}
	replied := func(n *workflow.Node) bool { return n.ID == "a" }
	if found = l.Check(replied); found[0].Severity != workflow.Warning || found[1].Severity != workflow.Error {
		t.Errorf("with a reply for one of them: %v", found)
	}
}

// A prompt is a text file inside the project, in whatever form editors write it.
func TestFilesOfPrompts(t *testing.T) {
	dir := write(t, map[string]string{
		".hocket/prompts/windows.md": "\ufeff---\r\ninputs: {reader: everybody}\r\n---\r\nFor {{reader}}.\r\n",
		".hocket/prompts/binary.md":  "\xff\xfe",
		"docs/house.md":              "The house.\n",
		"a.yml":                      "steps:\n  - {id: a, agent: shell, template: windows, config: {command: [cat]}}\n  - {id: b, agent: shell, template: linked, config: {command: [cat]}}\n",
		"b.yml":                      "steps:\n  - {id: a, agent: shell, template: outside, config: {command: [cat]}}\n  - {id: b, agent: shell, template: binary, config: {command: [cat]}}\n  - {id: c, agent: shell, template: device, config: {command: [cat]}}\n",
	})
	other := filepath.Join(t.TempDir(), "key.md")
	if err := os.WriteFile(other, []byte("private\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"linked": filepath.Join(dir, "docs", "house.md"), "outside": other, "device": os.DevNull} {
		if err := os.Symlink(to, filepath.Join(dir, ".hocket", "prompts", name+".md")); err != nil {
			t.Skip("this system has no links")
		}
	}
	l := load(t, open(t, dir), "a.yml")
	if found := l.Check(nil); found.Errors() {
		t.Fatal(found)
	}
	for id, want := range map[string]string{"a": "For everybody.", "b": "The house."} {
		if got := l.Bundle.Root.Body.Node(id).Step.(*workflow.Task).Prompt.Text; got != want {
			t.Errorf("the prompt of %s is %q, want %q", id, got, want)
		}
	}
	found := load(t, open(t, dir), "b.yml").Check(nil)
	for i, d := range found {
		if d.Code != "template-unknown" || d.Line != i+2 || i < 2 && !strings.Contains(d.Detail, "leaves the project") {
			t.Errorf("found %v", d)
		}
	}
	if len(found) != 3 {
		t.Errorf("found %v", found)
	}
}

// Keys in a prompt's front matter apply where the step does not set them itself.
func TestKeysOfPrompts(t *testing.T) {
	dir := write(t, map[string]string{
		".hocket/prompts/sum.md":    "---\ndescription: Sums up\ninputs: {text: , reader: everybody, tone: {description: how, default: 3}}\noutput: {mode: json, schema: {type: object}}\nagent: writer\nmodel: large\n---\n\nSum up {{text}} for {{reader}},\r\n  {{tone}} times; ${text.title}, {{text ?? reader}}.\n\n",
		".hocket/agents/writer.yml": "agent: claude\nprompt: You write.\n",
		"a.yml": "steps:\n  - {id: draft, agent: shell, config: {command: [ls]}, output: draft}\n" +
			"  - {id: one, template: sum, inputs: {text: '${draft}'}}\n" +
			"  - {id: two, template: sum, agent: claude, config: {model: small}, inputs: {text: '${draft}', reader: 'all $${x} of you'}, output: {mode: first_line}}\n",
	})
	l := load(t, open(t, dir, "claude"), "a.yml")
	if found := l.Check(nil); found.Errors() {
		t.Fatal(found)
	}
	node := l.Bundle.Root.Body.Node("one")
	one := node.Step.(*workflow.Task)
	want := "\nSum up ${vars.draft} for everybody,\r\n  3 times; ${vars.draft.title}, ${vars.draft ?? \"everybody\"}."
	if one.Prompt.Text != want || one.Agent != "writer" || one.Settings["model"] != "large" || node.Output.Mode != workflow.JSON || node.Output.Schema == nil {
		t.Errorf("one is %q by %s with %v and %+v", one.Prompt.Text, one.Agent, one.Settings, node.Output)
	}
	node = l.Bundle.Root.Body.Node("two")
	two := node.Step.(*workflow.Task)
	want = "\nSum up ${vars.draft} for all $${x} of you,\r\n  3 times; ${vars.draft.title}, ${vars.draft ?? \"all ${x} of you\"}."
	if two.Prompt.Text != want || two.Agent != "claude" || two.Settings["model"] != "small" || node.Output.Mode != workflow.FirstLine {
		t.Errorf("two is %q by %s with %v and %+v", two.Prompt.Text, two.Agent, two.Settings, node.Output)
	}
}

// A file that a step names directly is read like a prompt of the project.
func TestKeysOfPromptFiles(t *testing.T) {
	const prompt = "---\ninputs: {text: , reader: everybody}\noutput: {mode: json}\nmodel: large\n---\nSum up {{text}} for {{reader}}.\n"
	const steps = "steps:\n  - {id: draft, agent: shell, config: {command: [ls]}, output: draft}\n  - {id: sum, agent: claude, config: {prompt_file: sum.md}"
	dir := write(t, map[string]string{
		"sum.md":                 prompt,
		".hocket/prompts/sum.md": prompt,
		"good.yml":               steps + ", inputs: {text: '${draft}'}}\n",
		"less.yml":               steps + "}\n",
		"twice.yml":              steps + ", template: sum, inputs: {text: a}}\n",
	})
	p := open(t, dir, "claude")
	l := load(t, p, "good.yml")
	if found := l.Check(nil); found.Errors() {
		t.Fatal(found)
	}
	node := l.Bundle.Root.Body.Node("sum")
	task := node.Step.(*workflow.Task)
	if task.Prompt.Text != "Sum up ${vars.draft} for everybody." || task.Settings["model"] != "large" || node.Output.Mode != workflow.JSON {
		t.Errorf("it is %q with %v and %+v", task.Prompt.Text, task.Settings, node.Output)
	}
	for name, want := range map[string]string{
		"less.yml":  `less.yml:3:52: error[template-variable]: undefined variable "text" in the prompt "sum.md" (sum.md:6); set it at the step with ` + "`inputs: {text: …}`, or as an input of the workflow",
		"twice.yml": "twice.yml:3:52: error[prompt-file]: both prompt and a prompt file are set; remove one of them",
	} {
		found := load(t, p, name).Check(nil)
		if len(found) != 1 || strings.TrimPrefix(found[0].String(), dir+"/") != want {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// A variable that a prompt uses and the step does not set is an error in the step.
func TestVariablesOfPrompts(t *testing.T) {
	const listed = "---\ninputs: [text, reader]\n---\nSum up {{text}}\nfor {{reader}}.\n"
	const step = "  - {id: sum, agent: shell, template: sum, config: {command: [cat]}"
	for name, c := range map[string]struct{ prompt, flow, want string }{
		"given at the step":            {listed, "steps:\n" + step + ", inputs: {text: a, reader: b}}\n", ""},
		"given by the workflow":        {listed, "inputs: {reader: string}\nstate: {text: a}\nsteps:\n" + step + "}\n", ""},
		"asked for elsewhere":          {listed, "steps:\n  - {id: a, agent: shell, config: {command: [cat]}, prompt: 'For ${reader}.', output: text}\n" + step + "}\n", ""},
		"not listed, an input of runs": {"Sum up {{text}}.", "steps:\n" + step + "}\n", ""},
		"listed, and not given": {listed, "steps:\n" + step + ", inputs: {text: a}}\n",
			`a.yml:2:39: error[template-variable]: undefined variable "reader" in the prompt "sum" (sum.md:5); set it at the step with ` + "`inputs: {reader: …}`, or as an input of the workflow"},
		"not listed, and not declared": {"Sum up.\n{{text}} and {{text}}.", "inputs: {other: string}\nsteps:\n" + step + ", inputs: {x: '${other}'}}\n",
			`a.yml:3:39: error[template-variable]: undefined variable "text" in the prompt "sum" (sum.md:2); set it at the step with ` + "`inputs: {text: …}`, or as an input of the workflow"},
		"has a default there": {"---\ninputs: [text]\n---\nSum up {{text ?? 'it'}}.", "steps:\n" + step + "}\n", ""},
		"a part of a text": {"---\ninputs: [text]\n---\nSum up {{text.title}}.", "steps:\n" + step + ", inputs: {text: plain}}\n",
			`a.yml:2:39: error[template-variable]: prompt "sum" cannot use the value of "text" in sum.md:4; pass a single reference, such as ${draft}, or change the prompt`},
	} {
		dir := write(t, map[string]string{".hocket/prompts/sum.md": c.prompt, "a.yml": c.flow})
		found := load(t, open(t, dir), "a.yml").Check(nil)
		var errs []string
		for _, d := range found {
			if d.Severity == workflow.Error {
				errs = append(errs, strings.TrimPrefix(d.String(), dir+"/"))
			}
		}
		if got := strings.Join(errs, "\n"); got != c.want {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

func TestWrongKeysOfPrompts(t *testing.T) {
	dir := write(t, map[string]string{
		".hocket/prompts/sum.md":  "---\ninput: [text]\ninputs: a\nvariables: b\noutput: {var: x, mode: jsn}\n---\nSum up.\n",
		".hocket/prompts/dash.md": "---\nNo keys, a line.\n",
		"a.yml":                   "steps:\n  - {id: a, agent: shell, template: sum, config: {command: [cat]}}\n  - {id: b, agent: shell, template: sum, config: {command: [cat]}}\n  - {id: c, agent: shell, template: dash, config: {command: [cat]}}\n",
	})
	l := load(t, open(t, dir), "a.yml")
	var got []string
	for _, d := range l.Check(nil) {
		_, name, _ := strings.Cut(d.String(), "/prompts/")
		got = append(got, name)
	}
	want := []string{
		`sum.md:2:1: error[yaml-unknown-key]: unknown key "input"; use "inputs" instead`,
		"sum.md:4:1: error[template-keys]: both inputs and variables are set; keep one of them: they mean the same",
		"sum.md:5:9: error[template-keys]: the front matter of a prompt cannot set a variable for its output; set the variable at the step instead",
		`sum.md:5:24: error[yaml-word]: "mode" cannot be "jsn"; did you mean "json"?`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("found\n%s", strings.Join(got, "\n"))
	}
	task := l.Bundle.Root.Body.Node("c").Step.(*workflow.Task)
	if task.Prompt.Text != "---\nNo keys, a line." {
		t.Errorf("the prompt is %q", task.Prompt.Text)
	}
}
