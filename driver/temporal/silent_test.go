package temporal_test

import (
	"regexp"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
)

// TestSilentWorker: people are told that the worker of an attempt is silent before the attempt is lost, and afterwards who has to come
// back, although the server lists a worker that was killed for two more minutes.
func TestSilentWorker(t *testing.T) {
	needsServer(t)
	t.Parallel()
	c := newYard(t, address, 0)
	c.Heartbeat = 10 * time.Second // as by default: what is looked for takes some seconds
	d, err := c.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	c.d, c.workers = d, append(c.workers, c.worker())
	program := func(site driver.Site) string {
		spec := inOrder(step("program"))
		spec.Pin.Sites = map[string]driver.Site{"steps/program": site}
		call := c.run(spec)
		c.pids(call.run)
		return call.run
	}
	stays, anywhere := program(driver.Site{Stays: true}), program(driver.Site{})
	for _, run := range []string{stays, anywhere} {
		if i, err := d.Info(t.Context(), run); err != nil || i.Stalled != "" || len(i.Untaken) > 0 {
			t.Errorf("lacks %q while its worker works, untaken %q, %v", i.Stalled, i.Untaken, err)
		}
	}
	c.workers[0].kill()
	const silent = "worker worker-1 (vm:/worker-1) has not been heard from since TIME"
	var both sync.WaitGroup
	both.Go(func() {
		c.lacks(stays, silent+"; in at most Ns, its attempt of step program counts as lost; then the step waits for that worker, which has this run's files: start it with `hocket worker --name worker-1`")
	})
	both.Go(func() {
		c.lacks(anywhere, silent+"; in at most Ns, its attempt of step program counts as lost; then another worker may repeat the step")
	})
	both.Wait()
	c.lacks(stays, silent+", and no other worker is there; start `hocket worker --name worker-1`, which has this run's files")
	c.worker()
	i := c.lacks(stays, silent+"; it has this run's files, so step program waits; start it with `hocket worker --name worker-1`")
	if !slices.Equal(i.Untaken, []string{"program"}) {
		t.Errorf("untaken %q", i.Untaken)
	}
}

// TestSilentWorkerStopped: a worker whose process was stopped is missing all the time, although the server takes the end of a request that it had made before
// for a sign of life. When it goes on, it takes the step, and nothing is missing.
func TestSilentWorkerStopped(t *testing.T) {
	needsServer(t)
	t.Parallel()
	c := newYard(t, address, 0)
	c.Heartbeat = 5 * time.Second
	d, err := c.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	c.d, c.workers = d, append(c.workers, c.worker())
	spec := inOrder(step("program"))
	spec.Pin.Sites = map[string]driver.Site{"steps/program": {Stays: true}}
	run := c.run(spec).run
	c.pids(run)
	stopped := c.workers[0].cmd.Process
	signal := func(s syscall.Signal) {
		if err := stopped.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	t.Cleanup(func() { _ = stopped.Signal(syscall.SIGCONT) })
	const missing = "worker worker-1 (vm:/worker-1) has not been heard from since TIME, and no other worker is there; start `hocket worker --name worker-1`, which has this run's files"
	time.Sleep(c.Heartbeat + 2*time.Second) // its attempt is lost, and nobody has looked: that would end the requests before
	c.lacks(run, missing)
	for began := time.Now(); time.Since(began) < 30*time.Second; time.Sleep(200 * time.Millisecond) {
		if i, err := d.Info(t.Context(), run); err != nil || clock.ReplaceAllString(i.Stalled, "TIME") != missing {
			t.Fatalf("after %s, it lacks %q, %v", time.Since(began), i.Stalled, err)
		}
	}
	signal(syscall.SIGCONT)
	c.lacks(run, "")
}

// lacks waits until people are told what a run lacks.
func (c *yard) lacks(run, want string) (i driver.Info) {
	c.Helper()
	var err error
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		i, err = c.d.Info(c.Context(), run)
		if err == nil && seconds.ReplaceAllString(clock.ReplaceAllString(i.Stalled, "TIME"), "Ns") == want {
			return i
		}
		if time.Since(began) > 30*time.Second {
			c.Errorf("%s lacks %q, %v, want %q", run, i.Stalled, err, want)
			return i
		}
	}
}

var clock, seconds = regexp.MustCompile(`\d\d:\d\d:\d\d`), regexp.MustCompile(`\ds\b`)
