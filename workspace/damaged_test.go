//go:build unix

package workspace

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestDamagedStore has steps that change the store, whose path they know. Later calls do not wait for them, and say what to do. After that,
// all is well.
func TestDamagedStore(t *testing.T) {
	link := func(to string) func(f *fixture, path string) {
		return func(f *fixture, path string) { f.no(os.Symlink(strings.ReplaceAll(to, "REPO", f.repo), path)) }
	}
	pipe := func(f *fixture, path string) {
		if out, err := exec.Command("mkfifo", path).CombinedOutput(); err != nil {
			f.Skip(string(out))
		}
	}
	file := func(f *fixture, path string) { f.write(path, "garbage") }
	dir := func(f *fixture, path string) { f.write(path+"/x", "x") }
	for _, test := range []struct {
		name, path string
		put        func(f *fixture, path string)
		want       string // "": it is repaired
	}{
		{"refs of the user", "refs", link("REPO/.git/refs"), "refs is a symbolic link: move it elsewhere"},
		{"branches of the user", "refs/hocket/r1", link("REPO/.git/refs/heads"), "refs/hocket/r1 is a symbolic link: move it elsewhere"},
		{"refs are a file", "refs", file, "refs is not a directory: move it elsewhere"},
		{"refs are a pipe", "refs", pipe, "refs is not a regular file: move it elsewhere"},
		{"a ref is a pipe", "refs/hocket/r1/base", pipe, "base is not a regular file: move it elsewhere"},
		{"a ref is garbage", "refs/hocket/r1/base", file, "reference broken: move it elsewhere"},
		{"no refs", "refs", func(*fixture, string) {}, "refs: no such file or directory: move it elsewhere"},
		{"packed refs of the user", "packed-refs", link("REPO/.git/packed-refs"), "packed-refs is a symbolic link: move it elsewhere"},
		{"packed refs are a pipe", "packed-refs", pipe, "packed-refs is not a regular file: move it elsewhere"},
		{"packed refs are garbage", "packed-refs", file, "unterminated line in STORE/packed-refs: garbage: move it elsewhere"},
		{"a pipe for the alternates", "objects/info/alternates", pipe, ""},
		{"a pipe for the configuration", "config", pipe, ""},
		{"a directory for the alternates", "objects/info/alternates", dir, "objects/info/alternates, where Hocket records"},
		{"objects of the user", "objects", link("REPO/.git/objects"), "objects is a symbolic link: move it elsewhere"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			f.put("new.txt", "in the store only\n")
			f.capture(f.open(), "r1")
			before := f.git(f.repo, "show-ref")
			store := filepath.Join(f.state, "store.git")
			f.no(os.RemoveAll(filepath.Join(store, test.path)))
			test.put(f, filepath.Join(store, test.path))

			err := later(f)
			if want := strings.ReplaceAll(test.want, "STORE", store); want == "" && err != nil || want != "" && (!errors.As(err, new(*DamagedError)) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), store)) {
				t.Errorf("the error is %v, want %q", err, want)
			}
			if now := f.git(f.repo, "show-ref"); now != before {
				t.Errorf("the user's refs were\n%s\nand are\n%s", before, now)
			}
			f.no(os.Rename(store, store+"-elsewhere"))
			if err := later(f); err != nil {
				t.Errorf("without it: %v", err)
			}
		})
	}
}

// later captures again, with a new store as another process has it. It fails if that waits for something.
func later(f *fixture) error {
	f.Helper()
	done := make(chan error, 1)
	go func() {
		s, err := Open(f.Context(), f.state, f.repo)
		if err == nil {
			_, err = s.Capture(f.Context(), "r1", nil)
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Minute):
		f.Fatal("it waits")
		return nil
	}
}

// TestOnlyOurRefsArePacked has a branch among the refs of the store, which git would pack and remove, too.
func TestOnlyOurRefsArePacked(t *testing.T) {
	f := newFixture(t)
	f.put("new.txt", "new\n")
	s := f.open()
	b := f.capture(s, "r1")
	packed := filepath.Join(f.state, "store.git", "packed-refs")
	branch := filepath.Join(f.state, "store.git", "refs", "heads", "main")
	f.write(branch, b.Commit+"\n")
	f.no(s.packRefs(t.Context()))
	if _, err := os.Lstat(branch); err != nil {
		t.Error(err)
	}
	f.no(os.Remove(branch))
	f.no(s.packRefs(t.Context()))
	if text := f.read(packed); !strings.Contains(text, " refs/hocket/r1/base\n") {
		t.Errorf("packed: %s", text)
	}
}

// TestPipesOfALanding has pipes in place of what a landing notes. Nobody waits for them.
func TestPipesOfALanding(t *testing.T) {
	dir := t.TempDir()
	land := filepath.Join(dir, "land", "r1.x")
	if err := os.MkdirAll(land, 0o700); err != nil {
		t.Fatal(err)
	}
	c := &checkout{noting: filepath.Join(dir, "note")}
	for _, pipe := range []string{c.noting, filepath.Join(land, intentName)} {
		if out, err := exec.Command("mkfifo", pipe).CombinedOutput(); err != nil {
			t.Skip(string(out))
		}
	}
	if _, err := c.interrupted(); err == nil || !strings.Contains(err.Error(), "then remove "+c.noting) {
		t.Errorf("a note: %v", err)
	}
	if _, err := c.read(land); err == nil || !strings.Contains(err.Error(), "then remove "+land) {
		t.Errorf("an intent: %v", err)
	}
	if dirs := Unfinished(dir, "r1"); len(dirs) != 1 {
		t.Errorf("unfinished: %q", dirs)
	}
}
