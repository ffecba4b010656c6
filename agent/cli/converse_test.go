package cli

import (
	"context"
	"testing"

	"github.com/hocket-dev/hocket/agent"
)

// In a conversation, a tool that can be continued returns before the CLI gives up.
func TestToolsInAConversation(t *testing.T) {
	limited := map[string]bool{}
	call := func(ctx context.Context, args map[string]any, _ *agent.Task, _ agent.Log) (string, error) {
		_, limited[args["name"].(string)] = ctx.Deadline()
		return "", nil
	}
	task := &agent.Task{Tools: []agent.Tool{{Name: "handoff", Resumes: true, Call: call}, {Name: "build", Call: call}}}
	for _, tool := range impatient(task).Tools {
		if _, err := tool.Call(t.Context(), map[string]any{"name": tool.Name}, task, nil); err != nil {
			t.Fatal(err)
		}
	}
	if !limited["handoff"] || limited["build"] || len(limited) != 2 {
		t.Errorf("limited: %v", limited)
	}
}
