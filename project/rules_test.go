package project_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/cli"
	"github.com/hocket-dev/hocket/agent/scripted"
	"github.com/hocket-dev/hocket/agent/tool"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/syntax/xml"
	"github.com/hocket-dev/hocket/trial"
	"github.com/hocket-dev/hocket/trial/cassette"
	"github.com/hocket-dev/hocket/workflow"
)

// The pages in docs/rules are tested: the wrong example on a page reports the page's
// code, and the fixed example reports no error.
//
// All code blocks under one heading make up one project. The first is the workflow to
// check; each other block begins with a comment that names its file. A sh block is a
// command line whose --input flags are used, or it creates a link.

const pages = "../docs/rules"

// page is one page with its two examples.
type page struct {
	code         string
	text         string
	wrong, fixed []fence
}

type fence struct{ language, text string }

func readPage(t *testing.T, file string) page {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := page{code: strings.TrimSuffix(filepath.Base(file), ".md"), text: string(text)}
	before, after := "\n## Wrong\n", "\n## Fixed\n"
	if strings.HasPrefix(p.text, "# "+p.code+"\n\nA note: ") { // which is not an error
		before, after = "\n## Example\n", "\n## Instead\n"
	}
	_, rest, _ := strings.Cut(p.text, before)
	wrong, fixed, _ := strings.Cut(rest, after)
	p.wrong, p.fixed = fences(wrong), fences(fixed)
	return p
}

// fences returns the code blocks in a text. A block of Markdown has a longer fence than
// the blocks in it.
func fences(text string) []fence {
	var list []fence
	marks := ""
	for line := range strings.Lines(text) {
		rest := strings.TrimLeft(line, "`")
		here := line[:len(line)-len(rest)]
		switch {
		case marks == "" && len(here) >= 3:
			marks = here
			list = append(list, fence{language: strings.TrimSpace(rest)})
		case marks != "" && strings.HasPrefix(here, marks) && strings.TrimSpace(rest) == "":
			marks = ""
		case marks != "":
			list[len(list)-1].text += line
		}
	}
	return list
}

func readPages(t *testing.T) []page {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(pages, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var list []page
	for _, file := range files {
		if filepath.Base(file) != "README.md" {
			list = append(list, readPage(t, file))
		}
	}
	return list
}

func TestRulePages(t *testing.T) {
	for _, p := range readPages(t) {
		t.Run(p.code, func(t *testing.T) {
			if !strings.HasPrefix(p.text, "# "+p.code+"\n\nAn error: ") && !strings.HasPrefix(p.text, "# "+p.code+"\n\nA warning: ") && !strings.HasPrefix(p.text, "# "+p.code+"\n\nA note: ") {
				t.Error("the page does not begin with its code and what it means")
			}
			t.Parallel()
			large, isLarge := tooLarge[p.code]
			if large != nil {
				p.wrong = []fence{{p.fixed[0].language, large()}}
			}
			if len(p.fixed) == 0 || len(p.wrong) == 0 && !isLarge {
				t.Fatal("the page has no two examples")
			}
			if found := try(t, p.code, p.fixed); found.Errors() || slices.Contains(codes(found), p.code) {
				t.Errorf("the fixed example gives %v", found)
			}
			if len(p.wrong) == 0 {
				return
			}
			if found := try(t, p.code, p.wrong); !slices.Contains(codes(found), p.code) {
				t.Errorf("the wrong example gives %v", found)
			}
		})
	}
}

// tooLarge are wrong examples that a page can only describe.
var tooLarge = map[string]func() string{
	"yaml-encoding":     func() string { return "steps:\n  - agent: writer\n    prompt: a\x01b\n" },
	"handoff-encoding":  func() string { return "# The caf\xe9\n" },
	"markdown-encoding": func() string { return "```mermaid\nflowchart TD\n    write[\"caf\xe9\"]\n```\n" },
	"xml-encoding":      func() string { return "<workflow><agent name='writer'><task>a\x01b</task></agent></workflow>" },
	"xml-size":          func() string { return strings.Repeat("<workflow>", 300) },
	"plantuml-encoding": func() string { return "@startuml\n|writer|\n:Write about the caf\xe9;\n@enduml\n" },
	"yaml-size": func() string {
		return "state: {list: " + strings.Repeat("[", 300) + strings.Repeat("]", 300) + "}\n" + oneStep
	},
	"nested-too-deep": func() string {
		return "flowchart TD\n" + strings.Repeat("subgraph\n", 200) + "draft\n" + strings.Repeat("end\n", 200)
	},
	"too-many-edges": nil, // a million edges take seconds and much memory
}

// installed lists the agents that the page of a code assumes to be installed.
var installed = map[string][]string{"agent-chosen": {"claude"}, "agent-reserved": {reservedName},
	"workspaces-meet": works, "merge-nothing": works, "land-nothing": works, "workspace-unused": works}

// works are the agents that merge workspaces and land them.
var works = []string{workflow.MergeAgent, workflow.LandAgent}

// endings are the extensions of files in a language.
var endings = map[string]string{"yaml": ".yml", "markdown": ".md", "mermaid": ".mmd", "xml": ".xml", "plantuml": ".puml", "json nodes": ".json"}

// try checks the project that the blocks form.
func try(t *testing.T, code string, blocks []fence) workflow.Diagnostics {
	t.Helper()
	switch blocks[0].language {
	case "json":
		return tryStored(t, blocks[0].text)
	case "answer": // of a model
		_, found := xml.Recover("answer.txt", []byte(blocks[0].text))
		return found
	case "handoff":
		h, err := protocol.Read("", []byte(blocks[0].text), protocol.Options{Lenient: code == "handoff-repaired"})
		if err != nil {
			t.Fatal(err)
		}
		return h.Found
	case "response":
		return protocol.ReadResponse(blocks[0].text).Found
	}
	files := map[string]string{
		".hocket/agents/writer.yml":   "agent: shell\nsettings: {command: [cat]}\n",
		".hocket/agents/reviewer.yml": "agent: shell\nsettings: {command: [cat]}\n",
	}
	files["workflow.yml"] = "steps: [{agent: writer}]\n"
	root := "workflow.yml"
	var pairs []string
	var links [][]string // target and name
	for i, b := range blocks {
		line, _, _ := strings.Cut(strings.TrimPrefix(b.text, "---\n"), "\n") // or a comment in keys in front
		name, named := strings.CutPrefix(line, "# ")
		named = named && filepath.Ext(name) != ""
		switch {
		case strings.HasPrefix(b.text, "ln -s "):
			links = append(links, strings.Fields(b.text)[2:])
		case b.language == "sh":
			pairs = inputFlags(b.text)
		case !named:
			root = "workflow" + endings[b.language]
			files[root] = b.text
		default:
			files[name] = b.text
			generated := strings.HasPrefix(name, ".hocket/generated/")
			if i == 0 && (generated || !strings.HasPrefix(name, ".")) {
				root = name
			}
			if origin := filepath.Dir(name) + "/origin.yml"; generated && files[origin] == "" {
				files[origin] = string(project.NewGenerated("", project.WorkflowKind, filepath.Base(filepath.Dir(name)), project.Origin{}, nil).All()[project.OriginFile])
			}
		}
	}
	dir := write(t, files)
	for _, link := range links {
		if err := os.Symlink(link[0], filepath.Join(dir, link[1])); err != nil {
			t.Skip("this system has no links")
		}
	}
	l := load(t, open(t, dir, installed[code]...), root)
	found := l.Check(nil)
	if pairs != nil {
		_, wrong := l.Inputs(nil, pairs)
		found = append(found, wrong...)
	}
	if text, ok := files[weatherTool]; ok {
		_, wrong := tool.Read(weatherTool, []byte(text))
		found = append(found, wrong...)
	}
	if text, ok := files[poetCLI]; ok {
		_, wrong := cli.ReadManifest(poetCLI, []byte(text))
		found = append(found, wrong...)
	}
	opened := open(t, dir)
	for _, trigger := range opened.Triggers() {
		found = append(found, opened.CheckTrigger(trigger)...)
	}
	if text, ok := files["replies.yml"]; ok {
		found = append(found, tryReplies(l, text)...)
	}
	for name, text := range files {
		switch file := filepath.Join(dir, filepath.FromSlash(name)); filepath.ToSlash(filepath.Dir(name)) {
		case trial.Dir:
			_, wrong := trial.Read(dir, file, []byte(text))
			found = append(found, wrong...)
		case trial.Dir + "/cassettes":
			_, wrong := cassette.Read(file, []byte(text))
			found = append(found, wrong...)
		}
	}
	return found
}

// The tool and the CLI that pages mention.
const (
	weatherTool = ".hocket/tools/weather/tool.yml"
	poetCLI     = ".hocket/clis/poet.yml"
)

func tryReplies(l *project.Loaded, text string) workflow.Diagnostics {
	replies, found := scripted.Parse("replies.yml", []byte(text))
	for _, key := range replies.Strangers(&l.Bundle) {
		found = append(found, workflow.Warningf(workflow.Pos{File: "replies.yml"}, "reply-unused", "", "%s", key))
	}
	return found
}

func tryStored(t *testing.T, text string) workflow.Diagnostics {
	t.Helper()
	w, err := workflow.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return check.Run(check.Input{Bundle: workflow.Bundle{Root: w}})
}

func inputFlags(command string) []string {
	pairs := []string{}
	words := strings.Fields(command)
	for i, word := range words {
		if word == "--input" && i+1 < len(words) {
			pairs = append(pairs, words[i+1])
		}
	}
	return pairs
}

// allCodes returns the codes of all diagnostics, each with the sentence that its page must begin
// with; "" if only the page says what the code means.
func allCodes() map[string]string {
	all := make(map[string]string)
	for _, c := range syntax.Codes {
		all[c.Name] = ""
	}
	for _, c := range protocol.Codes {
		all[c.Name] = ""
	}
	for _, code := range append(project.Codes, agent.CodeDefinition, agent.CodeReserved, cli.CodeManifest, tool.CodeDefinition, scripted.CodeReplies, "reply-unused", trial.Code, cassette.Code) {
		all[code] = ""
	}
	for _, r := range check.Rules() {
		kind := map[workflow.Severity]string{workflow.Error: "An error: ", workflow.Warning: "A warning: ", workflow.Note: "A note: "}[r.Severity]
		all[r.Code] = kind + r.Summary + "."
	}
	return all
}

func TestEveryCodeHasAPage(t *testing.T) {
	all := allCodes()
	for _, p := range readPages(t) {
		opening, ok := all[p.code]
		if !ok {
			t.Errorf("no diagnostic has the code of the page %s", p.code)
		}
		if !strings.HasPrefix(p.text, "# "+p.code+"\n\n"+opening) {
			t.Errorf("the page %s does not begin with %q", p.code, opening)
		}
		delete(all, p.code)
	}
	for code := range all {
		t.Errorf("the code %s has no page", code)
	}
}

func TestTheListOfRulesIsComplete(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(pages, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range readPages(t) {
		if !strings.Contains(string(text), fmt.Sprintf("[%s](%s.md)", p.code, p.code)) {
			t.Errorf("README.md does not list %s", p.code)
		}
	}
}
