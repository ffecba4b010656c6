//go:build unix

package cli_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// With --watch, the tests run again when a file changes, also when there is a mistake in it, until they are interrupted.
func TestWatchedTests(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	const flow, test = "name: flow\nsteps:\n  - {id: say, agent: shell, config: {command: 'echo'}}\n", "workflow: flow.yml\ncases: [{name: a, replies: {say: one}, expect: {output: one}}]\n"
	put("flow.yml", flow)
	put(".hocket/tests/flow.yml", test)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	cmd := exec.CommandContext(ctx, self, "test", "--watch")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), asHocket+"=1", "HOME="+dir, "XDG_STATE_HOME="+filepath.Join(dir, ".state"))
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	result := func(want string) {
		t.Helper()
		var all strings.Builder
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "waiting for changes") {
				break
			}
			all.WriteString(lines.Text() + "\n")
		}
		if !strings.Contains(all.String(), want) {
			t.Errorf("no %q in\n%s", want, &all)
		}
	}
	result("\n1 passed in ")
	put(".hocket/tests/flow.yml", strings.Replace(test, "output: one", "output: another", 1))
	result("FAIL flow: a ")
	put("flow.yml", strings.Replace(flow, "steps:", "stepps:", 1))
	result(`unknown key "stepps"`)
	put("flow.yml", flow)
	put(".hocket/tests/flow.yml", test+"# the end\n")
	result("\n1 passed in ")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		t.Errorf("after the interruption: %s", lines.Text())
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("it ended with %v", err)
	}
}
