package temporal

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
)

// machine drives the engine of one run. It is deterministic: the Temporal workflow runs it to do the
// work, and every client runs it over the history to see what has happened (mirror.go). Both
// see the same arrivals at the same times, so both record the same events.
type machine struct {
	run        *engine.Run
	id         string
	version    int           // of what it does with the same history
	pin        *driver.Pin   // the newest
	plans      []*driver.Pin // those of its Replanned
	do         effects
	began      time.Time        // of the run's clock
	last       time.Time        // of the newest event
	over       bool             // Finish came
	first      []engine.Command // to carry out when the execution begins
	unattended bool             // nobody drove the run when it was recorded
	armed      []time.Time      // when timers of the workflow fire, the first one first

	// drain means that the history is so long that no attempt begins before the next execution.
	drain bool
	held  []*attempt // those that wait for it
	own   []arrival  // what follows from a command at once
	acts  int        // updates of this execution

	// Tasks that stay on one machine wait until a worker has claimed them, by label.
	homes    map[string]string // the queue of that worker
	homeless map[string][]*attempt
	claiming map[string]bool // a worker was asked for

	// At one moment, only so much can begin: see launch. And what begins is not stopped at the same one, because
	// Temporal would record neither.
	room    int                 // bytes that are left
	crowded []*attempt          // those that begin later
	fresh   map[attemptKey]bool // those that begin now
	halting []attemptKey        // those that are stopped at the next moment
	nudged  bool                // that comes soon

	timers   timers
	attempts map[attemptKey]*attempt // in progress
	stopping map[attemptKey]bool     // those among them that were told to stop
	queries  map[string]ticket       // what attempts ask and wait for, by id of the question
	handings map[string][]ticket     // what attempts have handed off and wait for, by id of the handoff
	asking   *ticket                 // being recorded
	unheard  map[string]engine.Reply // answers that may not have reached their attempts yet, by ticket
}

// effects is what a machine does outside. A mirror does nothing.
type effects interface {
	start(key attemptKey, a *attempt)
	claim(c claim)
	unclaim(label string)
	stop(key attemptKey)
	tell(t ticket, r reply)
	arm(at time.Time)
	nudge() // lets something arrive at the next moment
	// recorded is called with each event after it was stepped, and the resulting commands.
	recorded(r *engine.Run, e engine.Envelope, cmds []engine.Command)
}

// newMachine returns the machine of an execution. recall reads the archived events up to one of them: a release that
// has another form of snapshots replays those instead. They do not change, so this is deterministic.
func newMachine(in begin, do effects, recall func(last int) (begin, error)) (*machine, error) {
	run, err := engine.New(in.Pin.Bundle)
	if len(in.Snapshot) > 0 {
		if run, err = engine.Restore(in.Pin.Bundle, in.Snapshot); err != nil && recall != nil {
			run, err = replayed(recall(in.Seq))
		}
	}
	if err != nil {
		return nil, &driver.BrokenError{Run: in.Run, Cause: err}
	}
	m := &machine{
		id: in.Run, version: in.Version, pin: in.Pin, run: run, do: do, timers: timers{at: map[string]time.Time{}}, attempts: map[attemptKey]*attempt{}, stopping: map[attemptKey]bool{},
		queries: map[string]ticket{}, handings: map[string][]ticket{}, unheard: map[string]engine.Reply{},
		homes: map[string]string{}, homeless: map[string][]*attempt{}, claiming: map[string]bool{}, fresh: map[attemptKey]bool{},
	}
	maps.Copy(m.homes, in.About.Homes)
	return m, m.load(in)
}

// replayed returns the run that archived events lead to.
func replayed(past begin, err error) (*engine.Run, error) {
	if err != nil {
		return nil, err
	}
	m, err := newMachine(past, &mirror{}, nil)
	if err != nil {
		return nil, err
	}
	return m.run, nil
}

// load takes the input of an execution: the state that was carried over, or the events that the run was
// recorded with. Nothing is done yet.
func (m *machine) load(in begin) error {
	if len(in.Snapshot) > 0 {
		m.last, m.first = m.run.Time(), m.run.Pending()
	}
	plans := in.Plans
	made := madeBefore(in.Events)
	for i, e := range in.Events {
		if ev, ok := e.Event.(*engine.Replanned); ok {
			ev.Bundle, m.pin, plans = plans[0].Bundle, plans[0], plans[1:]
			m.plans = append(m.plans, m.pin)
		}
		_, forked := e.Event.(*engine.Forked)
		m.unattended = e.Unattended || forked && m.version >= 4
		if m.version >= 4 {
			e.Envelope = m.dated(e.Envelope, i >= made, in.started)
		}
		var err error
		if m.first, err = m.step(e.Envelope); err != nil {
			return err
		}
	}
	m.over = m.run.Status().Done()
	return nil
}

// begin begins to do what the run asks for. Events of a fork, or of a run that goes on after its end, were
// unattended, so the run is then taken up as after a crash.
func (m *machine) begin(now time.Time, in begin) error {
	m.began = now
	switch {
	case !in.Began.IsZero():
		m.began = in.Began
	case len(in.Snapshot) > 0 || m.unattended:
		m.began = now.Add(-m.run.ClockAt(now))
	}
	if m.unattended && !m.over {
		if _, err := m.step(m.at(now, &engine.Recovered{})); err != nil {
			return err
		}
		m.first = m.run.Pending()
	}
	first := m.first
	m.first = nil
	if err := m.moment(now); err != nil {
		return err
	}
	if err := m.carryOut(first); err != nil {
		return err
	}
	// They may have waited for a worker in the last execution. Runs of earlier versions do not say so of the crowded ones.
	begun := slices.Collect(maps.Keys(m.attempts))
	if m.version >= 2 {
		for _, a := range m.crowded {
			begun = append(begun, a.key())
		}
	}
	slices.SortFunc(begun, attemptKey.compare)
	for _, key := range begun {
		if err := m.recordIf(m.at(now, key.queued(true))); err != nil {
			return err
		}
	}
	if err := m.fire(now); err != nil { // what was due before the run began
		return err
	}
	if err := m.queue(); err != nil {
		return err
	}
	m.arm()
	return nil
}

// moment begins what had to wait for the next moment.
func (m *machine) moment(now time.Time) error {
	m.room, m.nudged = mostAtOnce, false
	clear(m.fresh)
	for _, key := range m.halting {
		m.do.stop(key)
	}
	waiting := m.crowded
	m.halting, m.crowded = nil, nil
	for _, a := range waiting {
		if err := m.resend(now, a); err != nil {
			return err
		}
	}
	return nil
}

// resend sends an attempt that could not be asked for before. If it was recorded as waiting because of that, it begins now.
func (m *machine) resend(now time.Time, a *attempt) error {
	m.send(a)
	if !a.unasked || !m.fresh[a.key()] {
		return nil
	}
	a.unasked = false
	return m.recordIf(m.at(now, a.queued(true)))
}

// queue records that attempts wait which the run cannot ask for now: those that are held, those beyond as many as the server
// takes, and those that look for their worker. Without this, their timeouts would pass, although nobody can make them. It
// adds nothing to the history. Other attempts are asked for, and [machine.untaken] says if no worker takes them.
func (m *machine) queue() error {
	if m.version < 3 || m.over {
		return nil
	}
	waiting := m.held
	if len(m.attempts) >= mostOpen { // otherwise they begin soon
		waiting = slices.Concat(waiting, m.crowded)
	}
	for _, label := range slices.Sorted(maps.Keys(m.homeless)) {
		waiting = slices.Concat(waiting, m.homeless[label])
	}
	for _, a := range waiting {
		if a.task.Timeout == 0 || a.unasked || a.waits {
			continue
		}
		a.unasked = true
		if err := m.recordIf(m.at(m.newest(), a.queued(false))); err != nil {
			return err
		}
	}
	return nil
}

// The server takes 4 MB at once, and 2,000 activities of a workflow that are not over. How long tasks are is not
// looked at, because another release may encode them differently.
const (
	mostAtOnce = 4 << 20 / longPayload / 2
	mostOpen   = 1800
)

// fits reports whether an attempt can begin at this moment.
func (m *machine) fits() bool {
	if len(m.fresh) == 0 {
		return true
	}
	m.room--
	if m.room <= 0 {
		m.soon()
	}
	return m.room > 0
}

func (m *machine) soon() {
	if !m.nudged {
		m.nudged = true
		m.armed = slices.Insert(m.armed, 0, time.Time{}) // before all others
		m.do.nudge()
	}
}

// wake handles what has arrived at a moment, and the timers that are due then.
func (m *machine) wake(now time.Time, arrivals []arrival) error {
	if err := m.moment(now); err != nil {
		return err
	}
	slices.SortStableFunc(arrivals, compareArrivals)
	for _, a := range arrivals {
		if err := m.arrived(now, a); err != nil {
			return err
		}
	}
	if err := m.fire(now); err != nil {
		return err
	}
	if err := m.queue(); err != nil {
		return err
	}
	m.arm()
	return nil
}

// fire fires the timers that are due.
func (m *machine) fire(now time.Time) error {
	for !m.over {
		id, ok := m.due(now)
		if !ok {
			break
		}
		m.timers.clear(id)
		if e := m.at(now, &engine.TimerFired{ID: id}); m.run.Admit(e) == nil {
			if err := m.record(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *machine) arrived(now time.Time, a arrival) error {
	switch {
	case a.rang:
		m.armed = m.armed[min(1, len(m.armed)):]
		return nil
	case a.told != "":
		delete(m.unheard, a.told)
		return nil
	case a.ended != nil:
		if m.over {
			return nil
		}
		m.forget(a.ended)
		return m.record(m.at(now, a.ended))
	case a.untaken != nil:
		return m.untaken(now, *a.untaken)
	case a.home != nil:
		return m.claimed(now, a.home)
	case a.note != nil && a.note.Left != "":
		return m.drop(now, a.note.Left)
	case a.note != nil && a.note.Gone:
		return m.gone(now, a.note.Ticket.ID)
	case a.note != nil:
		return m.noted(now, a.note)
	case a.cancelled:
		if e := m.at(now, &engine.CancelAsked{Via: "temporal"}); m.run.Admit(e) == nil {
			return m.record(e)
		}
		return nil
	}
	return m.acted(now, a.act)
}

// event returns the event of an update. Only a Replanned has a plan.
func (m *machine) event(now time.Time, a *act) (engine.Envelope, error) {
	e := m.at(now, a.Event.Event)
	ev, replans := e.Event.(*engine.Replanned)
	switch {
	case e.Event == nil, replans != (a.Plan != nil), replans && (a.Plan.Bundle == nil || a.Plan.Bundle.Root == nil):
		return e, errors.New("not an update of a run")
	case replans:
		ev.Bundle = a.Plan.Bundle
	}
	return e, nil
}

// acted records what somebody outside did, if the run still allows it.
func (m *machine) acted(now time.Time, a *act) error {
	m.acts++
	e, err := m.event(now, a)
	if err == nil {
		err = m.run.Admit(e)
	}
	if m.over { // a plan could make it go on, but this execution ends
		err = errOver
	}
	if a.verdict != nil {
		a.verdict(err)
	}
	if err != nil {
		return nil
	}
	if a.Plan != nil {
		m.pin, m.plans = a.Plan, append(m.plans, a.Plan)
	}
	if a.Plan == nil || m.version < 4 {
		return m.record(e)
	}
	m.unclaim()
	if err := m.record(e); err != nil {
		return err
	}
	return m.reclaim(now)
}

// forget forgets an attempt that has ended, and what it waited for. If it was lost, nobody knows what it cost.
func (m *machine) forget(ended *engine.TaskEnded) {
	key := attemptKey{ended.Address, ended.Attempt}
	lost := ended.Fault != nil && ended.Fault.Kind == engine.FaultLost
	if lost && m.run.LossCosts(ended.Address) {
		ended.Usage.CostUnknown = true
	}
	delete(m.attempts, key)
	delete(m.stopping, key)
	for _, id := range slices.Sorted(maps.Keys(m.unheard)) {
		if r := m.unheard[id]; key == (attemptKey{r.Address, r.Attempt}) {
			if delete(m.unheard, id); lost {
				ended.Unheard = append(ended.Unheard, r)
			}
		}
	}
	maps.DeleteFunc(m.queries, func(_ string, t ticket) bool { return t.key == key })
	for id, waiting := range m.handings {
		m.handings[id] = slices.DeleteFunc(waiting, func(t ticket) bool { return t.key == key })
	}
	maps.DeleteFunc(m.handings, func(_ string, waiting []ticket) bool { return len(waiting) == 0 })
}

// noted records a request of an attempt.
func (m *machine) noted(now time.Time, n *note) error {
	e, t := m.at(now, n.Event.Event), n.Ticket
	switch ev := e.Event.(type) {
	case *engine.Queued:
		if a := m.attempts[attemptKey{ev.Address, ev.Attempt}]; a != nil {
			a.waits = !ev.Begun
			return m.recordIf(e)
		}
		return nil
	case *engine.Asked:
		t.key, t.question = attemptKey{ev.Address, ev.Attempt}, true
	case *engine.HandoffAsked:
		t.key, t.waits = attemptKey{ev.Address, ev.Attempt}, ev.Blocking
	default: // no attempt sends it
		return nil
	}
	if err := m.run.Admit(e); err != nil {
		r := reply{Error: err.Error()}
		if t.question { // the attempt is over
			r = reply{Nobody: true}
		}
		m.do.tell(t, r)
		return nil
	}
	m.asking = &t
	defer func() { m.asking = nil }()
	return m.record(e)
}

// gone records that an attempt no longer waits, unless another request of it does.
func (m *machine) gone(now time.Time, name string) error {
	for id, q := range m.queries {
		if q.ID == name {
			delete(m.queries, id)
			return m.recordIf(m.at(now, &engine.Withdrawn{ID: id}))
		}
	}
	for id, waiting := range m.handings {
		at := slices.IndexFunc(waiting, func(t ticket) bool { return t.ID == name })
		if at < 0 {
			continue
		}
		if len(waiting) > 1 {
			m.handings[id] = slices.Delete(waiting, at, at+1)
			return nil
		}
		delete(m.handings, id)
		return m.recordIf(m.at(now, &engine.Withdrawn{ID: id}))
	}
	return nil
}

// drop ends a question of an attempt that no one can answer.
func (m *machine) drop(now time.Time, id string) error {
	q, ok := m.queries[id]
	if !ok {
		return nil
	}
	delete(m.queries, id)
	m.do.tell(q, reply{Nobody: true})
	return m.recordIf(m.at(now, &engine.Withdrawn{ID: id}))
}

func (m *machine) recordIf(e engine.Envelope) error {
	if m.run.Admit(e) != nil {
		return nil
	}
	return m.record(e)
}

func (m *machine) record(e engine.Envelope) error {
	cmds, err := m.step(e)
	if err == nil {
		err = m.carryOut(cmds)
	}
	for err == nil && len(m.own) > 0 {
		a := m.own[0]
		m.own = m.own[1:]
		err = m.arrived(m.newest(), a)
	}
	return err
}

func (m *machine) step(e engine.Envelope) ([]engine.Command, error) {
	e.Seq = m.run.Seq() + 1
	if e.Time.After(m.last) {
		m.last = e.Time
	}
	cmds, err := driver.Step(m.run, m.id, e)
	if err == nil {
		m.do.recorded(m.run, e, cmds)
	}
	return cmds, err
}

func (m *machine) carryOut(cmds []engine.Command) error {
	for _, c := range cmds {
		switch c := c.(type) {
		case *engine.StartTask:
			m.launch(c)
		case *engine.CancelTask:
			m.stop(attemptKey{c.Address, c.Attempt})
		case *engine.SetTimer:
			at := c.At
			if at.IsZero() {
				at = m.began.Add(c.Clock)
			}
			m.timers.set(c.ID, at)
		case *engine.CancelTimer:
			m.timers.clear(c.ID)
		case *engine.Ask:
			m.asked(&c.Question)
		case *engine.Withdraw:
			delete(m.queries, c.ID)
		case *engine.Reply:
			m.replied(c)
		case *engine.Return:
			m.returned(c)
		case *engine.Finish:
			m.over = true
		}
	}
	return nil
}

// asked remembers which attempt waits for the answer to a question.
func (m *machine) asked(q *engine.Question) {
	t := m.asking
	if t == nil || !t.question || q.Kind != engine.PermissionQuestion || q.Orphaned {
		return
	}
	m.queries[q.ID] = *t
	m.asking = nil
}

func (m *machine) replied(c *engine.Reply) {
	t, ok := m.queries[c.ID]
	if !ok && m.asking != nil { // it was answered before it was asked
		t, ok = *m.asking, true
		m.asking = nil
	}
	delete(m.queries, c.ID)
	if ok {
		m.unheard[t.ID] = *c
		m.do.tell(t, reply{Value: c.Value})
	}
}

// returned passes the state of a handoff to the attempts that wait for it.
func (m *machine) returned(c *engine.Return) {
	if t := m.asking; t != nil && !t.question { // this answers the request
		m.asking = nil
		more := c.Status == engine.Running && t.waits
		m.do.tell(*t, reply{Return: c, More: more})
		if more {
			m.handings[c.ID] = append(m.handings[c.ID], *t)
		}
		return
	}
	for _, t := range m.handings[c.ID] {
		m.do.tell(t, reply{Return: c})
	}
	delete(m.handings, c.ID)
}
