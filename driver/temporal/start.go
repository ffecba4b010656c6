package temporal

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// start begins an attempt. Its end arrives in the inbox, also if its worker was lost.
func (f *flow) start(key attemptKey, a *attempt) {
	ctx, cancel := workflow.WithCancel(f.ctx)
	f.stops[key] = cancel
	options := workflow.ActivityOptions{
		ActivityID:             activityID(key),
		TaskQueue:              f.queue(a.site),
		ScheduleToCloseTimeout: forever,
		HeartbeatTimeout:       f.in.Heartbeat,
		WaitForCancellation:    true,
		RetryPolicy:            elsewhere,
	}
	if !a.waits {
		options.ScheduleToStartTimeout = f.in.Heartbeat
		if most := a.task.Timeout / 2; most > 0 {
			options.ScheduleToStartTimeout = min(most, f.in.Heartbeat)
		}
	}
	ctx = workflow.WithActivityOptions(ctx, options)
	seq := f.m.run.Seq()
	f.w.issue(f.in.Run, command{seq, f.planned(a.pin), a.pin, a.task})
	done := workflow.ExecuteActivity(ctx, attemptName, job{f.in.Run, seq, a.pin.Plan, a.waits, short(a.task)})
	f.when(done, func() {
		ended := &engine.TaskEnded{}
		err := done.Get(f.ctx, ended)
		cancel() // which frees it
		delete(f.stops, key)
		if replies, ok := f.tells[key]; ok { // nobody waits for them any more
			replies.cancel()
			delete(f.tells, key)
		}
		f.w.ended(f.in.Run, key)
		var late *temporal.TimeoutError
		if errors.As(err, &late) && late.TimeoutType() == enums.TIMEOUT_TYPE_SCHEDULE_TO_START {
			f.inbox = append(f.inbox, arrival{untaken: &key})
			return
		}
		f.inbox = append(f.inbox, arrival{ended: endOf(key, ended, err)})
	})
}

// elsewhere lets another worker try what one has refused. Nothing else is retried: that is up to the engine.
var elsewhere = &temporal.RetryPolicy{
	InitialInterval: time.Second, MaximumInterval: 10 * time.Second,
	NonRetryableErrorTypes: []string{"TemporalTimeout:Heartbeat", "TemporalTimeout:StartToClose"}, // that of the start is never retried; this is in every step's history
}

// queue returns the task queue of the workers that may make an attempt.
func (f *flow) queue(s driver.Site) string {
	project := workflow.GetInfo(f.ctx).TaskQueueName
	switch {
	case s.Stays:
		return f.m.homes[s.Queue]
	case s.Queue != "":
		return labelQueue(project, s.Queue)
	case s.Program != "":
		return programQueue(project, s.Program)
	}
	return project
}

// planned returns the digest of a plan.
func (f *flow) planned(pin *driver.Pin) string {
	if f.pinned != pin {
		f.pinned, f.plan = pin, digestOf(pin)
	}
	return f.plan
}

// slow is how long a workflow task may compute without a break. A large state takes more than the usual second.
const slow = 20 * time.Second

// forever is longer than any attempt. Temporal wants a limit.
const forever = 10 * 365 * 24 * time.Hour

func activityID(key attemptKey) string { return fmt.Sprintf("%s@%d", key.address, key.attempt) }

// keyOf is the reverse of activityID.
func keyOf(activity string) attemptKey {
	at := strings.LastIndexByte(activity, '@')
	n, _ := strconv.Atoi(activity[at+1:])
	return attemptKey{activity[:max(0, at)], n}
}

// endOf returns the end of an attempt, as its worker or Temporal reports it.
func endOf(key attemptKey, ended *engine.TaskEnded, err error) *engine.TaskEnded {
	switch {
	case err == nil:
		ended.Address, ended.Attempt = key.address, key.attempt // whatever somebody says with Temporal's own tools
		return ended
	case errors.As(err, new(*temporal.CanceledError)):
		return failed(key, engine.FaultCancelled)
	}
	return failed(key, engine.FaultLost)
}

// failed returns the end of an attempt that reported nothing. Its text is the same however Temporal
// describes the failure: mirrors see that in another form.
func failed(key attemptKey, kind engine.FaultKind) *engine.TaskEnded {
	text := "cancelled before it began"
	if kind == engine.FaultLost {
		text = "its worker was lost"
	}
	return &engine.TaskEnded{Address: key.address, Attempt: key.attempt, Fault: &engine.Fault{Kind: kind, Message: text}}
}

func (f *flow) stop(key attemptKey) {
	if cancel := f.stops[key]; cancel != nil {
		cancel()
	}
}

// tell sends a reply to the process that makes an attempt, again and again until it has arrived or the attempt has ended: if
// the process was lost, so is the attempt.
func (f *flow) tell(t ticket, r reply) {
	id := t.ID
	if r.More { // the other one may follow before this one has arrived
		id += "/first"
	}
	ctx, options := f.ctx, workflow.ActivityOptions{ActivityID: id, TaskQueue: t.Queue, ScheduleToCloseTimeout: 10 * f.in.Heartbeat}
	if f.in.Version >= 3 && f.stops[t.key] != nil { // the attempt has not ended
		options.ScheduleToCloseTimeout, options.StartToCloseTimeout = forever, f.in.Heartbeat
		options.RetryPolicy = &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 10 * time.Second}
		ctx = f.telling(t.key)
	}
	done := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), tellName, t.ID, r)
	f.when(done, func() {
		if done.Get(f.ctx, nil) == nil {
			f.inbox = append(f.inbox, arrival{told: id})
		}
	})
}

// telling returns the context of the replies to an attempt, which ends with it.
func (f *flow) telling(key attemptKey) workflow.Context {
	was, ok := f.tells[key]
	if !ok {
		was.ctx, was.cancel = workflow.WithCancel(f.ctx)
		f.tells[key] = was
	}
	return was.ctx
}
