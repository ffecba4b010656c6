package check_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// A fixture is a workflow in testdata. What a check must find in a line is
// in a comment at the end of that line:
//
//	agent: wirter # want: agent-unknown "unknown agent"
//
// Several are joined by commas; a warning has the word before its code. A file calls others of its directory by name;
// a directory below testdata is one fixture, whose root is root.yml.

// wants are the expected diagnostics, by file and line.
type wants map[string][]want

type want struct {
	severity   workflow.Severity
	code, text string
}

var wantPattern = regexp.MustCompile(`(warning |note )?([a-z0-9-]+) ("(?:[^"\\]|\\.)*")`)

func newWant(t *testing.T, m []string) want {
	t.Helper()
	text, err := strconv.Unquote(m[3])
	if err != nil {
		t.Fatalf("%s: %v", m[3], err)
	}
	severity := workflow.Severity(strings.TrimSpace(m[1]))
	return want{cmp.Or(severity, workflow.Error), m[2], text}
}

func readWants(t *testing.T, file string, into wants) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		_, comment, ok := strings.Cut(line, "# want: ")
		if !ok {
			continue
		}
		key := fmt.Sprintf("%s:%d", file, i+1)
		for _, m := range wantPattern.FindAllStringSubmatch(comment, -1) {
			into[key] = append(into[key], newWant(t, m))
		}
		if len(into[key]) == 0 {
			t.Errorf("%s: a want that says nothing: %s", key, comment)
		}
	}
}

// fixtures returns the root files.
func fixtures(t *testing.T) []string {
	t.Helper()
	var roots []string
	for _, pattern := range []string{"testdata/*.yml", "testdata/*/root.yml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		roots = append(roots, files...)
	}
	return roots
}

func TestFixtures(t *testing.T) {
	for _, root := range fixtures(t) {
		t.Run(strings.TrimPrefix(root, "testdata/"), func(t *testing.T) {
			expected := make(wants)
			compare(t, expected, checked(t, root, ".yml", expected))
		})
	}
}

// checked returns all diagnostics for a fixture whose files have an extension.
func checked(t *testing.T, root, ending string, expected wants) workflow.Diagnostics {
	t.Helper()
	b, found := load(t, root, ending, expected)
	in := check.Input{Bundle: b, Agents: cast{}, Replied: scripted, Limits: check.WithDefaults(b.Root.Limits), Names: calledNames(b)}
	if strings.HasPrefix(root, "testdata/generated") { // a model wrote it, except for steps of a person
		may := workflow.Limits{Steps: 10, Parallel: 3, Runtime: 5 * time.Minute}
		in.Limits = check.Override(check.Lower(check.Defaults(), may), b.Root.Limits)
		in.Generated = &check.Generated{Limits: may, Wrote: func(n *workflow.Node) bool { return !strings.HasPrefix(n.ID, "person") }}
	}
	ruled := check.Run(in)
	for _, d := range ruled {
		if !slices.ContainsFunc(check.Rules(), func(r check.Rule) bool { return r.Code == d.Code }) {
			t.Errorf("%s is not the code of a rule", d.Code)
		}
	}
	return append(found, ruled...).Sort()
}

var update = flag.Bool("update", false, "rewrite testdata/messages.txt")

// All diagnostics for the fixtures, with their hints and ranges. In files of other notations, some
// have other words.
func TestMessages(t *testing.T) {
	var b strings.Builder
	for _, root := range fixtures(t) {
		var plain []string
		for _, ending := range []string{".yml", ".md", ".puml"} {
			for i, d := range checked(t, root, ending, make(wants)) {
				file := strings.TrimPrefix(strings.TrimSuffix(d.File, ending), "testdata/")
				d.File = ""
				line := fmt.Sprintf("%s-%d:%d %s", file, d.EndLine, d.EndColumn, d)
				if ending == ".yml" {
					plain = append(plain, line)
				} else if line == plain[i] {
					continue
				}
				fmt.Fprintf(&b, "%s %s\n", ending, line)
			}
		}
	}
	const file = "testdata/messages.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); d != "" {
		t.Errorf("said otherwise; if that is meant, run the test with -update (-want +got):\n%s", d)
	}
}

// load reads a fixture with the workflows that it calls from its own directory.
func load(t *testing.T, root, ending string, expected wants) (workflow.Bundle, workflow.Diagnostics) {
	t.Helper()
	var found workflow.Diagnostics
	read := func(file string) *workflow.Workflow {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil
		}
		readWants(t, file, expected)
		w, ds := yaml.Parse(strings.TrimSuffix(file, ".yml")+ending, text)
		found = append(found, ds...)
		return w
	}
	b := workflow.Bundle{Root: read(root), Called: make(map[string]*workflow.Workflow)}
	if b.Root == nil {
		t.Fatalf("%s: %v", root, found)
	}
	for todo := []*workflow.Workflow{b.Root}; len(todo) > 0; todo = todo[1:] {
		todo[0].Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
			call, ok := n.Step.(*workflow.Call)
			if !ok || b.Called[call.Workflow] != nil {
				return
			}
			if call.Workflow == "root" {
				b.Called["root"] = b.Root
			} else if w := read(filepath.Join(filepath.Dir(root), call.Workflow+".yml")); w != nil {
				b.Called[call.Workflow] = w
				todo = append(todo, w)
			}
		})
	}
	return b, found
}

func calledNames(b workflow.Bundle) []string {
	var names []string
	for name := range b.Called {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// compare fails unless every diagnostic is wanted at its line, and every want is met exactly once.
func compare(t *testing.T, expected wants, found workflow.Diagnostics) {
	t.Helper()
	for _, d := range found {
		key := fmt.Sprintf("%s:%d", d.File, d.Line)
		i := slices.IndexFunc(expected[key], func(w want) bool {
			return w.severity == d.Severity && w.code == d.Code && strings.Contains(d.Summary, w.text)
		})
		if i < 0 {
			t.Errorf("not wanted: %s", d)
			continue
		}
		expected[key] = slices.Delete(expected[key], i, i+1)
		if d.Detail == "" {
			t.Errorf("%s: no detail says what to do", d)
		}
		if d.EndLine < d.Line || d.EndLine == d.Line && d.EndColumn <= d.Column {
			t.Errorf("%s: it points at nothing: %+v", d, d.Pos)
		}
	}
	for key, list := range expected {
		for _, w := range list {
			t.Errorf("%s: not found: %s %s %q", key, w.severity, w.code, w.text)
		}
	}
}

// scripted returns the nodes with a reply: every node called replied.
func scripted(n *workflow.Node) bool { return strings.HasPrefix(n.ID, "replied") }

// cast is the set of agents for the fixtures.
type cast struct{}

func (cast) Agent(name, _ string) check.Agent {
	switch name {
	case "writer", "reviewer":
		widens := func(settings map[string]any) (names []string) {
			if settings["program"] != nil {
				names = append(names, "program")
			}
			return names
		}
		return check.Agent{Executor: "model", Widens: widens, Cost: func(map[string]any) workflow.Budget {
			return workflow.Budget{CostUSD: workflow.AtMost(0.5), Tokens: workflow.AtMost(1000)}
		}}
	case workflow.MergeAgent, workflow.LandAgent:
		return check.Agent{Executor: name}
	case "shell":
		return check.Agent{Executor: "shell", Validate: needsCommand}
	case "tools", "own-tools":
		return check.Agent{Executor: "tools", Settings: map[string]any{"effort": "x"}, Validate: func(map[string]any) []check.Problem {
			return []check.Problem{{Setting: "effort", Summary: "wrong effort"}, {Summary: "no model is named"}}
		}}
	case "greeter":
		return check.Agent{Executor: "shell", Settings: map[string]any{"command": "echo ${HOME} $1", "stdin": "${x}"}}
	case "runner":
		return check.Agent{Executor: "shell", Settings: map[string]any{"command": []any{"sh", "-c"}}}
	case "printer":
		return check.Agent{Executor: "shell", Settings: map[string]any{"command": []any{"sh", "-c", "${HOME}"}, "args": []any{"${HOME}"}}}
	case "tool":
		return check.Agent{Executor: "shell", Settings: map[string]any{"args": []any{"tool.py"}}}
	case "process":
		return check.Agent{Executor: "shell", Settings: map[string]any{"command": `eval "$${x}"`}}
	case "reader":
		return check.Agent{Executor: "shell", Settings: map[string]any{"command": "sh"}}
	case "thrifty":
		return check.Agent{Executor: "model", Cost: func(map[string]any) workflow.Budget { return workflow.Budget{CostUSD: workflow.AtMost(0.5)} }}
	case "counted":
		return check.Agent{Executor: "model", Cost: func(map[string]any) workflow.Budget { return workflow.Budget{Tokens: workflow.AtMost(350)} }, Attempts: 2}
	case "unpriced":
		return check.Agent{Executor: "model", Cost: check.UnknownCost}
	case "editor":
		return check.Agent{Found: check.Ambiguous, Candidates: []string{"anna", "bert"}}
	case "poet":
		return check.Agent{Found: check.NoExecutor, Install: "install a model"}
	}
	return check.Agent{Found: check.Unknown, Candidates: []string{"writer", "reviewer", "shell"}}
}

func needsCommand(settings map[string]any) []check.Problem {
	if _, ok := settings["command"]; !ok {
		return []check.Problem{{Missing: true, Summary: `setting "command" is missing`, Detail: "add it"}}
	}
	return nil
}
