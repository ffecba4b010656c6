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

// TestReplacedNotes has a step that puts something else in place of the file with the marks of its commands, or makes it unreadable. Its
// files are collected, it can be made again, and its directory is removed; nothing happens through a link.
func TestReplacedNotes(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	outside := t.TempDir()
	precious := filepath.Join(outside, "precious")
	f.write(precious, "keep\n")
	f.no(os.Chmod(precious, 0o400))
	for name, replace := range map[string]func(file string){
		"a directory":         func(file string) { f.write(filepath.Join(file, "deep", "x"), "x") },
		"a link to a file":    func(file string) { f.no(os.Symlink(precious, file)) },
		"a link to a folder":  func(file string) { f.no(os.Symlink(outside, file)) },
		"a link to nothing":   func(file string) { f.no(os.Symlink(filepath.Join(outside, "none"), file)) },
		"a pipe":              func(file string) { f.no(syscall.Mkfifo(file, 0o600)) },
		"a socket":            func(file string) { f.no(syscall.Mknod(file, syscall.S_IFSOCK|0o600, 0)) },
		"an unreadable file":  func(file string) { f.write(file, "x\n"); f.no(os.Chmod(file, 0)) },
		"a closed directory":  func(file string) { f.mkdir(file); f.no(os.Chmod(file, 0)) },
		"nothing, it is gone": func(string) {},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fixture{t, f.repo, f.state}
			a := Attempt{"r1", strings.ReplaceAll(name, " ", "-"), 1}
			again := func(w *Workspace) {
				_ = os.RemoveAll(notesIn(w.home))
				replace(notesIn(w.home))
			}
			w := f.checkout(s, a, b.Commit)
			f.write(filepath.Join(w.Root, "new.txt"), "new\n")
			again(w)
			f.has(s, f.collect(w), "new.txt", "new\n")
			again(w)
			a.Number++
			w = f.checkout(s, a, b.Commit)
			f.collect(w)
			again(w)
			f.no(s.Clean(t.Context(), func(i Info) bool { return i.Address == a.Address }))
			if _, err := os.Lstat(w.home); err == nil {
				t.Errorf("%s was not removed", w.home)
			}
		})
	}
	t.Run("pipes in place of the other files", func(t *testing.T) {
		f := &fixture{t, f.repo, f.state}
		a := Attempt{"r1", "pipes", 1}
		pipes := func(w *Workspace) {
			for _, name := range []string{"index", seenName, markerName + ".new"} {
				_ = os.Remove(filepath.Join(w.home, name))
				f.no(syscall.Mkfifo(filepath.Join(w.home, name), 0o600))
			}
		}
		w := f.checkout(s, a, b.Commit)
		pipes(w)
		f.write(filepath.Join(w.Root, "new.txt"), "new\n")
		f.has(s, f.collect(w), "new.txt", "new\n")
		a.Number++
		w = f.checkout(s, a, b.Commit)
		f.collect(w)
		pipes(w)
		f.no(s.Clean(t.Context(), func(i Info) bool { return i.Address == a.Address && i.Number == a.Number }))
	})
	if info, err := os.Stat(precious); err != nil || info.Mode().Perm() != 0o400 || f.read(precious) != "keep\n" {
		t.Errorf("%v, %v", info, err)
	}
}
