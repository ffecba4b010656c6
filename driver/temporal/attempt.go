package temporal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/process"
	hocketflow "github.com/hocket-dev/hocket/workflow"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// workplace makes the attempts of a process.
type workplace struct {
	client client.Client
	store  Store
	queue  string // of this process alone, for replies to its attempts
	ids    func(run string) string
	// work returns what a run is driven with here.
	work func(ctx context.Context, j job) (*working, error)
	// allows says why the run cannot go on with a plan here.
	allows func(run string, plan *driver.Pin) error
	// The rest is nil in a process that drives one run. begins is told that the workflow of a run begins here, and
	// claim takes the tasks that stay on one machine.
	begins   func(run string, pin *driver.Pin)
	issued   *issued
	claim    func(ctx context.Context, c claim) (home, error)
	happened func(a driver.AttemptID, out *driver.Outcome, refused error)
	slots    *slots

	mu      sync.Mutex
	waiting map[string]chan reply // requests of attempts, by ticket
	lag     *time.Duration        // the least time from the start of a task to its arrival, see late
	stopped context.Context       // done when the process leaves
}

// working is what a run is driven with in a process.
type working struct {
	driver.Work
	pin   *driver.Pin
	seen  func(address string, attempt int, piece []byte) // shows what an attempt prints; may be nil
	exec  agent.Executor                                  // the scripted reply of this attempt; nil: there is none
	task  *engine.StartTask                               // as the run asked for it; nil: as the job says
	place place                                           // of the attempt
	done  func()                                          // called after the attempt; may be nil
}

// lostType is the type of the error of an attempt whose process leaves. What it did is not known.
const lostType = "lost"

var errLost = temporal.NewNonRetryableApplicationError("the process that made the attempt left", lostType, nil)

// lost is the error of an attempt whose outcome is not known. It is not retried.
func lost(err error) error {
	return temporal.NewNonRetryableApplicationError(err.Error(), lostType, err)
}

// tells reports what happens to an attempt.
func (p *workplace) tells(id driver.AttemptID, out *driver.Outcome, refused error) {
	if p.happened != nil {
		p.happened(id, out, refused)
	}
}

// attempt is the activity that makes one attempt. Its result is a TaskEnded.
func (p *workplace) attempt(ctx context.Context, j job) (*engine.TaskEnded, error) {
	id := driver.AttemptID{Run: j.Run, Address: j.Task.Address, Attempt: j.Task.Attempt}
	if j.Task.Output == nil { // see short
		j.Task.Output = &hocketflow.Output{}
	}
	if j.Task.Again || p.late(activity.GetInfo(ctx)) {
		err := p.client.RecordActivityHeartbeat(ctx, activity.GetInfo(ctx).TaskToken)
		if err != nil && !errors.As(err, new(*temporal.CanceledError)) {
			return nil, lost(err) // another worker may make it now
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go beat(ctx, activity.GetInfo(ctx).HeartbeatTimeout)
	stop := context.AfterFunc(p.stopped, func() { cancel(errInterrupted) })
	defer stop()
	if err := p.slots.take(ctx, 1); errors.Is(err, errInterrupted) {
		return nil, refuse(err) // it has done nothing, so another worker may make it
	} else if err != nil {
		return nil, temporal.NewCanceledError()
	}
	defer p.slots.give()
	w, err := p.work(ctx, j)
	p.tells(id, nil, err)
	if err != nil {
		return nil, err
	}
	if w.done != nil {
		defer w.done()
	}
	w.place = place{slots: p.slots}
	if w.task != nil {
		j.Task = w.task
	}
	if j.Waited {
		if err := p.signal(ctx, j.Run, note{Event: eventJSON{engine.Envelope{Event: &engine.Queued{Address: id.Address, Attempt: id.Attempt, Begun: true}}}}); err != nil {
			return nil, refuse(err)
		}
	}
	if j.Task.Again { // the one before may have left programs running
		if err := process.EndLeft(j.Task.Key(j.Run), 0); err != nil && !errors.Is(err, process.ErrUnseen) {
			return nil, lost(err)
		}
	}
	log, err := newLog(p.store, id, j.Task.Again, w.seen)
	if err != nil {
		return nil, lost(err)
	}
	out := p.make(ctx, w, j, log)
	if err := log.close(); err != nil {
		return nil, lost(err)
	}
	p.tells(id, &out, nil)
	// The SDK ends the context by itself if it could not tell the server that the attempt goes on.
	if cause := context.Cause(ctx); errors.Is(cause, errInterrupted) || errors.Is(cause, context.DeadlineExceeded) {
		return nil, errLost
	}
	return driver.Ended(id.Address, id.Attempt, out), nil
}

// late reports whether a task may count as lost by now: the process was stopped, or cut off, since the server
// started the task. Clocks differ, so what counts is how much longer it took than others.
func (p *workplace) late(task activity.Info) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	lag := time.Since(task.StartedTime)
	first := p.lag == nil
	if first || lag < *p.lag {
		p.lag = &lag
	}
	return first || lag-*p.lag > task.HeartbeatTimeout/2
}

// errInterrupted is why an attempt is told to stop when its process leaves.
var errInterrupted = errors.New("interrupted")

// beat tells Temporal that the attempt goes on, and learns that it was cancelled.
func beat(ctx context.Context, timeout time.Duration) {
	every := time.NewTicker(max(timeout/5, 10*time.Millisecond))
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			activity.RecordHeartbeat(ctx)
		}
	}
}

// make makes the attempt. A panic of an agent, or its runtime.Goexit, is a failed attempt.
func (p *workplace) make(ctx context.Context, w *working, j job, log *attemptLog) driver.Outcome {
	done := make(chan driver.Outcome, 1)
	go func() {
		out, ended := driver.Outcome{}, false
		defer func() {
			if r := recover(); r != nil {
				log.write(fmt.Appendf(nil, "panic: %v\n%s", r, debug.Stack()))
				out = failedOutcome(fmt.Sprintf("the agent panicked: %v", r))
			} else if !ended {
				out = failedOutcome("the agent ended without a result")
			}
			done <- out
		}()
		out = p.run(ctx, w, j, log)
		ended = true
	}()
	return <-done
}

func (p *workplace) run(ctx context.Context, w *working, j job, log *attemptLog) driver.Outcome {
	key := attemptKey{j.Task.Address, j.Task.Attempt}
	at := driver.Attempt{
		Log:       log.write,
		Ask:       p.asking(j.Run, key, w, log),
		HandOff:   p.handingOff(j.Run, key, w, log),
		Keep:      log.keep,
		Note:      log.note,
		Artifacts: log.files,
	}
	if w.exec != nil {
		if w.Scripted != nil {
			return w.Scripted(ctx, w.exec, j.Run, j.Task, at)
		}
		return driver.Execute(ctx, w.exec, driver.Scripted(j.Task), w.pin.Dir, j.Run, j.Task, at)
	}
	return w.Agents.Run(ctx, j.Run, j.Task, at)
}

func failedOutcome(text string) driver.Outcome {
	return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: text}}
}

// asking lets an attempt ask people.
func (p *workplace) asking(run string, key attemptKey, w *working, log *attemptLog) agent.Ask {
	return func(ctx context.Context, asked agent.Question) (string, error) {
		if w.Asker == nil && !w.Elsewhere {
			log.say("[nobody is available to answer]")
			return "", agent.ErrNobody
		}
		ev := &engine.Asked{Address: key.address, Attempt: key.attempt, Text: asked.Text, Detail: asked.Detail}
		for _, o := range asked.Options {
			ev.Options = append(ev.Options, hocketflow.Option{Value: o})
		}
		r, err := p.request(ctx, w, run, ev)
		if err != nil {
			return "", err
		}
		return r.result()
	}
}

// handingOff lets an attempt hand work off.
func (p *workplace) handingOff(run string, key attemptKey, w *working, log *attemptLog) func(context.Context, *engine.HandoffAsked) (*engine.Return, error) {
	return func(ctx context.Context, asked *engine.HandoffAsked) (*engine.Return, error) {
		own := *asked
		own.Address, own.Attempt = key.address, key.attempt
		r, err := p.request(ctx, w, run, &own)
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
func (p *workplace) request(ctx context.Context, w *working, run string, ev engine.Event) (reply, error) {
	t := ticket{Queue: p.queue, ID: rand.Text()}
	replies := make(chan reply, 2)
	p.mu.Lock()
	p.waiting[t.ID] = replies
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.waiting, t.ID)
	}()
	if err := p.signal(ctx, run, note{Ticket: t, Event: eventJSON{engine.Envelope{Event: ev}}}); err != nil {
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
			_ = p.signal(late, run, note{Ticket: t, Gone: true}) // otherwise the end of the attempt withdraws it
			return reply{}, context.Cause(ctx)
		}
	}
}

func (p *workplace) signal(ctx context.Context, run string, n note) error {
	return p.client.SignalWorkflow(ctx, p.ids(run), "", noteSignal, n)
}

// told is the activity that brings a reply to an attempt of this process.
func (p *workplace) told(_ context.Context, ticket string, r reply) error {
	p.mu.Lock()
	replies := p.waiting[ticket]
	p.mu.Unlock()
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
