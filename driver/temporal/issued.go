package temporal

import (
	"context"
	"sync"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
)

// issued knows what attempts runs have asked for. Nil, it knows nothing.
type issued struct {
	mu sync.Mutex
	of map[string]map[attemptKey]command // by run
}

// command is a task, with the event after which the run asked for it, the plan that it belongs to, and the digest of
// that. A lost attempt is asked for again, perhaps by a workflow that runs elsewhere now: then this one is too old.
type command struct {
	seq    int
	digest string
	pin    *driver.Pin
	task   *engine.StartTask
}

func newIssued(careful bool) *issued {
	if !careful {
		return nil
	}
	return &issued{of: map[string]map[attemptKey]command{}}
}

func (i *issued) add(run string, c command) {
	if i == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.of[run] == nil {
		i.of[run] = map[attemptKey]command{}
	}
	i.of[run][attemptKey{c.task.Address, c.task.Attempt}] = c
}

func (i *issued) remove(run string, key attemptKey) {
	if i == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if delete(i.of[run], key); len(i.of[run]) == 0 {
		delete(i.of, run)
	}
}

// clear forgets a run: its workflow begins again here, and asks for what is in progress again, or it runs elsewhere.
func (i *issued) clear(run string) {
	if i == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.of, run)
}

// task returns the task of an attempt as its run has asked for it under the plan with a digest; nil if it has not.
func (i *issued) task(j job, digest string) *engine.StartTask {
	if i == nil {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if c := i.of[j.Run][attemptKey{j.Task.Address, j.Task.Attempt}]; c.digest == digest && c.seq == j.Seq {
		return c.task
	}
	return nil
}

// pin returns the plan with a name under which a run has asked for an attempt; nil if there is none.
func (i *issued) pin(run, plan string) *driver.Pin {
	if i == nil {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, c := range i.of[run] {
		if c.pin.Plan == plan {
			return c.pin
		}
	}
	return nil
}

func (c *crew) flowID(run string) string { return c.d.flowID(run) }

func (c *crew) issue(run string, asked command) { c.issued.add(run, asked) }

func (c *crew) ended(run string, key attemptKey) { c.issued.remove(run, key) }

func (c *crew) past(run string, last int) (begin, error) {
	return past(context.Background(), c.d.o.Store, run, last)
}
