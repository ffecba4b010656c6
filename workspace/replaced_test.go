//go:build unix

package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// soon fails if something waits for ever.
func (f *fixture) soon(what string, do func() error) error {
	f.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(30 * time.Second):
		f.Fatal(what + " waits")
		return nil
	}
}

// TestReplacedFiles has steps that put something else in place of a file that Hocket keeps beside the tree. They are collected, closed, made
// again after their process was killed, and their directory is removed; nothing waits, and nothing happens through a link.
func TestReplacedFiles(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	precious := filepath.Join(t.TempDir(), "precious")
	f.write(precious, "mine\n")
	f.no(os.Chmod(precious, 0o400))
	put := map[string]func(file string){
		"a directory":       func(file string) { f.write(filepath.Join(file, "x"), "x") },
		"a pipe":            func(file string) { f.no(syscall.Mkfifo(file, 0o600)) },
		"a link":            func(file string) { f.no(os.Symlink(precious, file)) },
		"a link to nothing": func(file string) { f.no(os.Symlink(filepath.Join(filepath.Dir(precious), "none"), file)) },
	}
	for name := range ownFiles {
		for what, put := range put {
			t.Run(what+" in place of "+name, func(t *testing.T) {
				f := &fixture{t, f.repo, f.state}
				a := Attempt{"r1", nameOf(what + " " + name), 0}
				next := func() (w *Workspace) {
					t.Helper()
					a.Number++
					f.no(f.soon("a checkout", func() (err error) { w, err = s.Checkout(t.Context(), a, b.Commit); return err }))
					f.no(os.RemoveAll(filepath.Join(w.home, name)))
					put(filepath.Join(w.home, name))
					return w
				}
				w := next()
				f.write(filepath.Join(w.Root, "new.txt"), "new\n")
				var commit string
				f.no(f.soon("the collection", func() (err error) { commit, err = w.Collect(t.Context(), "work"); return err }))
				f.has(s, commit, "new.txt", "new\n")
				f.no(f.soon("the end of the step", w.Close))
				f.no(f.soon("the end of the setup", next().Close))
				f.no(next().lock.Release()) // its process is killed
				f.no(f.soon("the end of the step after that", next().Close))
				a.Number++
				f.collect(f.checkout(s, a, b.Commit))
				all, err := s.List(t.Context())
				f.no(err)
				for _, info := range all {
					for _, left := range info.Left { // of the step that was killed, if it may be of a person
						if !strings.HasSuffix(left, name+".mine") && !strings.HasPrefix(filepath.Base(left), "left-") {
							t.Errorf("%s is left", left)
						}
						f.no(removeAll(left))
					}
				}
				f.no(s.Clean(t.Context(), func(Info) bool { return true }))
				if _, err := os.Lstat(w.home); err == nil {
					t.Errorf("%s was not removed", w.home)
				}
			})
		}
	}
	if got := f.read(precious); got != "mine\n" {
		t.Errorf("the file of the user is %q", got)
	}
	if entries, err := os.ReadDir(filepath.Dir(precious)); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestReplacedBySetup has commands that prepare a workspace, and leave pipes in place of what is read after them.
func TestReplacedBySetup(t *testing.T) {
	for what, file := range map[string]func(w *Workspace) string{
		"index": func(w *Workspace) string { return filepath.Join(w.home, indexName) },
		"tree":  func(w *Workspace) string { return w.Root },
	} {
		t.Run(what, func(t *testing.T) {
			f := newFixture(t)
			s := f.open()
			w := f.checkout(s, Attempt{"r1", "step", 1}, f.capture(s, "r1").Commit)
			err := f.soon("the setup", func() error {
				_, err := w.Setup(t.Context(), Setup{Command: "npm ci", Run: func(context.Context, string) error {
					return errors.Join(os.RemoveAll(file(w)), syscall.Mkfifo(file(w), 0o600))
				}})
				return err
			})
			if replaced := errors.As(err, new(*ReplacedError)); replaced != (what == "tree") || err != nil && !replaced {
				t.Errorf("error %v", err)
			}
			f.no(f.soon("the end", w.Close))
		})
	}
}

// TestHomeExchanged has a process that exchanges the directory of a workspace with a link to one of the user while the attempt ends.
func TestHomeExchanged(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	w := f.checkout(s, Attempt{"r1", "step", 1}, f.capture(s, "r1").Commit)
	f.write(filepath.Join(w.home, "cache"), "of the step\n")
	users, moved := t.TempDir(), filepath.Join(t.TempDir(), "moved")
	f.write(filepath.Join(users, "precious.txt"), "mine\n")
	home, err := s.openHome(w.home)
	f.no(err)
	defer home.Close()
	f.no(os.Rename(w.home, moved))
	f.no(os.Symlink(users, w.home))
	f.no(w.setBesideAside(home))
	f.no(repairFiles(home))
	f.no(marker{Attempt: w.Attempt}.writeIn(home))
	if entries, err := os.ReadDir(users); err != nil || len(entries) != 1 || entries[0].Name() != "precious.txt" {
		t.Errorf("%v, %v", entries, err)
	}
	if got := f.read(moved, "beside"+byAgent); got != "of the step\n" {
		t.Errorf("beside it is %q", got)
	}
	if home, err := s.openHome(w.home); !errors.Is(err, errNoDirectory) {
		t.Errorf("opened %v, %v", home, err)
	}
}
