package workspace

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestSetupRunsOncePerKey(t *testing.T) {
	f := newFixture(t)
	f.put("lock.txt", "v1\n")
	s := f.open()
	b := f.capture(s, "r1")
	var runs atomic.Int32
	setup := Setup{Command: "install", Key: []string{"lock.txt", "dir/*.txt"}, Run: func(_ context.Context, dir string) error {
		runs.Add(1)
		f.write(filepath.Join(dir, "ignored", "pkg", "tool"), "tool\n")
		f.no(os.Chmod(filepath.Join(dir, "ignored", "pkg", "tool"), 0o755))
		f.no(os.Symlink("pkg/tool", filepath.Join(dir, "ignored", "link")))
		f.write(filepath.Join(dir, "dir", "generated"), "generated\n")
		return os.Chmod(filepath.Join(dir, "ignored", "pkg"), 0o555)
	}}
	var all sync.WaitGroup
	for i := range 5 {
		all.Go(func() {
			w, err := s.Checkout(t.Context(), Attempt{"r1", fmt.Sprint(i), 1}, b.Commit)
			if err != nil {
				t.Error(err)
				return
			}
			defer w.Close()
			if _, err := w.Setup(t.Context(), setup); err != nil {
				t.Error(err)
			}
			data, err := os.ReadFile(filepath.Join(w.Dir, "ignored", "link"))
			if err != nil || string(data) != "tool\n" {
				t.Errorf("%q, %v", data, err)
			}
			if info, err := os.Stat(filepath.Join(w.Dir, "ignored", "pkg")); err != nil || info.Mode().Perm() != 0o555 {
				t.Errorf("%v, %v", info, err)
			}
			// What one agent does to its copy must not reach the others.
			if err := os.WriteFile(filepath.Join(w.Dir, "ignored", "pkg", "tool"), []byte("tool\n"), 0o755); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if runs.Load() != 1 {
		t.Errorf("%d runs", runs.Load())
	}
	f.put("lock.txt", "v2\n")
	b = f.capture(s, "r2")
	w := f.checkout(s, Attempt{"r2", "step", 1}, b.Commit)
	if copied, err := w.Setup(t.Context(), setup); err != nil || copied || runs.Load() != 2 {
		t.Errorf("another key: copied %v, %v, %d runs", copied, err, runs.Load())
	}
	f.no(w.Close())

	fails := errors.New("no network")
	w = f.checkout(s, Attempt{"r2", "step", 2}, b.Commit)
	defer w.Close()
	for range 2 {
		_, err := w.Setup(t.Context(), Setup{Command: "broken", Run: func(context.Context, string) error { return fails }})
		if !errors.Is(err, fails) {
			t.Errorf("error %v", err)
		}
	}
	if _, err := w.Setup(t.Context(), Setup{Command: "x", Key: []string{"../x"}}); err == nil {
		t.Error("a key outside the workspace")
	}
	// A setup that changes tracked files has no result that could be copied.
	for range 2 {
		copied, err := w.Setup(t.Context(), Setup{Command: "change", Run: func(_ context.Context, dir string) error {
			f.write(filepath.Join(dir, "a.txt"), "changed\n")
			return nil
		}})
		if copied || err != nil {
			t.Errorf("copied %v, %v", copied, err)
		}
	}
}

// TestSetupSharesOnlyResultsOfTheUsersFiles has an agent that changes a file of the key and, for the next setup, the code that it
// runs. A run of the user with the same key must not receive the result.
func TestSetupSharesOnlyResultsOfTheUsersFiles(t *testing.T) {
	f := newFixture(t)
	f.put("lock.txt", "v1\n")
	f.put("install", "good\n")
	s := f.open()
	b := f.capture(s, "r1")
	runs := 0
	setup := Setup{Command: "install", Key: []string{"lock.txt"}, Run: func(_ context.Context, dir string) error {
		runs++
		f.write(filepath.Join(dir, "ignored", "made"), f.read(dir, "install"))
		return nil
	}}
	prepare := func(what, run, commit, want string, ran bool) {
		t.Helper()
		before := runs
		w := f.checkout(s, Attempt{run, what, 1}, commit)
		defer w.Close()
		copied, err := w.Setup(t.Context(), setup)
		f.no(err)
		if got := f.read(w.Root, "ignored", "made"); got != want || copied == ran || (runs > before) != ran {
			t.Errorf("%s: copied %v, %d runs, and has %q", what, copied, runs-before, got)
		}
	}
	prepare("the base", "r1", b.Commit, "good\n", true)
	same := f.change(s, "same", b.Commit, map[string]string{"install": "evil\n"})
	prepare("the key of the base", "r1", same, "good\n", false)
	evil := f.change(s, "evil", b.Commit, map[string]string{"install": "evil\n", "lock.txt": "v2\n"})
	prepare("code of an agent", "r1", evil, "evil\n", true)
	prepare("the same files again", "r1", evil, "evil\n", false)
	other := f.change(s, "other", evil, map[string]string{"install": "other\n"})
	prepare("other code of an agent", "r1", other, "other\n", true)

	f.put("lock.txt", "v2\n") // the user takes the visible part of the change
	clean := f.capture(s, "r2")
	prepare("a later run", "r2", clean.Commit, "good\n", true)
	prepare("its key", "r2", clean.Commit, "good\n", false)
}

// TestSetupDoesNotFollowLinks has an agent that leaves a link where the setup creates a directory. The
// pattern "ignored/" does not match it, so that it is recorded.
func TestSetupDoesNotFollowLinks(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	setup := Setup{Command: "install", Run: func(_ context.Context, dir string) error {
		f.write(filepath.Join(dir, "ignored", "pkg", "tool"), "tool\n")
		f.write(filepath.Join(dir, "generated", "list"), "generated\n")
		return nil
	}}
	outside := t.TempDir()
	for name, make := range map[string]func(root string){
		"outside": func(root string) { f.no(os.Symlink(outside, filepath.Join(root, "ignored"))) },
		"inside":  func(root string) { f.no(os.Symlink(".git/hooks", filepath.Join(root, "ignored"))) },
		"below": func(root string) {
			f.mkdir(root + "/ignored")
			f.no(os.Symlink(outside, filepath.Join(root, "ignored", "pkg")))
		},
		"to nowhere":   func(root string) { f.no(os.Symlink("nowhere", filepath.Join(root, "ignored"))) },
		"not the link": func(root string) { f.write(filepath.Join(root, "ignored"), "a file") },
	} {
		t.Run(name, func(t *testing.T) {
			first := f.checkout(s, Attempt{"r1", "first", 1}, b.Commit)
			defer first.Close()
			_, err := first.Setup(t.Context(), setup)
			f.no(err)
			w := f.checkout(s, Attempt{"r1", "evil", 1}, b.Commit)
			defer w.Close()
			make(w.Root)
			if copied, err := w.Setup(t.Context(), setup); !copied || err == nil || !strings.Contains(err.Error(), "cannot copy a directory: "+w.Root+"/ignored") {
				t.Errorf("copied %v, error %v", copied, err)
			}
			if left := listing(t, outside); len(left) > 0 {
				t.Errorf("copied through the link: %v", left)
			}
		})
	}
}

// TestSetupKeepsWhatIsThere has a setup that creates a file that is not ignored, and so is in the next workspace.
func TestSetupKeepsWhatIsThere(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	setup := Setup{Command: "install", Run: func(_ context.Context, dir string) error {
		f.write(filepath.Join(dir, "generated", "list"), "generated\n")
		f.write(filepath.Join(dir, "ignored", "tool"), "tool\n")
		return nil
	}}
	w := f.checkout(s, Attempt{"r1", "first", 1}, b.Commit)
	_, err := w.Setup(t.Context(), setup)
	f.no(err)
	f.write(filepath.Join(w.Root, "generated", "list"), "changed\n")
	next := f.checkout(s, Attempt{"r1", "next", 1}, f.collect(w))
	defer next.Close()
	copied, err := next.Setup(t.Context(), setup)
	f.no(err)
	if got := f.read(next.Root, "generated/list") + f.read(next.Root, "ignored/tool"); !copied || got != "changed\ntool\n" {
		t.Errorf("copied %v: %q", copied, got)
	}
}

// TestPortsOfAttempts asks which ports attempts have had: the usual ones, or others because those were in use.
func TestPortsOfAttempts(t *testing.T) {
	f := newFixture(t)
	s, dir := f.open(), t.TempDir()
	for n, other := range []bool{false, true, false, true} {
		a := Attempt{"r1", "step", n/2 + 1}
		p, err := ReservePorts(dir, a)
		f.no(err)
		if other {
			first := p
			p, err = ReservePorts(dir, a)
			f.no(errors.Join(err, first.Release()))
		}
		f.no(errors.Join(s.NotePorts(a, p.First), p.Release()))
		if first, err := s.FirstPort(a); err != nil || first != p.First || (first == usualPort(a)) == other {
			t.Errorf("attempt %d had the ports from %d, not %d, %v", a.Number, p.First, first, err)
		}
	}
	f.no(s.Release(t.Context(), "r1"))
	if left, err := os.ReadDir(filepath.Join(f.state, portNotes)); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestPorts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ports")
	var mu sync.Mutex
	first := map[int]bool{}
	var held []*Ports
	var all sync.WaitGroup
	for i := range 30 {
		all.Go(func() {
			p, err := ReservePorts(dir, Attempt{"r1", fmt.Sprint("step", i), 1})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
				return
			}
			if first[p.First] || p.First%PortCount != 0 {
				t.Errorf("ports from %d", p.First)
			}
			first[p.First], held = true, append(held, p)
		})
	}
	all.Wait()
	for _, p := range held {
		if err := p.Release(); err != nil {
			t.Error(err)
		}
	}
	a := Attempt{"r1", "again", 1}
	p, err := ReservePorts(dir, a)
	if err != nil {
		t.Fatal(err)
	}
	was := p.First
	if err := p.Release(); err != nil {
		t.Fatal(err)
	}
	a.Number = 2
	if p, err = ReservePorts(dir, a); err != nil || p.First != was {
		t.Fatalf("ports %+v, %v, before %d", p, err, was)
	}
	_ = p.Release()
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(was+3))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if p, err = ReservePorts(dir, a); err != nil || p.First == was {
		t.Errorf("ports %+v, %v: one of them is in use", p, err)
	}
	_ = p.Release()
}
