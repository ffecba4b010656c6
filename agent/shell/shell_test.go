//go:build unix

package shell_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/agenttest"
	"github.com/hocket-dev/hocket/agent/shell"
	"github.com/hocket-dev/hocket/workflow"
)

// attempt returns a task in its own project.
func attempt(t *testing.T, settings string) *agent.Task {
	t.Helper()
	v, err := workflow.ParseJSON([]byte(settings))
	if err != nil {
		t.Fatalf("settings of the test: %v", err)
	}
	return &agent.Task{
		Run: "demo-1", Address: "review#2", Attempt: 3, Key: "demo-1/" + t.Name(), Workflow: "demo", Node: "review",
		Agent: &agent.Definition{Name: "shell", Builtin: true}, Settings: v.(map[string]any), Dir: t.TempDir(),
	}
}

func run(t *testing.T, task *agent.Task) (string, error) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	r, err := shell.New(shell.Options{}).Run(ctx, task, new(agenttest.Log).Add)
	return r.Output, err
}

// write writes a file into the task's project.
func write(t *testing.T, task *agent.Task, name, text string, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(task.Dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode)); err != nil {
		t.Fatal(err)
	}
}

func TestCommands(t *testing.T) {
	for _, c := range []struct{ name, settings, want string }{
		{"a list is a program and its arguments", `{"command": ["printf", "%s|", "a b", "$HOME", 3, true]}`, "a b|$HOME|3|true|"},
		{"the program true", `{"command": true}`, ""},
		{"args come after those of the command", `{"command": ["printf", "%s|"], "args": ["a", 2]}`, "a|2|"},
		{"a text is a script", `{"command": "echo one; echo two"}`, "one\ntwo"},
		{"a script text has args", `{"command": "echo \"$2-$1\"", "args": ["a b", "$(date)"]}`, "$(date)-a b"},
		{"bash", `{"command": "echo ${BASH_VERSION:+bash}", "shell": "bash"}`, "bash"},
		{"stdin", `{"command": ["cat"], "stdin": "hello\n"}`, "hello"},
		{"stdin may be any value", `{"command": ["cat"], "stdin": {"a": [1, 2.50]}}`, `{"a":[1,2.50]}`},
		{"env", `{"command": "echo $A-$B", "env": {"A": "x y", "B": 7}}`, "x y-7"},
		{"newlines at the end are cut", `{"command": "printf 'a\\n\\nb\\n\\n\\n'"}`, "a\n\nb"},
		{"an error may print anything", `{"command": "printf 'a\\377b' >&2; echo ok"}`, "ok"},
		{"a working directory", `{"command": "basename \"$(pwd)\"; basename $PWD", "dir": "sub"}`, "sub\nsub"},
		{"an executable script", `{"script": "bin/hello", "args": ["you"]}`, "hello you"},
		{"a script that is no program", `{"script": "plain.sh", "args": ["you"]}`, "plain you"},
	} {
		t.Run(c.name, func(t *testing.T) {
			task := attempt(t, c.settings)
			write(t, task, "sub/file", "", 0o644)
			write(t, task, "bin/hello", "#!/bin/sh\necho hello $1\n", 0o755)
			write(t, task, "plain.sh", "echo plain $1\n", 0o644)
			got, err := run(t, task)
			if err != nil || got != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name, settings string
		permanent      bool
		want           string
	}{
		{"status", `{"command": "exit 3"}`, false, "exit status 3"},
		{"the last lines of standard error", `{"command": "echo out; seq 1 50 >&2; exit 1"}`, false, "exit status 1: 41\n42\n43\n44\n45\n46\n47\n48\n49\n50"},
		{"standard output where there is no other", `{"command": "echo FAIL: two tests; exit 1"}`, false, "exit status 1: FAIL: two tests"},
		{"signal", `{"command": "kill -9 $$"}`, false, "signal: killed"},
		{"no such program", `{"command": ["no-such-program-here"]}`, true, `command "no-such-program-here" not found; check that it is installed and on the PATH`},
		{"not executable", `{"command": ["./plain.sh"]}`, true, `command "./plain.sh" is not executable`},
		{"neither command nor script", `{"args": ["x"]}`, true, `settings: setting "command" or "script" is missing`},
		{"both command and script", `{"command": "x", "script": "y"}`, true, `settings: only one of "command" and "script" may be set`},
		{"several settings are wrong", `{"comand": "x", "script": 3, "dir": "."}`, true, `settings: setting "script" must be string, not number; unknown setting "comand"; did you mean "command"?`},
		{"no such directory", `{"command": "pwd", "dir": "none"}`, false, `"none" does not exist`},
		{"a file is no directory", `{"command": "pwd", "dir": "plain.sh"}`, true, `dir "plain.sh" is not a directory`},
		{"above the project", `{"command": "pwd", "dir": "../"}`, true, `"../" is outside the project`},
		{"absolute", `{"command": "pwd", "dir": "/tmp"}`, true, `"/tmp" is outside the project`},
		{"out by a link", `{"command": "pwd", "dir": "link"}`, true, `"link" is outside the project`},
		{"a script out by a link", `{"script": "link/sh"}`, true, `"link/sh" is outside the project`},
		{"a script that is a directory", `{"script": "."}`, true, `script "." is not a file`},
		{"too much output", `{"command": "head -c 3000 /dev/zero", "max_output_kb": 2}`, true, "the output exceeds 2 KiB; raise max_output_kb, or print less"},
		{"what is no UTF-8", `{"command": "printf 'a\\377b'"}`, true, "its output is not UTF-8 text at byte 2; encode it, for example with base64, or write it to a file"},
		{"an error that is no UTF-8", `{"command": "printf 'a\\377b' >&2; exit 1"}`, false, "exit status 1: a\uFFFDb"},
		{"endless output", `{"command": ["yes"], "max_output_kb": 64}`, true, "the output exceeds 64 KiB; raise max_output_kb, or print less"},
		{"an argument that is too large", `{"command": ["true", "` + strings.Repeat("x", 3<<20) + `"]}`, true, "the arguments and the environment exceed the system limit; pass large values with the stdin setting"},
	} {
		t.Run(c.name, func(t *testing.T) {
			task := attempt(t, c.settings)
			write(t, task, "plain.sh", "echo plain\n", 0o644)
			if err := os.Symlink("/bin", filepath.Join(task.Dir, "link")); err != nil {
				t.Fatal(err)
			}
			_, err := run(t, task)
			var failed *agent.Error
			if !errors.As(err, &failed) || failed.Kind != agent.Failed || failed.Permanent != c.permanent || failed.Message != c.want {
				t.Errorf("got %#v\nwant %q, permanent %v", err, c.want, c.permanent)
			}
		})
	}
}

func TestExactlyTheLimit(t *testing.T) {
	got, err := run(t, attempt(t, `{"command": "head -c 2048 /dev/zero | tr '\\0' x", "max_output_kb": 2}`))
	if err != nil || len(got) != 2048 {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

func TestLimitOfTheDefinition(t *testing.T) {
	task := attempt(t, `{"command": "head -c 2048 /dev/zero"}`)
	task.Agent.MaxOutputKB = 1
	if _, err := run(t, task); err == nil || !strings.Contains(err.Error(), "exceeds 1 KiB") {
		t.Errorf("the definition's limit does not hold: %v", err)
	}
}

func TestInputsAreVariables(t *testing.T) {
	task := attempt(t, `{"command": "echo \"$target|$HOCKET_INPUT_the_file|$HOCKET_INPUT_2nd|$empty|$list|$n\""}`)
	task.Inputs = []agent.Input{
		{Name: "target", Value: "$(touch hacked); `id` \"'"}, {Name: "the-file", Value: "a.go"}, {Name: "2nd", Value: true},
		{Name: "empty", Value: nil}, {Name: "list", Value: []any{"a", json.Number("1.50")}}, {Name: "n", Value: json.Number("12345678901234567890")},
	}
	got, err := run(t, task)
	if want := "$(touch hacked); `id` \"'|a.go|true||[\"a\",1.50]|12345678901234567890"; err != nil || got != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	if _, err := os.Stat(filepath.Join(task.Dir, "hacked")); err == nil {
		t.Error("a value was executed")
	}
}

func TestTheAttemptIsDescribed(t *testing.T) {
	t.Setenv("HOCKET_FEEDBACK", "of a run around this one")
	task := attempt(t, `{"command": "echo $HOCKET_RUN $HOCKET_WORKFLOW $HOCKET_NODE $HOCKET_ADDRESS $HOCKET_ATTEMPT $HOCKET_KEY $HOCKET_INPUTS $HOCKET_LABELS [$HOCKET_FEEDBACK]"}`)
	task.Key, task.Decide, task.Inputs = "k1", []string{"yes", "no"}, []agent.Input{{Name: "a-b", Value: json.Number("1")}}
	want := `demo-1 demo review review#2 3 k1 {"a-b":1} ["yes","no"] []`
	if got, err := run(t, task); err != nil || got != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	task.Feedback = "no JSON"
	if got, err := run(t, task); err != nil || !strings.HasSuffix(got, "[no JSON]") {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestOurVariablesWin(t *testing.T) {
	task := attempt(t, `{"command": "echo $HOCKET_RUN $A $HOCKET_INPUT_HOCKET_RUN", "env": {"HOCKET_RUN": "env", "A": "env"}}`)
	task.Inputs = []agent.Input{{Name: "HOCKET_RUN", Value: "input"}, {Name: "A", Value: "input"}}
	if got, err := run(t, task); err != nil || got != "demo-1 env input" {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestInputsThatCannotBeVariables(t *testing.T) {
	for _, c := range []struct {
		name   string
		inputs []agent.Input
		want   string
	}{
		{"too large", []agent.Input{{Name: "a", Value: strings.Repeat("x", 100<<10)}, {Name: "b", Value: strings.Repeat("y", 100<<10)}},
			"the inputs are 201 KiB, and an environment variable can hold at most 127; pass large values with the stdin setting"},
		{"NUL", []agent.Input{{Name: "a", Value: "x\x00y"}}, `input "a" contains a NUL character, which environment variables cannot hold; pass it with the stdin setting`},
		{"the same name", []agent.Input{{Name: "a-b", Value: "1"}, {Name: "a.b", Value: "2"}}, `inputs "a-b" and "a.b" would both become the variable HOCKET_INPUT_a_b; rename one of them`},
	} {
		t.Run(c.name, func(t *testing.T) {
			task := attempt(t, `{"command": "true"}`)
			task.Inputs = c.inputs
			_, err := run(t, task)
			var failed *agent.Error
			if !errors.As(err, &failed) || failed.Message != c.want || !failed.Permanent {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestTheLargestInputFits(t *testing.T) {
	task := attempt(t, `{"command": "printf %s \"$a\" | wc -c"}`)
	task.Inputs = []agent.Input{{Name: "a", Value: strings.Repeat("x", 128<<10-64-len(`{"a":""}`))}}
	if got, err := run(t, task); err != nil || strings.TrimSpace(got) != "131000" {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestPromptIsInput(t *testing.T) {
	for _, c := range []struct{ definition, prompt, settings, want string }{
		{"", "do it", `{"command": ["cat"]}`, "do it"},
		{"You are a cat.\n", "do it", `{"command": ["cat"]}`, "You are a cat.\n\ndo it"},
		{"You are a cat.\n", "", `{"command": ["cat"]}`, "You are a cat."},
		{"You are a cat.\n", "do it", `{"command": ["cat"], "stdin": ""}`, ""},
		{"", "", `{"command": ["cat"]}`, ""},
	} {
		task := attempt(t, c.settings)
		task.Agent.Prompt, task.Prompt = c.definition, c.prompt
		if got, err := run(t, task); err != nil || got != c.want {
			t.Errorf("%q and %q: got %q, %v; want %q", c.definition, c.prompt, got, err, c.want)
		}
	}
}

func TestInputThatNobodyReads(t *testing.T) {
	task := attempt(t, `{"command": "echo done"}`)
	task.Prompt = strings.Repeat("x", 1<<20)
	if got, err := run(t, task); err != nil || got != "done" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestLargeInputAndOutput(t *testing.T) {
	task := attempt(t, `{"command": ["cat"], "max_output_kb": 5000}`)
	task.Prompt = strings.Repeat("0123456789", 400<<10)
	if got, err := run(t, task); err != nil || got != task.Prompt {
		t.Errorf("got %d bytes, %v; want %d", len(got), err, len(task.Prompt))
	}
}

func TestTheLogHasBoth(t *testing.T) {
	l := new(agenttest.Log)
	_, err := shell.New(shell.Options{}).Run(t.Context(), attempt(t, `{"command": "echo out; echo err >&2"}`), l.Add)
	if err != nil || !strings.Contains(l.String(), "out\n") || !strings.Contains(l.String(), "err\n") {
		t.Errorf("log %q, %v", l, err)
	}
}

func TestSchemaIsDescribed(t *testing.T) {
	properties := shell.New(shell.Options{}).Traits().Settings.Properties()
	for name, p := range properties {
		if p.(map[string]any)["description"] == nil {
			t.Errorf("setting %q has no description", name)
		}
	}
}

// A step of an untrusted project only sees variables that never hold secrets.
func TestUntrusted(t *testing.T) {
	env := []string{"PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=a", "GITHUB_TOKEN=b", "OWL=c", "PLAIN=d", "GOFLAGS=e", "https_proxy=http://me:word@proxy"}
	s := shell.New(shell.Options{Env: env, Secret: []string{"OWL"}})
	for untrusted, want := range map[bool]string{false: "a b c d e http://me:word@proxy", true: "    e "} {
		task := attempt(t, `{"command": "echo \"$ANTHROPIC_API_KEY $GITHUB_TOKEN $OWL $PLAIN $GOFLAGS $https_proxy\""}`)
		task.Untrusted = untrusted
		if res, err := s.Run(t.Context(), task, new(agenttest.Log).Add); err != nil || res.Output != want {
			t.Errorf("untrusted %v: %q, %v", untrusted, res.Output, err)
		}
	}
}
