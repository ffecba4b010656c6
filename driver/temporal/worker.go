package temporal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Work makes attempts of runs of the project, whoever started them.
func (d *Driver) Work(ctx context.Context, w driver.Worker, leave <-chan struct{}) error {
	if err := d.seals(ctx); err != nil {
		return err
	}
	c := d.newCrew(w)
	defer c.close()
	if d.log != nil {
		defer d.log.reports(c.unreadable)()
	}
	var interrupt func()
	c.stopped, interrupt = context.WithCancel(context.Background())
	defer interrupt()
	var all []worker.Worker
	broken := make(chan error, 1) // such as: the namespace was deleted
	fatal := func(err error) {
		select {
		case broken <- err:
		default: // the first one is enough
		}
	}
	var wrong error
	serve := func(queue string, o worker.Options, register func(worker.Registry)) {
		o.Identity, o.DisableRegistrationAliasing, o.OnFatalError = c.identity, true, fatal
		o.MaxHeartbeatThrottleInterval, o.WorkerStopTimeout = d.o.Heartbeat/5, forever
		o.DeadlockDetectionTimeout = slow
		tuner, err := c.slots.tuner()
		if err != nil {
			wrong = err
			return
		}
		o.Tuner = tuner
		one := worker.New(d.client, queue, o)
		register(one)
		all = append(all, one)
	}
	serve(d.o.Queue, worker.Options{StickyScheduleToStartTimeout: d.o.Heartbeat / 2}, c.registerAll)
	serve(c.stays, worker.Options{DisableWorkflowWorker: true}, c.registerAttempts)
	for _, label := range w.Queues {
		serve(labelQueue(d.o.Queue, label), worker.Options{DisableWorkflowWorker: true}, c.registerAttempts)
	}
	for _, program := range w.Programs {
		serve(programQueue(d.o.Queue, program), worker.Options{DisableWorkflowWorker: true}, c.registerAttempts)
	}
	if wrong != nil {
		return wrong
	}
	own := worker.New(d.client, c.queue, worker.Options{Identity: c.identity, DisableWorkflowWorker: true})
	own.RegisterActivityWithOptions(c.told, activity.RegisterOptions{Name: tellName})
	all = append(all, own) // it stops last: attempts in progress may wait for replies
	gone, err := c.appear(ctx, leave)
	if err != nil {
		return err
	}
	defer gone()
	for i, one := range all {
		if err := one.Start(); err != nil {
			for _, begun := range all[:i] {
				begun.Stop()
			}
			return err
		}
	}
	if w.Ready != nil {
		w.Ready(append([]string{d.project}, w.Queues...))
	}
	looking, stop := context.WithCancel(ctx)
	defer stop()
	go c.scripted(looking)
	go c.misses(looking)
	select {
	case <-ctx.Done():
		interrupt()
	case err = <-broken:
		interrupt()
	case <-leave:
		defer context.AfterFunc(ctx, interrupt)()
		c.mu.Lock()
		c.last = []driver.AttemptID{}
		c.mu.Unlock()
		var end func() // attempts in progress may ask, or hand work off, and nobody else may be there to run their workflows
		if end, err = d.runsWorkflow(c.identity); err == nil {
			defer end()
		}
	}
	var ends sync.WaitGroup
	for _, one := range all[:len(all)-1] {
		ends.Go(one.Stop)
	}
	ends.Wait()
	own.Stop()
	c.settle()
	return err
}

// misses tells what the worker can do nothing without, and "" when it is back, until ctx is done. The SDK asks again and again, and says
// nothing.
func (c *crew) misses(ctx context.Context) {
	if c.w.Stalled == nil {
		return
	}
	looks := time.NewTicker(c.d.o.Heartbeat / 2)
	defer looks.Stop()
	for told := ""; ; {
		why := c.missing(ctx)
		if ctx.Err() != nil {
			return
		}
		if why != told {
			told = why
			c.w.Stalled(why)
		}
		select {
		case <-ctx.Done():
			return
		case <-looks.C:
		}
	}
}

// missing says that the server does not answer, or that the store is not there.
func (c *crew) missing(ctx context.Context) string {
	soon, cancel := context.WithTimeout(ctx, c.d.o.Heartbeat/2)
	defer cancel()
	_, err := c.d.client.WorkflowService().GetSystemInfo(soon, &workflowservice.GetSystemInfoRequest{})
	if err != nil && (away(err) || soon.Err() != nil) {
		return c.d.silent()
	}
	if gone := c.d.storeGone(soon); gone != nil {
		return gone.Error()
	}
	return ""
}

// unreadable tells that this worker cannot read a run.
func (c *crew) unreadable(flow string, err error) {
	_, why, _ := strings.Cut(err.Error(), errUnread.Error()+": ")
	c.tellsRefusal(driver.AttemptID{Run: runOf(flow)}, fmt.Errorf("worker %s cannot read the run: %s", c.w.Name, why))
}

// crew runs workflows and makes attempts, with what it knows about their runs.
type crew struct {
	d        *Driver
	w        driver.Worker
	identity string          // of this crew, on the server
	stays    string          // the queue of tasks that stay on this machine
	queue    string          // of this crew alone, for replies to its attempts
	issued   *issued         // by workflows that run here
	slots    *slots          // for attempts
	stopped  context.Context // done when attempts in progress have to stop
	full     atomic.Bool     // the store could not take what an attempt has printed

	mu      sync.Mutex
	plans   map[planKey]*plan
	looked  time.Time             // when idle ones were looked for
	stale   []*plan               // that no new attempt uses
	waiting map[string]chan reply // requests of attempts, by ticket
	lag     *time.Duration        // the least time from the start of a task to its arrival, see late
	last    []driver.AttemptID    // attempts that ended since the worker leaves; nil before

	objections map[objection]bool // that were told
	heeding    map[string]*heeded // runs with a script
	closed     bool
	aside      bool // it only runs workflows, for a moment, and answers nothing
}

func (d *Driver) newCrew(w driver.Worker) *crew {
	identity := processName()
	return &crew{
		d: d, w: w, identity: identity, stays: workerQueue(d.o.Queue, w.Name), queue: d.o.Queue + "/process/" + identity, issued: newIssued(!w.Trusting), slots: newSlots(w.Most),
		plans: map[planKey]*plan{}, waiting: map[string]chan reply{}, objections: map[objection]bool{}, heeding: map[string]*heeded{},
	}
}

func (c *crew) registerFlow(w worker.Registry) {
	w.RegisterWorkflowWithOptions(c.runFlow, workflow.RegisterOptions{Name: flowName})
	w.RegisterActivityWithOptions(c.archive, activity.RegisterOptions{Name: archiveName})
}

func (c *crew) registerAll(w worker.Registry) {
	c.registerFlow(w)
	c.registerAttempts(w)
}

func (c *crew) registerAttempts(w worker.Registry) {
	w.RegisterActivityWithOptions(c.attempt, activity.RegisterOptions{Name: attemptName})
	w.RegisterActivityWithOptions(c.claim, activity.RegisterOptions{Name: claimName})
}

// planKey names what a run works with.
type planKey struct{ run, plan string }

// plan is what a run is driven with here.
type plan struct {
	ready  chan struct{} // closed when the rest is set
	pin    *driver.Pin
	digest string // of pin
	wrong  error
	used   time.Time
	using  int

	mu       sync.Mutex // of the rest, which changes when a new session begins
	work     driver.Work
	ends     []func()
	follows  *session // of a run with a script, or whose workflow runs elsewhere; nil: not yet
	unfollow func()   // ends it
	ended    bool
}

// end frees what a run was driven with.
func (p *plan) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.unfollow != nil {
		p.unfollow()
	}
	for _, end := range slices.Backward(p.ends) {
		end()
	}
}

// elsewhereType is the type of the error of a worker that cannot make an attempt. Another one may.
const elsewhereType = "elsewhere"

// failures converts the errors of activities. Temporal may let another worker try what one has refused, and nothing
// else: an attempt whose result could not be stored was made.
type failures struct{ converter.FailureConverter }

// ErrorToFailure converts an error.
func (c failures) ErrorToFailure(err error) *failurepb.Failure {
	f := c.FailureConverter.ErrorToFailure(err)
	info := f.GetApplicationFailureInfo()
	switch {
	case info == nil:
	case errors.Is(err, errUnread): // the input, so nothing was done
		info.Type = elsewhereType
	case info.GetType() != elsewhereType:
		info.NonRetryable = true
	}
	return f
}

func refuse(err error) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), elsewhereType, temporal.ApplicationErrorOptions{Category: temporal.ApplicationErrorCategoryBenign})
}

// plan returns what a run is driven with here, as somebody here would decide now. The caller must call done.
func (c *crew) plan(ctx context.Context, run, name string) (p *plan, done func(), err error) {
	key := planKey{run, name}
	for range 2 {
		p, done, err = c.resolved(ctx, key)
		if err != nil || p.stands() {
			return p, done, err
		}
		c.discard(key, p)
		done()
	}
	return nil, nil, refuse(fmt.Errorf("what worker %s may do for run %s has just changed", c.w.Name, run))
}

// discard lets no new attempt use a plan.
func (c *crew) discard(key planKey, p *plan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plans[key] == p {
		delete(c.plans, key)
		c.stale = append(c.stale, p)
	}
}

// stands reports whether what was decided about a plan is still so.
func (p *plan) stands() bool {
	w := p.driven()
	return w.Stands == nil || w.Stands()
}

// resolved returns what a run is driven with here, as it was decided the last time. The caller must call done.
func (c *crew) resolved(ctx context.Context, key planKey) (p *plan, done func(), err error) {
	var idle []*plan
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, nil, refuse(errEnded)
	}
	p = c.plans[key]
	if p == nil {
		p = &plan{ready: make(chan struct{})}
		c.plans[key] = p
		idle = c.dismiss()
		go c.resolve(key, p)
	}
	p.using++
	c.mu.Unlock()
	for _, old := range idle {
		old.end()
	}
	done = func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		p.using--
		p.used = time.Now()
	}
	select {
	case <-p.ready:
	case <-ctx.Done():
		done()
		if err = context.Cause(ctx); !errors.As(err, new(*temporal.CanceledError)) {
			err = refuse(err)
		}
		return nil, nil, err
	}
	if p.wrong != nil {
		done()
		return nil, nil, refuse(p.wrong)
	}
	return p, done, nil
}

// resolve finds out what a run is driven with. If it cannot be driven here, the next attempt asks again.
func (c *crew) resolve(key planKey, p *plan) {
	defer close(p.ready)
	defer func() {
		if r := recover(); r != nil { // whatever somebody has sent, this worker goes on
			p.wrong = fmt.Errorf("the run cannot be read: %v", r)
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.plans, key)
		}
	}()
	ctx := context.Background()
	if p.pin = c.issued.pin(key.run, key.plan); p.pin == nil { // its workflow runs elsewhere
		p.pin, p.wrong = c.d.planned(ctx, key.run, key.plan)
	}
	var end func()
	if p.wrong == nil {
		p.work, end, p.wrong = c.w.Resolve(ctx, key.run, p.pin)
	}
	if p.wrong != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.plans, key)
		return
	}
	p.work.Pin, p.digest, p.ends = p.pin, digestOf(p.pin), []func(){end}
}

// planned returns the plan of a run with a name: an attempt may be of an earlier one than the newest.
func (d *Driver) planned(ctx context.Context, run, name string) (*driver.Pin, error) {
	m, err := d.mirror(ctx, run, nil)
	if err != nil {
		return nil, err
	}
	for _, pin := range append(m.plans, m.in.Pin, m.firstPin()) {
		if pin.Plan == name {
			return pin, nil
		}
	}
	return nil, notAsked(run)
}

func notAsked(run string) error {
	return fmt.Errorf("run %s did not schedule this attempt under the accepted plan", run)
}

// idleFor is how long a worker remembers a run for which it does nothing.
const idleFor = 10 * time.Minute

// dismiss forgets the plans with which nothing was done for a while, and returns them. The caller ends them when it no
// longer holds c.mu, because that may take long.
func (c *crew) dismiss() (idle []*plan) {
	if time.Since(c.looked) > idleFor/10 { // there may be many
		c.looked = time.Now()
		for key, p := range c.plans {
			if p.using == 0 && !p.used.IsZero() && time.Since(p.used) > idleFor {
				delete(c.plans, key)
				idle = append(idle, p)
			}
		}
	}
	c.stale = slices.DeleteFunc(c.stale, func(p *plan) bool {
		if p.using == 0 {
			idle = append(idle, p)
		}
		return p.using == 0
	})
	return idle
}

func (c *crew) close() {
	c.mu.Lock()
	c.closed = true
	plans := slices.AppendSeq(slices.Clone(c.stale), maps.Values(c.plans))
	c.mu.Unlock()
	for _, p := range plans {
		<-p.ready
		p.end()
	}
}

// settle waits until the ends of the last attempts are recorded, but not long: another worker can do that.
func (c *crew) settle() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*c.d.o.Heartbeat)
	defer cancel()
	for _, id := range c.last {
		_ = until(ctx, func() (bool, error) {
			m, err := c.d.mirror(ctx, id.Run, nil)
			return err == nil && m.attempts[attemptKey{id.Address, id.Attempt}] == nil, err
		})
	}
}

// work returns what an attempt is made with.
func (c *crew) work(ctx context.Context, j job) (*working, error) {
	if activity.GetInfo(ctx).WorkflowExecution.ID != c.d.flowID(j.Run) && !c.w.Trusting { // another workflow wants it repeated
		return nil, refuse(notAsked(j.Run))
	}
	p, unused, err := c.plan(ctx, j.Run, j.Plan)
	if err != nil {
		return nil, err
	}
	done := func() {
		unused()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.last != nil {
			c.last = append(c.last, driver.AttemptID{Run: j.Run, Address: j.Task.Address, Attempt: j.Task.Attempt})
		}
	}
	if site := p.pin.Site(j.Task); c.lacks(site.Program) != nil {
		if site.Stays { // no other worker may make it
			return &working{Work: driver.Work{Agents: unable{c.lacks(site.Program)}, Pin: p.pin}, done: done}, nil
		}
		done()
		return nil, refuse(c.lacks(site.Program))
	}
	w := &working{Work: p.driven(), task: c.issued.task(j, p.digest), done: done}
	if w.Script != nil || w.task == nil && !c.w.Trusting {
		var s *session
		if s, err = c.follow(p, j.Run); err == nil {
			w.exec, w.task, err = s.attempt(ctx, j, p.digest)
		}
		if err == nil && w.task == nil && !c.w.Trusting {
			err = refuse(notAsked(j.Run))
		}
	}
	if err != nil {
		done()
		return nil, err
	}
	return w, nil
}

// driven returns what the run is driven with now.
func (p *plan) driven() driver.Work {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.work
}

// lacks says that the worker does not have a program.
func (c *crew) lacks(program string) error {
	if program == "" || slices.Contains(c.w.Programs, program) {
		return nil
	}
	return fmt.Errorf("worker %s does not have %s", c.w.Name, program)
}

// unable fails all attempts.
type unable struct{ because error }

func (u unable) Run(context.Context, string, *engine.StartTask, driver.Attempt) driver.Outcome {
	text := u.because.Error() + ", and the run's files are there: install it, and retry the step"
	return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: text, Permanent: true}}
}

// begins is called when the workflow of a run begins to run here.
func (c *crew) begins(in *begin) {
	c.tidy(len(in.Snapshot)) // the state of the last execution
	c.issued.clear(in.Run)
}

// leaves is called when the workflow of a run no longer runs here: it is over, or the SDK needs its place for another one.
func (c *crew) leaves(run string) { c.issued.clear(run) }

// tidy frees memory when the state of a large run, or a copy of it, is no longer needed: before the collector does that by
// itself, there would be another one.
func (c *crew) tidy(snapshot int) {
	if snapshot > 1<<20 { // the state takes ten times as much
		runtime.GC()
	}
}

// allows says why the run cannot go on with a plan here.
func (c *crew) allows(run string, pin *driver.Pin) error {
	_, end, err := c.w.Resolve(context.Background(), run, pin)
	if err == nil {
		end()
	}
	return err
}

var _ driver.Workers = (*Driver)(nil)
