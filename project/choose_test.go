package project_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// talker is an executor that works from a prompt.
var talker = agent.New(agent.Traits{Prompted: true, Supports: agent.Keys("prompt")}, nil)

const unnamed = "name: flow\nsteps:\n  - {id: look, prompt: Look for security holes.}\n  - {id: say, prompt: Say hello.}\n"

func TestChosenAgents(t *testing.T) {
	const scanner = "agent: claude\nprompt: You scan.\ndescription: Finds security holes\n"
	for name, c := range map[string]struct {
		files   map[string]string
		talkers []string
		want    string // the agents
		notes   string
	}{
		"the only one": {nil, []string{"claude"}, "claude claude",
			`step "look" uses agent claude: the only one that can work from a prompt here` + "\n" + `step "say" uses agent claude: the only one that can work from a prompt here`},
		"by description": {map[string]string{".hocket/agents/scanner.yml": scanner}, []string{"claude"}, "scanner claude",
			`step "look" uses agent scanner: its description fits best: "security", "holes"` + "\n" + `step "say" uses agent claude: the only one that can work from a prompt here, and no other agent's description fits`},
		"the default": {map[string]string{".hocket/config.yml": "agent: codex\n"}, []string{"claude", "codex"}, " ", ""},
		"none of two": {nil, []string{"claude", "codex"}, " ", ""},
	} {
		files := map[string]string{"flow.yml": unnamed}
		maps.Copy(files, c.files)
		l := load(t, open(t, write(t, files), c.talkers...), "flow.yml")
		digest := workflow.Digest(l.Bundle.Root)
		var notes, agents []string
		for _, d := range l.Check(nil) {
			if d.Code == "agent-chosen" && d.Severity == workflow.Note {
				notes = append(notes, d.Summary)
			}
		}
		for _, n := range l.Bundle.Root.Body.Nodes {
			agents = append(agents, n.Step.(*workflow.Task).Agent)
		}
		if got := strings.Join(agents, " "); got != c.want {
			t.Errorf("%s: the agents are %q", name, got)
		}
		if got := strings.Join(notes, "\n"); got != c.notes {
			t.Errorf("%s: the notes are\n%s", name, got)
		}
		if chosen := workflow.Digest(l.Bundle.Root) != digest; chosen != (c.notes != "") {
			t.Errorf("%s: pinned as it was: %v", name, chosen)
		}
	}
}

func TestThePlanSaysWhyAnAgentWasChosen(t *testing.T) {
	l := load(t, open(t, write(t, map[string]string{"flow.yml": unnamed}), "claude"), "flow.yml")
	node := l.Plan(nil).Workflows[0].Nodes[0]
	if node.Uses != "claude" || node.Why != "the only one that can work from a prompt here" {
		t.Errorf("got %+v", node)
	}
}

// An agent that does not name an executor is noted once, and not at all if replies stand
// in for it.
func TestChosenExecutors(t *testing.T) {
	dir := write(t, map[string]string{
		".hocket/agents/poet.yml": "prompt: You write haikus.\n",
		"flow.yml":                "steps:\n  - {id: a, agent: poet, prompt: One.}\n  - {id: b, agent: poet, prompt: Two.}\n",
	})
	l := load(t, open(t, dir, "claude"), "flow.yml")
	found := l.Check(nil)
	if len(found) != 1 || found[0].Summary != `agent "poet" runs on claude: the only one that can work from a prompt here` || !strings.HasSuffix(found[0].File, "poet.yml") {
		t.Errorf("found %v", found)
	}
	if found = l.Check(func(*workflow.Node) bool { return true }); len(found) > 0 {
		t.Errorf("with replies: %v", found)
	}
}
