package hocket

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// EventID is a position in the history of a run: the sequence number of an event, and the
// index of one of its facts. The zero value is before everything.
type EventID struct {
	Seq   int // of the event, from 1
	Index int // 0: the event itself; otherwise its first, second, … fact
}

// String returns the id in the form 12.3.
func (id EventID) String() string { return strconv.Itoa(id.Seq) + "." + strconv.Itoa(id.Index) }

// ParseEventID parses the form that String returns.
func ParseEventID(text string) (EventID, error) {
	seq, index, _ := strings.Cut(text, ".")
	s, err := strconv.Atoi(seq)
	i, wrong := strconv.Atoi(index)
	if err != nil || wrong != nil || s < 0 || i < 0 || (EventID{s, i}).String() != text {
		return EventID{}, fmt.Errorf("invalid event id %q: expected SEQUENCE.INDEX, such as 12.3", text)
	}
	return EventID{s, i}, nil
}

func (id EventID) after(other EventID) bool {
	return id.Seq > other.Seq || id.Seq == other.Seq && id.Index > other.Index
}

// Entry is one entry in the history of a run: a recorded event, or a fact that follows from
// it, such as the end of a step, whose output [engine.Fact.Value] returns.
type Entry struct {
	ID              EventID
	engine.Envelope              // of the event; the same for its facts
	Fact            *engine.Fact // nil: the entry is the event itself
}

// Events yields the events and facts of the run after an id, then waits for more,
// until the run ends or ctx is done, regardless of which process drives the run.
func (r *Run) Events(ctx context.Context, after EventID) iter.Seq2[Entry, error] {
	return r.entries(ctx, after, true)
}

// History yields the events and facts of the run after an id, up to now.
func (r *Run) History(ctx context.Context, after EventID) iter.Seq2[Entry, error] {
	return r.entries(ctx, after, false)
}

func (r *Run) entries(ctx context.Context, after EventID, follow bool) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		pin, err := r.d.FirstPin(ctx, r.id)
		var run *engine.Run
		if err == nil {
			run, err = driver.NewRun(pin.Bundle, r.load(ctx))
		}
		if err != nil {
			yield(Entry{}, err)
			return
		}
		t := &entryWriter{after: after, started: map[string]bool{}, yield: yield}
		for e, err := range r.d.Events(ctx, r.id, 0, follow) {
			var facts []engine.Fact
			if err == nil {
				e, facts, err = r.step(ctx, run, e)
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if !t.write(e, facts) {
				return
			}
		}
	}
}

// step applies an event, and returns it whole, with what it led to.
func (r *Run) step(ctx context.Context, run *engine.Run, e engine.Envelope) (engine.Envelope, []engine.Fact, error) {
	_, err := driver.Step(run, r.id, e)
	if err == nil {
		e, err = driver.Whole(ctx, r.d, r.id, e)
	}
	if err != nil {
		return e, nil, err
	}
	facts := run.Facts()
	for _, f := range facts {
		if f.Kind == engine.AttemptStarted {
			r.begun(f.Address, f.Attempt)
		}
	}
	return e, facts, nil
}

// load loads long outputs of the run, even if ctx is done.
func (r *Run) load(ctx context.Context) driver.Load {
	ctx = context.WithoutCancel(ctx)
	return func(seq int) (string, error) { return r.d.Output(ctx, r.id, seq) }
}

// entryWriter yields the entries after an id.
type entryWriter struct {
	after   EventID
	started map[string]bool // steps, by address
	yield   func(Entry, error) bool
}

// write yields an event and its facts. A step that an answer started while no process drove
// the run starts again when the run is resumed; write yields its start only once.
func (t *entryWriter) write(e engine.Envelope, facts []engine.Fact) bool {
	if id := (EventID{Seq: e.Seq}); id.after(t.after) && !t.yield(Entry{ID: id, Envelope: e}, nil) {
		return false
	}
	for i, f := range facts {
		if f.Kind == engine.PlanChanged {
			clear(t.started)
		}
		if f.Kind == engine.StepStarted {
			if t.started[f.Address] {
				continue
			}
			t.started[f.Address] = true
		}
		if id := (EventID{e.Seq, i + 1}); id.after(t.after) && !t.yield(Entry{ID: id, Envelope: e, Fact: &f}, nil) {
			return false
		}
	}
	return true
}

// State is the state of a run according to its history.
type State struct {
	Info
	Bundle    *workflow.Bundle
	File      string         // of its workflow when it began, with slashes, relative to the project; "": unknown
	Inputs    map[string]any // that the run was started with
	Result    engine.Result  // so far; engine.StepResult.Value returns the outputs of its steps
	Questions []Question     // open ones
	Later     []Later        // steps that wait for a time

	// Decisions are what the steps decided that have several ways to continue, by their addresses.
	Decisions map[string]engine.Branch
	Plan      *PlanChange // the newest one; nil if the run has the plan that it was started with
}

// RepeatedEffects returns the steps that [Run.Retry] would repeat without a question, although their effect
// must happen once and has happened, or may have.
func (s *State) RepeatedEffects() []string { return s.repeatedFrom(FailedSteps(&s.Result)) }

// repeatedFrom returns such steps for a run that begins again at some addresses: those themselves, those that
// were cancelled, and those that began when one of them had ended, and so may depend on it.
func (s *State) repeatedFrom(addresses []string) []string {
	began := time.Time{}
	for _, step := range s.Result.Steps {
		if slices.Contains(addresses, step.Address) && (began.IsZero() || step.Ended.Before(began)) {
			began = step.Ended
		}
	}
	var list []string
	for _, step := range s.Result.Steps {
		here := slices.Contains(addresses, step.Address)
		had := step.Effect || step.Status == engine.Success && isOnce(s.Bundle, step.Address)
		if had && (here || step.Status == engine.Cancelled || !began.IsZero() && !step.Started.Before(began)) {
			list = append(list, step.Address)
		}
	}
	return list
}

// isOnce reports whether a definition declares that the effect of a step must happen once.
func isOnce(b *workflow.Bundle, address string) bool {
	n := b.At(PlaceOf(address))
	return n != nil && n.Repeats().Once
}

// PlanChange says how a run got its newest plan.
type PlanChange struct {
	Number int       `json:"number"`          // from 1
	By     string    `json:"by,omitempty"`    // who gave it to the run
	Via    string    `json:"via,omitempty"`   // through which front end
	Words  string    `json:"words,omitempty"` // what it was asked for with
	At     time.Time `json:"at"`
}

// notePlan records a new plan.
func (s *State) notePlan(e engine.Envelope) {
	ev, ok := e.Event.(*engine.Replanned)
	if !ok {
		return
	}
	number := 1
	if s.Plan != nil {
		number += s.Plan.Number
	}
	s.Plan = &PlanChange{number, ev.By, ev.Via, ev.Words, e.Time}
}

// Later is a step that will be retried at a time.
type Later struct {
	Address string
	Why     string
	Until   time.Time
}

// State replays the run without driving it. If its history cannot be read to the end, it
// returns the state up to there with the error.
func (r *Run) State(ctx context.Context) (*State, error) {
	info, err := r.d.Info(ctx, r.id)
	if err != nil {
		return nil, err
	}
	pin, err := r.pinned(ctx)
	if err != nil {
		return nil, err
	}
	first, err := r.d.FirstPin(ctx, r.id)
	if err != nil {
		return nil, err
	}
	s := &State{Info: info, Bundle: pin.Bundle, File: first.File}
	run, err := driver.Replay(r.id, first.Bundle, r.load(ctx), r.d.Events(ctx, r.id, 0, false), func(run *engine.Run, e engine.Envelope, _ []engine.Command) {
		if ev, ok := e.Event.(*engine.Started); ok {
			s.Inputs = ev.Inputs
		}
		s.notePlan(e)
		for _, f := range run.Facts() {
			s.note(f)
		}
	})
	if run == nil {
		return nil, err
	}
	s.Result, s.Status = run.Result(), run.Status()
	for i, step := range s.Result.Steps {
		if step.Status == engine.Running && slices.Contains(info.Untaken, step.Address) {
			s.Result.Steps[i].Status = engine.Waiting
		}
	}
	open := map[string]bool{}
	for _, step := range s.Result.Steps {
		r.begun(step.Address, step.Attempts)
		open[step.Address] = !step.Status.Done()
	}
	s.Later = slices.DeleteFunc(s.Later, func(l Later) bool { return !open[l.Address] }) // of an earlier plan
	for _, q := range run.Questions() {
		s.Questions = append(s.Questions, Question{Run: r.id, Question: q})
	}
	return s, err
}

// UnknownStepError reports that a run has no such step, or that the step has no such
// attempt.
type UnknownStepError struct {
	Run, Step string
	attempt   string // "": the step does not exist
	near      string // a step that may have been meant
}

func (e *UnknownStepError) Error() string {
	what := fmt.Sprintf("run %s has no step %q", e.Run, e.Step)
	if e.attempt != "" {
		what = fmt.Sprintf("step %q of run %s has no attempt %s", e.Step, e.Run, e.attempt)
	}
	return what + "; " + e.Hint()
}

// Hint returns what to do about it.
func (e *UnknownStepError) Hint() string {
	return cmp.Or(e.near, "run `hocket show "+e.Run+"` to list the steps")
}

// CheckStep returns an *[UnknownStepError] if the run has no step with this address or id.
// Steps that have not started exist, too.
func (s *State) CheckStep(step string) error {
	var names []string
	for _, known := range s.Result.Steps {
		if known.Address == step || known.Node == step {
			return nil
		}
		names = append(names, known.Address, known.Node)
	}
	for _, w := range check.Workflows(*s.Bundle) {
		w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) { names = append(names, n.ID) })
	}
	id := step[strings.LastIndexByte(step, '/')+1:]
	if i := strings.IndexAny(id, "#["); i >= 0 && !s.Status.Done() { // there may be more rounds and items
		id = id[:i]
	}
	if slices.Contains(names, id) {
		return nil
	}
	return &UnknownStepError{Run: s.ID, Step: step, near: workflow.DidYouMean(step, names)}
}

// begun records how many attempts a step has.
func (r *Run) begun(address string, attempts int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.attempts == nil {
		r.attempts = map[string]int{}
	}
	r.attempts[address] = max(r.attempts[address], attempts)
}

func (r *Run) hasBegun(address string, attempt int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return 1 <= attempt && attempt <= r.attempts[address]
}

// checkAttempt returns an *[UnknownStepError] if the run has no such attempt. A step that
// has not started counts as having a first attempt without output.
func (r *Run) checkAttempt(ctx context.Context, address string, attempt int) error {
	if r.hasBegun(address, attempt) {
		return nil
	}
	s, err := r.State(ctx)
	if err == nil {
		err = s.CheckStep(address)
	}
	if err == nil && attempt != 1 && !r.hasBegun(address, attempt) {
		err = &UnknownStepError{Run: r.id, Step: address, attempt: strconv.Itoa(attempt)}
	}
	return err
}

// note updates the list of steps that wait for a time, and the decisions.
func (s *State) note(f engine.Fact) {
	forget := func() {
		s.Later = slices.DeleteFunc(s.Later, func(l Later) bool { return l.Address == f.Address })
	}
	switch f.Kind {
	case engine.Retrying:
		forget()
		s.Later = append(s.Later, Later{f.Address, f.Text, f.Until})
	case engine.AttemptStarted, engine.StepStarted, engine.StepEnded, engine.StepSkipped, engine.Paused:
		forget()
	case engine.Decided:
		if s.Decisions == nil {
			s.Decisions = map[string]engine.Branch{}
		}
		s.Decisions[f.Address] = *f.Branch
	case engine.PlanChanged:
		kept := make(map[string]engine.Branch, len(s.Decisions))
		for _, address := range f.Plan.Kept {
			if b, ok := s.Decisions[address]; ok {
				kept[address] = b
			}
		}
		s.Decisions = kept
	}
}

// Recorded yields the events of the run as they were recorded, up to now.
func (r *Run) Recorded(ctx context.Context) iter.Seq2[engine.Envelope, error] {
	return func(yield func(engine.Envelope, error) bool) {
		for e, err := range r.d.Events(ctx, r.id, 0, false) {
			if err == nil {
				e, err = driver.Whole(ctx, r.d, r.id, e)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}
