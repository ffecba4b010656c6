package mcp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/mcp"
)

var duet = map[string]any{"description": "Sings", "steps": []any{map[string]any{"id": "sing", "agent": "echo", "prompt": "la la"}}}

// What a model creates runs after a person has approved it, and not before.
func TestCreatedWorkflow(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	text := f.must("hocket_workflow_create", map[string]any{"name": "duet", "definition": duet, "goal": "music"})
	if !strings.Contains(text, "hocket approve duet") || !strings.Contains(text, `"state":"proposed"`) {
		t.Error(text)
	}
	run := map[string]any{"name": "duet"}
	f.refused("hocket_workflow", run, "hocket approve duet")
	f.approve("duet")
	if text := f.must("hocket_workflow", run); !strings.Contains(text, "la la") {
		t.Error(text)
	}
	file := filepath.Join(f.dir, ".hocket/generated/duet/duet.yml")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := "name: duet\ndescription: Sings\nsteps:\n  - id: sing\n    agent: echo\n    prompt: la la\n"; string(data) != want {
		t.Errorf("a person has to read this:\n%s", data)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(data), "la la", "la la la")), 0o600); err != nil {
		t.Fatal(err)
	}
	f.refused("hocket_workflow", run, "has changed")
	review, err := f.p.Review("duet")
	if err != nil || review.Origin.By != "MCP client tester" || review.Origin.Goal != "music" {
		t.Errorf("%+v, %v", review, err)
	}
}

// Mistakes are reported at what the client sent, and in words for a model.
func TestMistakesInWhatIsCreated(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	wrong := map[string]any{"steps": []any{map[string]any{"id": "a", "agent": "nobody"}}}
	for want, args := range map[string]map[string]any{
		"definition: error[": {"name": "one", "definition": wrong},
		"text:3:12: error[":  {"name": "one", "text": "name: one\nsteps:\n  - agent: nobody\n    prompt: x\n"},
		`invalid name "O N`:  {"name": "O N E", "definition": duet},
	} {
		text, failed := f.call("hocket_workflow_create", args)
		if !failed || !strings.HasPrefix(text, want) || strings.Contains(text, "generated/") {
			t.Errorf("%s", text)
		}
	}
}

func TestCreatedWorkflowInAnotherNotation(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	xml := f.must("hocket_convert", map[string]any{"text": "name: solo\nsteps:\n  - id: a\n    agent: echo\n    prompt: hm\n", "to": "xml"})
	f.must("hocket_workflow_create", map[string]any{"name": "solo", "text": xml, "notation": "xml"})
	f.approve("solo")
	f.must("hocket_workflow", map[string]any{"name": "solo"})
}

func TestCreatedAgentAndTool(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	f.must("hocket_agent_create", map[string]any{"name": "poet", "definition": map[string]any{"agent": "echo", "prompt": "You write haikus.", "description": "Writes haikus"}})
	task := map[string]any{"prompt": "the sea", "agent": "poet"}
	f.refused("hocket_task", task, "poet")
	f.approve("poet")
	if text := f.must("hocket_task", task); !strings.Contains(text, "the sea") {
		t.Error(text)
	}
	f.must("hocket_tool_create", map[string]any{
		"name": "count", "text": "description: Counts\nkind: script\nscript: {file: count.sh, interpreter: sh}\n", "files": map[string]any{"count.sh": "echo 1 2 3\n"},
	})
	f.refused("hocket_tool", map[string]any{"name": "count"}, "nobody has approved it")
	f.approve("count")
	if text := f.must("hocket_tool", map[string]any{"name": "count"}); !strings.Contains(text, "1 2 3") {
		t.Error(text)
	}
}

// A workflow in the project's folder needs the approval, too: a model can write files there.
func TestWorkflowOfTheFolderNeedsApproval(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	f.write(".hocket/workflows/sneaky.yml", "name: sneaky\nsteps:\n  - id: a\n    agent: shell\n    config: {command: touch pwned}\n")
	f.refused("hocket_workflow", map[string]any{"name": "sneaky"}, "hocket approve sneaky")
	f.write(".hocket/workflows/hello.yml", strings.ReplaceAll(files[".hocket/workflows/hello.yml"], "Hello", "Goodbye"))
	f.refused("hocket_workflow", map[string]any{"name": "hello", "inputs": map[string]any{"name": "Ada"}}, "has changed")
	f.refused("workflow_hello", map[string]any{"name": "Ada"}, "has changed")
}
