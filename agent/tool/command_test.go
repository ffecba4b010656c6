//go:build unix

package tool_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/tool"
)

func programs(t *testing.T) *tool.Set {
	t.Helper()
	const head = "description: d\nkind: command\n"
	return project(t, "", map[string]string{
		"cat":          head + "inputs: {a: {}, b: {required: false}}\ncommand: [cat]",
		"env":          head + "inputs: {the-file: string}\npermissions: {secrets: KEY}\ncommand: {argv: [env], env: {CONST: c}}",
		"shell":        head + "inputs: {x: string}\ncommand: [sh, -c, 'echo \"$HOCKET_INPUT_x\"']",
		"where":        head + "command: {argv: [pwd], dir: .hocket/tools}",
		"fail":         head + "permissions: {secrets: KEY}\ncommand: [sh, -c, 'printf s3c >&2; printf \"%s\\n\" r3t >&2; echo \"with $KEY\" >&2; exit 3']",
		"big":          head + "max_output_kb: 1\ncommand: [sh, -c, 'yes']",
		"slow":         head + "timeout: 50ms\ncommand: [sleep, '60']",
		"absent":       head + "command: [no-such-program-here]",
		"latin":        head + "command: [printf, '\\351']",
		"orphan":       head + "command: [sh, -c, 'sleep 60 >/dev/null 2>&1 & echo $!']",
		"hang":         head + "permissions: {fs: {write: [out/]}}\ncommand: [sh, -c, 'echo $$ > out/pid; exec sleep 60']",
		"typed":        head + "outputs: {n: integer}\ncommand: [echo, '{\"n\": 1}']",
		"script":       "description: d\nkind: script\ninputs: {who: string}\nscript: {file: hi.sh, interpreter: sh}",
		"script/hi.sh": "echo \"hi $HOCKET_INPUT_who\"; basename \"$HOCKET_TOOL\"",
	})
}

func TestCommands(t *testing.T) {
	s := programs(t)
	long := strings.Repeat("x", 40<<10)
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"cat", map[string]any{"a": "$(touch x); `id`", "b": []any{1, nil}}, "{\"a\":\"$(touch x); `id`\",\"b\":[1,null]}"},
		{"cat", map[string]any{"a": long + "\x00"}, `{"a":"` + long + `\u0000"}`},
		{"shell", map[string]any{"x": "'; echo $HOME; \"$(id)"}, "'; echo $HOME; \"$(id)"},
		{"typed", nil, `{"n": 1}`},
		{"script", map[string]any{"who": "Ada"}, "hi Ada\nscript"},
	} {
		if got, err := call(t, s, c.tool, c.args); err != nil || got != c.want {
			t.Errorf("%s\ngot  %.200s, %v\nwant %.200s", c.tool, got, err, c.want)
		}
	}
	if got, err := call(t, s, "where", nil); err != nil || !strings.HasSuffix(got, ".hocket/tools") {
		t.Errorf("%s, %v", got, err)
	}
}

// A program sees only the variables that its manifest allows, and no inherited ones.
func TestEnvironment(t *testing.T) {
	got, err := call(t, programs(t), "env", map[string]any{"the-file": "f"})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(got, "\n")
	for _, want := range []string{"CONST=c", "KEY=***", "HOCKET_INPUT_the_file=f"} {
		if !strings.Contains("\n"+got+"\n", "\n"+want+"\n") {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
	for _, line := range lines {
		name, _, _ := strings.Cut(line, "=")
		switch name {
		case "PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP", "GIT_CONFIG_GLOBAL", "TERM", "CONST", "KEY", "PWD", "_", "SHLVL", "OLDPWD":
		default:
			if !strings.HasPrefix(name, "HOCKET_") && !strings.HasPrefix(name, "LC_") {
				t.Errorf("the program sees %s", line)
			}
		}
	}
}

func TestCommandsThatFail(t *testing.T) {
	s := programs(t)
	for name, want := range map[string]string{
		"fail":   "tool fail: exit status 3: ***\nwith ***",
		"big":    "tool big: the output exceeds 1 KiB; ask for less, or raise max_output_kb",
		"slow":   "tool slow timed out after 50ms",
		"absent": `tool absent: program "no-such-program-here" not found; check that it is installed and on the PATH`,
		"latin":  "tool latin: its output is not UTF-8 text at byte 1",
	} {
		_, log, err := callLogged(t.Context(), t, s, name, nil)
		if err == nil || err.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s", name, err, want)
		}
		if name == "fail" && log != "***\nwith ***\n" {
			t.Errorf("the log is %q", log)
		}
	}
	var failed *agent.Error
	if _, err := call(t, s, "slow", nil); !errors.As(err, &failed) || failed.Kind != agent.TimedOut {
		t.Errorf("%#v", err)
	}
}

// The processes that a program started end with it, and cancelling a call ends the
// program.
func TestNothingIsLeft(t *testing.T) {
	s := programs(t)
	before := runtime.NumGoroutine()
	out, err := call(t, s, "orphan", nil)
	if err != nil {
		t.Fatal(err)
	}
	gone(t, out)
	ctx, cancel := context.WithCancel(t.Context())
	m, _ := s.Manifest("hang")
	file := filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(m.Dir))), "out", "pid")
	done := make(chan error)
	go func() {
		_, _, err := callLogged(ctx, t, s, "hang", nil)
		done <- err
	}()
	var pid []byte
	for len(pid) == 0 {
		pid, _ = os.ReadFile(file)
		runtime.Gosched()
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	gone(t, string(pid))
	for i := 0; runtime.NumGoroutine() > before+2 && i < 1e7; i++ {
		runtime.Gosched()
	}
	if n := runtime.NumGoroutine(); n > before+2 {
		t.Errorf("%d goroutines, %d before", n, before)
	}
}

func gone(t *testing.T, text string) {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err == nil && !isZombie(pid) {
		t.Errorf("process %d lives on", pid)
	}
}

// isZombie reports whether a process has exited but has not been waited for.
func isZombie(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err != nil || strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

// A link that leads out of the tool's folder is not followed.
func TestScriptMustBeInItsFolder(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, ".hocket", "tools", "x")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	text := "description: d\nkind: script\nscript: {file: run.sh, interpreter: sh}"
	if err := os.WriteFile(filepath.Join(folder, tool.File), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	_, found, _ := tool.Load(dir, tool.Options{})
	if len(found) != 1 || !strings.Contains(found[0].String(), `cannot use the script: "run.sh" does not exist`) {
		t.Errorf("%v", found)
	}
	if err := os.Symlink("/bin/ls", filepath.Join(folder, "run.sh")); err != nil {
		t.Fatal(err)
	}
	s, found, _ := tool.Load(dir, tool.Options{})
	if len(found) != 1 || !strings.Contains(found[0].String(), "is outside the project") {
		t.Errorf("%v", found)
	}
	if _, err := call(t, s, "x", nil); err == nil || !strings.Contains(err.Error(), "is outside the project") {
		t.Error(err)
	}
}
