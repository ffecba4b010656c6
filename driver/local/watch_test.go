package local_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/workflow"
)

// watching is a watch in progress.
type watching struct {
	t       testing.TB
	changes <-chan driver.Change
}

func watch(t testing.TB, d driver.Driver) *watching {
	ctx, cancel := context.WithCancel(context.Background())
	changes, done := make(chan driver.Change, 10_000), make(chan struct{})
	go func() {
		defer close(done)
		for c, err := range d.Watch(ctx, 0) {
			if err != nil {
				t.Error(err)
				return
			}
			changes <- c
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return &watching{t, changes}
}

// until waits for a matching change.
func (w *watching) until(what string, is func(driver.Change) bool) driver.Change {
	w.t.Helper()
	var seen []string
	for {
		select {
		case c := <-w.changes:
			if is(c) {
				return c
			}
			seen = append(seen, fmt.Sprintf("%s %s %s %v", c.Run, c.Kind, c.Info.Status, c.Info.Driven))
		case <-time.After(20 * time.Second):
			w.t.Fatalf("no change %q; there were %s", what, strings.Join(seen, ", "))
		}
	}
}

// TestWatchSeesOtherProcesses watches an empty directory while another process starts a
// run in it and is killed.
func TestWatchSeesOtherProcesses(t *testing.T) {
	dir := t.TempDir()
	d := openDriver(t, dir)
	w := watch(t, d)
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("watching left %v", files)
	}
	c := startChild(t, "hold", dir)
	first := w.until("appeared", func(c driver.Change) bool { return c.Run == busyRun && c.Kind == driver.Appeared })
	if !first.Info.Driven {
		w.until("driven", func(c driver.Change) bool { return c.Kind == driver.Moved && c.Info.Driven })
	}
	c.kill()
	w.until("killed", func(c driver.Change) bool { return c.Kind == driver.Moved && !c.Info.Driven })
	if err := d.Delete(context.Background(), busyRun); err != nil {
		t.Fatal(err)
	}
	w.until("deleted", func(c driver.Change) bool { return c.Run == busyRun && c.Kind == driver.Deleted })
}

// startRole starts a run for every line of its input, and prints when it did.
func startRole(dir string) error {
	d, err := local.Open(dir, local.Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	var line string
	for i := 0; ; i++ {
		if _, err := fmt.Scanln(&line); err != nil {
			return nil
		}
		before := time.Now()
		_, err := d.Start(context.Background(), driver.Spec{Run: fmt.Sprintf("run-%d", i), Pin: &driver.Pin{Bundle: chain(task("a", "x"))}, Limits: workflow.Limits{Parallel: 1}})
		if err != nil {
			return err
		}
		fmt.Println(before.UnixMicro(), time.Now().UnixMicro())
	}
}

// BenchmarkWatch measures how long it takes to see a run that another process starts, at once or
// when nothing has happened for a while: from before it is recorded, and from when Start has
// returned. For comparison, it also reports how late the machine woke a sleeping goroutine.
func BenchmarkWatch(b *testing.B) {
	b.Run("busy", func(b *testing.B) { benchmarkWatch(b, 0) })
	b.Run("quiet", func(b *testing.B) { benchmarkWatch(b, 1200*time.Millisecond) })
}

func benchmarkWatch(b *testing.B, pause time.Duration) {
	dir := b.TempDir()
	d, err := local.Open(dir, local.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	c := startChild(b, "start", dir)
	ctx, cancel := context.WithCancel(context.Background())
	next, stop := iter.Pull2(d.Watch(ctx, 0))
	defer stop()
	defer cancel()
	var whole, after []time.Duration
	late := lateness(ctx)
	for b.Loop() {
		if pause > 0 {
			time.Sleep(pause + rand.N(100*time.Millisecond)) // at any moment of the pulse
		}
		fmt.Fprintln(c.stdin, "go")
		for {
			change, err, _ := next()
			if err != nil {
				b.Fatal(err)
			}
			if change.Kind == driver.Appeared {
				break
			}
		}
		seen := time.Now()
		var before, done int64
		fmt.Sscan(c.line(), &before, &done)
		whole = append(whole, seen.Sub(time.UnixMicro(before)))
		after = append(after, seen.Sub(time.UnixMicro(done)))
	}
	slices.Sort(whole)
	slices.Sort(after)
	b.ReportMetric(ms(whole[len(whole)/2]), "median-ms")
	b.ReportMetric(ms(whole[len(whole)-1]), "max-ms")
	b.ReportMetric(ms(after[len(after)/2]), "median-after-start-ms")
	b.ReportMetric(ms(after[len(after)-1]), "max-after-start-ms")
	cancel()
	b.ReportMetric(ms(<-late), "machine-late-ms")
}

// lateness returns, when ctx is done, the most by which a sleep of 20 ms was too long.
func lateness(ctx context.Context) <-chan time.Duration {
	most := make(chan time.Duration, 1)
	go func() {
		var late time.Duration
		for ctx.Err() == nil {
			began := time.Now()
			time.Sleep(20 * time.Millisecond)
			late = max(late, time.Since(began)-20*time.Millisecond)
		}
		most <- late
	}()
	return most
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
