package agent_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
)

// A task that lacks a required setting is an error, and an agent that lacks one is not
// chosen.
func TestIncomplete(t *testing.T) {
	with, without := writes("with", "llm", ""), writes("without", "llm", "")
	with.Model = "large"
	set := agent.NewSet(map[string]agent.Executor{"llm": modelless}, []*agent.Definition{with, without}, "")
	for _, c := range []struct {
		d        *agent.Definition
		settings map[string]any
		want     string
	}{
		{with, nil, ""},
		{without, map[string]any{"model": "large"}, ""},
		{without, nil, "no model is named; name one"},
	} {
		var found []string
		for _, p := range set.ValidateSettings(c.d, c.settings) {
			found = append(found, p.Summary+"; "+p.Detail)
		}
		if got := strings.Join(found, ", "); got != c.want {
			t.Errorf("%s with %v: %q", c.d.Name, c.settings, got)
		}
	}
	if c, _ := set.Choose("Write.", nil); c.Name != "with" {
		t.Errorf("chose %+v", c)
	}
	if c, _ := set.Choose("Write.", map[string]any{"model": "small"}); c.Name != "llm" {
		t.Errorf("with a model of its own: chose %+v", c)
	}
}

// An agent that does not name an executor is not assigned one that needs more settings
// than the agent has.
func TestEmployedByOneThatHasAllItNeeds(t *testing.T) {
	for model, want := range map[string]string{"": "claude", "large": ""} {
		d := writes("poet", "", "")
		d.Model = model
		set := agent.NewSet(map[string]agent.Executor{"claude": talker(), "llm": modelless}, []*agent.Definition{d}, "")
		if got := set.Definitions()[0].Agent; got != want {
			t.Errorf("with the model %q it runs on %q", model, got)
		}
	}
}

// If no agent is named, the error lists those that could do the task.
func TestCandidatesForNobody(t *testing.T) {
	for _, c := range []struct {
		executors map[string]agent.Executor
		want      []string
	}{
		{map[string]agent.Executor{"claude": talker(), "codex": gone("install it"), "llm": modelless, "shell": exact}, []string{"scanner", "claude"}},
		{map[string]agent.Executor{"codex": gone("install it"), "shell": exact}, nil},
	} {
		_, _, err := agent.NewSet(c.executors, []*agent.Definition{writes("scanner", "claude", "")}, "").Resolve("")
		var failed *agent.ResolveError
		if !errors.As(err, &failed) || !slices.Equal(failed.Candidates, c.want) {
			t.Errorf("%v", err)
		}
	}
}
