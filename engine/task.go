package engine

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// admitTask starts a task if there is a free slot among the parallel attempts of its workflow and
// of all workflows around it.
func (r *Run) admitTask(in *inst) {
	in.phase = queued
	for f := in.scope().frame; f != nil; f = f.around {
		if f.full() {
			f.waiting = append(f.waiting, in)
			return
		}
	}
	r.startAttempt(in)
}

// startAttempt starts the first or the next attempt, unless a limit forbids it.
func (r *Run) startAttempt(in *inst) {
	if r.attempts[in.address] != nil { // of an earlier plan
		r.replans.behind = append(r.replans.behind, in)
		return
	}
	if !r.mayStart(in) {
		return
	}
	if over := r.overBudget(in); over != nil {
		r.pause(in)
		r.tell(in, Paused, over.text(r.factsOf(in)))
		return
	}
	if in.cmd == nil {
		cmd, err := r.render(in)
		if err != nil {
			r.fail(in, &Fault{Kind: FaultError, Message: err.Error(), Permanent: true})
			return
		}
		in.cmd = cmd
		r.digester.digest(in)
	}
	if r.mayRepeat(in) {
		in.attempt, in.begun = in.base, int32(r.seq)
		r.askLost(in)
		return
	}
	r.issue(in)
}

// render renders the task's texts, once for all attempts.
func (r *Run) render(in *inst) (*StartTask, error) {
	n := in.n
	cmd := &StartTask{Place: &n.place, Address: in.address, Timeout: r.timeoutOf(in), Prompt: n.text}
	if n.prompt != nil {
		text, err := n.prompt.Text(in.view())
		if err != nil {
			return nil, fmt.Errorf("prompt: %w", err)
		}
		cmd.Prompt = text
	}
	var err error
	if cmd.Inputs, err = r.bind(in, n.inputs); err != nil {
		return nil, err
	}
	cmd.Inputs, cmd.Received = append(cmd.Inputs, in.about()...), r.received(in)
	for i := range cmd.Inputs {
		cmd.Inputs[i].Value = shown(cmd.Inputs[i].Value)
	}
	if n.settings != nil {
		settings, err := n.settings.Eval(in.view())
		if err != nil {
			return nil, fmt.Errorf("config: %w", err)
		}
		cmd.Settings, _ = settings.(map[string]any)
	}
	r.place(in, cmd)
	return cmd, nil
}

func (r *Run) timeoutOf(in *inst) time.Duration {
	return cmp.Or(in.n.timeout, r.factsOf(in).Timeout)
}

// bind evaluates the inputs of a task or a call.
func (r *Run) bind(in *inst, inputs []input) ([]Input, error) {
	if len(inputs) == 0 {
		return nil, nil
	}
	bound := make([]Input, len(inputs))
	for i, x := range inputs {
		value, err := in.view().eval(x.value)
		if err != nil {
			return nil, fmt.Errorf("input %q: %w", x.name, err)
		}
		bound[i] = Input{x.name, value}
	}
	return bound, nil
}

// issue issues the attempt. An attempt that was lost, or that hit a quota, is issued again with
// the same number and key.
func (r *Run) issue(in *inst) {
	if max(0, in.attempt-in.base) == in.failures {
		in.attempt = in.base + in.failures + 1
	}
	again := in.counted && (r.version >= 3 || in.losses > 0) // version 2 started it again after a quota
	if in.attempt == in.base+1 && (!again || in.unsent && r.version >= 2) {
		in.started, in.begun = r.elapsed, int32(r.seq)
		r.tell(in, StepStarted, "")
	}
	in.phase, in.expired, in.unsent = running, false, r.unattended
	if !in.unsent {
		if in.sent = true; in.agreed { // only now may the effect happen again
			if in.unsure && !in.happened {
				r.replans.forget(in)
			}
			in.unsure, in.happened, in.like, in.agreed = false, false, "", false
		}
	}
	r.issued++
	in.issued = r.issued
	cmd := *in.cmd
	cmd.Attempt, cmd.Again, cmd.Handed = int(in.attempt), in.losses > 0, in.results()
	cmd.May = r.share(in)
	if edit, ok := r.edits[in.address]; ok {
		edit.apply(&cmd)
	}
	if !r.replans.at.IsZero() && r.version >= 4 { // the plan may have changed since the last attempt
		cmd.Timeout = r.timeoutOf(in)
	}
	in.cmd = &cmd
	r.occupy(in)
	r.attempts[in.address] = in
	r.command(in.cmd)
	r.tell(in, AttemptStarted, "")
	if in.cmd.Timeout > 0 {
		r.setTimer(in.timerID(timeoutTimer), in, in.cmd.Timeout, time.Time{})
	}
}

func (r *Run) taskEnded(in *inst, ev *TaskEnded) {
	if ev.Fault == nil || ev.Fault.Kind != FaultLost {
		r.withdraw(in, "its attempt has ended", (*question).asks)
	}
	if ev.Warning != "" {
		r.addWarning(in, warning{ev.Warning, true})
	}
	for _, a := range ev.Unheard {
		in.answers = append(in.answers, kept{a.ID, a.Value, a.Digest})
	}
	r.vacate(in, ev.Usage)
	r.forgetHandoffs(in)
	r.settleAttempt(in, ev)
	// This comes last, so that nothing starts in a workflow that this failure has ended.
	r.startBehind()
	r.seatWaiting(in.scope().frame)
	r.resumeHeld(false)
}

func (r *Run) settleAttempt(in *inst, ev *TaskEnded) {
	switch {
	case in.phase == stopping:
		r.over(in)
	case in.expired:
		r.attemptFailed(in, timeoutFault(in))
	case ev.Fault != nil:
		r.attemptFailed(in, ev.Fault)
	case ev.Asks != nil:
		r.askBetween(in, ev)
	default:
		given, again := r.given(in, ev)
		var fault *Fault
		in.settleIn(in.made(ev.Workspace), func() { fault = r.succeed(in, given, again) })
		if fault != nil {
			r.doubt(in) // only its output cannot be used
			r.attemptFailed(in, fault)
		}
	}
}

func timeoutFault(in *inst) *Fault {
	return &Fault{Kind: FaultTimeout, Message: fmt.Sprintf("took longer than %s", in.cmd.Timeout)}
}

// attemptFailed decides whether there is another attempt.
func (r *Run) attemptFailed(in *inst, fault *Fault) {
	in.err = fault.Message
	switch {
	case fault.Kind == FaultQuota && fault.Until.After(r.now):
		r.tell(in, AttemptFailed, fault.Message)
		r.wait(in, parked, 0, fault.Until)
		return
	case fault.Kind == FaultLost:
		r.orphan(in)
		r.lost(in)
		return
	}
	if fault.Kind == FaultTimeout { // nobody knows how far it got
		r.doubt(in)
	}
	in.failures++
	retry := r.retryOf(in)
	if fault.Permanent || int(in.failures) >= retry.Attempts {
		r.fail(in, fault)
		return
	}
	r.tell(in, AttemptFailed, fault.Message)
	again := *in.cmd // the driver still uses the previous one
	if again.Feedback = ""; fault.Kind == FaultBadOutput || fault.Kind == FaultNoRoute {
		again.Feedback = fault.Message
	}
	in.cmd = &again
	if delay := r.retryDelay(in, retry); delay > 0 {
		r.wait(in, delayed, delay, time.Time{})
	} else {
		r.admitTask(in)
	}
}

// retryOf returns the retry policy of the node, otherwise that of its agent.
func (r *Run) retryOf(in *inst) workflow.Retry {
	if in.n.def.Retry.Attempts > 0 {
		return in.n.def.Retry
	}
	return r.factsOf(in).Retry
}

// wait delays the next attempt: for a duration, or until a time if it is given.
func (r *Run) wait(in *inst, how phase, delay time.Duration, until time.Time) {
	in.phase = how
	if how == delayed {
		r.clock.delays++
	}
	r.setTimer(in.timerID(retryTimer), in, delay, until)
	if until.IsZero() {
		until = r.now.Add(delay)
	}
	f := in.fact(Retrying, in.err)
	f.Status, f.Until = "", until
	r.note(f)
}

// retryDelay returns the delay according to the policy. The jitter is a hash, so that a replay
// waits as long as the run did, and only shortens the delay, by at most a tenth, so that
// max_delay holds.
func (r *Run) retryDelay(in *inst, retry workflow.Retry) time.Duration {
	delay := retry.Delay
	switch retry.Backoff {
	case workflow.Fixed:
	case workflow.Linear:
		delay *= time.Duration(in.failures)
	case workflow.Exponential:
		for i := int32(1); i < in.failures && delay < 1<<55; i++ {
			delay *= 2
		}
	}
	if retry.MaxDelay > 0 {
		delay = min(delay, retry.MaxDelay)
	}
	h := fnv.New32a()
	fmt.Fprintf(h, "%s\x00%s\x00%d", r.id, in.address, in.attempt)
	return delay - delay/10*time.Duration(h.Sum32()%1000)/1000
}

// maxLosses is how often an attempt may be lost while the same driver keeps running.
const maxLosses = 10

// lost repeats an attempt whose result is unknown. If its effect must happen only once, a person
// decides.
func (r *Run) lost(in *inst) {
	in.losses++
	switch {
	case in.isOnce():
		in.unsure = r.version >= 6
		r.tell(in, AttemptFailed, "lost; its effect must happen once, so a person decides")
		r.askLost(in)
	case in.losses > maxLosses:
		in.failures++
		r.fail(in, &Fault{Kind: FaultLost, Message: fmt.Sprintf("was lost %d times", in.losses)})
	default:
		r.tell(in, AttemptFailed, "lost; it will run again")
		r.admitTask(in)
	}
}

// LossCosts reports whether the attempt in progress at an address may have cost something if it is lost now.
func (r *Run) LossCosts(address string) bool {
	in := r.attempts[address]
	return in != nil && r.lossCosts(in)
}

func (r *Run) lossCosts(in *inst) bool {
	again := in.phase != stopping && !in.expired // otherwise what it did is not repeated, and counts
	return in.cmd.May != workflow.Free && !(again && r.factsOf(in).Repeats)
}

// recovered treats every attempt without an answer as lost, because its process is gone. First
// all slots are released, then the lost attempts take them in their old order, before anything
// that was still waiting.
func (r *Run) recovered(unsettled bool) {
	open := slices.SortedFunc(maps.Values(r.attempts), func(a, b *inst) int { return int(a.issued - b.issued) })
	for _, in := range open {
		r.orphan(in)
		r.vacate(in, Usage{CostUnknown: unsettled && r.lossCosts(in) && !in.unsent})
	}
	for _, in := range open {
		r.forgetHandoffs(in)
	}
	for _, in := range open {
		switch {
		case in.phase == stopping:
			r.over(in)
		case in.expired:
			r.attemptFailed(in, timeoutFault(in))
		case in.unsent:
			if r.version < 3 { // also if an earlier attempt had started it
				in.started = r.elapsed
			}
			r.admitTask(in)
		default:
			in.losses = min(in.losses, maxLosses-1) // a crash is not the fault of the task
			r.lost(in)
		}
	}
	r.startBehind()
	for _, in := range open {
		r.seatWaiting(in.scope().frame)
	}
}

// endRehearsal starts the instance that was held back, and then the tasks that a limit kept
// waiting. In version 1, those continued to wait.
func (r *Run) endRehearsal(limits workflow.Limits) {
	in := r.heldBack
	waiting := []*inst{in}
	if r.version >= 2 {
		waiting = append(waiting, r.paused...)
	}
	raise(&r.root.frame.limits, limits, false)
	raiseFor(waiting, limits)
	r.rehearsal, r.heldBack = "", nil
	if in != nil && in.phase == held {
		in.started = r.elapsed
		if in.agreed = r.version >= 6; r.version == 5 { // a person wants it to run again
			in.unsure, in.happened = false, false
		}
		r.launch(in)
	}
	if r.version >= 2 {
		r.resumeHeld(false)
	}
}
