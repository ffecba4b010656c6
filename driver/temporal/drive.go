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
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Drive works for one run: it makes its attempts, and asks the people who are here, until the run is over or
// waits for something that cannot be provided here.
func (d *Driver) Drive(ctx context.Context, run string, w driver.Work) (engine.Result, error) {
	m, err := d.mirror(ctx, run, nil)
	if ctx.Err() != nil {
		err = &driver.InterruptedError{Run: run, Cause: context.Cause(ctx)}
	}
	if err != nil {
		return engine.Result{Run: run}, err
	}
	if w.Pin != nil && w.Replan != nil && digestOf(w.Pin) != digestOf(m.pin) {
		now, err := w.Replan(m.pin)
		if err != nil {
			return engine.Result{Run: run}, err
		}
		w.Agents, w.Scripted, w.ScriptAll = now.Agents, now.Scripted, now.ScriptAll
	}
	w.Pin = m.pin
	if err := m.closed(); m.over || err != nil {
		return m.run.Result(), cmp.Or(err, d.finish(ctx, run))
	}
	w.Patience = cmp.Or(w.Patience, time.Minute)
	known := m.run.Seq()
	if !m.begun && known == 1 {
		known = 0 // nobody has observed its beginning
	}
	s := d.newSession(run, w, known)
	if !d.o.Workers {
		s.hire = s.work
	}
	return s.drive(ctx)
}

func (d *Driver) newSession(run string, w driver.Work, known int) *session {
	return &session{
		d: d, id: run, w: w, known: known, made: map[attemptKey]bool{}, tails: map[attemptKey]chan struct{}{}, script: driver.Scripting{Script: w.Script, All: w.ScriptAll},
		asked: map[string]shown{}, left: map[string]bool{}, mail: make(chan func() error), over: make(chan struct{}),
		replies: map[string]scripted{}, execs: map[attemptKey]agent.Executor{}, moved: make(chan struct{}), hurry: make(chan struct{}, 1),
		hire: func() (stop, leave func(), err error) { return func() {}, func() {}, nil },
	}
}

// finish lets a run end that was over when it was recorded: a new plan or a fork may leave nothing to do.
func (d *Driver) finish(ctx context.Context, run string) error {
	_, e, err := d.facts(ctx, run)
	if err != nil || !isOpen(e) || d.o.Workers {
		return err
	}
	stop, err := d.runsWorkflow(run)
	if err != nil {
		return err
	}
	defer stop()
	return d.client.GetWorkflow(ctx, d.flowID(run), "").Get(ctx, nil)
}

// digestOf identifies a plan; "" if it cannot be encoded.
func digestOf(p *driver.Pin) string {
	data, err := json.Marshal(p)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:12])
}

// session follows one run: for a call of Drive, or for a worker if the run has a script. Its fields are owned by the
// goroutine of drive.
type session struct {
	d       *Driver
	id      string
	hire    func() (stop, leave func(), err error) // begins to make attempts here
	known   int                                    // the events that were recorded before
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

	mu     sync.Mutex // guards the rest, which attempts read
	w      driver.Work
	seq    int           // of the newest event
	moved  chan struct{} // closed when seq changes
	hurry  chan struct{} // an attempt waits for that
	plan   string        // digest of pinned
	pinned *driver.Pin
	issued *issued                       // attempts in progress, for a worker that has to know them; otherwise nil
	execs  map[attemptKey]agent.Executor // scripted replies
	made   map[attemptKey]bool           // attempts that began here, and whose ends are not recorded yet
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
	stop, leave, err := s.hire()
	if err != nil {
		return res, err
	}
	s.mirror = s.d.newMirror(ctx, s.id, s.see)
	s.mirror.launched = s.issue
	if s.w.Script == nil {
		s.mirror.past, s.mirror.resumed = nil, s.resumed // only a script counts what has happened
	}
	defer func() {
		if stop != nil {
			stop()
		}
	}()
	err = s.follow(ctx, leave)
	stop()
	stop = nil
	if m := s.mirror; m.machine != nil {
		if res = m.run.Result(); m.over {
			return res, err
		}
	}
	if m, wrong := s.d.mirror(context.WithoutCancel(ctx), s.id, nil); wrong == nil {
		res = m.run.Result() // with what was recorded until everything had stopped
	}
	return res, err
}

// work makes the attempts of the run, and runs its workflow.
func (s *session) work() (stop, leave func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	p := &workplace{
		client: s.d.client, store: s.d.o.Store, queue: s.d.processQueue() + "/" + s.id, ids: s.d.flowID,
		work: s.working, allows: s.allows, waiting: map[string]chan reply{}, stopped: ctx,
	}
	options := worker.Options{
		Identity:                     s.d.name,
		MaxHeartbeatThrottleInterval: s.d.o.Heartbeat / 5,
		WorkerStopTimeout:            forever, // attempts that are to stop are told so
		DisableRegistrationAliasing:  true,
		DeadlockDetectionTimeout:     slow,
		StickyScheduleToStartTimeout: s.d.o.Heartbeat / 2, // a process that was killed is soon replaced
	}
	main := worker.New(s.d.client, s.d.runQueue(s.id), options)
	p.register(main)
	own := worker.New(s.d.client, p.queue, worker.Options{Identity: s.d.name, DisableWorkflowWorker: true})
	own.RegisterActivityWithOptions(p.told, activity.RegisterOptions{Name: tellName})
	if err := errors.Join(main.Start(), own.Start()); err != nil {
		cancel()
		return nil, nil, err
	}
	ending := sync.OnceFunc(main.Stop)
	return func() {
		cancel()
		ending()
		own.Stop()
	}, ending, nil
}

func (p *workplace) register(w worker.Registry) {
	w.RegisterWorkflowWithOptions(p.runFlow, workflow.RegisterOptions{Name: flowName})
	w.RegisterActivityWithOptions(p.archive, activity.RegisterOptions{Name: archiveName})
	p.registerAttempts(w)
}

func (p *workplace) registerAttempts(w worker.Registry) {
	w.RegisterActivityWithOptions(p.attempt, activity.RegisterOptions{Name: attemptName})
	if p.claim != nil {
		w.RegisterActivityWithOptions(p.claim, activity.RegisterOptions{Name: claimName})
	}
}

// follow follows the history until there is nothing more to do here.
func (s *session) follow(ctx context.Context, leave func()) error {
	left, leaving, leaves := make(chan struct{}), s.w.Leave, false
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
		for events, err := range s.d.pages(reading, s.id, true, s.hurry) {
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
		if leaves && s.settled() {
			return &driver.InterruptedError{Run: s.id, Cause: errLeft}
		}
		select {
		case <-ctx.Done():
			return &driver.InterruptedError{Run: s.id, Cause: context.Cause(ctx)}
		case <-leaving:
			leaving = nil
			go func() {
				leave() // waits for attempts in progress
				close(left)
			}()
		case <-left: // the ends of those attempts are still to be recorded
			left, leaves = nil, true
			if s.d.o.Workers {
				continue
			}
			end, err := s.d.runsWorkflow(s.id)
			if err != nil {
				return err
			}
			defer end()
		case do := <-s.mail:
			if err := do(); err != nil {
				return err
			}
		case <-looks.C:
			if s.w.Stalled != nil {
				why := ""
				if !moved {
					why = s.d.stalled(ctx, s.mirror)
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

// lookEvery is how often a run in which nothing happens is looked at.
const lookEvery = 2 * time.Second

// stalls tells what the run lacks, once.
func (s *session) stalls(why string) {
	if why != s.lacks {
		s.lacks = why
		s.w.Stalled(why)
	}
}

// settled reports whether the ends of all attempts that began here are recorded.
func (s *session) settled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.made) == 0
}

// errLeft is why a run is interrupted whose driver leaves.
var errLeft = errors.New("the process that drove it ends")

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
	id, at := m.earliest()
	return id == "" || at.Sub(s.d.o.Now()) > s.w.Patience
}

// see shows a new event to the observer and the script.
func (s *session) see(r *engine.Run, e engine.Envelope, cmds []engine.Command) {
	if e.Seq > s.known {
		s.seen.Facts(r.Facts())
	}
	s.script.Happened(e.Event)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ev, ok := e.Event.(*engine.TaskEnded); ok {
		key := attemptKey{ev.Address, ev.Attempt}
		delete(s.made, key)
		delete(s.execs, key)
		s.issued.remove(s.id, key)
		if ended := s.tails[key]; ended != nil {
			close(ended)
			delete(s.tails, key)
		}
	}
	for _, c := range cmds {
		s.commanded(c)
	}
	if ev, ok := e.Event.(*engine.Replanned); ok && e.Seq > s.known {
		s.replan(ev)
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
		s.commanded(c)
	}
	s.seq = max(s.seq, seq)
	close(s.moved)
	s.moved = make(chan struct{})
}

// commanded counts a command for the script, and remembers its replies.
func (s *session) commanded(c engine.Command) {
	switch c := c.(type) {
	case *engine.StartTask:
		exec, ok := s.script.Attempt(c)
		if !ok {
			exec = nil
		}
		s.execs[attemptKey{c.Address, c.Attempt}] = exec
		s.tail(attemptKey{c.Address, c.Attempt})
		s.issue(c)
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

// later gives a scripted answer. If it is not valid, people are asked.
func (s *session) later(q engine.Question, a scripted) {
	go func() {
		select {
		case <-s.over:
			return
		case <-time.After(a.delay):
		}
		_, err := s.d.Act(context.Background(), s.id, &engine.Answered{ID: q.ID, Value: a.value, By: scriptName, Via: scriptName, Digest: q.Digest})
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

// replan is what the run is driven with under a new plan.
func (s *session) replan(*engine.Replanned) {
	if s.mirror.machine == nil { // it was part of the input, so the session was made for it
		return
	}
	pin := s.mirror.pin
	if s.w.Replan != nil {
		if now, err := s.w.Replan(pin); err == nil { // otherwise it was refused
			s.w.Agents, s.w.Scripted, s.w.ScriptAll, s.script.All = now.Agents, now.Scripted, now.ScriptAll, now.ScriptAll
		}
	}
	s.w.Pin = pin
}

// allows says why the run cannot go on with a plan here.
func (s *session) allows(_ string, plan *driver.Pin) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w.Replan == nil {
		return nil
	}
	_, err := s.w.Replan(plan)
	return err
}

// working returns what an attempt is made with, as soon as everything is known that happened before it.
func (s *session) working(ctx context.Context, j job) (*working, error) {
	for {
		s.mu.Lock()
		if s.seq >= j.Seq {
			defer s.mu.Unlock()
			s.made[attemptKey{j.Task.Address, j.Task.Attempt}] = true
			return &working{Work: s.w, pin: s.w.Pin, seen: s.seen.Log, exec: s.execs[attemptKey{j.Task.Address, j.Task.Attempt}]}, nil
		}
		moved := s.moved
		s.mu.Unlock()
		select {
		case s.hurry <- struct{}{}:
		default:
		}
		select {
		case <-moved:
		case <-s.over:
			return nil, refuse(errors.New("the run cannot be followed here"))
		case <-ctx.Done():
			return nil, errLost
		}
	}
}

// issue remembers an attempt that the run has asked for.
func (s *session) issue(c *engine.StartTask) {
	plan := s.planned()
	s.issued.add(s.id, plan, s.pinned, c)
}

// planned returns the digest of what the run works with, if somebody has to know.
func (s *session) planned() string {
	if s.issued == nil {
		return ""
	}
	pin := s.mirror.in.Pin
	if plans := s.mirror.in.Plans; len(plans) > 0 {
		pin = plans[len(plans)-1]
	}
	if s.mirror.machine != nil { // otherwise it reads the input of the workflow
		pin = s.mirror.pin
	}
	if s.pinned != pin {
		s.pinned, s.plan = pin, digestOf(pin)
	}
	return s.plan
}

// tail shows the observer what an attempt prints on a worker, until it has ended.
func (s *session) tail(key attemptKey) {
	if !s.d.o.Workers || s.w.Observer == nil {
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
		if a, ok := s.replies[q.ID]; ok {
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
