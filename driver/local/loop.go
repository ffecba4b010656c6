package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// loop drives one run. All its fields are owned by the goroutine of drive; others
// communicate with it through mail.
type loop struct {
	d      *Driver
	o      driver.Work
	store  *journal.Store
	writer *journal.Writer
	pin    *driver.Pin
	run    *engine.Run

	mail     *mailbox
	letters  []letter // those taken last
	batch    []engine.Envelope
	attempts *attempts
	timers   timers
	script   *driver.Scripting
	asked    map[string]shown      // questions that a person here may answer, by id
	queries  map[string]*query     // what attempts ask and wait for, by id
	query    *query                // being recorded
	handings map[string][]*handing // what attempts have handed off and wait for, by id
	handing  *handing              // being recorded
	audience *driver.Audience
	alarm    alarm

	clock  runClock
	last   time.Time     // of the newest event
	status engine.Status // as in the list of runs
	spent  engine.Usage  // as in the list of runs
	begun  bool          // the list of runs says that the run has begun
	noted  int           // the last event that the list of runs includes
	unsaid bool          // the list of runs does not have the currently open questions
	over   bool          // Finish came
	leaves bool          // nothing new starts
	kept   int           // the last event that the snapshot includes
	note   string        // which processes may be left of lost attempts, for their logs
}

func newLoop(d *Driver, store *journal.Store, made *recorded, o driver.Work) (*loop, error) {
	run, err := driver.NewRun(made.began.Bundle, loader(store, made.writer.Run()))
	if err != nil {
		return nil, err
	}
	o.Patience = cmp.Or(o.Patience, defaultPatience)
	return &loop{
		d: d, o: o, store: store, writer: made.writer, pin: made.pin, run: run, status: made.status, begun: made.begun,
		mail: newMailbox(), attempts: newAttempts(), asked: map[string]shown{}, queries: map[string]*query{}, handings: map[string][]*handing{},
		script: &driver.Scripting{Script: o.Script, All: o.ScriptAll}, audience: driver.NewAudience(o.Observer),
	}, nil
}

// drive starts with the given work, and then continues until the run is over, waits for something
// that cannot be provided here, or ctx is done. It leaves nothing running and releases the run.
func (l *loop) drive(ctx context.Context, first func() error) (engine.Result, error) {
	err := l.guard(first)
	if err == nil {
		err = l.guard(func() error { return l.turn(ctx) })
	}
	err = l.settle(err)
	for address := range l.asked {
		l.withdraw(address)
	}
	l.alarm.stop()
	err = errors.Join(err, l.writer.Close())
	l.audience.Close()
	res := engine.Result{Run: l.writer.Run()}
	err = errors.Join(err, l.guard(func() error {
		res = l.run.Result()
		return nil
	}))
	return res, err
}

// guard turns a panic, most likely of the engine, into an error.
func (l *loop) guard(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &driver.BrokenError{Run: l.writer.Run(), Seq: l.writer.Recorded(), Cause: p, Stack: debug.Stack()}
		}
	}()
	return do()
}

// turn is the loop itself.
func (l *loop) turn(ctx context.Context) error {
	changes := l.d.pulse.listen(mail, l.writer.Run())
	defer changes.close()
	leave := l.o.Leave
	for !l.over {
		if err := l.noteStatus(); err != nil {
			return err
		}
		l.keep()
		if l.leaves && l.attempts.flying == 0 {
			return l.interrupted(errLeft)
		}
		if l.idle() {
			return nil
		}
		var err error
		rings := l.alarm.at(&l.timers, l.clock)
		wake := l.waits()
		select {
		case <-ctx.Done():
			err = l.interrupted(context.Cause(ctx))
		case <-leave:
			l.leaves, leave = true, nil
		case <-l.mail.wake:
			wake()
			err = l.readMail()
		case <-rings:
			wake()
			err = l.fireTimers()
		case <-changes.wake: // there is mail, or the clock was set, which triggers no alarm
			wake()
			err = l.fireTimers()
		}
		if err != nil {
			return err
		}
	}
	return l.noteStatus()
}

// waits tells a clock that has to know it that the run waits, unless there is mail. The caller calls the function
// before it continues.
func (l *loop) waits() (wake func()) {
	clock, ok := l.d.o.Clock.(Waiter)
	if !ok || !l.mail.empty() {
		return func() {}
	}
	busy := l.attempts.flying - len(l.queries)
	for _, waiting := range l.handings {
		busy -= len(waiting)
	}
	clock.Waits(busy)
	return clock.Wakes
}

// idle reports whether nothing more happens here: no attempt runs, no one here is asked, and no
// timer is near. An attempt may still wait for what it handed off: it ends, and the next one gets
// the result, unless people elsewhere can let the run continue.
func (l *loop) idle() bool {
	waited := len(l.attempts.open) > 0 && (l.o.Elsewhere || len(l.queries) > 0)
	if waited || len(l.asked) > 0 || l.run.Status() != engine.Waiting {
		return false
	}
	left, set := l.timers.left(l.clock)
	return !set || left > l.o.Patience
}

// noteStatus keeps the list of runs up to date. The status changes rarely, and a step that costs
// something takes seconds, so this is not one commit per step.
func (l *loop) noteStatus() error {
	status, spent := l.run.Status(), l.run.Usage().Usage
	if status == l.status && spent == l.spent && !l.unsaid {
		return nil
	}
	l.status, l.spent, l.unsaid, l.noted = status, spent, false, l.writer.Recorded()
	return l.append(journal.Batch{Summary: summary(l.run), Last: status.Done() && l.attempts.flying == 0})
}

// append records a batch, and notifies followers in this process. The first one also
// records that the run has begun.
func (l *loop) append(b journal.Batch) error {
	b.Begun = !l.begun
	err := l.writer.Append(b)
	l.begun = l.begun || err == nil
	l.d.pulse.changed(change)
	return err
}

// now returns an event that happens now.
func (l *loop) now(ev engine.Event) engine.Envelope { return l.after(l.clock.stamp(ev)) }

// after returns an event with a time that does not go backwards: within a run it never
// does. What it starts is started by the next process, if this one leaves.
func (l *loop) after(e engine.Envelope) engine.Envelope {
	e.Unattended = e.Unattended || l.leaves
	if e.Time.Before(l.last) {
		e.Time = l.last
	}
	return e
}

// readMail stores all results that have arrived in one transaction, then steps them.
// Answers of people follow one by one: each may decide whether the next one is valid.
func (l *loop) readMail() error {
	l.collect()
	if err := l.record(journal.Batch{Events: l.batch}); err != nil {
		return err
	}
	for _, m := range l.letters {
		if m.query != nil {
			if err := l.queried(m.query); err != nil {
				return err
			}
		}
		if m.handing != nil {
			if err := l.handedOff(m.handing); err != nil {
				return err
			}
		}
		if m.answer != nil {
			if err := l.answered(m.answer); err != nil {
				return err
			}
		}
	}
	return nil
}

// collect takes all letters and makes a batch of the results among them.
func (l *loop) collect() {
	l.letters = l.mail.take(l.letters)
	l.batch = l.batch[:0]
	for _, m := range l.letters {
		if m.ended.Event != nil {
			l.attempts.flying--
			e := l.after(m.ended)
			l.last = e.Time
			l.batch = append(l.batch, e)
		}
	}
}

// fireTimers fires the timers that are due. Each is a separate event: the first may cancel the
// second.
func (l *loop) fireTimers() error {
	l.alarm.stop()                        // it has rung
	if err := l.readInbox(); err != nil { // an answer may have arrived in time
		return err
	}
	for !l.over {
		id, ok := l.timers.due(l.clock)
		if !ok {
			return nil
		}
		if err := l.fired(id); err != nil {
			return err
		}
	}
	return nil
}

// fired records that a timer has fired.
func (l *loop) fired(id string) error {
	e := l.now(&engine.TimerFired{ID: id})
	if l.run.Admit(e) != nil {
		return nil
	}
	return l.record(journal.Batch{Events: []engine.Envelope{e}})
}

// record stores events, steps them and carries out the commands.
func (l *loop) record(b journal.Batch) error {
	if len(b.Events) == 0 && len(b.Verdicts) == 0 {
		return nil
	}
	seq := l.writer.Recorded()
	if err := l.append(b); err != nil {
		return err
	}
	for i, e := range b.Events {
		cmds, err := l.step(seq+1+i, e)
		if err != nil {
			return err
		}
		if err := l.carryOut(cmds); err != nil {
			return err
		}
	}
	return nil
}

// step steps one stored event.
func (l *loop) step(seq int, e engine.Envelope) ([]engine.Command, error) {
	e.Seq = seq
	if e.Time.After(l.last) {
		l.last = e.Time
	}
	cmds, err := driver.Step(l.run, l.writer.Run(), e)
	if err != nil {
		return nil, err
	}
	if l.audience != nil {
		l.audience.Facts(l.run.Facts())
	}
	l.script.Happened(e.Event)
	switch ev := e.Event.(type) {
	case *engine.TaskEnded:
		l.attempts.ended(ev)
	case *engine.Answered:
		l.forgetAnswered()
	case *engine.Asked, *engine.Withdrawn, *engine.HandoffAsked, *engine.Queued, *engine.Started, *engine.TimerFired, *engine.CancelAsked, *engine.LimitRaised, *engine.Recovered, *engine.Forked, *engine.Replanned:
	}
	return cmds, nil
}

// carryOut carries out the engine's commands.
func (l *loop) carryOut(cmds []engine.Command) error {
	for _, c := range cmds {
		if err := l.obey(c); err != nil {
			return err
		}
	}
	return nil
}

func (l *loop) obey(c engine.Command) error {
	switch c := c.(type) {
	case *engine.StartTask:
		if !l.leaves {
			return l.startTask(c)
		}
	case *engine.CancelTask:
		l.attempts.stop(attemptKey{c.Address, c.Attempt})
	case *engine.SetTimer:
		l.timers.set(c)
	case *engine.CancelTimer:
		l.timers.cancel(c.ID)
	case *engine.Ask:
		l.known(&c.Question)
		l.ask(c.Question)
	case *engine.Withdraw:
		l.script.Closed(c.ID)
		l.withdraw(c.ID)
		delete(l.queries, c.ID)
		l.unsaid = true
	case *engine.Reply:
		l.replied(c)
	case *engine.Return:
		l.returned(c)
	case *engine.Finish:
		l.over = true
	}
	return nil
}

// replan is what the run is driven with under a new plan.
func (l *loop) replan(ev *engine.Replanned) error {
	pin, err := l.store.Plan(context.Background(), l.writer.Run(), ev.Plan)
	if err != nil {
		return err
	}
	w, err := under(pin, l.o)
	if err == nil {
		l.pin, l.o, l.script.All = pin, w, w.ScriptAll
	}
	return err
}

func (l *loop) startTask(c *engine.StartTask) error {
	task, err := c.Whole()
	if err != nil {
		return fmt.Errorf("run %s: %w", l.writer.Run(), err)
	}
	key := attemptKey{task.Address, task.Attempt}
	id := driver.AttemptID{Run: l.writer.Run(), Address: task.Address, Attempt: task.Attempt}
	log := &attemptLog{l.store, id, l.writer.Log(task.Address, task.Attempt), l.audience.Log}
	at := driver.Attempt{
		Ask:       l.asking(key, log),
		HandOff:   l.handingOff(key, log),
		Keep:      log.keep,
		Note:      log.note,
		Artifacts: l.store.Artifacts(id),
	}
	if task.Again && l.note != "" {
		log.say("[" + l.note + "]")
	}
	l.attempts.start(key, l.worker(task), log, at, l.clock, l.mail)
	return nil
}

// worker returns who makes an attempt: the script, otherwise the agents.
func (l *loop) worker(task *engine.StartTask) worker {
	run := l.writer.Run()
	if exec, ok := l.script.Attempt(task); ok {
		return func(ctx context.Context, at driver.Attempt) driver.Outcome {
			if l.o.Scripted != nil {
				return l.o.Scripted(ctx, exec, run, task, at)
			}
			return driver.Execute(ctx, exec, driver.Scripted(task), l.pin.Dir, run, task, at)
		}
	}
	return func(ctx context.Context, at driver.Attempt) driver.Outcome { return l.o.Agents.Run(ctx, run, task, at) }
}

// interrupted records only what had ended before the interruption: what an attempt returns
// when it is aborted is not a result.
func (l *loop) interrupted(cause error) error {
	l.collect() // settle refuses the answers among the letters
	seq := l.writer.Recorded()
	if len(l.batch) > 0 {
		if err := l.append(journal.Batch{Events: l.batch}); err != nil {
			return err
		}
	}
	for i, e := range l.batch {
		if _, err := l.step(seq+1+i, e); err != nil { // nothing new begins
			return err
		}
	}
	if l.run.Status().Done() {
		l.over = true // it came too late
		return nil
	}
	return &driver.InterruptedError{Run: l.writer.Run(), Cause: cause}
}

// errLeft is why a run is interrupted whose driver leaves.
var errLeft = errors.New("the process that drove it ends")

// grace is how long attempts may take to end when the loop does.
const grace = 10 * time.Second

// settle ends what is still in progress and waits for it. Nothing of it is recorded. If the
// engine cannot continue the run, the run is marked.
func (l *loop) settle(err error) error {
	l.attempts.cancel(errInterrupted)
	l.refuseAnswers()
	deadline := time.After(grace)
	for l.attempts.flying > 0 {
		select {
		case <-l.mail.wake:
			l.collect()
			l.refuseAnswers()
		case <-deadline:
			err = errors.Join(err, fmt.Errorf("driver: %d attempts did not stop within %s", l.attempts.flying, grace))
			l.attempts.flying = 0
		}
	}
	l.letters = l.mail.close()
	l.refuseAnswers()
	var broken *driver.BrokenError
	if errors.As(err, &broken) {
		return errors.Join(err, l.append(journal.Batch{Problem: broken.Error()}))
	}
	var unread *engine.LoadError
	if errors.As(err, &unread) {
		return err // the last event was only partly stepped
	}
	if l.noted != l.writer.Recorded() { // so that lists need no replay
		l.status = ""
		if unsaid := l.guard(l.noteStatus); err == nil { // otherwise it is likely to say the same
			err = unsaid
		}
	}
	return err
}

// refuseAnswers rejects answers that arrive too late, so that their senders do not wait for a
// verdict.
func (l *loop) refuseAnswers() {
	for _, m := range l.letters {
		if m.answer != nil {
			m.answer.judge(errStopped)
		}
		if m.query != nil {
			m.query.tell("", agent.ErrNobody)
		}
		if m.handing != nil {
			m.handing.tell(nil, errStopped)
		}
	}
	l.letters = l.letters[:0]
}
