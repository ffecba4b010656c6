package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSaveWhileRemoved has a person who saves a file again and again while its directory is removed, in each way in which programs save.
// What was saved last is recorded, or still there.
func TestSaveWhileRemoved(t *testing.T) {
	removals := map[string]func(f *fixture, s *Store, base string){
		"clean":   func(f *fixture, s *Store, _ string) { f.no(s.Clean(f.Context(), func(Info) bool { return true })) },
		"attempt": func(f *fixture, s *Store, base string) { f.no(f.checkout(s, Attempt{"r1", "step", 2}, base).Close()) },
		"open": func(f *fixture, s *Store, base string) {
			_, err := s.OpenCopy(f.Context(), Attempt{"r1", "step", 2}, base)
			if err != nil && !errors.As(err, new(*EditedError)) {
				f.Error(err)
			}
		},
	}
	saves := map[string]func(dir *os.Root, root, text string) error{
		"in place": func(_ *os.Root, root, text string) error {
			return saveIn(os.OpenFile(filepath.Join(root, "a.txt"), inPlace, 0o600))(text)
		},
		"in an open directory": func(dir *os.Root, _, text string) error { return saveIn(dir.OpenFile("a.txt", inPlace, 0o600))(text) },
		"by renaming": func(_ *os.Root, root, text string) error {
			temp := filepath.Join(root, "temp")
			return errors.Join(os.WriteFile(temp, []byte(text), 0o600), os.Rename(temp, filepath.Join(root, "a.txt")))
		},
	}
	for how, remove := range removals {
		for way, save := range saves {
			t.Run(how+", "+way, func(t *testing.T) {
				f := newFixture(t)
				s := f.open()
				b := f.capture(s, "r1")
				a := Attempt{"r1", "step", 1}
				for range 3 {
					dir := filepath.Join(s.home(a), "tree")
					if how == "open" {
						var err error
						dir, err = s.OpenCopy(t.Context(), a, b.Commit)
						f.no(err)
					} else {
						f.collect(f.checkout(s, a, b.Commit))
					}
					saved, over := make(chan string), make(chan struct{})
					go func() { saved <- saveAgain(dir, save, over) }()
					remove(f, s, b.Commit)
					close(over)
					if text := <-saved; text != "" && !f.isKept(s, a, text) {
						t.Errorf("%q is lost; there is %v", text, slices.Collect(f.everywhere(s)))
					}
					f.no(os.RemoveAll(filepath.Join(f.state, "work")))
				}
			})
		}
	}
}

const inPlace = os.O_WRONLY | os.O_TRUNC | os.O_CREATE

// saveIn returns what writes a text into a file that was opened. The error says, too, that the file was removed meanwhile: nobody can
// know that a program has it open.
func saveIn(open *os.File, err error) func(text string) error {
	return func(text string) error {
		if err != nil {
			return err
		}
		defer open.Close()
		if _, err := open.WriteString(text); err != nil {
			return err
		}
		info, err := open.Stat()
		if err == nil && reflect.ValueOf(info.Sys()).Elem().FieldByName("Nlink").Uint() == 0 {
			err = os.ErrNotExist
		}
		return err
	}
}

// saveAgain saves until that fails or is over, and returns what was saved last.
func saveAgain(root string, save func(dir *os.Root, root, text string) error, over chan struct{}) (last string) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return ""
	}
	defer dir.Close()
	time.Sleep(rand.N(20 * time.Millisecond))
	for i := 0; ; i++ {
		text := fmt.Sprintf("saved at %d, for the %dth time\n", time.Now().UnixNano(), i)
		if save(dir, root, text) != nil {
			return last
		}
		last = text
		select {
		case <-over:
			return last
		default:
		}
		if i%50 == 0 {
			time.Sleep(rand.N(7 * time.Millisecond))
		}
	}
}

// everywhere returns the contents of all files a.txt in directories of workspaces.
func (f *fixture) everywhere(s *Store) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name, text := range listing(f.T, filepath.Join(s.dir, "work")) {
			if filepath.Base(name) == "a.txt" && !yield(name+": "+text) {
				return
			}
		}
	}
}

// isKept reports whether a file with a text is in a directory, or was recorded.
func (f *fixture) isKept(s *Store, a Attempt, text string) bool {
	for has := range f.everywhere(s) {
		if strings.HasSuffix(has, text) {
			return true
		}
	}
	_, commit, err := s.Collected(f.Context(), a)
	f.no(err)
	if commit == "" {
		return false
	}
	has, err := s.git.out(f.Context(), "cat-file", "blob", commit+":a.txt")
	return err == nil && has+"\n" == text
}

// TestSavedAfterTheLook has a program with an open directory, which changes it after its files were seen for the last time. What it has
// saved stays, and nothing else.
func TestSavedAfterTheLook(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(f *fixture, root string)
		left string // "": nothing
	}{
		"nothing": {func(*fixture, string) {}, ""},
		"looks": {func(f *fixture, root string) {
			f.no(os.Chtimes(filepath.Join(root, ".git", "index"), time.Time{}, time.Now()))
			f.git(root, "status")
		}, ""},
		"edits": {func(f *fixture, root string) { f.editUnseen(filepath.Join(root, "a.txt"), "ONE") }, "a.txt"},
		"replaces": {func(f *fixture, root string) {
			f.no(os.Remove(filepath.Join(root, "dir/b.txt")))
			f.write(filepath.Join(root, "dir/b.txt"), "b\n")
		}, "dir/b.txt"},
		"creates":      {func(f *fixture, root string) { f.write(filepath.Join(root, "new/mine"), "mine\n") }, "new/mine"},
		"a repository": {func(f *fixture, root string) { f.write(filepath.Join(root, "made", ".git", "config"), "mine\n") }, "made/.git/config"},
		"a link":       {func(f *fixture, root string) { f.no(os.Symlink("..", filepath.Join(root, "dir", "up"))) }, "dir/up"},
	} {
		f := newFixture(t)
		s := f.open()
		b := f.capture(s, "r1")
		w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
		f.write(filepath.Join(w.Root, ".gitignore"), "made\n")
		f.git(w.Root, "init", "-q", "made") // is not recorded
		f.write(filepath.Join(w.Root, "made", "output"), "output\n")
		f.no(os.Link(filepath.Join(w.Root, "made", "output"), filepath.Join(w.Root, "made", "again")))
		f.no(os.Mkdir(filepath.Join(w.Root, "made", "shut"), 0o500))
		f.collect(w)
		m, err := readMarker(w.home)
		f.no(err)
		last, err := s.rename(t.Context(), w.home, m)
		f.no(err)
		c.do(f, goneIn(w.home))
		left, err := removeGone(w.home, m, last.has)
		f.no(err)
		if c.left == "" {
			if left != "" || hasTree(w.home) {
				t.Errorf("%s: left %v", name, listing(t, w.home))
			}
			continue
		}
		if all := slices.Collect(maps.Keys(listing(t, left))); len(all) != 1 || all[0] != c.left {
			t.Errorf("%s: left %v, want %s", name, all, c.left)
		}
		if all, err := s.List(t.Context()); err != nil || len(all) != 1 || len(all[0].Left) != 1 || all[0].Left[0] != left {
			t.Errorf("%s: list %+v, %v", name, all, err)
		}
	}
}

// TestKilledRemoval has a process that was killed while it removed a tree. Before its files are known to be recorded, it gets its name back;
// after that, what was saved since stays.
func TestKilledRemoval(t *testing.T) {
	for name, c := range map[string]struct {
		partial, again, full bool // the tree was partly removed; somebody has created it again; there was no space for the list of its files
		tree, left           string
	}{
		"before":                {false, false, false, "mine\n", ""},
		"before, and again":     {false, true, false, "new\n", "mine\n"},
		"after":                 {true, false, false, "", "mine\n"},
		"after, on a full disk": {true, false, true, "", "mine\n"},
	} {
		f := newFixture(t)
		s := f.open()
		b := f.capture(s, "r1")
		w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
		f.collect(w)
		m, err := readMarker(w.home)
		f.no(err)
		last, err := s.rename(t.Context(), w.home, m)
		f.no(err)
		if last.write(w.home); c.full {
			f.no(os.Remove(filepath.Join(w.home, seenName)))
		}
		if c.partial {
			f.no(os.Rename(filepath.Join(w.home, markerName), filepath.Join(w.home, removedName)))
		}
		time.Sleep(20 * time.Millisecond)
		f.write(filepath.Join(goneIn(w.home), "a.txt"), "mine\n")
		if c.again {
			f.write(filepath.Join(w.Root, "a.txt"), "new\n")
		}
		// Somebody moves files there, whose times are old.
		notes, old := filepath.Join(f.T.TempDir(), "notes"), time.Now().Add(-24*time.Hour)
		for _, name := range []string{"one", "two"} {
			f.write(filepath.Join(notes, name), "notes\n")
			f.no(os.Chtimes(filepath.Join(notes, name), old, old))
		}
		f.no(os.Rename(filepath.Join(notes, "one"), filepath.Join(goneIn(w.home), "one")))
		f.no(os.Rename(notes, filepath.Join(goneIn(w.home), "notes")))
		m, err = readMarker(w.home)
		f.no(err)
		left, err := settle(w.home, m)
		f.no(err)
		has := func(dir, name string) string { text, _ := os.ReadFile(filepath.Join(dir, name)); return string(text) }
		if tree, kept := has(w.Root, "a.txt"), has(filepath.Join(w.home, "left-1"), "a.txt"); tree != c.tree || kept != c.left || c.partial != (left != "") {
			t.Errorf("%s: the tree has %q, and %q is left in %q", name, tree, kept, left)
		}
		for _, name := range []string{"one", filepath.Join("notes", "two")} {
			if has(cmp.Or(left, w.Root), name) != "notes\n" && has(filepath.Join(w.home, "left-1"), name) != "notes\n" {
				t.Errorf("%s is lost", name)
			}
		}
		if _, err := os.Lstat(filepath.Join(w.home, "left-1", "run.sh")); c.partial && (err == nil) != c.full {
			t.Errorf("%s: what nobody has changed is left", name)
		}
	}
}

// TestCreatedAgain has a program that creates the directory again by its path, after its files are gone.
func TestCreatedAgain(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
	f.collect(w)
	m, err := readMarker(w.home)
	f.no(err)
	_, err = s.retire(t.Context(), w.home, m)
	f.no(err)
	f.write(filepath.Join(w.Root, "work"), "mine\n")
	if err := removeRest(w.home); err == nil || !strings.Contains(err.Error(), w.home) {
		t.Errorf("error %v", err)
	}
	f.no(s.Clean(t.Context(), func(Info) bool { return true }))
	f.no(s.Release(t.Context(), "r1"))
	m.Partial = true // as if the process was killed before
	f.no(m.write(s, w.home))
	f.no(s.Clean(t.Context(), func(Info) bool { return true }))
	if got := f.read(w.home, "left-1", "work"); got != "mine\n" {
		t.Errorf("the work is %q", got)
	}
}

// TestCreatedAgainBeforeTheNext has the same before the next attempt begins. That begins with its own files, and what was created stays when it
// has ended.
func TestCreatedAgainBeforeTheNext(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	next, err := s.checkout(t.Context(), Attempt{"r1", "step", 2}, b.Commit, func(w *Workspace) error {
		f.write(filepath.Join(w.Root, "a.txt"), "mine\n")
		return nil
	})
	f.no(err)
	if next.LeftIn != filepath.Join(next.home, "left-2") || next.Reason != errSaved {
		t.Errorf("left in %q: %v", next.LeftIn, next.Reason)
	}
	if got := f.read(next.Root, "a.txt") + f.read(next.home, "left-2", "a.txt"); got != "one\ntwo\nthree\nmine\n" {
		t.Errorf("the files are %q", got)
	}
	f.collect(next)
	if got := f.read(next.home, "left-2", "a.txt"); got != "mine\n" {
		t.Errorf("after the attempt, the work is %q", got)
	}
}

// TestPlaceFails cannot give a directory its name, while nothing is there. Nobody has saved anything then.
func TestPlaceFails(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	w := f.checkout(s, Attempt{"r1", "step", 1}, f.capture(s, "r1").Commit)
	f.no(os.RemoveAll(w.Root))
	if err := w.place(filepath.Join(w.home, "fresh")); !errors.Is(err, os.ErrNotExist) || w.Reason != nil || w.LeftIn != "" {
		t.Errorf("%v; left in %q because of %v", err, w.LeftIn, w.Reason)
	}
	f.no(w.lock.Release())
}
