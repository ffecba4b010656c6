//go:build unix

package hocket_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
)

// BenchmarkStep runs a workflow with a shell step whole, from its start to its end: in the project and in a workspace of its own,
// of a repository with few and with many files, of which some are changed. What the workspace costs is the difference. Part of that is paid once for
// each run, so there are also workflows with ten steps.
func BenchmarkStep(b *testing.B) {
	for _, files := range []int{50, 1700} {
		p := benchProject(b, files)
		for _, steps := range []int{1, 10} {
			for _, where := range []string{"project", "own"} {
				b.Run(fmt.Sprintf("%d files/%d steps/%s", files, steps, where), func(b *testing.B) {
					w, err := p.Load(fmt.Sprintf("%s%d.yml", where, steps))
					if err != nil {
						b.Fatal(err)
					}
					before := cpuTime(b)
					for b.Loop() {
						r, err := p.Start(b.Context(), w, nil)
						if err != nil {
							b.Fatal(err)
						}
						if res, err := r.Wait(b.Context()); err != nil || res.Status != engine.Success {
							b.Fatal(res.Error, err)
						}
					}
					b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*steps), "ms/step")
					b.ReportMetric(float64((cpuTime(b)-before).Milliseconds())/float64(b.N*steps), "cpu-ms/step")
				})
			}
		}
	}
}

// cpuTime returns what this process and all that it has started have used.
func cpuTime(b *testing.B) (used time.Duration) {
	b.Helper()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		used += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return used
}

func benchProject(b *testing.B, files int) *hocket.Project {
	b.Helper()
	b.Setenv("XDG_STATE_HOME", b.TempDir())
	dir := b.TempDir()
	put := func(name, text string) {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for _, where := range []string{"project", "own"} {
		for _, steps := range []int{1, 10} {
			text := "name: w\nsteps:\n"
			for i := range steps {
				text += fmt.Sprintf("  - {id: s%d, agent: shell, workspace: %s, config: {command: 'echo made > made%d.txt'}}\n", i, where, i)
			}
			put(fmt.Sprintf("%s%d.yml", where, steps), text)
		}
	}
	for i := range files {
		put(fmt.Sprintf("dir%02d/sub%d/file%d.txt", i%40, i%7, i), strings.Repeat(fmt.Sprintln("line", i), 200))
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "x"}, {"gc", "-q"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	for i := range 20 {
		put(fmt.Sprintf("dir%02d/sub%d/file%d.txt", i%40, i%7, i), fmt.Sprintln("changed", i))
	}
	p, err := hocket.Open(dir, hocket.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.Close() })
	return p
}
