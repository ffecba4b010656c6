package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// editUnseen changes a file in place, and leaves its size and its time as they were.
func (f *fixture) editUnseen(file, text string) {
	f.Helper()
	info, err := os.Stat(file)
	f.no(err)
	f.edit(file, text)
	f.no(os.Chtimes(file, info.ModTime(), info.ModTime()))
}

// TestWorkInACopy does in a copy what a person may do there. What exists nowhere else stays: when workspaces are cleaned, when the run
// is released, and when another attempt is opened. Looking is no change.
func TestWorkInACopy(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(f *fixture, dir string)
		stays bool
	}{
		"looks": {func(f *fixture, dir string) {
			f.no(os.Chtimes(filepath.Join(dir, ".git", "index"), time.Time{}, time.Now()))
			f.git(dir, "status")
			f.git(dir, "diff")
			f.git(dir, "log")
		}, false},
		"an empty directory":                {func(f *fixture, dir string) { f.mkdir(filepath.Join(dir, "empty")) }, true},
		"a file with its old time":          {func(f *fixture, dir string) { f.editUnseen(filepath.Join(dir, "a.txt"), "ONE") }, true},
		"an ignored file with its old time": {func(f *fixture, dir string) { f.editUnseen(filepath.Join(dir, "ignored", "given"), "GIVEN") }, true},
		"takes back": {func(f *fixture, dir string) {
			f.write(filepath.Join(dir, "x"), "x")
			f.no(os.Remove(filepath.Join(dir, "x")))
		}, false},
		"an ignored file":  {func(f *fixture, dir string) { f.write(filepath.Join(dir, "ignored", "notes"), "mine\n") }, true},
		"an included file": {func(f *fixture, dir string) { f.write(filepath.Join(dir, "ignored", "given"), "mine\n") }, true},
		"a commit that is reset": {func(f *fixture, dir string) {
			f.write(filepath.Join(dir, "a.txt"), "mine\n")
			f.git(dir, "commit", "-qam", "mine")
			f.git(dir, "reset", "-q", "--hard", "HEAD^")
		}, true},
		"only staged": {func(f *fixture, dir string) {
			f.write(filepath.Join(dir, "mine.txt"), "mine\n")
			f.git(dir, "add", "mine.txt")
			f.no(os.Remove(filepath.Join(dir, "mine.txt")))
		}, true},
		"a mode": {func(f *fixture, dir string) { f.no(os.Chmod(filepath.Join(dir, "a.txt"), 0o755)) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.put(".gitignore", "ignored\n")
			f.put("ignored/given", "given\n")
			s := f.open()
			b := f.capture(s, "r1", "ignored")
			a := Attempt{"r1", "step", 1}
			dir, err := s.OpenCopy(t.Context(), a, b.Commit)
			f.no(err)
			if all, err := s.List(t.Context()); err != nil || len(all) != 1 || all[0].Edited {
				t.Fatalf("a new copy is listed as %+v, %v", all, err)
			}
			c.do(f, dir)
			if all, err := s.List(t.Context()); err != nil || len(all) != 1 || all[0].Edited != c.stays {
				t.Errorf("it is listed as %+v, %v", all, err)
			}
			if !c.stays {
				err := s.Clean(t.Context(), func(Info) bool { return true })
				f.no(err)
				if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("it was not removed: %v", err)
				}
				return
			}
			before := listing(t, dir)
			if again, err := s.OpenCopy(t.Context(), a, b.Commit); again != dir || err != nil {
				t.Errorf("opened again in %s, %v", again, err)
			}
			if _, err := s.OpenCopy(t.Context(), Attempt{"r1", "step", 2}, b.Commit); !errors.As(err, new(*EditedError)) {
				t.Errorf("opened for another attempt: %v", err)
			}
			err = s.Clean(t.Context(), func(Info) bool { return true })
			f.no(err)
			f.no(s.Release(t.Context(), "r1"))
			same(t, "the copy", before, listing(t, dir))
		})
	}
}
