package temporal

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	workflowpb "go.temporal.io/api/workflow/v1"
)

// The script of a run is in its plan, so every worker can answer from it. One that makes an attempt follows the run to know
// which reply is next. A question of the run itself belongs to no attempt: the worker that runs the workflow follows the run
// while one is open. If that worker ends, nothing may happen in the run before the script answers, so all workers look for
// runs that wait.

// heeded is what a worker knows about a run with a script.
type heeded struct {
	pin    *driver.Pin // the newest
	asked  int         // the number of the newest event of the run that the worker knows of
	heard  int         // the events up to which the script has answered everything
	busy   bool        // somebody follows the run
	failed time.Time   // when it could not be followed
	fails  int         // how often in a row
	noted  time.Time   // when the worker was last told of the run
}

// due reports whether the run can be followed, or tried again if the worker may not do that: this costs it a look at all its files.
func (h *heeded) due() bool {
	const slowest = 5 // after five minutes
	return !h.busy && time.Since(h.failed) > scriptsEvery<<min(h.fails, slowest)-scriptsEvery
}

// heed lets the script of a run, if it has one, answer questions that may have been open after an event.
func (c *crew) heed(run string, pin *driver.Pin, seq int) {
	if len(pin.Replies) == 0 || c.aside {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	h := c.heeding[run]
	if h == nil {
		h = &heeded{}
		c.heeding[run] = h
	}
	if h.pin == nil || seq >= h.asked {
		if h.pin != nil && h.pin.Plan != pin.Plan {
			h.fails = 0 // it may be one that the worker may follow
		}
		h.pin = pin
	}
	h.noted = time.Now()
	h.asked = max(h.asked, seq)
	if h.heard < h.asked && h.due() {
		h.busy = true
		go c.follows(run, h)
	}
}

// heeds reports whether the script of a run has to be followed after an event.
func (c *crew) heeds(run string, seq int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.heeding[run]
	if h == nil {
		return true
	}
	h.noted = time.Now()
	return h.heard < seq && h.due()
}

// forgets forgets runs that are not listed any more.
func (c *crew) forgets() {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.heeding, func(_ string, h *heeded) bool { return !h.busy && time.Since(h.noted) > idleFor })
}

// follows follows a run with a script until there is nothing more that the worker knows of. The run may have got another
// plan meanwhile, and what the worker knows may not be in the history yet.
func (c *crew) follows(run string, h *heeded) {
	for range 10 {
		c.mu.Lock()
		pin := h.pin
		c.mu.Unlock()
		var s *session
		err := guard(run, func() (err error) { // whatever somebody has sent, this worker goes on
			s, err = c.followed(run, pin)
			return err
		})
		c.mu.Lock()
		again := c.hears(run, h, pin, s, err)
		c.mu.Unlock()
		if !again {
			return
		}
		time.Sleep(breath)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	h.busy = false // what the worker knows of did not happen, because another one took over
}

// hears notes how far a run was followed with a plan, and reports whether it has to be followed again. The caller holds c.mu.
func (c *crew) hears(run string, h *heeded, pin *driver.Pin, s *session, err error) (again bool) {
	again = h.pin.Plan != pin.Plan
	switch {
	case err != nil:
		h.failed, h.fails = time.Now(), h.fails+1 // a later event, or a later look for runs, begins anew
	case s.result.Status.Done():
		delete(c.heeding, run)
		again = false
	case s.current():
		h.heard, h.fails = max(h.heard, s.seq), 0
		again = again || h.heard < h.asked
	}
	h.busy = again
	return again
}

// followed follows a run with a script until it waits for something else or is over.
func (c *crew) followed(run string, pin *driver.Pin) (*session, error) {
	p, done, err := c.plan(context.Background(), run, pin.Plan)
	if err != nil {
		return nil, err
	}
	defer done()
	if p.driven().Script == nil {
		return nil, errors.New("temporal: the plan has no script")
	}
	s, err := c.follow(p, run)
	if err != nil {
		return nil, err
	}
	<-s.ended
	return s, s.wrong
}

// scriptsEvery is how often a worker looks for runs whose script nobody follows.
const scriptsEvery = 10 * time.Second

// scripted follows the runs with a script that are not over: at first all, and then those that wait, since the others are
// followed by who makes their attempts.
func (c *crew) scripted(ctx context.Context) {
	for which := ""; ctx.Err() == nil; {
		if c.findScripts(ctx, which) == nil {
			which = " AND " + statusKey.GetName() + " = " + quoted(string(engine.Waiting))
		}
		select {
		case <-ctx.Done():
		case <-time.After(scriptsEvery):
		}
	}
}

// findScripts follows the runs with a script that a condition selects. It tells which runs need a worker with another store.
func (c *crew) findScripts(ctx context.Context, which string) error {
	found, err := c.d.executions(ctx, " AND ExecutionStatus = 'Running'"+which)
	if err != nil {
		return err
	}
	for run, e := range found {
		if wrong := guard(run, func() error { return c.heedFound(ctx, run, e) }); away(wrong) {
			err = cmp.Or(err, wrong)
		}
	}
	c.forgets()
	return err
}

// heedFound follows a run that was found if it has a script.
func (c *crew) heedFound(ctx context.Context, run string, e *workflowpb.WorkflowExecutionInfo) error {
	about, err := c.d.factsOf(e)
	if errors.Is(err, errStore) {
		c.tellsRefusal(driver.AttemptID{Run: run}, err)
		return nil
	}
	if err != nil || !about.Scripted || !c.heeds(run, about.Seq) {
		return nil //nolint:nilerr // it is none that this worker can read
	}
	pin, err := c.d.Pin(ctx, run)
	if err == nil {
		c.heed(run, pin, about.Seq)
	}
	return err
}

// errEnded means that a worker no longer works for a plan.
var errEnded = errors.New("the worker no longer works for this plan")

// follow returns the session that counts what a script has replied, and knows what the run has asked for.
func (c *crew) follow(p *plan, run string) (*session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil, refuse(errEnded)
	}
	if p.follows != nil {
		select {
		case <-p.follows.over: // the run waits or has ended; if it goes on, a new one counts from the beginning
		default:
			return p.follows, nil
		}
		if err := c.renew(p, run); err != nil {
			return nil, refuse(err)
		}
	}
	w := p.work
	w.Elsewhere, w.Patience = true, idleFor
	s := c.d.newSession(run, w, 0)
	s.issued = newIssued(!c.w.Trusting)
	ctx, stop := context.WithCancel(context.Background())
	p.follows, p.unfollow = s, stop
	go func() {
		defer close(s.ended)
		defer stop()
		s.result, s.wrong = s.drive(ctx) // its errors are those of reading; then the next attempt begins anew
	}()
	return s, nil
}

// renew gets a new script: it counts, so each session needs its own. The caller holds p.mu.
func (c *crew) renew(p *plan, run string) error {
	if p.work.Script == nil {
		return nil
	}
	w, end, err := c.w.Resolve(context.Background(), run, p.pin)
	if err == nil {
		p.work.Script = w.Script
		end() // only the script was needed
	}
	return err
}
