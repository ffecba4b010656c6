//go:build unix

package cli_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/workflow"
)

// The wall clock is changed while the real command drives a run, and between two
// commands.
func TestWallClockIsSet(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a command of its own")
	}
	program := buildWithClock(t)
	// hocket returns the exit code and the output.
	hocket := func(t *testing.T, dir string, args ...string) (int, string) {
		t.Helper()
		cmd := exec.Command(program, append([]string{"-C", dir, "--state", filepath.Join(dir, "state")}, args...)...)
		cmd.Env = append(os.Environ(), "HOCKET_TEST_CLOCK="+filepath.Join(dir, "clock"))
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), string(out)
	}
	write := func(t *testing.T, dir, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	// Timeouts and retry delays end when they are due, or this would never finish; and no
	// limit is reached early.
	for _, by := range []string{"-2h", "2h"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "w.yml", `
name: w
limits: {max_runtime: 30m}
steps:
  - {id: slow, agent: shell, timeout: 1s, on_error: continue, config: {command: 'echo `+by+` > clock; sleep 3600'}}
  - {id: flaky, agent: shell, retry: {attempts: 2, delay: 1s}, config: {command: 'test $HOCKET_ATTEMPT = 2 || { echo 0s > clock; exit 1; }'}}
  - {id: steady, agent: shell, timeout: 10m, config: {command: 'echo `+by+` > clock; sleep 0.3; echo fine'}}
output: ${steps.slow.status} ${steps.flaky.attempts} ${steps.steady.output}
`)
			if code, out := hocket(t, dir, "run", "w.yml", "-q"); code != 0 || !strings.HasSuffix(out, "timeout 2 fine\n") {
				t.Errorf("exit code %d\n%s", code, out)
			}
			// Durations are never negative.
			_, out := hocket(t, dir, "runs", "--json")
			list, err := workflow.ParseJSON([]byte(out))
			if err != nil {
				t.Fatal(err)
			}
			if ms := list.([]any)[0].(map[string]any)["duration_ms"]; strings.HasPrefix(workflow.FormatJSON(ms), "-") {
				t.Errorf("the run took %v ms", ms)
			}
		})
	}

	// A person's deadline follows the wall clock.
	t.Run("deadline", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		write(t, dir, "w.yml", "name: w\nsteps:\n  - {id: ask, human: 'Go?', timeout: 1h, on_timeout: late}\n"+
			"  - {id: go, agent: shell, config: {command: echo went}, next: end}\n  - {id: late, agent: shell, config: {command: echo expired}, next: end}\n")
		for _, c := range []struct{ by, out string }{{"59m", "went"}, {"61m", "expired"}} {
			write(t, dir, "clock", "0s")
			if code, out := hocket(t, dir, "run", "w.yml", "-q"); code != 3 {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			_, list := hocket(t, dir, "runs", "--json")
			runs, err := workflow.ParseJSON([]byte(list))
			if err != nil {
				t.Fatal(err)
			}
			run := runs.([]any)[0].(map[string]any)["run_id"].(string)
			write(t, dir, "clock", c.by)
			_, answered := hocket(t, dir, "answer", run, "ask", "approve")
			if code, out := hocket(t, dir, "resume", run, "-q"); code != 0 || !strings.HasSuffix(out, c.out+"\n") {
				t.Errorf("answered after %s: exit code %d\n%s%s", c.by, code, answered, out)
			}
		}
	})
}

// buildWithClock builds the command with a wall clock that can be set.
func buildWithClock(t *testing.T) string {
	t.Helper()
	top, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replace := map[string]any{}
	for file, by := range map[string]string{"driver/local/systemclock.go": "systemclock.go", "cmd/hocket/main.go": "main.go"} {
		replace[filepath.Join(top, file)] = filepath.Join(top, "cli", "testdata", "clock", by)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, []byte(workflow.FormatJSON(map[string]any{"Replace": replace})), 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "hocket")
	build := exec.Command("go", "build", "-overlay", overlay, "-o", program, "./cmd/hocket")
	build.Dir = top
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}
