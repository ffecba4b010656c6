//go:build unix

package local_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// patient is a person who is present and never answers.
type patient struct{ asked *sync.WaitGroup }

func (p patient) Ask(*engine.Question, func(engine.Answered) error, func()) bool {
	p.asked.Done()
	return true
}

func (patient) Withdraw(string) {}

// used returns the CPU time that this process has used.
func used() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// load reports how much of a core the process uses while idle.
func load(b *testing.B) {
	b.Helper()
	time.Sleep(time.Second)
	before, began := used(), time.Now()
	for b.Loop() {
		time.Sleep(5 * time.Second)
	}
	b.ReportMetric(100*(used()-before).Seconds()/time.Since(began).Seconds(), "%-of-a-core")
}

// BenchmarkWaiting drives runs that all wait for a person, in one process.
func BenchmarkWaiting(b *testing.B) {
	for _, runs := range []int{1, 1000} {
		b.Run(fmt.Sprint(runs), func(b *testing.B) {
			d := benchDriver(b)
			ctx, cancel := context.WithCancel(context.Background())
			var asked, done sync.WaitGroup
			asked.Add(runs)
			for i := range runs {
				done.Go(func() {
					id := fmt.Sprint("w-", i)
					_, _ = d.Start(ctx, driver.Spec{Run: id, Pin: &driver.Pin{Bundle: chain(gate("ok", "yes"))}, Limits: workflow.Limits{Parallel: 1}, Owner: driver.Owner{Claimed: true}})
					_, _ = d.Drive(ctx, id, driver.Work{Agents: noop{}, Asker: patient{&asked}})
				})
			}
			asked.Wait()
			load(b)
			cancel()
			done.Wait()
		})
	}
}

// BenchmarkFollowing has followers wait for events of waiting runs.
func BenchmarkFollowing(b *testing.B) {
	const followers = 1000
	d := benchDriver(b)
	made, err := d.Start(context.Background(), driver.Spec{Pin: &driver.Pin{Bundle: chain(gate("ok", "yes"))}, Limits: workflow.Limits{Parallel: 1}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var begun, done sync.WaitGroup
	begun.Add(followers)
	for range followers {
		done.Go(func() {
			first := sync.OnceFunc(begun.Done)
			for range d.Events(ctx, made.Run, 0, true) {
				first()
			}
		})
	}
	begun.Wait()
	load(b)
	cancel()
	done.Wait()
}

// A stopped process that drives a run does not block others.
func TestStoppedDriver(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells the state of a process")
	}
	s := openStore(t)
	c := startChild(t, "hold", s.Dir())
	for line := c.line(); !strings.HasPrefix(line, "begun"); line = c.line() {
		if line == "" {
			t.Fatal("the child has ended")
		}
	}
	if err := c.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	_, err := cancelRun(t.Context(), s, busyRun, "ann", "")
	var silent *driver.SilentError
	if !errors.As(err, &silent) || !silent.Stopped || !strings.Contains(silent.Hint(), fmt.Sprint("kill -CONT ", c.cmd.Process.Pid)) {
		t.Errorf("got %v", err)
	}
	if err := c.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if _, err := cancelRun(t.Context(), s, busyRun, "ann", ""); err != nil {
		t.Error(err)
	}
}
