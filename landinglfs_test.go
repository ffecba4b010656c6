package hocket_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
)

// withLFS is repository with a large file in the real Git LFS, and returns its pointer.
func withLFS(t *testing.T, how, command string) (p *hocket.Project, dir, pointer string) {
	t.Helper()
	if exec.Command("git", "lfs", "version").Run() != nil {
		t.Skip("git-lfs is not installed; apt-get install git-lfs")
	}
	p, dir = repository(t, map[string]string{"a.txt": "one\n", "w.yml": `
name: w
steps:
  - {id: write, agent: editor, workspace: own, prompt: "` + command + `"}
  - {id: look, agent: editor, workspace: own, prompt: "cat large.bin"}
  - {id: ship, land: ` + how + `}
`}, hocket.Options{Agents: agents{"editor": editor()}})
	git(t, dir, "lfs", "install", "--local")
	git(t, dir, "lfs", "track", "*.bin")
	writeFile(t, filepath.Join(dir, "large.bin"), "content\n")
	long := time.Now().Add(-time.Hour) // git does not trust the times of files that have just changed
	if err := os.Chtimes(filepath.Join(dir, "large.bin"), long, long); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "large")
	return p, dir, git(t, dir, "show", "HEAD:large.bin")
}

// With the real Git LFS, a landing of other files leaves the large ones alone, in the checkout and in the commit.
func TestLandingBesideLargeFiles(t *testing.T) {
	for _, how := range []string{"commit", "patch", "branch"} {
		p, dir, pointer := withLFS(t, how, "echo two >> a.txt")
		r := start(t, p, "w.yml", nil)
		if got := strings.Join(r.Notes, "\n"); !strings.HasSuffix(got, "files of Git LFS are pointers in workspaces") {
			t.Errorf("%s: the run says %q", how, got)
		}
		if res := wait(t, r); output(res, "look") != pointer || !strings.HasPrefix(pointer, "version https://git-lfs.github.com/spec/v1\n") {
			t.Errorf("%s: in the workspace, the file is %q", how, output(res, "look"))
		}
		if res := reply(t, r, "land"); res.Status != engine.Success {
			t.Fatalf("%s: %s: %s", how, res.Status, res.Error)
		}
		branch := map[string]string{"branch": "hocket/" + r.ID()}[how]
		if got := git(t, dir, "show", branch+":large.bin"); got != pointer {
			t.Errorf("%s: committed is %q", how, got)
		}
		if got := readFile(t, dir, "large.bin"); got != "content\n" {
			t.Errorf("%s: large.bin is %q", how, got)
		}
		if got := git(t, dir, "status", "--porcelain"); got != map[string]string{"patch": "M a.txt"}[how] {
			t.Errorf("%s: the status is %q", how, got)
		}
		git(t, dir, "lfs", "fsck")
	}
}

// A step sees pointers, so what it writes in place of one would overwrite the content. That is not landed in the checkout.
func TestLandingOverLargeFiles(t *testing.T) {
	for _, how := range []string{"commit", "patch"} {
		p, dir, pointer := withLFS(t, how, "echo agent > large.bin")
		res := wait(t, start(t, p, "w.yml", nil))
		if res.Status != engine.Failed || !strings.Contains(res.Error, "large.bin has other content than git has recorded") {
			t.Errorf("%s: %s: %s", how, res.Status, res.Error)
		}
		if readFile(t, dir, "large.bin") != "content\n" || git(t, dir, "show", "HEAD:large.bin") != pointer || git(t, dir, "status", "--porcelain") != "" {
			t.Errorf("%s: large.bin is %q, and the status %s", how, readFile(t, dir, "large.bin"), git(t, dir, "status", "--porcelain"))
		}
	}
}

// A new large file lands with its content. With a patch, it becomes a pointer when its owner adds it.
func TestLandingOfNewLargeFiles(t *testing.T) {
	p, dir, _ := withLFS(t, "patch", "echo new > new.bin")
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	if res := reply(t, r, "land"); res.Status != engine.Success || readFile(t, dir, "new.bin") != "new\n" {
		t.Fatalf("%s: %s", res.Status, res.Error)
	}
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "new")
	if got := git(t, dir, "show", "HEAD:new.bin"); !strings.HasPrefix(got, "version https://git-lfs.github.com/spec/v1\n") {
		t.Errorf("committed is %q", got)
	}
	git(t, dir, "lfs", "fsck")
}
