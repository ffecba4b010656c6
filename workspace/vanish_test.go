//go:build unix

package workspace

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestVanishingFiles has files that are gone when git reads them, as those of editors and builds are, for a while or always.
func TestVanishingFiles(t *testing.T) {
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skip(err)
	}
	defer func(pause time.Duration) { vanishPause = pause }(vanishPause)
	vanishPause = time.Millisecond
	for name, said := range map[string]string{
		"before it is read":   "fatal: unable to stat '.f.swp': No such file or directory",
		"when it is opened":   `error: open(".f.swp"): No such file or directory`,
		"while it is read":    "error: short read while indexing .f.swp",
		"its directory":       "fatal: unable to stat '.f.swp': Not a directory",
		"a directory, unread": "warning: could not open directory '.f.swp/': No such file or directory",
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.put(".gitignore", ".env\n")
			f.put(".env", "secret\n")
			s := f.open()
			b := f.capture(s, "r0")
			w := f.checkout(s, Attempt{"r0", "step", 1}, b.Commit)
			defer w.Close()
			f.write(w.Root+"/new.txt", "new\n")
			left := filepath.Join(t.TempDir(), "left")
			shim := t.TempDir()
			code := "128"
			if strings.HasPrefix(said, "warning") {
				code = "0"
			}
			script := "#!/bin/sh\nread n < " + left + "\ncase \" $* \" in *' add --'*|*' update-index --add '*) if [ $n -gt 0 ]; then cat > /dev/null; echo $((n-1)) > " + left +
				"; cat " + left + ".said >&2; exit " + code + "; fi;; esac\nexec " + program + " \"$@\"\n"
			f.write(left+".said", said+"\n")
			f.write(filepath.Join(shim, "git"), script)
			f.no(os.Chmod(filepath.Join(shim, "git"), 0o755))
			t.Setenv("PATH", shim+string(os.PathListSeparator)+os.Getenv("PATH"))

			times := func(n int) { f.write(left, strconv.Itoa(n)+"\n") }
			times(3)
			b, err := s.Capture(t.Context(), "r1", []string{".env"})
			f.no(err)
			f.has(s, b.Commit, ".env", "secret")
			times(3)
			c, err := w.Collect(t.Context(), "work")
			f.no(err)
			f.has(s, c, "new.txt", "new")
			times(100)
			var gone *VanishedError
			if _, err := s.Capture(t.Context(), "r1", nil); !errors.As(err, &gone) || gone.Path != ".f.swp" {
				t.Errorf("the error is %v", err)
			}
			if _, err := w.Collect(t.Context(), "work"); !errors.As(err, &gone) || gone.Path != ".f.swp" {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestFilesNeverRest has a program that creates and removes files all the time, also ones that git knows. Everything else is recorded.
func TestFilesNeverRest(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r0")
	w := f.checkout(s, Attempt{"r0", "step", 1}, b.Commit)
	defer w.Close()
	for _, root := range []string{f.repo, w.Root} {
		for i := range 300 {
			f.write(filepath.Join(root, "many", strconv.Itoa(i)), strconv.Itoa(i)+"\n")
		}
		f.write(filepath.Join(root, "a.txt"), "changed\n")
		f.no(os.Remove(filepath.Join(root, "run.sh")))
	}
	over := make(chan struct{})
	defer close(over)
	for _, root := range []string{f.repo, w.Root} {
		go func() {
			for i := 0; ; i++ {
				select {
				case <-over:
					return
				default:
				}
				for _, name := range []string{"temp-" + strconv.Itoa(i%50), "many/temp", "dir/b.txt"} {
					_ = os.WriteFile(filepath.Join(root, name), []byte(strconv.Itoa(i)), 0o600)
				}
				for _, name := range []string{"temp-" + strconv.Itoa((i+40)%50), "many/temp", "dir/b.txt"} {
					_ = os.Remove(filepath.Join(root, name))
				}
			}
		}()
	}
	captured, err := s.Capture(t.Context(), "r1", nil)
	f.no(err)
	collected, err := w.Collect(t.Context(), "work")
	f.no(err)
	for _, commit := range []string{captured.Commit, collected} {
		f.has(s, commit, "a.txt", "changed\n")
		f.has(s, commit, "many/7", "7\n")
		f.has(s, commit, "many/299", "299\n")
		f.has(s, commit, "run.sh", "")
	}
}

// TestAddListed adds files in both ways. The tree is the same, or nothing counts as added.
func TestAddListed(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(f *fixture)
		added bool
	}{
		"nothing": {func(*fixture) {}, true},
		"edits": {func(f *fixture) {
			f.put("a.txt", "new\n")
			f.put("new/é \n.txt", "x")
			f.no(os.Remove(f.repo + "/dir/b.txt"))
		}, true},
		"ignored":           {func(f *fixture) { f.put("ignored/x", "x"); f.put("x/.gitignore", "*.o\n"); f.put("x/a.o", "x") }, true},
		"mode":              {func(f *fixture) { f.no(os.Chmod(f.repo+"/run.sh", 0o755)) }, true},
		"link":              {func(f *fixture) { f.no(os.Remove(f.repo + "/a.txt")); f.no(os.Symlink("dir", f.repo+"/a.txt")) }, true},
		"file to directory": {func(f *fixture) { f.no(os.Remove(f.repo + "/a.txt")); f.put("a.txt/in", "x") }, false},
		"directory to file": {func(f *fixture) { f.no(os.RemoveAll(f.repo + "/dir")); f.put("dir", "x") }, true},
		"sparse": {func(f *fixture) {
			f.git(f.repo, "update-index", "--skip-worktree", "a.txt")
			f.no(os.Remove(f.repo + "/a.txt"))
		}, true},
		"directory to link": {func(f *fixture) {
			f.no(os.Rename(f.repo+"/dir", f.repo+"/other"))
			f.no(os.Symlink("other", f.repo+"/dir"))
		}, true},
		"repository": {func(f *fixture) {
			f.git(f.repo, "init", "-q", "inner")
			f.git(f.repo+"/inner", "commit", "-q", "--allow-empty", "-m", "x")
		}, false},
		"invalid path": {func(f *fixture) { f.put("in/.Git/x", "x") }, false},
	} {
		f := newFixture(t)
		s := f.open()
		c.do(f)
		tree := func(add func(q *quarantine) bool) string {
			q, err := s.quarantine(s.root, "")
			f.no(err)
			defer q.remove()
			f.no(s.copyUserIndex(t.Context(), q.index))
			if !add(q) {
				return ""
			}
			tree, err := q.writeTree(t.Context())
			f.no(err)
			return tree
		}
		listed := tree(func(q *quarantine) bool { _, added := q.addListed(t.Context(), nil); return added })
		usual := tree(func(q *quarantine) bool { _, err := q.add(t.Context(), nil, nil); return err == nil })
		if c.added != (listed != "") || listed != "" && listed != usual {
			t.Errorf("%s: the tree is %q, and %q of git add", name, listed, usual)
		}
	}
}
