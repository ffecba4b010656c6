//go:build unix

package shell_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/shell"
	"github.com/hocket-dev/hocket/workflow"
)

// tool returns the tool for an agent with permissions.
func tool(t *testing.T, task *agent.Task, permissions string) func(args string) (string, error) {
	t.Helper()
	task.Agent.Permissions, _ = parse(t, permissions).(map[string]any)
	tools, done, err := shell.New(shell.Options{Secret: []string{"TICKETS"}, Env: []string{"TICKETS=s3cret", "PATH=" + os.Getenv("PATH"), "API_KEY=s3cret", "GITHUB_TOKEN=s3cret", "PGPASSWORD=s3cret", "GH_PAT=s3cret", "MYSQL_PWD=s3cret", "NPM_AUTHTOKEN=s3cret", "KEYBOARD=de"}}).Traits().Tools(task)
	if err != nil || len(tools) != 1 {
		t.Fatalf("got %d tools, %v", len(tools), err)
	}
	t.Cleanup(done)
	return func(args string) (string, error) {
		return tools[0].Call(t.Context(), parse(t, args).(map[string]any), task, func([]byte) {})
	}
}

func parse(t *testing.T, text string) any {
	t.Helper()
	v, err := workflow.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestToolRunsCommands(t *testing.T) {
	task := attempt(t, `{}`)
	if err := os.Mkdir(filepath.Join(task.Dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	call := tool(t, task, `{"shell": "allow"}`)
	for _, c := range []struct{ args, want string }{
		{`{"command": "echo a"}`, "a\nexit status 0"},
		{`{"command": "echo b >&2"}`, "b\nexit status 0"},
		{`{"command": ["echo", "$HOME", "a b"]}`, "$HOME a b\nexit status 0"},
		{`{"command": "exit 3"}`, "exit status 3"},
		{`{"command": "cat", "stdin": "in"}`, "in\nexit status 0"},
		{`{"command": "cat"}`, "exit status 0"},
		{`{"command": "basename $PWD", "dir": "sub"}`, "sub\nexit status 0"},
		{`{"command": "sleep 60", "timeout_seconds": 1}`, "timed out after 1s"},
		{`{"command": "echo $API_KEY$GITHUB_TOKEN$PGPASSWORD$GH_PAT$MYSQL_PWD$NPM_AUTHTOKEN$TICKETS$KEYBOARD"}`, "de\nexit status 0"},
		{`{"command": "printf '\\377'"}`, "\uFFFD\nexit status 0"},
	} {
		if got, err := call(c.args); err != nil || got != c.want {
			t.Errorf("%s: got %q, %v", c.args, got, err)
		}
	}
	for args, want := range map[string]string{
		`{"command": ["none-such-program"]}`:    `"none-such-program" not found`,
		`{"command": "ls", "dir": ".."}`:        "is outside the project",
		`{"command": " "}`:                      "the command is empty",
		`{"command": {"a": 1}}`:                 "invalid arguments for the tool",
		`{"command": "ls", "env": {"LD": "x"}}`: `unknown field "env"`,
	} {
		if got, err := call(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q, %v", args, got, err)
		}
	}
	got, err := call(`{"command": "seq 1 100000"}`)
	if err != nil || len(got) > 100<<10 || !strings.HasPrefix(got, "1\n2\n") || !strings.HasSuffix(got, "\n100000\nexit status 0") || !strings.Contains(got, "bytes omitted") {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

// TestCommandsSideBySide has a command end while another one runs. Cleaning up after the
// first must not affect the second.
func TestCommandsSideBySide(t *testing.T) {
	task := attempt(t, `{}`)
	task.Key = "run/side@1"
	call := tool(t, task, `{"shell": "allow"}`)
	var wg sync.WaitGroup
	wg.Go(func() {
		if got, err := call(`{"command": "touch begun; until test -e over; do sleep 0.01; done; echo fine"}`); got != "fine\nexit status 0" {
			t.Errorf("got %q, %v", got, err)
		}
	})
	if got, err := call(`{"command": "until test -e begun; do sleep 0.01; done"}`); got != "exit status 0" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := call(`{"command": "touch over"}`); got != "exit status 0" {
		t.Errorf("got %q, %v", got, err)
	}
	wg.Wait()
}

func TestToolAsks(t *testing.T) {
	task := attempt(t, `{}`)
	var asked []string
	task.Ask = func(_ context.Context, q agent.Question) (string, error) {
		asked = append(asked, q.Detail)
		return "deny", nil
	}
	call := tool(t, task, `{"shell": {"echo *": "allow", "rm *": "deny"}}`)
	if got, err := call(`{"command": "echo hi"}`); err != nil || got != "hi\nexit status 0" || len(asked) > 0 {
		t.Errorf("got %q, %v, asked %q", got, err, asked)
	}
	for args, want := range map[string]string{
		`{"command": "echo hi > x"}`:    "echo hi > x",
		`{"command": ["touch", "x y"]}`: `["touch" "x y"]`,
		// The question shows everything that affects what the command does.
		`{"command": "sh", "stdin": "rm x", "dir": "sub"}`: "sh\n\nin sub\n\nwith the input:\nrm x",
	} {
		asked = nil
		if _, err := call(args); err == nil || len(asked) != 1 || asked[0] != want {
			t.Errorf("%s: got %v, asked %q", args, err, asked)
		}
	}
	asked = nil
	if _, err := call(`{"command": ["rm", "-rf", "."]}`); err == nil || !strings.Contains(err.Error(), "do not allow this") || len(asked) > 0 {
		t.Errorf("got %v, asked %q", err, asked)
	}
	if _, err := os.Stat(filepath.Join(task.Dir, "x")); err == nil {
		t.Error("a command was run that was not allowed")
	}
	task.Agent.Permissions = map[string]any{"shell": "deny"}
	if tools, _, err := shell.New(shell.Options{}).Traits().Tools(task); err != nil || len(tools) > 0 {
		t.Errorf("got %v, %v", tools, err)
	}
	task.Agent.Permissions = map[string]any{"shell": "perhaps"}
	if _, _, err := shell.New(shell.Options{}).Traits().Tools(task); err == nil {
		t.Error("bad permissions are no error")
	}
}

func TestExact(t *testing.T) {
	for settings, want := range map[string]bool{`{}`: false, `{"dir": "x"}`: false, `{"command": "ls"}`: true, `{"script": "x.sh"}`: true} {
		if got := shell.New(shell.Options{}).Traits().Exact(attempt(t, settings)); got != want {
			t.Errorf("%s: exact %v", settings, got)
		}
	}
}
