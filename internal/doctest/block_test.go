package doctest

import (
	"bytes"
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/browser"
	"github.com/hocket-dev/hocket/agent/cli"
	"github.com/hocket-dev/hocket/agent/file"
	"github.com/hocket-dev/hocket/agent/http"
	"github.com/hocket-dev/hocket/agent/llm"
	"github.com/hocket-dev/hocket/agent/scripted"
	"github.com/hocket-dev/hocket/agent/shell"
	"github.com/hocket-dev/hocket/agent/tool"
	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/schema"
	"github.com/hocket-dev/hocket/trial"
	"github.com/hocket-dev/hocket/workflow"
)

func TestBlocks(t *testing.T) {
	for _, page := range pages(t) {
		t.Run(page, func(t *testing.T) {
			dir, state := t.TempDir(), t.TempDir()
			if page == "README.md" {
				dir = root // it refers to existing files
			}
			all, runs := blocks(t, page), map[string]string{}
			for _, b := range all {
				b.save(t, dir)
			}
			for _, b := range all {
				b.test(t, dir, state, runs)
			}
		})
	}
}

// save writes the block to its file.
func (b *block) save(t *testing.T, dir string) {
	t.Helper()
	if b.file() == "" {
		return
	}
	name := filepath.Join(dir, filepath.FromSlash(b.file()))
	if dir == root {
		b.same(t, name)
		return
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(b.text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// same compares a block with the file that it shows, without the comments at the
// beginning of the file.
func (b *block) same(t *testing.T, name string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(b.text, "\n")
	if text := string(data); !strings.HasSuffix(text, shown) {
		t.Errorf("%s:%d: the block is not what %s says", b.page, b.line, name)
	}
}

func (b *block) test(t *testing.T, dir, state string, runs map[string]string) {
	kind := b.kind()
	if kind == "xml" && strings.HasPrefix(b.text, "<agent_request") {
		kind = "handoff"
	}
	switch kind {
	case "text":
	case "yaml", "xml", "mermaid", "markdown", "plantuml":
		b.noErrors(t, dir, b.text)
	case "plantuml steps":
		b.noErrors(t, dir, "@startuml\n"+b.text+"@enduml\n")
	case "yaml steps":
		b.noErrors(t, dir, "name: steps\nsteps:\n"+indent(b.text))
	case "xml steps":
		b.noErrors(t, dir, "<workflow name=\"steps\">\n"+indent(b.text)+"</workflow>\n")
	case "yaml wrong", "xml wrong", "mermaid wrong", "markdown wrong", "plantuml wrong":
		b.wrong(t, dir)
	case "yaml agent":
		_, found := agent.ReadDefinition("agent.yml", []byte(b.text))
		b.report(t, found)
	case "yaml replies":
		_, found := scripted.Parse("replies.yml", []byte(b.text))
		b.report(t, found)
	case "yaml test":
		_, found := trial.Read(dir, filepath.Join(dir, filepath.FromSlash(b.file())), []byte(b.text))
		b.report(t, found)
	case "yaml cli":
		_, found := cli.ReadManifest(b.file(), []byte(b.text))
		b.report(t, found)
	case "yaml tool":
		_, found := tool.Read(b.file(), []byte(b.text))
		b.report(t, found)
	case "yaml config":
		b.config(t)
	case "yaml trigger":
		b.trigger(t, dir)
	case "handoff":
		h, err := protocol.Read(b.file(), []byte(b.text), protocol.Options{Lenient: true})
		if err != nil {
			t.Fatal(err)
		}
		b.report(t, h.Found)
	case "response":
		if r := protocol.ReadResponse(b.text); len(r.Found) > 0 {
			t.Errorf("%s:%d:\n%s", b.page, b.line, r.Found)
		}
	case "json handoff-state", "json handoff-result":
		b.valid(t, b.info[1])
	case "sh":
		b.shell(t, dir, state, runs)
	case "json":
		b.json(t, b.text)
	case "jsonl":
		for line := range strings.Lines(b.text) {
			b.json(t, line)
		}
	case "go":
		b.golang(t)
	default:
		t.Errorf("%s:%d: nobody knows how to test a block %q", b.page, b.line, strings.Join(b.info, " "))
	}
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("  " + line)
	}
	return b.String()
}

// endings maps languages to file name extensions.
var endings = map[string]string{"yaml": ".yml", "xml": ".xml", "mermaid": ".mmd", "markdown": ".md", "plantuml": ".puml"}

// check parses and checks a workflow of the page. Agents that the page does not define
// count as answered by a reply.
func (b *block) check(t *testing.T, dir, text string) workflow.Diagnostics {
	t.Helper()
	name := filepath.Join(dir, "block"+endings[b.info[0]])
	if b.file() != "" {
		name = filepath.Join(dir, filepath.FromSlash(b.file()))
	} else if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	model := llm.New(llm.Options{Providers: map[string]llm.Provider{"any": {API: llm.Compatible}}, DefaultModel: "any/model"})
	executors := map[string]agent.Executor{
		"shell": llm.Toolset(shell.New(shell.Options{}), model), "file": llm.Toolset(file.New(), model),
		"http": llm.Toolset(http.New(http.Options{}), model), "browser": llm.Toolset(browser.New(browser.Options{}), model),
	}
	p, err := project.Open(dir, project.Options{Executors: func(string, project.Config) (map[string]agent.Executor, workflow.Diagnostics, error) {
		return executors, nil, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if name, err = filepath.Abs(name); err != nil {
		t.Fatal(err)
	}
	l, err := p.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return l.Check(func(n *workflow.Node) bool {
		_, _, err := l.Agents().Resolve(n.Task().Agent)
		return err != nil
	})
}

func (b *block) noErrors(t *testing.T, dir, text string) {
	t.Helper()
	// A page may call a workflow that it does not show.
	found := slices.DeleteFunc(b.check(t, dir, text), func(d workflow.Diagnostic) bool { return d.Code == "workflow-unknown" })
	b.report(t, found)
}

func (b *block) report(t *testing.T, found workflow.Diagnostics) {
	t.Helper()
	if found.Errors() {
		t.Errorf("%s:%d:\n%s", b.page, b.line, found)
	}
}

// wrong expects an error with the code that the fence names, and no other.
func (b *block) wrong(t *testing.T, dir string) {
	t.Helper()
	code := b.info[2]
	found := b.check(t, dir, b.text)
	errors := slices.DeleteFunc(slices.Clone(found), func(d workflow.Diagnostic) bool { return d.Severity != workflow.Error })
	if len(errors) != 1 || errors[0].Code != code {
		t.Errorf("%s:%d: want the mistake %s, got:\n%s", b.page, b.line, code, found)
	}
	if _, err := os.Stat(filepath.Join(root, "docs", "rules", code+".md")); err != nil {
		t.Errorf("%s:%d: %s has no page", b.page, b.line, code)
	}
}

func (b *block) config(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".hocket"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".hocket", "config.yml"), []byte(b.text), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := project.Open(dir, project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b.report(t, p.Diagnostics())
}

// trigger checks a trigger with the workflows of its page.
func (b *block) trigger(t *testing.T, dir string) {
	t.Helper()
	p, err := project.Open(dir, project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, trigger := range p.Triggers() {
		if filepath.Base(trigger.File) == filepath.Base(b.file()) {
			b.report(t, p.CheckTrigger(trigger))
			return
		}
	}
	t.Errorf("%s:%d: the project has no trigger %q", b.page, b.line, b.file())
}

func (b *block) json(t *testing.T, text string) {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Errorf("%s:%d: %v", b.page, b.line, err)
	}
}

// valid compares a block with a published schema.
func (b *block) valid(t *testing.T, name string) {
	t.Helper()
	text, err := schema.JSON(name)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddResource(name, document); err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(b.text))
	if err == nil {
		err = c.MustCompile(name).Validate(value)
	}
	if err != nil {
		t.Errorf("%s:%d: %v", b.page, b.line, err)
	}
}

// golang parses a block as a file, as declarations, or as statements.
func (b *block) golang(t *testing.T) {
	t.Helper()
	var first error
	for _, text := range []string{b.text, "package p\n" + b.text, "package p\nfunc _() {\n" + b.text + "\n}"} {
		_, err := parser.ParseFile(token.NewFileSet(), b.page, text, 0)
		if err == nil {
			return
		}
		if first == nil {
			first = err
		}
	}
	t.Errorf("%s:%d: %v", b.page, b.line, first)
}
