package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A field is printed unchanged for programs, and without control characters in a terminal.
func TestFieldInATerminal(t *testing.T) {
	dir := t.TempDir()
	text := "<agent_request><mode>spawn</mode><original_intent>one \u009b31mred\u202e&#13;two</original_intent>" +
		"<current_task_summary>Check that the shop answers</current_task_summary><workflow>none</workflow>" +
		"<task_details>Ask</task_details><deliverables><report>r</report></deliverables></agent_request>"
	if err := os.WriteFile(filepath.Join(dir, "a.xml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := startConsole(t, dir, 40, 200, "handoff", "get", "a.xml", "original_intent")
	if code := c.exit(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, c.see())
	}
	if got := strings.TrimSpace(c.raw.String()); got != "one redtwo" {
		t.Errorf("printed %q", got)
	}
}

// A result contains what an agent wrote.
func TestResultInATerminal(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"task.md": "Write a poem", "replies.yml": `handoff: "{\"a\": \"one \u009b31mred\u202e\"}"`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sent := startConsole(t, dir, 40, 200, "handoff", "send", "task.md", "--agent", "shell", "--mode", "blocking", "--replies", "replies.yml")
	if code := sent.exit(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, sent.see())
	}
	list := startConsole(t, dir, 40, 200, "handoff", "list", "--json")
	if code := list.exit(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, list.see())
	}
	_, id, _ := strings.Cut(list.raw.String(), `"session_id": "`)
	id, _, _ = strings.Cut(id, `"`)
	c := startConsole(t, dir, 40, 200, "handoff", "result", id)
	if code := c.exit(); code != 0 || !strings.Contains(c.raw.String(), `"a": "one red"`) {
		t.Errorf("exit code %d, printed %q", code, c.raw.String())
	}
}
