package project_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/workflow"
)

// write creates a directory with the given files.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// reservedName is the name of an executor that project files cannot redefine.
const reservedName = "translate"

// open opens a project that has an executor called shell, and some that work from a
// prompt.
func open(t *testing.T, dir string, talkers ...string) *project.Project {
	t.Helper()
	executors := map[string]agent.Executor{"shell": command}
	for _, name := range talkers {
		executors[name] = talker
	}
	reserved := slices.DeleteFunc(slices.Clone(talkers), func(name string) bool { return name != reservedName })
	p, err := project.Open(dir, project.Options{StateHome: "/state", Executors: fixed(executors), Reserved: reserved})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fixed returns Options.Executors for executors that do not depend on the project.
func fixed(executors map[string]agent.Executor) func(string, project.Config) (map[string]agent.Executor, workflow.Diagnostics, error) {
	return func(string, project.Config) (map[string]agent.Executor, workflow.Diagnostics, error) {
		return executors, nil, nil
	}
}

func load(t *testing.T, p *project.Project, name string) *project.Loaded {
	t.Helper()
	l, err := p.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// command is an executor that takes a command and never runs.
var command = agent.New(agent.Traits{Settings: agent.NewSchema(map[string]any{
	"type": "object", "additionalProperties": false, "required": []any{"command"},
	"properties": map[string]any{"command": map[string]any{}, "args": map[string]any{}, "script": map[string]any{}},
})}, nil)

const oneStep = "steps: [{agent: shell, config: {command: [ls]}}]\n"

func codes(ds workflow.Diagnostics) []string {
	var list []string
	for _, d := range ds {
		list = append(list, d.Code)
	}
	return list
}

func TestRootIsFoundUpward(t *testing.T) {
	for _, home := range []string{".hocket", ".glee"} {
		dir := write(t, map[string]string{home + "/config.yml": "agent: shell\n", "a/b/c.txt": ""})
		p := open(t, filepath.Join(dir, "a", "b"))
		if p.Root != dir || p.Config.Agent != "shell" {
			t.Errorf("%s: root %s, default agent %q; want %s, shell", home, p.Root, p.Config.Agent, dir)
		}
	}
}

func TestDirectoryWithoutProjectIsItsOwnRoot(t *testing.T) {
	dir := write(t, map[string]string{"a.yml": oneStep})
	p := open(t, dir)
	if p.Root != dir {
		t.Errorf("root %s, want %s", p.Root, dir)
	}
	if ds := load(t, p, "a.yml").Check(nil); len(ds) > 0 {
		t.Errorf("found %v", ds)
	}
}

func TestOpenRefusesWhatIsNoDirectory(t *testing.T) {
	dir := write(t, map[string]string{"file": ""})
	for _, name := range []string{"file", "nothing"} {
		if _, err := project.Open(filepath.Join(dir, name), project.Options{}); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
}

func TestConfig(t *testing.T) {
	dir := write(t, map[string]string{
		".hocket/config.yml": `
agent: shell
workflows:
  max_depth: 3
  budgets: {max_steps: 7, max_runtime_mins: 1.5, max_cost_usd: 2.5, max_tokens: 1000}
  ai_generated_budgets: {max_parallel: 1}
model: local/qwen3
providers:
  anthropic: {key: {file: /run/secrets/anthropic}}
  local: {api: openai-compatible, base_url: "http://127.0.0.1:11434/v1"}
prices: {qwen3: {input: 0.5, output: 2}}
secrets: {TICKETS: {env: TICKETS_TOKEN}}
mcp:
  tickets: {command: [tickets-mcp, --stdio], env: {TOKEN: {secret: TICKETS}, LEVEL: 3}}
  search: {url: "http://127.0.0.1:9000/mcp", headers: {Authorization: {secret: TICKETS, prefix: "Bearer "}}, start_timeout: 2m, call_timeout: 1h}
  wiki: {url: "https://wiki.example/mcp", login: {client_id: hocket, client_secret: {secret: TICKETS}, scopes: [read, write], port: 8123}}
parallel: {all: 8, anthropic: 2}
context: {max_kb: 64, memories: 0}
browser: {program: /usr/bin/chromium, private_network: true}
handoff: {directory: work/./sessions, parallel: 2, deliverables: session, write_limits: told, required: true, tmux: true, test: make test}
tools: {sandbox: required}
`,
		".glee/config.yml": "agent: other\n",
	})
	p := open(t, dir)
	want := project.Config{
		Agent: "shell",
		Model: "local/qwen3",
		Providers: map[string]project.Provider{
			"anthropic": {API: "anthropic", Key: project.Place{File: "/run/secrets/anthropic"}},
			"local":     {API: "openai-compatible", BaseURL: "http://127.0.0.1:11434/v1"},
		},
		Prices:  map[string]agent.Price{"qwen3": {Input: 0.5, Output: 2}},
		Secrets: map[string]project.Place{"TICKETS": {Env: "TICKETS_TOKEN"}},
		Servers: []project.Server{
			{Name: "tickets", Command: []string{"tickets-mcp", "--stdio"}, Env: map[string]project.Value{"TOKEN": {Secret: "TICKETS"}, "LEVEL": {Text: "3"}}},
			{Name: "search", URL: "http://127.0.0.1:9000/mcp", Headers: map[string]project.Value{"Authorization": {Secret: "TICKETS", Prefix: "Bearer "}}, Start: 2 * time.Minute, Call: time.Hour},
			{Name: "wiki", URL: "https://wiki.example/mcp", Login: project.Login{ClientID: "hocket", ClientSecret: "TICKETS", Scopes: []string{"read", "write"}, Port: 8123}},
		},
		Parallel:  map[string]int{"all": 8, "anthropic": 2},
		Context:   project.Context{MaxBytes: 64 << 10},
		Browser:   project.Browser{Program: "/usr/bin/chromium", PrivateNetwork: true},
		Handoff:   project.Handoff{Dir: "work/sessions", Parallel: 2, SessionOnly: true, Advisory: true, Required: true, Tmux: true, Test: "make test"},
		Sandbox:   "required",
		Limits:    workflow.Limits{Steps: 7, Parallel: 10, Depth: 3, Runtime: 90 * time.Second, CostUSD: 2.5, Tokens: 1000},
		Generated: workflow.Limits{Steps: 10, Parallel: 1, Depth: 1, Runtime: 5 * time.Minute},

		MaxNesting: 3,
	}
	if diff := cmp.Diff(want, p.Config); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}

func TestConfigNamesWhatCannotBe(t *testing.T) {
	dir := write(t, map[string]string{".hocket/config.yml": `providers:
  mine: {base_url: "http://127.0.0.1:1/v1"}
  local: {api: openai-compatible}
  openai: {key: sk-123}
secrets:
  A: {env: X, file: y}
mcp:
  empty: {}
  both: {command: [x], url: y}
  lost: {url: x, headers: {H: {secret: NOWHERE}}}
  program: {command: [x], login: {port: 99}}
  twice: {url: x, headers: {authorization: k}, login: {scopes: read}}
  plain: {url: x, login: {client_id: a, client_secret: abc}}
  nobody: {url: x, login: {client_secret: {secret: A}}}
  high: {url: x, login: {port: 70000}}
`})
	ds := open(t, dir).Diagnostics()
	lines := []int{}
	for _, d := range ds {
		if d.Code != "config-invalid" || d.Detail == "" {
			t.Errorf("found %v", d)
		}
		lines = append(lines, d.Line)
	}
	if want := []int{2, 3, 4, 6, 8, 9, 10, 11, 12, 13, 14, 15}; !slices.Equal(lines, want) {
		t.Errorf("mistakes in lines %v, want %v:\n%v", lines, want, ds)
	}
}

func TestConfigIsStrict(t *testing.T) {
	dir := write(t, map[string]string{".hocket/config.yml": "agnet: shell\nworkflows: {budgets: {max_steps: 0, max_step: 3}}\n"})
	ds := open(t, dir).Diagnostics()
	if want := []string{"yaml-unknown-key", "yaml-number", "yaml-unknown-key"}; !slices.Equal(codes(ds), want) {
		t.Fatalf("found %v, want %v", ds, want)
	}
	if !strings.Contains(ds[0].Detail, `"agent"`) || ds[0].Line != 1 {
		t.Errorf("the first is %v", ds[0])
	}
}

func TestRetentionIsPossible(t *testing.T) {
	for _, wrong := range []string{"max_days: 0", "max_days: -1", "max_days: 1e9", "max_runs: 0", "max_mb: 0", "max_mb: 8796093022208"} {
		p := open(t, write(t, map[string]string{".hocket/config.yml": "retention: {" + wrong + "}\n"}))
		if ds := p.Diagnostics(); len(ds) != 1 || ds[0].Detail == "" || p.Config.Retention != (project.Retention{}) {
			t.Errorf("%s: %v, %+v", wrong, ds, p.Config.Retention)
		}
	}
}

func TestHandoffIsPossible(t *testing.T) {
	for _, wrong := range []string{"directory: ../x", "directory: /x", "directory: .", "parallel: 0", "deliverables: all", "write_limits: none"} {
		p := open(t, write(t, map[string]string{".hocket/config.yml": "handoff: {" + wrong + "}\n"}))
		if ds := p.Diagnostics(); len(ds) != 1 || ds[0].Detail == "" || p.Config.Handoff != (project.Handoff{Dir: "docs/.scratch/sessions", Parallel: 4}) {
			t.Errorf("%s: %v, %+v", wrong, ds, p.Config.Handoff)
		}
	}
}

func TestLimitsOfWorkflowWin(t *testing.T) {
	dir := write(t, map[string]string{
		".hocket/config.yml": "workflows: {budgets: {max_steps: 7, max_parallel: 2}}\n",
		"a.yml":              "limits: {max_steps: 3}\n" + oneStep,
	})
	got := load(t, open(t, dir), "a.yml").Limits
	if got.Steps != 3 || got.Parallel != 2 || got.Depth != 5 {
		t.Errorf("limits %+v", got)
	}
}

func TestAgentsOfBothDirectories(t *testing.T) {
	dir := write(t, map[string]string{
		".hocket/agents/anna.yml": "agent: shell\nsettings: {command: [ls]}\n",
		".glee/agents/anna.yml":   "agent: nothing\n",
		".glee/agents/bert.yml":   "agent: shell\nsettings: {command: [ls]}\n",
		".glee/agents/notes.txt":  "",
		".glee/agents/wrong.yaml": "agnet: shell\n",
		"a.yml":                   "steps: [{agent: anna}, {agent: bert}]\n",
	})
	p := open(t, dir)
	if got := p.Agents.Names(); !slices.Equal(got, []string{"anna", "bert", "wrong", "shell"}) {
		t.Errorf("agents %v", got)
	}
	if got := codes(load(t, p, "a.yml").Check(nil)); !slices.Equal(got, []string{"yaml-unknown-key"}) {
		t.Errorf("found %v, want only the unknown key", got)
	}
}

func TestWorkflowsByName(t *testing.T) {
	dir := write(t, map[string]string{
		".hocket/workflows/one.yml":  oneStep,
		".glee/workflows/two.yaml":   "steps: [{workflow: one}]\n",
		".glee/workflows/one.yml":    oneStep, // same content, same workflow
		".glee/workflows/.hidden":    "",
		".glee/workflows/sub/x.yml":  oneStep,
		".glee/workflows/notes.text": "",
	})
	p := open(t, dir)
	if got := p.Names(); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("names %v", got)
	}
	l := load(t, p, "two")
	if ds := l.Check(nil); len(ds) > 0 {
		t.Errorf("found %v", ds)
	}
	if l.Bundle.Root.Name != "two" || l.Bundle.Called["one"] == nil {
		t.Errorf("bundle %+v", l.Bundle)
	}
}

func TestCalledWorkflowsBesideTheFile(t *testing.T) {
	dir := write(t, map[string]string{
		".hocket/config.yml":   "",
		"examples/a.yml":       "steps: [{workflow: b}, {workflow: sub/c}]\n",
		"examples/b.yml":       "steps: [{workflow: sub/c.yml}]\n",
		"examples/sub/c.yml":   "steps: [{workflow: d}]\n",
		"examples/sub/d.yml":   oneStep,
		"examples/d.yml.orig":  "no: workflow",
		".hocket/workflows/x":  "",
		".hocket/workflows/.y": "",
	})
	l := load(t, open(t, dir), filepath.Join("examples", "a.yml"))
	if ds := l.Check(nil); len(ds) > 0 {
		t.Errorf("found %v", ds)
	}
	names := slices.Sorted(maps.Keys(l.Bundle.Called))
	if !slices.Equal(names, []string{"b", "d", "sub/c", "sub/c.yml"}) {
		t.Errorf("called %v", names)
	}
	if l.Bundle.Called["sub/c"] != l.Bundle.Called["sub/c.yml"] {
		t.Error("two names of one file are two workflows")
	}
}

func TestUnknownAndAmbiguousNames(t *testing.T) {
	dir := write(t, map[string]string{
		".hocket/workflows/clean.yml": oneStep,
		".glee/workflows/clean.yml":   "description: another\n" + oneStep,
		"calls.yml":                   "steps: [{workflow: clean}, {workflow: claen}]\n",
		"broken.yml":                  "steps: [\n",
		"calls-broken.yml":            "steps: [{workflow: broken}]\n",
	})
	p := open(t, dir)
	for _, tc := range []struct {
		name string
		want []string
	}{
		{"clean", []string{"workflow-ambiguous"}},
		{"calls.yml", []string{"workflow-ambiguous", "workflow-unknown"}},
		{"calls-broken.yml", []string{"yaml-syntax"}},
		{"broken.yml", []string{"yaml-syntax"}},
	} {
		l := load(t, p, tc.name)
		if got := l.Check(nil); !slices.Equal(codes(got), tc.want) {
			t.Errorf("%s: found %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestLoadOfNothing(t *testing.T) {
	p := open(t, write(t, map[string]string{".hocket/workflows/clean.yml": oneStep}))
	for _, name := range []string{"claen", "claen.yml", "no/clean.yml"} {
		_, err := p.Load(name)
		var unknown *project.UnknownError
		if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &unknown) || unknown.Hint() == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Files next to a workflow elsewhere belong only to that workflow: they affect neither
// the project nor workflows loaded later.
func TestLoadChangesNothing(t *testing.T) {
	dir := write(t, map[string]string{
		".hocket/workflows/clean.yml":      oneStep,
		"other/w.yml":                      "name: w\nsteps: [{id: a, agent: guest}, {id: b, workflow: called}]\n",
		"other/called.yml":                 oneStep,
		"other/.hocket/agents/guest.yml":   "agent: shell\nsettings: {command: [echo]}\n",
		"other/.hocket/agents/invalid.yml": "agnet: shell\n",
	})
	p := open(t, dir)
	guest := load(t, p, "other/w.yml")
	if found := guest.Check(nil); !found.Errors() {
		t.Error("the mistake beside the workflow is not found")
	}
	if _, _, err := guest.Agents().Resolve("guest"); err != nil {
		t.Error(err)
	}
	if n := len(guest.Sources()); n != 4 {
		t.Errorf("%d texts: %v", n, slices.Sorted(maps.Keys(guest.Sources())))
	}
	clean := load(t, p, "clean")
	for _, set := range []*agent.Set{p.Agents, clean.Agents()} {
		if d, _, _ := set.Resolve("guest"); d != nil {
			t.Errorf("%s is known elsewhere", d.Name)
		}
	}
	if found := slices.Concat(p.Diagnostics(), clean.Check(nil)); len(found) > 0 {
		t.Errorf("found elsewhere: %v", found)
	}
	if len(p.Sources) > 0 || len(clean.Sources()) != 1 {
		t.Errorf("texts: %d of the project, %v", len(p.Sources), slices.Sorted(maps.Keys(clean.Sources())))
	}
}

func TestSameNameFromTwoPlacesIsAmbiguous(t *testing.T) {
	dir := write(t, map[string]string{
		"a.yml":     "steps: [{workflow: sub/b}, {workflow: c}]\n",
		"c.yml":     oneStep,
		"sub/b.yml": "steps: [{workflow: c}]\n",
		"sub/c.yml": "description: another\n" + oneStep,
	})
	got := load(t, open(t, dir), "a.yml").Check(nil)
	if !slices.Contains(codes(got), "workflow-ambiguous") {
		t.Errorf("found %v", got)
	}
}

func TestCallOfTheRootIsACycle(t *testing.T) {
	dir := write(t, map[string]string{
		"a.yml": "steps: [{workflow: b}]\n",
		"b.yml": "steps: [{workflow: a}]\n",
	})
	got := load(t, open(t, dir), "a.yml").Check(nil)
	if len(got) != 1 || got[0].Summary != "Workflow cycle detected: a → b → a" {
		t.Errorf("found %v", got)
	}
}

func TestStateDirectory(t *testing.T) {
	one, two := write(t, nil), write(t, nil)
	a, b := open(t, one).State, open(t, two).State
	if a == b || filepath.Dir(a) != filepath.Join("/state", "hocket") {
		t.Errorf("state of two projects: %s, %s", a, b)
	}
	p, err := project.Open(one, project.Options{State: "here"})
	if err != nil || p.State != "here" {
		t.Errorf("state %s, %v; want here", p.State, err)
	}
}

func TestWhatFollowsFromAReadersErrorIsNotReported(t *testing.T) {
	dir := write(t, map[string]string{"a.yml": `
steps:
  - id: first
    agnet: shell
    prompt: Look.
  - agent: shell
    config: {comand: [ls]}
  - id: third
    agent: nobody
    promt: Look.
`})
	got := load(t, open(t, dir), "a.yml").Check(nil)
	if slices.Contains(codes(got), "agent-missing") {
		t.Errorf("found %v; that agnet is no agent was said already", got)
	}
	for _, code := range []string{"yaml-unknown-key", "settings-invalid", "agent-unknown"} {
		if !slices.Contains(codes(got), code) {
			t.Errorf("found %v, but not %s", got, code)
		}
	}
}

// A file in another project brings that project's agents with it; on a name clash the
// current project's agents win.
func TestAgentsBesideTheFile(t *testing.T) {
	p := open(t, write(t, map[string]string{
		".hocket/agents/a.yml":          "name: a\nagent: shell\ndescription: ours",
		"examples/.hocket/agents/a.yml": "name: a\nagent: shell\ndescription: theirs",
		"examples/.hocket/agents/b.yml": "name: b\nagent: shell",
		"examples/w.yml":                "name: w\nsteps:\n  - {agent: a, config: {command: [ls]}}\n  - {agent: b, config: {command: [ls]}}",
	}))
	l, err := p.Load("examples/w.yml")
	if err != nil {
		t.Fatal(err)
	}
	if found := l.Check(nil); len(found) > 0 {
		t.Errorf("found:\n%s", found)
	}
	if d, _, err := p.Agents.Resolve("a"); err != nil || d.Description != "ours" {
		t.Errorf("a is %+v, %v", d, err)
	}
}

// Suggestions are workflows, but neither a replies file nor the calling workflow.
func TestSuggestionsAreWorkflows(t *testing.T) {
	dir := write(t, map[string]string{
		"order.yml":         "steps:\n  - workflow: orders.yml\n  - workflow: kitchn.yml\n",
		"order-replies.yml": "a: fine\n",
		"kitchen.yml":       "steps:\n  - agent: shell\n",
	})
	var details []string
	for _, d := range load(t, open(t, dir), "order.yml").Check(nil) {
		if d.Code == "workflow-unknown" {
			details = append(details, d.Detail)
		}
	}
	if want := []string{"available: kitchen", `did you mean "kitchen"?`}; !slices.Equal(details, want) {
		t.Errorf("got %q", details)
	}
}

// An error found by a reader hides only its own consequences.
func TestReadersHideOnlyConsequences(t *testing.T) {
	for text, want := range map[string][]string{
		"steps: [{agent: shell, confg: {command: ls}}]\n":                                       {"yaml-unknown-key"},
		"steps: [{agent: shell, config: {cmd: ls}, timeout: soon}]\n":                           {"yaml-duration", "settings-invalid"},
		"steps: [{agent: shell, confg: {command: ls}}, {agent: shell, confg: {command: ls}}]\n": {"yaml-unknown-key", "yaml-unknown-key"},
	} {
		dir := write(t, map[string]string{"a.yml": text})
		got := codes(load(t, open(t, dir), "a.yml").Check(nil))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// A prompt may be in a file of the project. Its references mean what they would mean in
// the workflow.
func TestPromptFiles(t *testing.T) {
	flow := func(path string) string {
		return "```mermaid\nflowchart TD\n    first --> second\n```\n\n### first\n\n---\nagent: shell\noutput: {key: text}\nconfig: {command: [ls]}\n---\n\n### second\n\n---\nagent: shell\nconfig: {command: [ls]}\nprompt: \"{file:" + path + "}\"\n---\n"
	}
	dir := write(t, map[string]string{
		".hocket/config.yml": "", "prompts/p.md": "About {{text}} and {{broken.\n", "sub/good.md": flow("../prompts/q.md"), "prompts/q.md": "About {{text}}.\n\n",
		"broken.md": flow("prompts/p.md"), "missing.md": flow("prompts/none.md"), "outside.md": flow("../../secret.md"), "absolute.md": flow("/etc/hostname"), "link.md": flow("prompts/link.md"),
	})
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "prompts", "link.md")); err != nil {
		t.Skip(err)
	}
	p := open(t, dir)
	l := load(t, p, "sub/good.md")
	task, ok := l.Bundle.Root.Body.Nodes[1].Step.(*workflow.Task)
	if ds := l.Check(nil); len(ds) > 0 || !ok || task.Prompt.Text != "About ${vars.text}." || task.Settings["prompt_file"] != nil {
		t.Errorf("got %+v, %v", task, ds)
	}
	for _, name := range []string{"missing.md", "outside.md", "absolute.md", "link.md"} {
		if got := codes(load(t, p, name).Check(nil)); !slices.Contains(got, "prompt-file") {
			t.Errorf("%s: %v", name, got)
		}
	}
	ds := load(t, p, "broken.md").Check(nil)
	if len(ds) != 1 || ds[0].Code != "ref-syntax" || !strings.HasSuffix(ds[0].File, "p.md") {
		t.Errorf("a mistake in the file of a prompt: %v", ds)
	}
}
