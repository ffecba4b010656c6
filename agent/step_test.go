package agent_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// A step can remove permissions from its agent, but never add any.
func TestForStep(t *testing.T) {
	schema := agent.NewSchema(map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{"max_turns": map[string]any{}, "temperature": map[string]any{}}})
	traits := agent.Traits{Prompted: true, Settings: schema}
	for _, c := range []struct{ permissions, settings, want string }{
		{`{}`, `{"temperature":0.1}`, `{} {"temperature":0.1}`},
		{`{}`, `{"mode":"subagent","maxSteps":10}`, `{} {"max_turns":10}`},
		{`{}`, `{"mode":"primary"}`, `{} {}`},
		{`{}`, `{"mode":"all"}`, `{} {}`},
		{`{}`, `{"maxSteps":10,"max_turns":5}`, `{} {"max_turns":5}`},
		{`{}`, `{"mode":"full"}`, "mode cannot be \"full\""},
		{`{}`, `{"tools":{"read":true,"bash":true}}`, `{} {}`},
		{`{}`, `{"tools":{"write":false,"bash":false}}`, `{"shell":"deny","write":"deny"} {}`},
		{`{}`, `{"tools":{"*":false}}`, `{"network":"deny","read":"deny","shell":"deny","write":"deny"} {}`},
		{`{}`, `{"tools":{"task":false}}`, "tools.task cannot be enforced by a step"},
		{`{}`, `{"tools":{"write":"no"}}`, `tools.write cannot be "no"`},
		{`{}`, `{"tools":["read"]}`, "`tools` of a step must be a map, not [\"read\"]"},
		{`{}`, `{"permission":"deny"}`, `{"network":"deny","read":"deny","shell":"deny","write":"deny"} {}`},
		{`{}`, `{"permission":{"edit":"deny"}}`, `{"write":"deny"} {}`},
		{`{}`, `{"permission":{"edit":"allow","write":"deny"}}`, `{"write":"deny"} {}`},
		{`{}`, `{"permissions":{"write":"deny","network":"deny"}}`, `{"network":"deny","write":"deny"} {}`},
		{`{"mode":"read-only"}`, `{"permission":{"edit":"allow","bash":"allow"}}`, `{"mode":"read-only"} {}`},
		{`{"mode":"read-only"}`, `{"permission":{"edit":"ask"}}`, `{"mode":"read-only"} {}`},
		{`{"shell":"deny"}`, `{"permission":{"bash":"ask"}}`, `{"shell":"deny"} {}`},
		{`{"shell":"allow"}`, `{"permission":{"bash":"ask"}}`, `{"shell":"ask"} {}`},
		{`{"shell":"allow"}`, `{"permission":{"bash":{"rm *":"deny"}}}`, `{"shell":{"*":"allow","rm *":"deny"}} {}`},
		{`{}`, `{"permission":{"bash":{"git log*":"allow","*":"deny"}}}`, "a step cannot have patterns for `shell` unless its agent is allowed all of it"},
		{`{"shell":{"*":"allow","git *":"deny"}}`, `{"permission":{"bash":{"rm *":"deny"}}}`, "a step cannot have patterns for `shell`"},
		{`{"shell":{"*":"allow","git *":"deny"}}`, `{"permission":{"bash":"ask"}}`, `{"shell":{"*":"ask","git *":"deny"}} {}`},
		{`{"mode":"read-only"}`, `{"permission":{"bash":"ask"}}`, `{"mode":"read-only"} {}`},
		{`{"mode":"read-only"}`, `{"permission":"ask"}`, `{"mode":"read-only","network":{"*":"deny","http://*":"ask","https://*":"ask"},"read":"ask"} {}`},
		{`{"mode":"full"}`, `{"permission":"ask"}`, `{"mode":"full","network":"ask","read":"ask","shell":"ask","write":"ask"} {}`},
		{`{"mode":"edit"}`, `{"permission":{"edit":{".git/hooks/*":"allow"}}}`, "a step cannot allow writing to .git, .hocket"},
		{`{"mode":"edit"}`, `{"permission":{"edit":{"*":"deny","docs/*":"allow"}}}`, `{"mode":"edit","write":{"*":"deny","docs/*":"allow"}} {}`},
		{`{"mode":"full"}`, `{"permission":{"edit":{"*":"deny",".git/*":"allow"}}}`, `{"mode":"full","write":{"*":"deny",".git/*":"allow"}} {}`},
		{`{}`, `{"permission":{"edit":"allow","write":"ask"}}`, `{"write":"ask"} {}`},
		{`{}`, `{"permission":{"edit":"ask","write":"ask"}}`, `{"write":"ask"} {}`},
		{`{"shell":"allow"}`, `{"permission":{"bash":"allow","shell":{"rm *":"deny"}}}`, `{"shell":{"*":"allow","rm *":"deny"}} {}`},
		{`{}`, `{"permission":{"webfetch":"allow","websearch":"ask"}}`, `{"network":"ask"} {}`},
		{`{"shell":"allow"}`, `{"permission":{"bash":"ask","shell":{"rm *":"deny"}}}`, "permission names `shell` twice, with different values"},
		{`{"shell":"allow"}`, `{"permission":{"bash":{"a *":"deny"},"shell":{"rm *":"deny"}}}`, "permission names `shell` twice, with different values"},
		{`{"shell":"allow"}`, `{"permission":{"bash":"deny","shell":{"rm *":"allow"}}}`, `{"shell":"deny"} {}`},
		{`{}`, `{"tools":{"*":false,"read":true}}`, `{"network":"deny","shell":"deny","write":"deny"} {}`},
		{`{}`, `{"permission":{"edit":"${x}"}}`, `permission.edit cannot be "${x}"`},
		{`{}`, `{"permission":{"skill":"deny"}}`, "permission.skill cannot be enforced by a step"},
	} {
		parse := func(text string) map[string]any {
			v, err := workflow.ParseJSON([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			return v.(map[string]any)
		}
		before := parse(c.permissions)
		d := &agent.Definition{Permissions: before}
		narrowed, settings, problems := traits.ForStep(d, parse(c.settings))
		got := workflow.FormatJSON(any(narrowed.Permissions)) + " " + workflow.FormatJSON(any(settings))
		if len(problems) > 0 {
			got = problems[0].Summary
		}
		if got != c.want && (len(problems) == 0 || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s with %s\ngot  %s\nwant %s", c.permissions, c.settings, got, c.want)
		}
		if workflow.FormatJSON(any(before)) != c.permissions {
			t.Errorf("%s changed the definition: %v", c.settings, before)
		}
	}
}

// Every word for a tool of opencode removes the permission that it needs.
func TestWordsOfAStep(t *testing.T) {
	traits := agent.Traits{Prompted: true, Settings: agent.NewSchema(map[string]any{"type": "object"})}
	for power, words := range map[agent.Power]string{
		agent.MayRead: "read", agent.MayWrite: "write edit patch multiedit", agent.MayRun: "shell bash", agent.MayReach: "network webfetch websearch",
	} {
		for _, word := range strings.Fields(words) {
			d, _, problems := traits.ForStep(&agent.Definition{}, map[string]any{"tools": map[string]any{word: false}})
			if len(problems) > 0 || len(d.Permissions) != 1 || d.Permissions[string(power)] != "deny" {
				t.Errorf("%s: %v, %v", word, d.Permissions, problems)
			}
		}
	}
}

// A setting that the executor defines itself keeps its own meaning, and an executor that
// does exactly what its settings say restricts nothing.
func TestForStepLeavesOwnSettings(t *testing.T) {
	schema := agent.NewSchema(map[string]any{"type": "object", "properties": map[string]any{"tools": map[string]any{}}})
	for _, traits := range []agent.Traits{{Prompted: true}, {Settings: schema}, {Prompted: true, Settings: schema}} {
		settings := map[string]any{"tools": map[string]any{"write": false}}
		if d, got, problems := traits.ForStep(&agent.Definition{}, settings); len(d.Permissions) > 0 || got["tools"] == nil || problems != nil {
			t.Errorf("%v %v %v", d.Permissions, got, problems)
		}
	}
}

// A step that does exactly what its settings say ignores a preference, and rejects a
// restriction.
func TestExactStep(t *testing.T) {
	schema := agent.NewSchema(map[string]any{"type": "object", "properties": map[string]any{"command": map[string]any{}}})
	traits := agent.Traits{Settings: schema}
	wish := map[string]any{"command": "x", "mode": "subagent", "maxSteps": 3, "tools": map[string]any{"read": true}}
	if _, settings, problems := traits.ForStep(&agent.Definition{Agent: "shell"}, wish); len(settings) != 1 || len(problems) > 0 {
		t.Errorf("%v %v", settings, problems)
	}
	set := agent.NewSet(map[string]agent.Executor{"shell": agent.New(traits, nil)}, nil, "")
	var ignored []string
	for _, p := range set.ValidateSettings(&agent.Definition{Agent: "shell"}, wish) {
		if p.Note && strings.HasSuffix(p.Summary, p.Path[0]+" has no effect") {
			ignored = append(ignored, p.Path[0])
		}
	}
	if want := []string{"mode", "maxSteps"}; !slices.Equal(ignored, want) {
		t.Errorf("%q have no effect, want %q", ignored, want)
	}
	for word, restriction := range map[string]any{"permission": "deny", "tools": false} {
		settings := map[string]any{"command": "x", word: map[string]any{"write": restriction}}
		if _, _, problems := traits.ForStep(&agent.Definition{Agent: "shell"}, settings); len(problems) != 1 || problems[0].Path[0] != word {
			t.Errorf("%s: %v", word, problems)
		}
	}
}

// A restriction that an executor cannot enforce is an error that names one that can, and
// a wish that it cannot follow is a note.
func TestStepProblems(t *testing.T) {
	run := func(context.Context, *agent.Task, agent.Log) (agent.Result, error) { return agent.Result{}, nil }
	schema := agent.NewSchema(map[string]any{"type": "object", "properties": map[string]any{"max_turns": map[string]any{"minimum": 1}, "depth": map[string]any{"minimum": 1}}})
	weak := agent.Traits{
		Prompted: true, Settings: schema, Supports: agent.Keys("permissions"),
		Permissions: func(map[string]any) []agent.Problem {
			return []agent.Problem{{Summary: "weak does not", Detail: "leave it"}}
		},
		Unfollowed: func(*agent.Definition, map[string]any) []string { return []string{"max_turns"} },
	}
	strong := agent.Traits{Prompted: true, Settings: schema, Supports: agent.Keys("permissions")}
	special, blind, exact := strong, strong, strong
	special.Specialist, blind.Supports, exact.Prompted = true, nil, false
	set := agent.NewSet(map[string]agent.Executor{
		"weak": agent.New(weak, run), "strong": agent.New(strong, run), "special": agent.New(special, run), "blind": agent.New(blind, run), "exact": agent.New(exact, run),
	}, nil, "")
	d := &agent.Definition{Agent: "weak"}
	found := set.ValidateSettings(d, map[string]any{"permission": map[string]any{"edit": "deny"}})
	if len(found) != 1 || found[0].Note || found[0].Path[0] != "permission" || found[0].Detail != "leave it; or set `agent` to one that can enforce all of it: strong" {
		t.Errorf("%+v", found)
	}
	if found := set.ValidateSettings(&agent.Definition{Agent: "strong"}, map[string]any{"permission": map[string]any{"edit": "deny"}}); len(found) > 0 {
		t.Errorf("%+v", found)
	}
	for _, word := range []string{"maxSteps", "max_turns", "depth"} { // problems have the names that the step uses
		found := set.ValidateSettings(d, map[string]any{word: 0})
		if len(found) != 1 || !slices.Equal(found[0].Path, []string{word}) || found[0].Summary != `setting "`+word+`" must be at least 1` {
			t.Errorf("%s: %+v", word, found)
		}
	}
	found = set.ValidateSettings(d, map[string]any{"maxSteps": 3})
	if len(found) != 1 || !found[0].Note || found[0].Path[0] != "maxSteps" || found[0].Summary != "weak does not support maxSteps: it has no effect" {
		t.Errorf("%+v", found)
	}
}
