package agent_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// plain is an executor without any traits.
var plain = agent.New(agent.Traits{}, nil)

func definition(id, name, role, does string, capabilities ...string) *agent.Definition {
	return &agent.Definition{ID: id, Name: name, Role: role, Agent: does, Capabilities: capabilities,
		Pos: workflow.Pos{File: ".hocket/agents/" + id + ".yml", Line: 1, Column: 1}}
}

func set(fallback string) *agent.Set {
	return agent.NewSet(map[string]agent.Executor{"shell": plain, "http": plain}, []*agent.Definition{
		definition("linter", "go-linter", "reviewer", "shell", "lint", "fast"),
		definition("tester", "tester", "tester", "shell", "fast", "http"),
		definition("copy", "tester", "", "http"),
		definition("one", "first", "twice", "shell"),
		definition("two", "second", "twice", "shell"),
		definition("scanner", "security-scanner", "", "codex"),
		definition("talker", "talker", "", ""),
		definition("typo", "typo", "", "shel"),
	}, fallback)
}

func TestResolve(t *testing.T) {
	for _, c := range []struct{ ask, want string }{
		{"go-linter", "go-linter shell"},
		{"linter", "go-linter shell"},
		{"reviewer", "go-linter shell"},
		{"shell", "shell shell"},
		{"SHELL", "shell shell"},
		{"http", "http http"}, // the built-in agent takes precedence over the capability
		{"lint", "go-linter shell"},
		{"copy", "tester http"},
		{"Linter", "agent: unknown agent \"Linter\"; did you mean \"go-linter\"?"},
		{"nobody", "agent: unknown agent \"nobody\"; available: first, go-linter, second, security-scanner, talker, tester, typo, http, shell"},
		{"", "agent: no agent is named, and the project has no default agent; no executor on this machine works from a prompt; run `hocket doctor` to see what to install or set"},
		{"tester", "agent: agent \"tester\" is ambiguous: 2 agents match; name one of them: tester (.hocket/agents/tester.yml), tester (.hocket/agents/copy.yml)"},
		{"twice", "agent: agent \"twice\" is ambiguous: 2 agents match; name one of them: first (.hocket/agents/one.yml), second (.hocket/agents/two.yml)"},
		{"fast", "agent: agent \"fast\" is ambiguous: 2 agents match; name one of them: go-linter (.hocket/agents/linter.yml), tester (.hocket/agents/tester.yml)"},
		{"scanner", "agent: cannot run agent \"security-scanner\"; there is no executor \"codex\"; set agent in .hocket/agents/scanner.yml to http or shell"},
		{"talker", "agent: cannot run agent \"talker\"; it does not name an executor; set agent in .hocket/agents/talker.yml to http or shell"},
		{"typo", "agent: cannot run agent \"typo\"; did you mean agent: shell? Otherwise set agent in .hocket/agents/typo.yml to http or shell"},
	} {
		got := ""
		if d, exec, err := set("").Resolve(c.ask); err != nil {
			var typed *agent.ResolveError
			if !errors.As(err, &typed) {
				t.Errorf("%q: the error %T is not typed", c.ask, err)
			}
			got = err.Error()
		} else {
			got = d.Name + " " + d.Agent
			if exec == nil {
				t.Errorf("%q: no executor and no error", c.ask)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q: %s", c.ask, diff)
		}
	}
}

func TestResolveDefault(t *testing.T) {
	if d, _, err := set("reviewer").Resolve(""); err != nil || d.Name != "go-linter" {
		t.Errorf("got %v, %v", d, err)
	}
}

func TestResolveNoExecutorKeepsTheDefinition(t *testing.T) {
	if d, _, err := set("").Resolve("scanner"); err == nil || d == nil || d.Name != "security-scanner" {
		t.Errorf("got %v, %v", d, err)
	}
}

// The advice for a missing executor includes a way that does not need it.
func TestAdvice(t *testing.T) {
	none := &agent.ResolveError{Why: agent.NoExecutor, Definition: &agent.Definition{Name: "x", Agent: "codexx"}, Executors: []string{"claude", "codex"}}
	only := &agent.ResolveError{Why: agent.NoExecutor, Definition: &agent.Definition{Name: "x", Agent: "absent"}, Executors: []string{"shell"}}
	unknown := &agent.ResolveError{Why: agent.Unknown, Name: "absent", Candidates: []string{"a", "b"}}
	for want, e := range map[string]*agent.ResolveError{
		"did you mean agent: codex? Otherwise set agent in its definition to claude or codex; or give the step a reply with --replies": none,
		`there is no executor "absent"; set agent in its definition to shell; or give the step a reply with --replies`:                 only,
		"available: a, b": unknown,
	} {
		if got := e.StepAdvice(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestResolveLane(t *testing.T) {
	for _, c := range []struct{ lane, role, want string }{
		{"Quality", "reviewer", "go-linter"},
		{"go-linter", "twice", "go-linter"},
		{"Quality", "twice", "ambiguous"},
		{"Quality", "nobody", "unknown"},
		{"twice", "reviewer", "ambiguous"},
		{"", "reviewer", "unknown"},
	} {
		d, _, err := set("").ResolveLane(c.lane, c.role)
		var typed *agent.ResolveError
		got := ""
		if errors.As(err, &typed) {
			got = string(typed.Why)
		} else {
			got = d.Name
		}
		if got != c.want {
			t.Errorf("%q with role %q: got %s, want %s", c.lane, c.role, got, c.want)
		}
	}
	_, _, err := set("").ResolveLane("Quality", "nobody")
	var typed *agent.ResolveError
	if !errors.As(err, &typed) || typed.Name != "Quality" {
		t.Errorf("the error is about %q, not about what was written", typed.Name)
	}
}

func TestBuiltinAgents(t *testing.T) {
	d, _, err := set("").Resolve("shell")
	if err != nil || !d.Builtin || d.Agent != "shell" {
		t.Errorf("got %+v, %v", d, err)
	}
	if got := set("").Names(); got[len(got)-1] != "shell" {
		t.Errorf("built-in agents come last: %v", got)
	}
}
