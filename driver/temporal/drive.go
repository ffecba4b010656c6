package temporal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	historypb "go.temporal.io/api/history/v1"
)

// Drive follows a run, whose attempts workers make: it asks the people who are here, and shows what happens, until the
// run is over or waits for something that cannot be provided here.
func (d *Driver) Drive(ctx context.Context, run string, w driver.Work) (engine.Result, error) {
	w.Patience = cmp.Or(w.Patience, time.Minute)
	if now, ok := d.recent.Load(run); ok && !now.(*created).driven.Swap(true) && time.Since(now.(*created).at) < time.Minute {
		s := d.newSession(run, w, now.(*created).known)
		s.execution = now.(*created).run
		return s.drive(ctx)
	}
	m, err := d.patiently(ctx, run, w.Stalled)
	if ctx.Err() != nil {
		err = &driver.InterruptedError{Run: run, Cause: context.Cause(ctx)}
	}
	if err != nil {
		return engine.Result{Run: run}, err
	}
	if err := m.closed(); m.over || err != nil {
		return m.run.Result(), err
	}
	known := m.run.Seq()
	if !m.begun && known == 1 {
		known = 0 // nobody has observed its beginning
	}
	return d.newSession(run, w, known).drive(ctx)
}

// patiently reads a run, also if the server is away: then it says so, and waits until it is back.
func (d *Driver) patiently(ctx context.Context, run string, stalled func(why string)) (*mirror, error) {
	told := false
	tell := func(why string) {
		if stalled != nil && told != (why != "") {
			told = why != ""
			stalled(why)
		}
	}
	for {
		m, err := d.mirror(ctx, run, nil)
		if err == nil || !away(err) || ctx.Err() != nil {
			tell("")
			return m, err
		}
		tell(d.silent())
	}
}

func (d *Driver) newSession(run string, w driver.Work, known int) *session {
	return &session{
		d: d, id: run, w: w, known: known, tails: map[attemptKey]chan struct{}{}, script: driver.Scripting{Script: w.Script, All: w.ScriptAll},
		asked: map[string]shown{}, left: map[string]bool{}, mail: make(chan func() error), over: make(chan struct{}),
		replies: map[string]scripted{}, execs: map[attemptKey]agent.Executor{}, moved: make(chan struct{}), hurry: make(chan struct{}, 1), ended: make(chan struct{}),
	}
}

// digestOf identifies what a plan says; "" if it cannot be encoded. It is not stored, because another release may encode
// the same plan differently.
func digestOf(p *driver.Pin) string {
	data, err := json.Marshal(p)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:12])
}

// session follows one run: for a call of Drive, or for a worker if the run has a script or its workflow runs elsewhere. Its fields are owned by the
// goroutine of drive.
type session struct {
	d       *Driver
	id      string
	w       driver.Work
	known   int // the events that were recorded before
	mirror  *mirror
	asked   map[string]shown // questions that somebody here may answer, by id
	left    map[string]bool  // questions that no one here will answer, by id and digest
	mail    chan func() error
	over    chan struct{} // closed when nobody reads mail any more
	seen    *driver.Audience
	tails   map[attemptKey]chan struct{} // closed when an attempt on a worker has ended
	tailing sync.WaitGroup
	lacks   string // what the run lacks to go on, as it was told
	script  driver.Scripting
	replies map[string]scripted // to questions, until they are given

	ended  chan struct{} // closed when result and wrong are set, for a worker
	result engine.Result
	wrong  error

	execution string // with which this process has just created the run; otherwise ""

	mu     sync.Mutex    // guards the rest, which attempts read
	seq    int           // of the newest event
	moved  chan struct{} // closed when seq changes
	hurry  chan struct{} // an attempt waits for that
	plan   string        // digest of pinned
	pinned *driver.Pin
	issued *issued                       // attempts in progress, for a worker that has to know them; otherwise nil
	execs  map[attemptKey]agent.Executor // scripted replies
}

// shown is a question that somebody here may answer.
type shown struct {
	digest string
	person bool // otherwise the script
}

func (s *session) drive(ctx context.Context) (res engine.Result, err error) {
	res.Run = s.id
	defer func() {
		if p := recover(); p != nil {
			err = &driver.BrokenError{Run: s.id, Cause: p, Stack: debug.Stack()}
		}
	}()
	s.seen = driver.NewAudience(s.w.Observer)
	defer s.seen.Close()
	defer s.tailing.Wait()
	defer close(s.over)
	defer func() {
		for id := range s.asked {
			s.withdraw(id)
		}
	}()
	s.mirror = s.d.newMirror(ctx, s.id, s.see)
	s.mirror.launched = func(a *attempt, seq int) { s.issue(a.task, a.pin, seq) }
	if s.mirror.whole = s.w.Script != nil; !s.mirror.whole { // only a script counts what has happened
		s.mirror.resumed = s.resumed
	}
	err = s.follow(ctx)
	if s.mirror.machine != nil {
		res = s.mirror.run.Result()
	}
	return res, err
}

// follow follows the history until there is nothing more to do here.
func (s *session) follow(ctx context.Context) error {
	reading, stop := context.WithCancel(context.Background())
	defer stop()
	type page struct {
		events []*historypb.HistoryEvent
		err    error
	}
	pages := make(chan page)
	looks := time.NewTicker(lookEvery)
	defer looks.Stop()
	moved := false
	go func() {
		defer close(pages)
		for events, err := range s.d.pages(reading, s.id, &following{hurry: s.hurry, execution: s.execution, archived: s.archived}) {
			select {
			case pages <- page{events, err}:
			case <-reading.Done():
				return
			}
		}
	}()
	for {
		if s.mirror.machine != nil && s.mirror.over || s.idle() {
			return nil
		}
		select {
		case <-ctx.Done():
			return &driver.InterruptedError{Run: s.id, Cause: context.Cause(ctx)}
		case <-s.w.Leave:
			return &driver.InterruptedError{Run: s.id, Cause: errLeft}
		case do := <-s.mail:
			if err := do(); err != nil {
				return err
			}
		case <-looks.C:
			if s.w.Stalled != nil {
				why := ""
				if !moved || s.lacks != "" { // what has moved may be only that it was asked for again
					why = s.d.stalled(ctx, s.id, s.mirror)
				}
				moved = false
				s.stalls(why)
			}
		case p, ok := <-pages:
			if !ok {
				return s.mirror.closed()
			}
			if p.err != nil {
				return p.err
			}
			if err := s.mirror.page(p.events); err != nil {
				return err
			}
			moved = true
			s.ask()
		}
	}
}

// archived reads a run that was over soon, if its archive is near: the server would take longer.
func (s *session) archived() bool {
	read := make(chan bool, 1)
	s.post(func() error {
		var past begin
		if s.known == 0 && near(s.d.o.Store) {
			past, _ = s.mirror.recall(0) // otherwise the server has it, too
		}
		whole := past.About.Status.Done()
		if read <- whole; !whole {
			return nil
		}
		return s.mirror.restore(past)
	})
	select {
	case done := <-read:
		return done
	case <-s.over:
		return true
	}
}

// lookEvery is how often a run in which nothing happens is looked at.
const lookEvery = 2 * time.Second

// stalls tells what the run lacks, once.
func (s *session) stalls(why string) {
	if why != s.lacks {
		s.lacks = why
		s.w.Stalled(why)
	}
}

// errLeft is why a run is interrupted whose driver leaves.
var errLeft = errors.New("the process that followed it ends")

// idle reports whether nothing more happens here.
func (s *session) idle() bool {
	m := s.mirror
	if m.machine == nil || !m.begun || len(s.asked) > 0 || m.run.Status() != engine.Waiting {
		return false
	}
	if len(m.attempts) > 0 && (s.w.Elsewhere || len(m.queries) > 0) {
		return false
	}
	if m.isQueued() { // a worker may come
		return false
	}
	now := s.d.o.Now()
	if now.Before(m.last) { // the clock here is behind that of the server
		now = m.last
	}
	id, at := m.earliest()
	return id == "" || at.Sub(now) > s.w.Patience
}

// see shows a new event to the observer and the script.
func (s *session) see(r *engine.Run, e engine.Envelope, cmds []engine.Command) {
	if e.Seq > s.known {
		s.seen.Facts(r.Facts())
	}
	s.script.Happened(e.Event)
	if _, ok := e.Event.(*engine.Replanned); ok && s.w.Script != nil && s.w.Replan != nil {
		if now, err := s.w.Replan(s.pin()); err == nil { // otherwise it goes on as before
			s.script.All = now.ScriptAll
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ev, ok := e.Event.(*engine.TaskEnded); ok {
		key := attemptKey{ev.Address, ev.Attempt}
		delete(s.execs, key)
		s.issued.remove(s.id, key)
		if ended := s.tails[key]; ended != nil {
			close(ended)
			delete(s.tails, key)
		}
	}
	for _, c := range cmds {
		s.commanded(c, e.Seq)
	}
	s.seq = e.Seq
	close(s.moved)
	s.moved = make(chan struct{})
}

// resumed takes the state of a run whose events up to a number are not seen.
func (s *session) resumed(seq int, pending []engine.Command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range pending {
		s.commanded(c, seq)
	}
	s.seq = max(s.seq, seq)
	close(s.moved)
	s.moved = make(chan struct{})
}

// commanded counts a command for the script, and remembers its replies.
func (s *session) commanded(c engine.Command, seq int) {
	switch c := c.(type) {
	case *engine.StartTask:
		exec, ok := s.script.Attempt(c)
		if !ok {
			exec = nil
		}
		s.execs[attemptKey{c.Address, c.Attempt}] = exec
		s.tail(attemptKey{c.Address, c.Attempt})
		s.issue(c, s.pin(), seq)
	case *engine.Withdraw:
		s.script.Closed(c.ID)
	case *engine.Ask:
		delete(s.replies, c.ID)
		if value, delay, ok := s.script.Answer(&c.Question); ok {
			s.replies[c.ID] = scripted{value, delay}
		}
	case *engine.CancelTask, *engine.SetTimer, *engine.CancelTimer, *engine.Reply, *engine.Return, *engine.Finish:
	}
}

// scripted is the answer that the script gives to a question.
type scripted struct {
	value string
	delay time.Duration
}

// errRevoked ends a session whose script may not answer any more. If that is allowed again, another one begins.
var errRevoked = errors.New("what the worker may do for the run has just changed")

// stands reports whether the worker may still do what it was resolved for. It is asked before each answer: a session lasts as long as the
// run goes on.
func (s *session) stands() bool { return s.w.Stands == nil || s.w.Stands() }

// later gives a scripted answer. If it is not valid, people are asked.
func (s *session) later(q engine.Question, a scripted) {
	go func() {
		var err error
		for wait := a.delay; ; wait = lookEvery {
			select {
			case <-s.over:
				return
			case <-time.After(wait):
			}
			if !s.stands() {
				s.post(func() error { return errRevoked })
				return
			}
			_, err = s.d.Act(context.Background(), s.id, &engine.Answered{ID: q.ID, Value: a.value, By: scriptName, Via: scriptName, Digest: q.Digest})
			if err == nil || errors.As(err, new(*driver.RefusedError)) { // otherwise the server or the workers are too busy
				break
			}
		}
		if err != nil { // perhaps somebody was faster, and the history will tell
			time.Sleep(lookEvery)
		}
		s.post(func() error {
			if err != nil && s.asked[q.ID] == (shown{digest: q.Digest}) {
				delete(s.asked, q.ID)
				s.ask()
			}
			return nil
		})
	}()
}

// scriptName is recorded as the author of a scripted answer.
const scriptName = "replies"

// attempt returns the scripted reply of an attempt, nil if there is none, and the task as the run has asked for it under
// the plan with a digest, as soon as everything is known that happened before.
func (s *session) attempt(ctx context.Context, j job, digest string) (agent.Executor, *engine.StartTask, error) {
	key := attemptKey{j.Task.Address, j.Task.Attempt}
	for since := time.Now(); ; {
		s.mu.Lock()
		task := s.issued.task(j, digest)
		// It may begin later than the run has asked for it, without another event.
		if s.seq >= j.Seq && (task != nil || s.issued == nil || time.Since(since) > lookEvery) {
			defer s.mu.Unlock()
			return s.execs[key], task, nil
		}
		moved := s.moved
		s.mu.Unlock()
		select {
		case s.hurry <- struct{}{}:
		default:
		}
		select {
		case <-moved:
		case <-time.After(breath):
		case <-s.over:
			return nil, nil, refuse(errors.New("the run cannot be followed here"))
		case <-ctx.Done():
			return nil, nil, errLost
		}
	}
}

// issue remembers an attempt that the run has asked for under a plan. One that goes on after the run has got a newer one is still of its own.
func (s *session) issue(c *engine.StartTask, pin *driver.Pin, seq int) {
	s.issued.add(s.id, command{seq, s.planned(pin), pin, c})
}

// planned returns the digest of a plan, if somebody has to know.
func (s *session) planned(pin *driver.Pin) string {
	if s.issued == nil {
		return ""
	}
	if s.pinned != pin {
		s.pinned, s.plan = pin, digestOf(pin)
	}
	return s.plan
}

// pin returns what the run works with.
func (s *session) pin() *driver.Pin {
	if s.mirror.machine != nil { // otherwise it reads the input of the workflow
		return s.mirror.pin
	}
	if plans := s.mirror.in.Plans; len(plans) > 0 {
		return plans[len(plans)-1]
	}
	return s.mirror.in.Pin
}

// tail shows the observer what an attempt prints on a worker, until it has ended.
func (s *session) tail(key attemptKey) {
	if s.w.Observer == nil {
		return
	}
	ended := make(chan struct{})
	s.tails[key] = ended
	id, offset, last := driver.AttemptID{Run: s.id, Address: key.address, Attempt: key.attempt}, int64(0), false
	s.tailing.Go(func() {
		for !last {
			select {
			case <-ended:
				last = true
			case <-s.over:
				last = true
			case <-time.After(flushes(s.d.o.Store)):
			}
			pieces := s.d.next
			if last {
				pieces = s.d.rest
			}
			for p, err := range pieces(context.Background(), id, driver.Output, offset) {
				if err != nil {
					break // it is read again, or with logs
				}
				s.seen.Log(key.address, key.attempt, p.Text)
				offset = p.At + int64(len(p.Text))
			}
		}
	})
}

// ask shows the open questions to the people who are here, and takes back the others.
func (s *session) ask() {
	if !s.mirror.begun {
		return
	}
	open := map[string]string{}
	questions := s.mirror.run.Questions()
	for _, q := range questions {
		open[q.ID] = q.Digest
	}
	for id, was := range s.asked {
		if open[id] != was.digest {
			s.withdraw(id)
		}
	}
	for _, q := range questions {
		if a, ok := s.replies[q.ID]; ok && s.current() {
			delete(s.replies, q.ID)
			s.asked[q.ID] = shown{digest: q.Digest}
			s.later(q, a)
		}
		if s.w.Asker == nil || s.asked[q.ID].digest == q.Digest || s.left[q.ID+q.Digest] {
			continue
		}
		s.asked[q.ID] = shown{q.Digest, true}
		leave := func() { go s.post(func() error { return s.leave(q) }) }
		if !s.w.Asker.Ask(&q, s.answering(q), leave) {
			delete(s.asked, q.ID)
			leave()
		}
	}
}

// current reports whether the run works with the plan whose script this is. If not, the script of the newer one answers.
func (s *session) current() bool {
	pin := s.pin()
	return s.w.Pin == nil || pin != nil && s.w.Pin.Plan == pin.Plan
}

// post lets the goroutine of drive do something, unless it has ended.
func (s *session) post(do func() error) {
	select {
	case s.mail <- do:
	case <-s.over:
	}
}

func (s *session) answering(q engine.Question) func(engine.Answered) error {
	return func(said engine.Answered) error {
		said.ID, said.Digest = q.ID, q.Digest
		_, err := s.d.Act(context.Background(), s.id, &said)
		var refused *driver.RefusedError
		if errors.As(err, &refused) {
			return errors.New(refused.Reason)
		}
		return err
	}
}

// leave is called when no one here will answer a question.
func (s *session) leave(q engine.Question) error {
	s.left[q.ID+q.Digest] = true
	s.withdraw(q.ID)
	if q.Kind != engine.PermissionQuestion || s.w.Elsewhere {
		return nil
	}
	return s.d.client.SignalWorkflow(context.Background(), s.d.flowID(s.id), "", noteSignal, note{Left: q.ID})
}

func (s *session) withdraw(id string) {
	was, open := s.asked[id]
	delete(s.asked, id)
	if open && was.person {
		s.w.Asker.Withdraw(id)
	}
}
