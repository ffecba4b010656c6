//go:build unix

package chaos

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// killedLanding returns a run that was killed when it had changed the files and the index, and git was about to move the branch: that
// waits for a lock, which the function removes. With git, the git command is killed, too.
func killedLanding(t *testing.T, withGit bool) (p project, run string, unlock func()) {
	t.Helper()
	p = newRepository(t, map[string]string{"a.txt": "one\n", "w.yml": `name: w
steps:
  - {id: write, agent: shell, workspace: own, config: {command: 'echo two >> a.txt; echo new > new.txt'}}
  - {id: ship, land: commit}
`})
	if got := p.call("run", "w.yml", "--quiet"); got.code != 3 {
		t.Fatalf("run: %d %s%s", got.code, got.out, got.err)
	}
	run = p.runs()[0]
	if got := p.call("answer", run, "ship", "land"); got.code != 0 {
		t.Fatalf("answer: %s%s", got.out, got.err)
	}
	p.git("config", "core.filesRefLockTimeout", "-1")
	head, lock := filepath.Join(p.dir, ".git", "HEAD.lock"), filepath.Join(p.dir, ".git", "refs", "heads", "main.lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := p.command(t.Context(), "resume", run, "--quiet")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "it holds the lock of the index", func() bool {
		_, err := os.Stat(filepath.Join(p.dir, ".git", "index.lock"))
		return err == nil
	})
	time.Sleep(100 * time.Millisecond) // git starts
	target := cmd.Process.Pid
	if withGit {
		target = -target
	}
	if err := syscall.Kill(target, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	return p, run, func() {
		if withGit { // git's own, which it cannot remove any more
			if err := os.Remove(head); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Error(err)
			}
		}
		if err := os.Remove(lock); err != nil {
			t.Error(err)
		}
	}
}

// TestKilledLandingIsTakenBack cancels such a run, or starts another one, and what the landing has left is gone.
func TestKilledLandingIsTakenBack(t *testing.T) {
	for _, end := range []string{"cancel", "run"} {
		p, run, unlock := killedLanding(t, true)
		unlock()
		if got := p.git("status", "--porcelain"); got != "M  a.txt\nA  new.txt" {
			t.Fatalf("the kill met nothing: %s", got)
		}
		got := p.call("doctor")
		if !strings.Contains(got.out, "the process of run "+run+" was killed while it landed a change") || !strings.Contains(got.out, "`hocket cancel "+run+"`") {
			t.Errorf("doctor: %s%s", got.out, got.err)
		}
		args := []string{"cancel", run}
		if end == "run" {
			args = []string{"run", "w.yml"}
		}
		if got := p.call(args...); !strings.Contains(got.out+got.err, "the landing of run "+run+", whose process was killed, was taken back") {
			t.Errorf("%s: %d %s%s", end, got.code, got.out, got.err)
		}
		if _, err := os.Stat(filepath.Join(p.dir, ".git", "index.lock")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the index is locked: %v", err)
		}
		if got := p.git("status", "--porcelain"); got != "" {
			t.Errorf("%s has left %s", end, got)
		}
		if got := p.call("doctor"); strings.Contains(got.out, "landed a change") {
			t.Errorf("doctor: %s%s", got.out, got.err)
		}
		if end == "run" { // the approval is still valid
			if got := p.call("resume", run, "--quiet"); got.code != 0 || p.git("show", "HEAD:a.txt") != "one\ntwo" {
				t.Errorf("resume: %d %s%s", got.code, got.out, got.err)
			}
			continue
		}
		if got := p.git("rev-list", "--count", "HEAD"); got != "1" {
			t.Errorf("%s commits", got)
		}
	}
}

// TestGitOutlivesLanding kills only the run. Git goes on, so whoever cancels the run waits for it, and the landing is complete.
func TestGitOutlivesLanding(t *testing.T) {
	p, run, unlock := killedLanding(t, false)
	time.AfterFunc(time.Second, unlock)
	if got := p.call("cancel", run); !strings.Contains(got.err, "was complete: the change stays") {
		t.Errorf("cancel: %d %s%s", got.code, got.out, got.err)
	}
	if got := p.git("status", "--porcelain"); got != "" {
		t.Errorf("the status is %s", got)
	}
	if got := p.git("show", "HEAD:a.txt"); got != "one\ntwo" {
		t.Errorf("committed is %q", got)
	}
}
