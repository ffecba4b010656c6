//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLocksThatCannotBeRemoved has an agent that makes lock files of git in which nothing can be changed. Its directory is harmless anyway, and git
// works there.
func TestLocksThatCannotBeRemoved(t *testing.T) {
	if !asNobody(t) {
		return
	}
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
	y := f.spy()
	git := filepath.Join(w.Root, ".git")
	f.arm(git, y)
	long := strings.Repeat("x", 250) + ".lock"
	for _, name := range []string{"HEAD.lock", "index.lock", "refs/heads/hocket.lock", "refs/heads/deep/x.lock", long} {
		lock := filepath.Join(git, filepath.FromSlash(name))
		f.write(filepath.Join(lock, "y", "z"), "x")
		f.no(os.Chmod(filepath.Join(lock, "y"), 0o500))
		f.no(os.Chmod(lock, 0o500))
	}
	f.no(os.Chmod(filepath.Join(git, "refs", "heads", "deep"), 0o500))
	f.no(os.Chmod(filepath.Join(git, "refs", "heads"), 0o500))
	f.collect(w)
	f.write(filepath.Join(w.Root, "a.txt"), "mine\n")
	f.git(w.Root, "commit", "-qam", "mine")
	f.check("git in the directory", y)
	if refs := f.git(w.Root, "for-each-ref", "--format=%(refname)"); strings.TrimSpace(refs) != "refs/heads/"+branchName {
		t.Errorf("git finds the refs %q", refs)
	}
	f.no(removeAll(f.state))
}
