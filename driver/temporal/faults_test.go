package temporal_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/drivertest"
	"github.com/hocket-dev/hocket/driver/temporal"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

var (
	kills    = flag.Int("kills", 20, "how often TestKilledWorkers kills a worker")
	restarts = flag.Int("restarts", 3, "how often TestKilledServer kills the server")
	seed     = flag.Uint64("seed", 1, "of the moments at which something is killed")
)

// yard is a project on a server, with workers that are processes.
type yard struct {
	testing.TB
	role
	d       *temporal.Driver
	workers []*child
	started int // workers
	runs    int

	recorded map[string]int // how often an attempt had begun when its end was recorded
}

func newYard(t *testing.T, address string, workers int) *yard {
	t.Helper()
	dir := t.TempDir()
	c := &yard{TB: t, role: role{Address: address, Queue: fmt.Sprintf("f%d", worlds.Add(1)), Store: filepath.Join(dir, "store"), Effects: filepath.Join(dir, "effects")}, recorded: map[string]int{}}
	d, err := c.open()
	if err != nil {
		t.Fatal(err)
	}
	c.d = d
	t.Cleanup(func() { d.Close() })
	for range workers {
		c.workers = append(c.workers, c.worker())
	}
	return c
}

func (c *yard) worker() *child {
	c.Helper()
	r := c.role
	c.started++
	r.Name = fmt.Sprint("worker-", c.started)
	return r.start(c.TB)
}

// replace kills a worker, and starts another one.
func (c *yard) replace(i int) {
	c.Helper()
	c.workers[i].kill()
	c.workers[i] = c.worker()
}

// call is a run that a client follows.
type call struct {
	run    string
	bundle *workflow.Bundle
	done   chan struct{}
	res    engine.Result
	err    error
}

// run starts a run, and follows it.
func (c *yard) run(spec driver.Spec) *call {
	c.Helper()
	c.runs++
	spec.Run = fmt.Sprintf("run-%d", c.runs)
	if _, err := c.d.Start(c.Context(), spec); err != nil {
		c.Fatal(err)
	}
	call := &call{run: spec.Run, bundle: spec.Pin.Bundle}
	c.follow(call)
	return call
}

// follow follows a run that goes on.
func (c *yard) follow(call *call) {
	call.done = make(chan struct{})
	go func() {
		defer close(call.done)
		call.res, call.err = c.d.Drive(context.Background(), call.run, driver.Work{})
	}()
}

// wait waits until a run does not go on by itself.
func (c *yard) wait(call *call) engine.Result {
	c.Helper()
	select {
	case <-call.done:
	case <-time.After(3 * time.Minute):
		c.Fatalf("%s does not end: %v", call.run, c.events(call.run))
	}
	if call.err != nil {
		c.Fatal(call.err)
	}
	return call.res
}

// events reads the events of a run. The server may be away.
func (c *yard) events(run string) (all []engine.Envelope) {
	c.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		var err error
		all = nil
		for e, wrong := range c.d.Events(context.Background(), run, 0, false) {
			if err = wrong; err == nil {
				e, err = driver.Whole(context.Background(), c.d, run, e)
			}
			if err != nil {
				break
			}
			all = append(all, e)
		}
		if err == nil {
			return all
		}
		if time.Now().After(deadline) {
			c.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// note notes how often each attempt has begun whose end is recorded.
func (c *yard) note(run string) {
	c.Helper()
	events := c.events(run)
	begun := c.begun()
	for _, e := range events {
		if ended, ok := e.Event.(*engine.TaskEnded); ok && (ended.Fault == nil || ended.Fault.Kind != engine.FaultLost) {
			key := fmt.Sprintf("%s/%s@%d", run, ended.Address, ended.Attempt)
			if _, known := c.recorded[key]; !known {
				c.recorded[key] = begun[key]
			}
			if begun[key] == 0 {
				c.Errorf("%s has ended and not begun", key)
			}
		}
	}
}

// begun counts the attempts that began, by key.
func (c *yard) begun() map[string]int {
	c.Helper()
	counts := map[string]int{}
	files, err := filepath.Glob(filepath.Join(c.Effects, "*"))
	if err != nil {
		c.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			c.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if words := strings.Fields(line); len(words) == 3 && words[0] == "begin" {
				counts[words[1]]++
			}
		}
	}
	return counts
}

// check checks that nothing that was recorded was made again, and that the events of a run lead to its result.
func (c *yard) check(call *call) {
	c.Helper()
	begun := c.begun()
	for key, n := range c.recorded {
		if begun[key] != n {
			c.Errorf("%s was recorded when it had begun %d times, and began %d times", key, n, begun[key])
		}
	}
	events := c.events(call.run)
	r, err := engine.New(call.bundle)
	if err != nil {
		c.Fatal(err)
	}
	for _, e := range events {
		if e.Time.Before(r.Time()) {
			c.Errorf("event %d happened before what came before it", e.Seq)
		}
		if _, err := r.Step(e); err != nil {
			c.Fatal(err)
		}
	}
	got := c.wait(call)
	if want := r.Result(); !reflect.DeepEqual(outline(want), outline(got)) || want.Usage != got.Usage {
		c.Errorf("the events lead to\n%s\n%+v\nand the result is\n%s\n%+v", outline(want), want.Usage, outline(got), got.Usage)
	}
}

func outline(res engine.Result) string {
	text := fmt.Sprintf("%s %v %s\n", res.Status, res.Output, res.Error)
	for _, s := range res.Steps {
		text += fmt.Sprintf("%s %s ×%d %v %s\n", s.Address, s.Status, s.Attempts, s.Output, s.Error)
	}
	return text
}

// busy returns a run of the crash workflow, in which every attempt may cost something.
func busy(limit float64) driver.Spec {
	b := drivertest.Busy()
	may := engine.TaskFacts{May: workflow.Budget{CostUSD: workflow.AtMost(cost), Tokens: workflow.AtMost(0)}}
	spec := driver.Spec{
		Pin: &driver.Pin{Bundle: b}, Inputs: drivertest.BusyInputs(12), Tasks: map[string]engine.TaskFacts{},
		Limits: workflow.Limits{Steps: 1000, Parallel: 6, Depth: 5, Runtime: time.Hour, CostUSD: limit},
	}
	for _, node := range []string{"busy/first", "busy/round", "busy/scan", "busy/join", "busy/last", "child/in", "child/out"} {
		spec.Tasks[node] = may
	}
	return spec
}

// through lets a run of the crash workflow go on, and does something to it again and again. The run asks when its
// budget is used up by what was lost, and never exceeds it.
func (c *yard) through(again func() bool) *call {
	c.Helper()
	limit := 0.205 // an undisturbed run needs 0.2
	call := c.run(busy(limit))
	for {
		select {
		case <-call.done:
		case <-time.After(20 * time.Millisecond):
			if again() {
				c.note(call.run)
			}
			continue
		}
		spent := 0.0
		for key, n := range c.begun() {
			if strings.HasPrefix(key, call.run+"/") {
				spent += float64(n) * cost
			}
		}
		if spent > limit+cost/2 {
			c.Errorf("%s spent %.2f of %.2f", call.run, spent, limit)
		}
		if res := c.wait(call); res.Status != engine.Waiting {
			break
		}
		c.note(call.run)
		limit += 0.05
		if _, err := c.d.Act(c.Context(), call.run, &engine.LimitRaised{Limits: workflow.Limits{CostUSD: limit}, By: "ann"}); err != nil {
			c.Fatal(err)
		}
		c.follow(call)
	}
	c.note(call.run)
	c.check(call)
	if call.res.Status != engine.Success || len(call.res.Steps) != 21 || fmt.Sprint(call.res.Output) != undisturbed {
		c.Fatalf("%s", outline(call.res))
	}
	return call
}

const undisturbed = `round 3 ["item i0","item i1","item i2","item i3","item i4","item i5","item i6","item i7","item i8","item i9","item i10","item i11"] in and out!`

// Workers are killed at random moments, and nothing that was recorded is made again.
func TestKilledWorkers(t *testing.T) {
	needsServer(t)
	c := newYard(t, address, 3)
	rng := rand.New(rand.NewPCG(*seed, 1))
	done := 0
	next := time.Now()
	for done < *kills {
		c.through(func() bool {
			if time.Now().Before(next) || done == *kills {
				return false
			}
			c.replace(rng.IntN(3))
			done++
			next = time.Now().Add(time.Duration(rng.IntN(1500)) * time.Millisecond)
			return true
		})
	}
	t.Logf("%d kills in %d runs", done, c.runs)
}

// The server is killed and starts again, and nothing that was recorded is made again.
func TestKilledServer(t *testing.T) {
	needsServer(t)
	s := startServer(filepath.Join(t.TempDir(), "server.db"))
	t.Cleanup(func() { s.kill() })
	c := newYard(t, s.address, 3)
	rng := rand.New(rand.NewPCG(*seed, 2))
	done := 0
	next := time.Now()
	for done < *restarts {
		c.through(func() bool {
			if time.Now().Before(next) || done == *restarts {
				return false
			}
			s.kill()
			time.Sleep(time.Duration(rng.IntN(1000)) * time.Millisecond)
			s.start()
			done++
			next = time.Now().Add(time.Duration(2000+rng.IntN(4000)) * time.Millisecond)
			return true
		})
	}
	t.Logf("%d restarts in %d runs", done, c.runs)
}
