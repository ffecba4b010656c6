package workspace

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// manyFiles creates a repository with 1,700 files, of which some are changed.
func manyFiles(b *testing.B) (repo string) {
	b.Helper()
	b.Setenv("HOME", b.TempDir())
	b.Setenv("XDG_CONFIG_HOME", b.TempDir())
	repo = b.TempDir()
	put := func(name, text string) {
		file := filepath.Join(repo, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 1700 {
		put(fmt.Sprintf("dir%02d/sub%d/file%d.txt", i%40, i%7, i), strings.Repeat(fmt.Sprintln("line", i), 200))
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "-A"},
		{"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "x"}, {"gc", "-q"},
	} {
		if out, err := run(repo, args...); err != nil {
			b.Fatal(err, out)
		}
	}
	for i := range 20 {
		put(fmt.Sprintf("dir%02d/sub%d/file%d.txt", i%40, i%7, i), fmt.Sprintln("changed", i))
		put(fmt.Sprintf("untracked/%d.txt", i), fmt.Sprintln("new", i))
	}
	return repo
}

func BenchmarkCapture(b *testing.B) {
	repo := manyFiles(b)
	s, err := Open(b.Context(), b.TempDir(), repo)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Capture(b.Context(), "r1", nil); err != nil {
			b.Fatal(err)
		}
	}
}

const together = 50

// inParallel does something for each of the workspaces that are made together, four at a time.
func inParallel(b *testing.B, do func(i int) error) {
	b.Helper()
	var all sync.WaitGroup
	slots := make(chan struct{}, 4)
	for i := range together {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if err := do(i); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
}

// BenchmarkCheckout creates 50 workspaces, and 50 bare clones in turns with them, which is what they are compared with: others may keep
// the machine busy.
func BenchmarkCheckout(b *testing.B) {
	repo, state, dir := manyFiles(b), b.TempDir(), b.TempDir()
	s, err := Open(b.Context(), state, repo)
	if err != nil {
		b.Fatal(err)
	}
	base, err := s.Capture(b.Context(), "r1", nil)
	if err != nil {
		b.Fatal(err)
	}
	var ours, bare time.Duration
	for b.Loop() {
		began := time.Now()
		inParallel(b, func(i int) error {
			w, err := s.Checkout(b.Context(), Attempt{"r1", fmt.Sprint("step", i), 1}, base.Commit)
			if err != nil {
				return err
			}
			return w.Close()
		})
		ours += time.Since(began)
		b.StopTimer()
		began = time.Now()
		inParallel(b, func(i int) error {
			return exec.Command("git", "clone", "-q", "--shared", "--template=", repo, filepath.Join(dir, fmt.Sprint(i))).Run()
		})
		bare += time.Since(began)
		if err := errors.Join(os.RemoveAll(filepath.Join(state, "work")), os.RemoveAll(dir)); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(bare.Milliseconds())/float64(b.N), "bare-ms/op")
	b.ReportMetric(float64(ours)/float64(bare), "times-bare")
}

// BenchmarkCollect collects a workspace in which one file was changed.
func BenchmarkCollect(b *testing.B) {
	repo := manyFiles(b)
	s, err := Open(b.Context(), b.TempDir(), repo)
	if err != nil {
		b.Fatal(err)
	}
	base, err := s.Capture(b.Context(), "r1", nil)
	if err != nil {
		b.Fatal(err)
	}
	w, err := s.Checkout(b.Context(), Attempt{"r1", "step", 1}, base.Commit)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	for i := 0; b.Loop(); i++ {
		if err := os.WriteFile(filepath.Join(w.Root, "new.txt"), fmt.Append(nil, i), 0o644); err != nil {
			b.Fatal(err)
		}
		if _, err := w.Collect(b.Context(), "work"); err != nil {
			b.Fatal(err)
		}
	}
}
