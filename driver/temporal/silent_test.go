package temporal_test

import (
	"regexp"
	"slices"
	"sync"
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
	c.lacks(stays, silent+", and no other worker is there; start one with `hocket worker`")
	c.worker()
	i := c.lacks(stays, silent+"; it has this run's files, so step program waits; start it with `hocket worker --name worker-1`")
	if !slices.Equal(i.Untaken, []string{"program"}) {
		t.Errorf("untaken %q", i.Untaken)
	}
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
