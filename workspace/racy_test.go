package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// early waits until a second has just begun, so that a checkout and what follows are in the same one.
func early() {
	for time.Now().Nanosecond() > int(300*time.Millisecond) {
		time.Sleep(10 * time.Millisecond)
	}
}

// edit changes a file in place, and leaves its size as it was.
func (f *fixture) edit(file, text string) {
	f.Helper()
	open, err := os.OpenFile(file, os.O_WRONLY, 0)
	f.no(err)
	_, err = open.WriteAt([]byte(text), 0)
	f.no(err)
	f.no(open.Close())
}

// TestChangesOfTheSameSecond changes files directly after the checkout, in ways that git cannot see from times in seconds.
func TestChangesOfTheSameSecond(t *testing.T) {
	f := newFixture(t)
	odd := "odd\t\xff \"name\"\n.txt"
	names := []string{"edit", "back", "mode", "replaced", "deleted", "link", "directory", "emptied", "filled", odd, "swap1", "swap2", "in/a", "on/a", "moved/a", "linked/a", "target", "committed", "marked"}
	for _, name := range names {
		f.put(name, fmt.Sprintf("text of %-30q\n", name))
	}
	f.put("filled", "")
	f.no(os.Remove(filepath.Join(f.repo, "target")))
	f.no(os.Symlink("a.txt", filepath.Join(f.repo, "target")))
	f.git(f.repo, "add", "-A")
	f.git(f.repo, "commit", "-qm", "files")
	s := f.open()
	b := f.capture(s, "r1")
	for i, commits := range []bool{false, true} {
		early()
		w := f.checkout(s, Attempt{"r1", fmt.Sprint("step", i), 1}, b.Commit)
		at := func(name string) string { return filepath.Join(w.Root, name) }
		info, err := os.Stat(at("back"))
		f.no(err)
		f.edit(at("edit"), "TEXT")
		f.edit(at("back"), "TEXT")
		f.no(os.Chtimes(at("back"), info.ModTime(), info.ModTime()))
		f.no(os.Chmod(at("mode"), 0o755))
		f.write(at("new"), strings.ToUpper(f.read(at("replaced"))))
		f.no(os.Chtimes(at("new"), info.ModTime(), info.ModTime()))
		f.no(os.Rename(at("new"), at("replaced")))
		f.no(os.Remove(at("deleted")))
		f.no(os.Remove(at("link")))
		f.no(os.Symlink("edit", at("link")))
		f.no(os.Remove(at("directory")))
		f.write(at("directory/file"), "file")
		f.no(os.Truncate(at("emptied"), 0))
		f.write(at("filled"), "full")
		f.edit(at(odd), "TEXT")
		for _, move := range [][2]string{{"swap1", "x"}, {"swap2", "swap1"}, {"x", "swap2"}, {"in", "x"}, {"on", "in"}, {"x", "on"}, {"linked", "elsewhere"}} {
			f.no(os.Rename(at(move[0]), at(move[1])))
		}
		f.no(os.Symlink("elsewhere", at("linked")))
		f.no(os.Remove(at("target")))
		f.no(os.Symlink("b.txt", at("target")))
		if commits {
			f.edit(at("committed"), "TEXT")
			f.git(w.Root, "commit", "-qm", "mine", "committed")
			f.edit(at("committed"), "Text")
			f.git(w.Root, "update-index", "--assume-unchanged", "marked")
			f.git(w.Root, "update-index", "--skip-worktree", "moved/a")
			f.git(w.Root, "add", "--intent-to-add", "directory/file")
		}
		f.edit(at("marked"), "TEXT")
		f.edit(at("moved/a"), "TEXT")
		c := f.collect(w)
		if got, want := f.tree(s, c), f.treeOf(s, w.Root); got != want {
			t.Errorf("the agent commits: %v: collected\n%s\nwant\n%s", commits, got, want)
		}
	}
}

// tree lists the files of a commit.
func (f *fixture) tree(s *Store, commit string) string {
	f.Helper()
	text, err := s.git.out(f.Context(), "ls-tree", "-r", commit)
	f.no(err)
	return text
}

// treeOf lists the files of a directory as a commit would have them. Git knows nothing about them before.
func (f *fixture) treeOf(s *Store, dir string) string {
	f.Helper()
	q, err := s.quarantine(dir, "")
	f.no(err)
	defer q.remove()
	f.no(q.do(f.Context(), "add", "--all"))
	tree, err := q.out(f.Context(), "write-tree")
	f.no(err)
	text, err := q.out(f.Context(), "ls-tree", "-r", tree)
	f.no(err)
	return text
}

// TestRandomChanges compares what is collected with what git finds in the files if it knows nothing about them.
func TestRandomChanges(t *testing.T) {
	f := newFixture(t)
	const many = 40
	for i := range many {
		f.put(fmt.Sprintf("d%d/f%d", i%4, i), fmt.Sprintf("%4d\n", i))
	}
	f.git(f.repo, "add", "-A")
	f.git(f.repo, "commit", "-qm", "files")
	s := f.open()
	b := f.capture(s, "r1")
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 0))
		w := f.checkout(s, Attempt{"r1", fmt.Sprint("step", seed), 1}, b.Commit)
		var done []string
		for range random.IntN(30) {
			file := filepath.Join(w.Root, fmt.Sprintf("d%d", random.IntN(4)), fmt.Sprintf("f%d", random.IntN(many)))
			info, err := os.Lstat(file)
			if err != nil {
				continue
			}
			action := random.IntN(6)
			done = append(done, fmt.Sprint(action, " ", file))
			switch action {
			case 0, 1:
				f.no(os.WriteFile(file, []byte(fmt.Sprintf("%4d\n", random.IntN(10000))), 0o644))
				f.no(os.Chtimes(file, info.ModTime(), info.ModTime()))
			case 2:
				f.no(os.Chmod(file, 0o755))
			case 3:
				f.no(os.Remove(file))
			case 4:
				f.no(os.Rename(file, filepath.Join(w.Root, "d1", fmt.Sprintf("f%d", random.IntN(many)))))
			case 5:
				f.no(os.Remove(file))
				f.no(os.Symlink(fmt.Sprintf("%4d\n", random.IntN(many)), file))
			}
			if random.IntN(20) == 0 {
				f.git(w.Root, "add", "-A")
				f.git(w.Root, "commit", "-qm", "mine", "--allow-empty")
			}
		}
		if got, want := f.tree(s, f.collect(w)), f.treeOf(s, w.Root); got != want {
			t.Errorf("seed %d: collected\n%s\nwant\n%s\nafter\n%s", seed, got, want, strings.Join(done, "\n"))
		}
	}
}

// TestCompare looks at which files git reads.
func TestCompare(t *testing.T) {
	f := newFixture(t)
	f.put("empty", "")
	s := f.open()
	b := f.capture(s, "r1")
	early()
	w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
	defer w.Close()
	if _, known := statOf(w.Root); !known {
		t.Skip("this system does not tell when files were changed")
	}
	first, err := os.Stat(filepath.Join(w.Root, ".gitignore"))
	f.no(err)
	edited := filepath.Join(w.Root, "a.txt")
	info, err := os.Stat(edited)
	f.no(err)
	f.edit(edited, "ONE")
	f.no(os.Chtimes(edited, info.ModTime(), info.ModTime()))
	f.no(os.Remove(filepath.Join(w.Root, "run.sh")))
	compared := func(change func(q *quarantine)) (forgotten []string, compared bool) {
		t.Helper()
		q, err := s.quarantine(w.Root, "")
		f.no(err)
		defer q.remove()
		f.no(copyIndex(filepath.Join(w.home, "index"), q.index))
		change(q)
		before := f.read(q.index)
		f.no(q.compare(func(see func(string, stat)) error {
			_, err := w.makeReadable(t.Context(), see)
			return err
		}))
		after := f.read(q.index)
		if !q.compared {
			if before != after {
				t.Error("the index was changed")
			}
			return nil, false
		}
		index, ok := parseIndex([]byte(after))
		if !ok {
			t.Fatal("invalid index")
		}
		for _, e := range index.entries {
			if bytes.Equal(e.known[sizeAt:], make([]byte, 4)) {
				forgotten = append(forgotten, e.name)
			}
		}
		if info, err := os.Stat(q.index); err != nil || !info.ModTime().After(time.Now()) {
			t.Error("git reads all files again")
		}
		return forgotten, true
	}
	for name, change := range map[string]func(*quarantine){
		"is as it was copied": func(*quarantine) {},
		"is later than the changes": func(q *quarantine) { // as if the clock had stepped back before them
			time.Sleep(20 * time.Millisecond)
			f.write(q.index, f.read(q.index))
		},
	} {
		if got, ok := compared(change); !ok || !slices.Equal(got, []string{"a.txt", "empty", "run.sh"}) {
			t.Errorf("an index that %s: git reads %q, %v", name, got, ok)
		}
	}
	update := func(option ...string) func(*quarantine) {
		return func(q *quarantine) { f.no(q.do(t.Context(), append([]string{"update-index"}, option...)...)) }
	}
	for name, change := range map[string]func(*quarantine){
		"is not later than the files": func(q *quarantine) { f.no(os.Chtimes(q.index, first.ModTime(), first.ModTime())) },
		"is later than now":           func(q *quarantine) { f.no(postdate(q.index)) },
		"has compressed names":        update("--index-version", "4"),
		"consists of two files":       update("--split-index"),
		"has untracked directories":   update("--force-untracked-cache"),
		"is damaged":                  func(q *quarantine) { f.edit(q.index, "DIRc") },
		"has no times":                func(q *quarantine) { f.no(q.do(t.Context(), "read-tree", b.Commit)) },
	} {
		if got, ok := compared(change); ok {
			t.Errorf("an index that %s: git reads only %q", name, got)
		}
	}
}

// TestUntouched changes a work tree that was collected in all ways that a person has.
func TestUntouched(t *testing.T) {
	f := newFixture(t)
	f.put("in/deep/file", "text\n")
	f.git(f.repo, "add", "-A")
	f.git(f.repo, "commit", "-qm", "files")
	s := f.open()
	b := f.capture(s, "r1")
	if _, known := statOf(f.repo); !known {
		t.Skip("this system does not tell when files were changed")
	}
	info, err := os.Stat(filepath.Join(f.repo, "in/deep/file"))
	f.no(err)
	for name, change := range map[string]func(root string) error{
		"edited": func(root string) error { f.edit(filepath.Join(root, "in/deep/file"), "TEXT"); return nil },
		"dated": func(root string) error {
			return os.Chtimes(filepath.Join(root, "a.txt"), info.ModTime(), info.ModTime())
		},
		"mode":         func(root string) error { return os.Chmod(filepath.Join(root, "a.txt"), 0o755) },
		"mode of top":  func(root string) error { return os.Chmod(root, 0o701) },
		"new":          func(root string) error { return os.WriteFile(filepath.Join(root, "in/new"), nil, 0o600) },
		"new at top":   func(root string) error { return os.WriteFile(filepath.Join(root, "new"), nil, 0o600) },
		"new folder":   func(root string) error { return os.Mkdir(filepath.Join(root, "in/deep/new"), 0o700) },
		"removed":      func(root string) error { return os.Remove(filepath.Join(root, "in/deep/file")) },
		"renamed":      func(root string) error { return os.Rename(filepath.Join(root, "in"), filepath.Join(root, "on")) },
		"link":         func(root string) error { return os.Symlink("a.txt", filepath.Join(root, "in/link")) },
		"ignored":      func(root string) error { return os.WriteFile(filepath.Join(root, "made"), []byte("changed"), 0o600) },
		"repository":   func(root string) error { return os.Rename(filepath.Join(root, ".git"), filepath.Join(root, "git")) },
		"submodule":    func(root string) error { return os.WriteFile(filepath.Join(root, "in/.git"), []byte("x"), 0o600) },
		"all replaced": func(root string) error { return errors.Join(os.Rename(root, root+"-old"), os.Mkdir(root, 0o700)) },
		"gone":         func(root string) error { return os.Rename(root, root+"-old") },
		"nothing":      func(string) error { return nil },
		"read":         func(root string) error { _, err := os.ReadFile(filepath.Join(root, "a.txt")); return err },
		"status":       func(root string) error { f.git(root, "status"); return nil },
		"branch":       func(root string) error { f.git(root, "checkout", "-qb", "other"); return nil },
	} {
		w := f.checkout(s, Attempt{"r1", name, 1}, b.Commit)
		f.write(filepath.Join(w.Root, ".gitignore"), "made\n")
		f.write(filepath.Join(w.Root, "made"), "by the agent\n")
		f.collect(w)
		f.no(change(w.Root))
		want := slices.Contains([]string{"nothing", "read", "status", "branch"}, name)
		m, err := readMarker(w.home)
		f.no(err)
		now, err := lookAt(w.Root)
		if got := err == nil && now.digest() == m.Files; got != want {
			t.Errorf("%s: untouched is %t, want %t", name, got, want)
		}
	}
}

// TestChangesDuringALanding changes a file of the checkout after the new index was written in its quarantine, and before it replaces that of
// the user: with the same size, and in the second in which the file was written. Git must see that.
func TestChangesDuringALanding(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	swap, err := s.indexSwap()
	f.no(err)
	was, err := os.Stat(swap.index)
	f.no(err)
	f.git(f.repo, "config", "core.trustctime", "false") // whose second is another one
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	file := filepath.Join(f.repo, "a.txt")
	f.no(os.Chtimes(file, at, at))
	q, err := s.quarantine(s.root, s.user.objects)
	f.no(err)
	defer q.remove()
	f.no(s.copyUserIndex(t.Context(), q.index))
	if err := q.do(t.Context(), "update-index", "-q", "--refresh"); err != nil && exitCode(err) != 1 {
		t.Fatal(err)
	}
	f.no(os.Chtimes(q.index, at, at)) // as if all happens in that second
	f.edit(file, "ONE")
	f.no(os.Chtimes(file, at, at))
	if _, err := swap.do(q.index, []byte(f.read(swap.index)), func() error { return nil }); err != nil {
		t.Error(err)
	}
	f.status(" M a.txt")
	if is, err := os.Stat(swap.index); err != nil || is.Mode() != was.Mode() {
		t.Errorf("the index is %v, %v", is, err)
	}
}
