package temporal

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// stalled says what a run lacks to go on by itself: the server, a worker, or one that may do what is to be done. "" means
// nothing.
func (d *Driver) stalled(ctx context.Context, run string, m *mirror) string {
	why, _ := d.lacks(ctx, run, m)
	return why
}

// lacks also returns the addresses of the steps whose attempts no worker has taken yet.
func (d *Driver) lacks(ctx context.Context, run string, m *mirror) (why string, untaken []string) {
	if m == nil || m.machine != nil && m.over {
		return "", nil
	}
	res, silent, err := d.describe(ctx, run)
	if err != nil || m.machine == nil {
		return silent, nil
	}
	l := look{d: d, m: m, now: res, workers: sync.OnceValues(func() ([]presence, error) { return d.workers(ctx) })}
	if why = cmp.Or(l.undecided(), l.unmade(), d.unstored(res)); why == "" { // this look takes seconds
		why = d.unheard(ctx, run, m, res)
	}
	return why, m.untaken(res)
}

// describe asks the server what a run does now. If that does not answer for a while, silent says so.
func (d *Driver) describe(ctx context.Context, run string) (now *workflowservice.DescribeWorkflowExecutionResponse, silent string, err error) {
	soon, cancel := context.WithTimeout(ctx, awayFor)
	defer cancel()
	now, err = d.client.DescribeWorkflowExecution(soon, d.flowID(run), "")
	if err != nil && ctx.Err() == nil && (away(err) || soon.Err() != nil) {
		silent = d.silent()
	}
	return now, silent, err
}

// silent says that the server does not answer.
func (d *Driver) silent() string {
	return fmt.Sprintf("the Temporal server at %s does not answer", cmp.Or(d.o.Client.HostPort, client.DefaultHostPort))
}

// untaken returns the addresses of the steps whose attempts no worker has taken yet.
func (m *mirror) untaken(now *workflowservice.DescribeWorkflowExecutionResponse) (addresses []string) {
	for _, a := range now.GetPendingActivities() {
		if isScheduled(a) && a.GetActivityType().GetName() == attemptName {
			addresses = append(addresses, keyOf(a.GetActivityId()).address)
		}
	}
	for _, a := range slices.Concat(slices.Concat(slices.Collect(maps.Values(m.homeless))...), m.held, m.crowded) {
		addresses = append(addresses, a.key().address)
	}
	slices.Sort(addresses)
	return slices.Compact(addresses)
}

func isScheduled(a *workflowpb.PendingActivityInfo) bool {
	return a.GetState() == enums.PENDING_ACTIVITY_STATE_SCHEDULED
}

// look is one look at what a run lacks.
type look struct {
	d       *Driver
	m       *mirror
	now     *workflowservice.DescribeWorkflowExecutionResponse
	workers func() ([]presence, error)
}

// served reports whether a worker is there of which something holds, and returns those that would be, but that the run has lost:
// the server lists a worker for up to two minutes after it was killed.
func (l look) served(holds func(presence) bool) (yes bool, lost []presence) {
	there, err := l.workers()
	if err != nil { // nobody knows
		return true, nil
	}
	for _, p := range there {
		switch {
		case !holds(p):
		case l.hasLost(p):
			lost = append(lost, p)
		default:
			yes = true
		}
	}
	return yes, lost
}

// longestPoll is how long a request for tasks is open at most, for the server and for the SDK.
const longestPoll = 70 * time.Second

// hasLost reports whether an attempt of the run counted as lost because a worker was silent, and nothing shows that it is back. All
// times are of the server. That it has asked for tasks shows it only after a while: a worker that was stopped or cut off has open requests,
// and the server believes that it asks when they end, too. One that is back sooner takes at once what waits for it, so nothing is
// said about it, and is heard of as soon as it makes an attempt.
func (l look) hasLost(p presence) bool {
	at, ok := l.m.lost[p.identity]
	return ok && !p.heard.After(at.Add(longestPoll)) && !slices.ContainsFunc(l.now.GetPendingActivities(), func(a *workflowpb.PendingActivityInfo) bool {
		return a.GetLastWorkerIdentity() == p.identity && a.GetLastHeartbeatTime().AsTime().After(at)
	})
}

// undecided says that no worker runs the workflow. The server may have given it to a worker that is lost, and gives it to another one, or
// to the same one, only after a while.
func (l look) undecided() string {
	t := l.now.GetPendingWorkflowTask()
	soon := t.GetState() != enums.PENDING_WORKFLOW_TASK_STATE_SCHEDULED || l.d.o.Now().Sub(t.GetScheduledTime().AsTime()) <= lookEvery/2
	if t == nil || soon && len(l.m.lost) == 0 {
		return ""
	}
	served, lost := l.served(func(presence) bool { return true })
	switch {
	case served:
		return ""
	case len(lost) > 0:
		return l.lost(lost) + ", and no other worker is there; " + cmp.Or(l.start(), "start one with `hocket worker`")
	case soon:
		return ""
	}
	none := fmt.Sprintf("no worker serves the queue %s with the store %s", l.d.project, l.d.o.Store)
	if start := l.start(); start != "" {
		none += "; " + start
	}
	return none
}

// start says which worker to start if none is there: the one that has the run's files. "" means that any will do.
func (l look) start() string {
	homes := homeQueues(l.m.homes)
	if len(homes) != 1 {
		return ""
	}
	return fmt.Sprintf("start `hocket worker --name %s`, which has this run's files", strings.TrimPrefix(homes[0], workerQueue(l.d.o.Queue, "")))
}

// lost says since when workers are silent.
func (l look) lost(workers []presence) string {
	var texts []string
	for _, p := range workers {
		texts = append(texts, "worker "+p.where()+unheardSince(l.m.lost[p.identity].Add(-l.m.in.Heartbeat)))
	}
	return strings.Join(texts, ", ")
}

func unheardSince(at time.Time) string {
	return " has not been heard from since " + at.Local().Format(time.TimeOnly)
}

// unmade says why an attempt or a claim does not begin.
func (l look) unmade() string {
	for _, a := range l.now.GetPendingActivities() {
		if !isScheduled(a) || a.GetActivityType().GetName() == tellName {
			continue
		}
		if why := l.waits(a); why != "" {
			return why
		}
	}
	return ""
}

func (l look) waits(a *workflowpb.PendingActivityInfo) string {
	name := "step " + keyOf(a.GetActivityId()).address
	waits := name + " waits"
	if a.GetActivityType().GetName() == claimName {
		name, waits = "the steps that use the project's files", "the steps that use the project's files wait"
	}
	why := a.GetLastFailure()
	if queue := l.m.queues[a.GetActivityId()]; why == nil && queue != "" {
		served, lost := l.served(func(p presence) bool { return p.serves(l.d.o.Queue, queue) })
		if !served {
			return l.noWorker(queue, waits, lost)
		}
	}
	if why = cmp.Or(why, l.m.refused[a.GetActivityId()]); why == nil {
		return ""
	}
	return fmt.Sprintf("no worker takes %s: %s", name, refusedBecause(l.d.o.Client.FailureConverter.FailureToError(why)))
}

// noWorker says which worker is missing, and how to start it.
func (l look) noWorker(queue, waits string, lost []presence) string {
	kind, name, _ := strings.Cut(strings.TrimPrefix(queue, l.d.o.Queue+"/"), "/")
	gone := ""
	if len(lost) > 0 {
		gone = l.lost(lost) + "; "
	}
	switch kind {
	case "queue":
		return gone + fmt.Sprintf("no worker serves the queue %s; %s; start one with `hocket worker --queue %s`", name, waits, name)
	case "worker":
		start := fmt.Sprintf("%s; start it with `hocket worker --name %s`", waits, name)
		if gone != "" {
			return gone + "it has this run's files, so " + start
		}
		return fmt.Sprintf("worker %s, which has this run's files, is offline; %s", name, start)
	case "program":
		return gone + fmt.Sprintf("no worker has %s; %s; install it where a worker is", name, waits)
	}
	return gone + fmt.Sprintf("no worker serves the queue %s; %s; start one with `hocket worker`", l.d.project, waits)
}

// unheard says that the worker of an attempt in progress is silent. Clocks differ, so one that seems to be has to be silent while somebody
// waits, too: from that, the driver learns how far this clock is ahead.
func (d *Driver) unheard(ctx context.Context, run string, m *mirror, now *workflowservice.DescribeWorkflowExecutionResponse) string {
	a := d.longestSilent(now)
	left := func(a *workflowpb.PendingActivityInfo) time.Duration {
		return m.in.Heartbeat - (d.o.Now().Sub(heard(a)) - time.Duration(d.ahead.Load()))
	}
	longest := m.in.Heartbeat * 2 / 5 // that a worker is silent: it is to be heard from twice as often
	if a == nil || left(a) > m.in.Heartbeat-longest*9/8 {
		return ""
	}
	select {
	case <-time.After(longest):
	case <-ctx.Done():
		return ""
	}
	now, silent, err := d.describe(ctx, run)
	if err != nil {
		return silent
	}
	again := d.longestSilent(now)
	if again == nil || again.GetActivityId() != a.GetActivityId() || !heard(again).Equal(heard(a)) {
		if again != nil && heard(again).After(heard(a)) {
			d.ahead.Store(int64(d.o.Now().Sub(heard(again))))
		}
		return ""
	}
	p, err := d.presence(ctx, again.GetLastWorkerIdentity())
	if err != nil {
		p = presence{Name: again.GetLastWorkerIdentity()}
	}
	then := "another worker may repeat the step"
	if queue := workerQueue(d.o.Queue, p.Name); m.queues[again.GetActivityId()] == queue {
		then = fmt.Sprintf("the step waits for that worker, which has this run's files: start it with `hocket worker --name %s`", p.Name)
	}
	within := max(left(again), time.Second).Truncate(time.Second)
	return fmt.Sprintf("worker %s%s; in at most %s, its attempt of step %s counts as lost; then %s", p.where(), unheardSince(heard(again)), within, keyOf(again.GetActivityId()).address, then)
}

// longestSilent returns the attempt in progress whose worker the server has not heard from for the longest time.
func (d *Driver) longestSilent(now *workflowservice.DescribeWorkflowExecutionResponse) (longest *workflowpb.PendingActivityInfo) {
	for _, a := range now.GetPendingActivities() {
		if a.GetState() == enums.PENDING_ACTIVITY_STATE_STARTED && a.GetActivityType().GetName() == attemptName && (longest == nil || heard(a).Before(heard(longest))) {
			longest = a
		}
	}
	return longest
}

// heard returns when the server last heard of an attempt.
func heard(a *workflowpb.PendingActivityInfo) time.Time {
	began, beat := a.GetLastStartedTime().AsTime(), a.GetLastHeartbeatTime()
	if beat != nil && beat.AsTime().After(began) {
		return beat.AsTime()
	}
	return began
}
