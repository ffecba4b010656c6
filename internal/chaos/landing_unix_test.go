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

	"github.com/hocket-dev/hocket/internal/filelock"
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

// TestKilledCancelIsRepeated kills also the command that cancels such a run, before it takes anything back. Everything says what is left,
// and whatever is done with the run then takes that back.
func TestKilledCancelIsRepeated(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, end := range []string{"cancel", "resume"} {
		p, run, unlock := killedLanding(t, true)
		unlock()
		p.killCancel(run)
		half := "the process of run " + run + " was killed while it landed a change, and a part of that is in your files"
		for _, verb := range [][]string{{"doctor"}, {"show", run}} {
			if got := p.call(verb...); !strings.Contains(got.out, half) || !strings.Contains(got.out, "to take it back: `hocket cancel "+run+"`") || strings.Contains(got.out, "to finish it") {
				t.Errorf("%s: %s%s", verb, got.out, got.err)
			}
		}
		if got := p.call("show", run, "--json"); !strings.Contains(got.out, `"half_landed":true`) {
			t.Errorf("show: %s%s", got.out, got.err)
		}
		back := "the landing of run " + run + ", whose process was killed, was taken back"
		got := p.call(end, run)
		if !strings.Contains(got.err, back) || end == "cancel" && got.code != 0 {
			t.Errorf("%s: %d %s%s", end, got.code, got.out, got.err)
		}
		if got := p.git("status", "--porcelain"); got != "" {
			t.Errorf("%s has left %s", end, got)
		}
		if got := p.call("show", run); strings.Contains(got.out, "landed a change") {
			t.Errorf("show: %s%s", got.out, got.err)
		}
		if got := p.call("cancel", run); got.code != 2 || !strings.Contains(got.err, "nothing was recorded") {
			t.Errorf("cancelled once more: %d %s%s", got.code, got.out, got.err)
		}
	}
}

// killCancel kills a process that cancels a run as soon as that is recorded.
func (p project) killCancel(run string) {
	p.t.Helper()
	notes, err := filepath.Glob(filepath.Join(os.Getenv("XDG_STATE_HOME"), "hocket", "landings", "*.landing"))
	if err != nil || len(notes) != 1 {
		p.t.Fatalf("the landings are %v, %v", notes, err)
	}
	var lock *filelock.Lock // so that it waits then
	await(p.t, "the git command of the landing has ended", func() bool {
		lock, err = filelock.Take(strings.TrimSuffix(notes[0], ".landing") + ".lock")
		return err == nil
	})
	defer lock.Release()
	cmd := p.command(p.t.Context(), "cancel", run)
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	await(p.t, "it is cancelled", func() bool { return strings.HasPrefix(p.outcome(run), "{\n \"Status\": \"cancelled\"") })
	if err := cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	_ = cmd.Wait()
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
