package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hocket-dev/hocket/internal/process"
)

// TestSurvivors has commands that leave a process which has no connection to them, and writes into the workspace by its
// path, which is the same for the next attempt.
func TestSurvivors(t *testing.T) {
	const again = "HOCKET_TEST_SURVIVORS"
	if os.Getenv(again) == "" {
		if process.Depth() > 0 {
			t.Skip("the tests run in an attempt")
		}
		if _, err := exec.LookPath("setsid"); err != nil {
			t.Skip("needs setsid")
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestSurvivors$") // marking cannot be undone
		cmd.Env = append(os.Environ(), again+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	process.Mark()
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	survive := func(w *Workspace) (lives func() bool) {
		t.Helper()
		id := filepath.Join(t.TempDir(), "pid")
		writer := "cd /; echo $$ > " + id + "; while :; do echo x >> " + w.Dir + "/late.txt; sleep 0.01; done"
		c := process.Command{Key: "r1/step", Cmd: exec.Command("sh", "-c", "env -i PATH=$PATH setsid setsid sh -c '"+writer+"' >/dev/null 2>&1 & until test -s "+id+" -a -s late.txt; do sleep 0.01; done")}
		c.Cmd.Dir = w.Dir
		nothing := func([]byte) error { return nil }
		f.no(c.Run(w.Noting(t.Context()), "", nothing, nothing))
		pid, err := strconv.Atoi(strings.TrimSpace(f.read(id)))
		f.no(err)
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
		lives = func() bool {
			stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
			return err == nil && !strings.Contains(string(stat), ") Z ")
		}
		if !lives() {
			t.Fatal("it ended with its command")
		}
		return lives
	}
	a := Attempt{"r1", "step", 1}
	first := f.checkout(s, a, b.Commit)
	lives := survive(first)
	f.collect(first)
	if lives() {
		t.Error("it runs after its files were collected")
	}
	a.Number++
	second := f.checkout(s, a, b.Commit)
	lives = survive(second)
	f.no(second.Close()) // as if our process had died
	a.Number++
	third := f.checkout(s, a, b.Commit)
	if lives() {
		t.Error("it runs in the next attempt")
	}
	if _, err := os.Lstat(filepath.Join(third.Root, "late.txt")); err == nil {
		t.Error("it wrote into the next attempt")
	}
	lives = survive(third)
	f.no(third.Close())
	if err := s.Clean(t.Context(), func(Info) bool { return true }); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(third.Root); lives() || err == nil {
		t.Error("it runs after its directory was removed, or the directory is there")
	}
}
