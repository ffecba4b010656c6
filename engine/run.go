package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// Version is the version of the engine's behaviour. A run keeps the version it
// was started with; a program that does not know it refuses the run.
const Version = 8

// Run is the state of one run. It is not safe for concurrent use.
type Run struct {
	plan              // the newest
	first  plan       // the one that New was called with
	handed []*program // what was handed off in this run; their indexes follow those of the plan

	id      string
	version int            // of the behaviour with which it was started
	inputs  map[string]any // the inputs with which it was started
	base    string         // of its workspaces, see Started
	began   time.Time
	now     time.Time
	elapsed time.Duration         // the run's own clock
	count   int                   // number of events so far
	tasks   map[string]*TaskFacts // by node.factsKey
	root    *scope                // nil before Started

	// Commands that are not answered yet. Invariant: an instance is in attempts exactly from
	// StartTask to TaskEnded, a question in questions exactly from Ask to its answer or
	// withdrawal.
	attempts  map[string]*inst
	questions map[string]*question
	timers    map[string]*timer
	issued    int32 // orders the commands of Pending

	rehearsal  string          // the address that a forked run holds back, until Forked
	heldBack   *inst           // the instance there
	edits      map[string]Edit // by address, see Forked
	unattended bool            // no driver executes the commands of the current event

	replans  replans // what earlier plans left
	digester digester

	jobs   []job // decisions that are due, first in, first out
	paused []*inst
	seq    int // orders writes and results
	clock  clock
	store  *store

	steps    []*inst // in the order of Result.Steps
	warnings []warning
	finish   *Finish // set at the end; the run may be replanned then
	unread   error   // the error that interrupted the last Step, or nil

	commands []Command // of the last Step
	fresh    int       // number of instances that it made
	facts    []Fact
}

// Result is the result of a run, or its current state while the run is in progress.
type Result struct {
	Run      string       `json:"run"`
	Status   Status       `json:"status"`
	Output   any          `json:"output"`
	Error    string       `json:"error,omitempty"`
	Steps    []StepResult `json:"steps"` // in the order in which they started; skipped ones where that was decided
	Warnings []string     `json:"warnings,omitempty"`
	Usage    RunUsage     `json:"usage"`

	Limits workflow.Limits `json:"limits,omitzero"` // of the run, including raises
	Active time.Duration   `json:"active,omitzero"` // how long attempts have run or were about to be retried, under a driver
}

// RunUsage is what a run has used so far.
type RunUsage struct {
	Steps int `json:"steps"`
	Usage
	Planning Usage `json:"planning,omitzero"` // the part of it with which new plans were made, in runs of their own
}

// New returns a run that has not started. An error says why the bundle cannot run at all; a check
// would have reported it.
func New(b *workflow.Bundle) (*Run, error) {
	p, err := newPlan(b)
	if err != nil {
		return nil, err
	}
	return newRun(p), nil
}

// Fresh returns another run of the bundle that New was called with. It has not started. Nothing is
// compiled again.
func (r *Run) Fresh() *Run { return newRun(r.first) }

func newRun(p plan) *Run {
	return &Run{plan: p, first: p, attempts: map[string]*inst{}, questions: map[string]*question{}, timers: map[string]*timer{}, store: &store{}}
}

// plan is a compiled bundle.
type plan struct {
	bundle   *workflow.Bundle
	programs map[*workflow.Workflow]*program
	compiled []*program // in the order of their index
}

func newPlan(b *workflow.Bundle) (plan, error) {
	p := plan{bundle: b, programs: map[*workflow.Workflow]*program{}}
	all := append([]*workflow.Workflow{b.Root}, called(b)...)
	for _, w := range all {
		c, err := compile(w)
		if err != nil {
			return plan{}, err
		}
		c.index = len(p.compiled)
		p.programs[w], p.compiled = c, append(p.compiled, c)
	}
	for _, w := range all {
		p.programs[w].inputs = p.takes(p.programs[w], nil)
	}
	return p, nil
}

func called(b *workflow.Bundle) []*workflow.Workflow {
	var ws []*workflow.Workflow
	for _, name := range sorted.Keys(b.Called) {
		ws = append(ws, b.Called[name])
	}
	return ws
}

// Step applies one event and returns the resulting commands. [Run.Facts] returns what happened.
// An error means that the event does not apply to the run, which is then unchanged, or it is a
// *[LoadError].
func (r *Run) Step(e Envelope) (cmds []Command, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *LoadError:
			r.unread = p
			cmds, err = nil, p
		default:
			panic(p)
		}
	}()
	if r.unread != nil {
		return nil, r.unread
	}
	about, err := r.admit(e)
	if err != nil && r.rehearsal != "" {
		about, err = r.admitRehearsed(e)
	}
	if err != nil {
		return nil, err
	}
	r.commands, r.facts, r.fresh = nil, r.facts[:0], 0
	r.count++
	r.advance(e)
	_, forked := e.Event.(*Forked)
	r.unattended = e.Unattended || forked
	r.take(e, about)
	r.work()
	r.askHeld()
	r.watchRuntime()
	if len(r.attempts) == 0 { // it may be idle for long
		r.store.last, r.store.value = nil, nil
	}
	return r.commands, nil
}

// take is the only place where an event changes the state. about is the result of admit.
func (r *Run) take(e Envelope, about *inst) {
	switch ev := e.Event.(type) {
	case *Started:
		r.start(ev)
	case *TaskEnded:
		r.taskEnded(about, ev)
	case *TimerFired:
		r.timerFired(ev)
	case *Asked:
		r.attemptAsks(about, ev)
	case *HandoffAsked:
		r.handOff(about, ev)
	case *Answered:
		r.answered(e, ev)
	case *Withdrawn:
		r.withdrawn(ev.ID)
	case *Queued:
		about.unbegun = !ev.Begun
		if ev.Begun && about.attempt == about.base+1 {
			about.started = r.elapsed
		}
		r.rest(about)
	case *CancelAsked:
		r.end(r.root, Cancelled, cancelText(ev))
	case *LimitRaised:
		r.limitRaised(ev)
	case *Recovered:
		r.recovered(ev.Unsettled)
		if r.version >= 3 { // before, they waited until the next attempt ended
			r.resumeHeld(false)
		}
	case *Replanned:
		r.replan(ev)
	case *Forked:
		r.clock.active = 0
		for _, address := range sorted.Keys(r.attempts) { // their questions, and what was lost, belong to the other run
			r.withdraw(r.attempts[address], "the run was forked", (*question).asks)
		}
		r.edits = ev.Edits
		r.recovered(false)
		r.endRehearsal(ev.Limits)
	}
}

func cancelText(ev *CancelAsked) string {
	text := "cancelled"
	if ev.By != "" {
		text += " by " + ev.By
	}
	if ev.Reason != "" {
		text += ": " + ev.Reason
	}
	return text
}

// Admit reports whether the event may be recorded now, and whether Step would accept it. The
// error is meant for people: the answer is not offered, or the question was withdrawn.
func (r *Run) Admit(e Envelope) error {
	// Step does not compare digests: another version of Hocket, with other words in its
	// questions, may have recorded the answer.
	if ev, ok := e.Event.(*Answered); ok && ev.Digest != "" && r.root != nil {
		if q, err := r.find(ev.ID, e.Time); err == nil && q.Digest != ev.Digest {
			return fmt.Errorf("question %q has changed since it was shown; read it again, then answer", q.ID)
		}
	}
	if ev, ok := e.Event.(*CancelAsked); ok && ev.Question != "" && r.root != nil {
		switch q := r.questions[ev.Question]; {
		case q == nil:
			return r.notOpen(ev.Question)
		case q.Digest != ev.Digest:
			return fmt.Errorf("question %q has changed since it was shown; read it again", q.ID)
		}
	}
	_, err := r.admit(e)
	return err
}

// admit also returns the instance whose attempt ended, if the event says so.
func (r *Run) admit(e Envelope) (*inst, error) {
	if e.Seq != 0 && e.Seq != r.count+1 {
		return nil, fmt.Errorf("event %d cannot follow event %d", e.Seq, r.count)
	}
	if _, first := e.Event.(*Started); first != (r.root == nil) {
		if first {
			return nil, fmt.Errorf("the run has already started")
		}
		return nil, fmt.Errorf("the run has not started")
	}
	if ev, ok := e.Event.(*Replanned); ok { // also of a run that is over
		return nil, r.admitPlan(ev)
	}
	if r.finish != nil {
		if answer, ok := e.Event.(*Answered); ok {
			return nil, fmt.Errorf("%w; the run is over: %s", r.notOpen(answer.ID), r.finish.Status)
		}
		return nil, fmt.Errorf("the run is over: %s", r.finish.Status)
	}
	switch ev := e.Event.(type) {
	case *Started:
		if ev.Version < 1 || ev.Version > Version {
			return nil, fmt.Errorf("the run needs version %d of the engine, but this is version %d; update hocket", ev.Version, Version)
		}
	case *TaskEnded:
		in := r.attempts[ev.Address]
		if in == nil || int(in.attempt) != ev.Attempt {
			return nil, fmt.Errorf("attempt %d of %q is not running", ev.Attempt, ev.Address)
		}
		return in, nil
	case *TimerFired:
		if r.timers[ev.ID] == nil {
			return nil, fmt.Errorf("no timer %q is set", ev.ID)
		}
	case *Asked:
		in := r.working(ev.Address, ev.Attempt)
		if in == nil {
			return nil, fmt.Errorf("attempt %d of %q is not running, so it cannot ask", ev.Attempt, ev.Address)
		}
		if len(ev.Options) == 0 && !ev.Custom {
			return nil, fmt.Errorf("the question of %q has no possible answers", ev.Address)
		}
		return in, nil
	case *HandoffAsked:
		in := r.working(ev.Address, ev.Attempt)
		if in == nil {
			return nil, fmt.Errorf("attempt %d of %q is not running, so it cannot hand work off", ev.Attempt, ev.Address)
		}
		return in, r.admitHandoff(in, ev)
	case *Answered:
		_, _, err := r.admitAnswer(e, ev)
		return nil, err
	case *Withdrawn:
		if q := r.questions[ev.ID]; (q == nil || !q.asks()) && r.awaitedHandoff(ev.ID) == nil {
			return nil, fmt.Errorf("no attempt waits for an answer to %q", ev.ID)
		}
	case *Queued:
		in := r.working(ev.Address, ev.Attempt)
		switch {
		case in == nil:
			return nil, fmt.Errorf("attempt %d of %q is not running, so it cannot wait for a machine", ev.Attempt, ev.Address)
		case in.unbegun && !ev.Begun:
			return nil, fmt.Errorf("attempt %d of %q already waits for a machine", ev.Attempt, ev.Address)
		case !in.unbegun && ev.Begun:
			return nil, fmt.Errorf("attempt %d of %q does not wait for a machine", ev.Attempt, ev.Address)
		}
		return in, nil
	case *CancelAsked:
		if r.root.ending != "" {
			return nil, fmt.Errorf("the run is already ending: %s", r.root.ending)
		}
	case *LimitRaised:
		return nil, lowers(r.root.frame.limits, ev.Limits)
	case *Forked:
		return nil, r.admitEdit(ev)
	case *Recovered, *Replanned:
	}
	return nil, nil
}

// working returns the instance of an attempt that is running and was not told to stop, or nil.
func (r *Run) working(address string, attempt int) *inst {
	in := r.attempts[address]
	if in == nil || int(in.attempt) != attempt || in.phase != running || in.expired {
		return nil
	}
	return in
}

// start starts the run.
func (r *Run) start(ev *Started) {
	r.id, r.version, r.rehearsal = ev.Run, ev.Version, ev.Rehearse
	r.inputs, r.base = ev.Inputs, ev.Base
	r.startPlan(ev.Tasks, ev.Inputs, ev.Limits)
}

// startPlan starts the newest plan.
func (r *Run) startPlan(tasks map[string]TaskFacts, given map[string]any, limits workflow.Limits) {
	r.tasks = make(map[string]*TaskFacts, len(tasks))
	for _, key := range sorted.Keys(tasks) {
		facts := tasks[key]
		r.tasks[key] = &facts
	}
	p := r.programs[r.bundle.Root]
	inputs, err := p.complete(given)
	r.root = r.newFrame(p, nil, limits, inputs).scope
	if err != nil {
		r.end(r.root, Failed, err.Error())
		return
	}
	r.begin(r.root, p.initial())
}

// warning is a warning about the run.
type warning struct {
	Text     string `json:"text"`
	Reported bool   `json:"reported,omitempty"` // by an attempt; other warnings come again in every plan that they apply to
}

// warn warns about an instance, or about the run if in is nil.
func (r *Run) warn(in *inst, format string, args ...any) {
	r.addWarning(in, warning{Text: fmt.Sprintf(format, args...)})
}

func (r *Run) addWarning(in *inst, w warning) {
	f := Fact{Kind: Warned, Text: w.Text}
	if in != nil {
		f, w.Text = in.fact(Warned, w.Text), in.address+": "+w.Text
	}
	r.warnings = append(r.warnings, w)
	if r.replans.old == nil || !slices.Contains(r.replans.old.warned, w) {
		r.note(f)
	}
}

func (r *Run) command(c Command) { r.commands = append(r.commands, c) }

// Status returns the current status of the run.
func (r *Run) Status() Status {
	switch {
	case r.finish != nil:
		return r.finish.Status
	case r.root == nil || r.busy():
		return Running
	default:
		return Waiting
	}
}

// Usage returns what the run has used so far, in all its workflows.
func (r *Run) Usage() RunUsage {
	if r.root == nil {
		return RunUsage{}
	}
	return RunUsage{r.root.frame.steps, r.root.frame.spent, r.replans.planning}
}

// Result returns the result of the run so far.
func (r *Run) Result() Result {
	res := Result{Run: r.id, Status: r.Status(), Active: r.clock.active}
	for _, w := range r.warnings {
		res.Warnings = append(res.Warnings, w.Text)
	}
	if r.finish != nil {
		res.Output, res.Error = r.finish.Output, r.finish.Error
	}
	if r.root != nil {
		res.Limits = r.root.frame.limits
	}
	res.Usage = r.Usage()
	res.Steps = make([]StepResult, 0, len(r.steps))
	for _, in := range r.steps {
		res.Steps = append(res.Steps, r.result(in))
	}
	return res
}
