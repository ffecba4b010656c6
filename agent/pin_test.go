package agent_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/agent"
)

func TestPinnedAgents(t *testing.T) {
	d := definition("linter", "go-linter", "reviewer", "shell", "lint")
	d.Settings = map[string]any{"n": json.Number("12345678901234567890"), "l": []any{"a", nil, true}}
	d.Timeout, d.Source = time.Minute, &agent.Source{From: "claude"}
	executors := map[string]agent.Executor{"shell": plain}
	before := agent.NewSet(executors, []*agent.Definition{d}, "reviewer")
	after, err := agent.DecodeSet(before.Encode(), executors)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before.Definitions(), after.Definitions()); diff != "" {
		t.Error(diff)
	}
	if got, _, err := after.Resolve(""); err != nil || got.Name != "go-linter" {
		t.Errorf("the default agent: %v, %v", got, err)
	}
	if diff := cmp.Diff(string(before.Encode()), string(after.Encode())); diff != "" {
		t.Error(diff)
	}
	if _, err := agent.DecodeSet([]byte("{"), nil); err == nil {
		t.Error("half a document was taken")
	}
}
