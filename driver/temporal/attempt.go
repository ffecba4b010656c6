package temporal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/process"
	hocketflow "github.com/hocket-dev/hocket/workflow"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// working is what an attempt is made with.
type working struct {
	driver.Work
	exec  agent.Executor    // its scripted reply; nil: there is none
	task  *engine.StartTask // as the run asked for it; nil: as the job says
	place place             // of the attempt
	log   *attemptLog
	done  func() // called after the attempt
}

// lostType is the type of the error of an attempt whose process leaves. What it did is not known.
const lostType = "lost"

var errLost = lost(errors.New("the process that made the attempt left"))

// lost is the error of an attempt whose outcome is not known. It is not retried, and the SDK does not log it: the worker tells it.
func lost(err error) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), lostType, temporal.ApplicationErrorOptions{
		NonRetryable: true, Cause: err, Category: temporal.ApplicationErrorCategoryBenign,
	})
}

// loses reports that an attempt is lost, and why.
func (c *crew) loses(id driver.AttemptID, err error) error {
	c.tells(id, &driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultLost, Message: err.Error()}})
	return lost(err)
}

// tells reports what happens to an attempt.
func (c *crew) tells(id driver.AttemptID, out *driver.Outcome) {
	if c.w.Happened != nil {
		c.w.Happened(id, out, nil)
	}
}

// objection is why a worker refuses attempts or claims of a run.
type objection struct{ run, why string }

// manyObjections is how many of them a worker remembers to have told.
const manyObjections = 10_000

// tellsRefusal reports that an attempt or a claim was refused. Temporal asks again and again, but people want to know each
// reason once.
func (c *crew) tellsRefusal(id driver.AttemptID, err error) {
	if c.w.Happened == nil || err == nil || errors.As(err, new(*temporal.CanceledError)) {
		return
	}
	one := objection{id.Run, refusedBecause(err)}
	c.mu.Lock()
	known := c.objections[one]
	if len(c.objections) >= manyObjections {
		clear(c.objections)
	}
	c.objections[one] = true
	c.mu.Unlock()
	if !known {
		c.w.Happened(id, nil, errors.New(one.why))
	}
}

// refusedBecause returns the text of a refusal without what the SDK adds to it.
func refusedBecause(err error) string {
	if refused := (*temporal.ApplicationError)(nil); errors.As(err, &refused) {
		return refused.Message()
	}
	return err.Error()
}

// attempt is the activity that makes one attempt. Its result is a TaskEnded.
func (c *crew) attempt(ctx context.Context, j job) (*engine.TaskEnded, error) {
	id := driver.AttemptID{Run: j.Run, Address: j.Task.Address, Attempt: j.Task.Attempt}
	if j.Task.Output == nil { // see short
		j.Task.Output = &hocketflow.Output{}
	}
	if j.Task.Again || c.late(activity.GetInfo(ctx)) {
		err := c.d.client.RecordActivityHeartbeat(ctx, activity.GetInfo(ctx).TaskToken)
		if err != nil && !errors.As(err, new(*temporal.CanceledError)) {
			return nil, c.loses(id, err) // another worker may make it now
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var waits atomic.Pointer[string] // why its end is not reported
	go beat(ctx, activity.GetInfo(ctx).HeartbeatTimeout, &waits)
	stop := context.AfterFunc(c.stopped, func() { cancel(errInterrupted) })
	defer stop()
	queued := func(begun bool) error {
		return c.signal(ctx, j.Run, note{Event: eventJSON{engine.Envelope{Event: attemptKey{id.Address, id.Attempt}.queued(begun)}}})
	}
	first := activity.GetInfo(ctx).Attempt == 1 && !j.Waited
	w, done, err := c.prepare(ctx, j)
	if err != nil {
		c.tellsRefusal(id, err)
		if first {
			_ = queued(false) // if this fails, time passes until another worker makes it
		}
		return nil, err
	}
	defer done()
	w.place = place{slots: c.slots}
	if w.task != nil {
		j.Task = w.task
	}
	if !first {
		if err := queued(true); err != nil {
			return nil, refuse(err)
		}
	}
	c.tells(id, nil)
	if j.Task.Again { // the one before may have left programs running
		if err := process.EndLeft(j.Task.Key(j.Run), 0); err != nil && !errors.Is(err, process.ErrUnseen) {
			return nil, c.loses(id, err)
		}
	}
	out := c.make(ctx, w, j)
	cause := context.Cause(ctx)
	wrong := c.store(ctx, w.log, &waits)
	// The SDK also ends the context, with the error of the request, if it could not tell the server that the attempt goes on.
	if cause != nil && !errors.As(cause, new(*temporal.CanceledError)) {
		return nil, c.loses(id, cause)
	}
	if wrong != nil {
		out.Warning = strings.TrimPrefix(out.Warning+"; some of what it printed could not be stored: "+wrong.Error(), "; ")
	}
	c.tells(id, &out)
	return driver.Ended(id.Address, id.Attempt, out), nil
}

// prepare takes a place for an attempt, and returns what it is made with. Until then it has done nothing, so another
// worker may make it.
func (c *crew) prepare(ctx context.Context, j job) (w *working, done func(), err error) {
	soon, cancel := context.WithTimeoutCause(ctx, patience(j.Task), fmt.Errorf("worker %s is busy", c.w.Name))
	defer cancel()
	if err := c.slots.take(soon, 1); errors.As(err, new(*temporal.CanceledError)) {
		return nil, nil, err
	} else if err != nil {
		return nil, nil, refuse(err)
	}
	if err = c.canStore(ctx); err == nil {
		w, err = c.work(ctx, j)
	}
	if err != nil {
		c.slots.give()
		return nil, nil, err
	}
	log, err := newLog(c.d.o.Store, driver.AttemptID{Run: j.Run, Address: j.Task.Address, Attempt: j.Task.Attempt}, j.Task.Again)
	if err != nil {
		w.done()
		c.slots.give()
		return nil, nil, refuse(err)
	}
	w.log = log
	return w, func() { log.forget(); w.done(); c.slots.give() }, nil
}

// patience is how long an attempt waits for a place before it is refused: its timeout passes until then.
func patience(task *engine.StartTask) time.Duration {
	if most := task.Timeout / 4; most > 0 {
		return min(most, time.Second)
	}
	return time.Second
}

// late reports whether a task may count as lost by now: the process was stopped, or cut off, since the server
// started the task. Clocks differ, so what counts is how much longer it took than others.
func (c *crew) late(task activity.Info) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	lag := time.Since(task.StartedTime)
	first := c.lag == nil
	if first || lag < *c.lag {
		c.lag = &lag
	}
	return first || lag-*c.lag > task.HeartbeatTimeout/2
}

// errInterrupted is why an attempt is told to stop when its process leaves.
var errInterrupted = errors.New("its worker leaves")

// beat tells Temporal that the attempt goes on, and what it waits for, and learns that it was cancelled.
func beat(ctx context.Context, timeout time.Duration, waits *atomic.Pointer[string]) {
	every := time.NewTicker(max(timeout/5, 10*time.Millisecond))
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			if waits != nil && waits.Load() != nil {
				activity.RecordHeartbeat(ctx, *waits.Load())
			} else {
				activity.RecordHeartbeat(ctx)
			}
		}
	}
}

// make makes the attempt. A panic of an agent, or its runtime.Goexit, is a failed attempt.
func (c *crew) make(ctx context.Context, w *working, j job) driver.Outcome {
	done := make(chan driver.Outcome, 1)
	go func() {
		out, ended := driver.Outcome{}, false
		defer func() {
			if r := recover(); r != nil {
				w.log.write(fmt.Appendf(nil, "panic: %v\n%s", r, debug.Stack()))
				out = failedOutcome(fmt.Sprintf("the agent panicked: %v", r))
			} else if !ended {
				out = failedOutcome("the agent ended without a result")
			}
			done <- out
		}()
		out = c.run(ctx, w, j)
		ended = true
	}()
	return <-done
}

func (c *crew) run(ctx context.Context, w *working, j job) driver.Outcome {
	log := w.log
	key := attemptKey{j.Task.Address, j.Task.Attempt}
	at := driver.Attempt{
		Log:       log.write,
		Ask:       c.asking(j.Run, key, w, log),
		HandOff:   c.handingOff(j.Run, key, w, log),
		Keep:      log.keep,
		Note:      log.note,
		Artifacts: log.files,
		Worker:    c.w.Name,
	}
	if w.exec != nil {
		if w.Scripted != nil {
			return w.Scripted(ctx, w.exec, j.Run, j.Task, at)
		}
		return driver.Execute(ctx, w.exec, driver.Scripted(j.Task), w.Pin.Dir, j.Run, j.Task, at)
	}
	return w.Agents.Run(ctx, j.Run, j.Task, at)
}

func failedOutcome(text string) driver.Outcome {
	return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: text}}
}

// asking lets an attempt ask people.
func (c *crew) asking(run string, key attemptKey, w *working, log *attemptLog) agent.Ask {
	return func(ctx context.Context, asked agent.Question) (string, error) {
		if w.Asker == nil && !w.Elsewhere {
			log.say("[nobody is available to answer]")
			return "", agent.ErrNobody
		}
		ev := &engine.Asked{Address: key.address, Attempt: key.attempt, Text: asked.Text, Detail: asked.Detail, Custom: asked.Custom}
		for _, o := range asked.Options {
			ev.Options = append(ev.Options, hocketflow.Option{Value: o})
		}
		r, err := c.request(ctx, w, run, ev)
		if err != nil {
			return "", err
		}
		return r.result()
	}
}

// handingOff lets an attempt hand work off.
func (c *crew) handingOff(run string, key attemptKey, w *working, log *attemptLog) func(context.Context, *engine.HandoffAsked) (*engine.Return, error) {
	return func(ctx context.Context, asked *engine.HandoffAsked) (*engine.Return, error) {
		own := *asked
		own.Address, own.Attempt = key.address, key.attempt
		r, err := c.request(ctx, w, run, &own)
		if err != nil {
			return nil, err
		}
		if _, err := r.result(); err != nil {
			log.say("[not handed off] " + err.Error())
			return nil, err
		}
		return r.Return, nil
	}
}

// request sends a request of an attempt to the workflow, and waits for the last reply.
func (c *crew) request(ctx context.Context, w *working, run string, ev engine.Event) (reply, error) {
	t := ticket{Queue: c.queue, ID: rand.Text()}
	replies := make(chan reply, 2)
	c.mu.Lock()
	c.waiting[t.ID] = replies
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, t.ID)
	}()
	if err := c.signal(ctx, run, note{Ticket: t, Event: eventJSON{engine.Envelope{Event: ev}}}); err != nil {
		return reply{}, err
	}
	w.place.leave()
	defer w.place.back(ctx)
	for {
		select {
		case r := <-replies:
			if !r.More {
				return r, nil
			}
		case <-ctx.Done():
			late, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_ = c.signal(late, run, note{Ticket: t, Gone: true}) // otherwise the end of the attempt withdraws it
			return reply{}, context.Cause(ctx)
		}
	}
}

func (c *crew) signal(ctx context.Context, run string, n note) error {
	return c.d.client.SignalWorkflow(ctx, c.d.flowID(run), "", noteSignal, n)
}

// told is the activity that brings a reply to an attempt of this process.
func (c *crew) told(_ context.Context, ticket string, r reply) error {
	c.mu.Lock()
	replies := c.waiting[ticket]
	c.mu.Unlock()
	if replies != nil {
		select {
		case replies <- r:
		default:
		}
	}
	return nil
}

func processName() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:6])
}
