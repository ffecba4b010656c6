package engine

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// Fork returns the events of a new run that repeats an old one up to an instance: the journal
// without that instance, without everything that depended on it and without what was cancelled.
// Results of parallel branches are kept. The last event is Forked. run is the new run's id, and
// now is the time of the fork; limits override those of the old run.
//
// The new run rehearses the events: the instance does not start, so nothing that follows from it
// starts, and events that belong to it are rejected. load loads outputs that are left out in the
// events; it may be nil if there are none.
func Fork(b *workflow.Bundle, events []Envelope, load func(seq int) (string, error), address, run string, limits workflow.Limits, now time.Time) ([]Envelope, error) {
	r, err := New(b)
	if err != nil {
		return nil, err
	}
	r.Offload(math.MaxInt, load) // outputs that are in the events need not be loaded
	old := r.Fresh()
	old.Offload(math.MaxInt, load)
	from := ""
	var kept []Envelope
	var set workflow.Limits // if the old run was a fork itself
	var edits map[string]Edit
	plan := newestPlan(events)
	for i, e := range events {
		stopped, awaited := old.stopped(e.Event), old.awaited(e.Event)
		if _, err := old.Step(e); err != nil {
			return nil, err
		}
		switch ev := e.Event.(type) {
		case *Started:
			again := *ev
			if from, again.Run = ev.Run, run; i == plan {
				again.Rehearse = address
			}
			e.Event = &again
		case *Forked:
			raise(&set, ev.Limits, false)
			edits = ev.Edits
		case *LimitRaised:
			raise(&set, ev.Limits, true)
		case *Replanned:
			raise(&set, ev.Limits, true)
			again := *ev
			if i == plan {
				again.Rehearse = address
			}
			e.Event = &again
		case *TaskEnded, *TimerFired, *Asked, *Answered, *Withdrawn, *HandoffAsked, *Queued, *CancelAsked, *Recovered:
		}
		if i > plan && (r.isOfOther(e.Event, stopped) || r.awaited(e.Event) > awaited) {
			continue
		}
		e.Seq = len(kept) + 1
		if _, err := r.Step(e); err == nil {
			kept = append(kept, e)
		} else if i <= plan || errors.As(err, new(*LoadError)) {
			return nil, err
		}
	}
	in := old.stepAt(address)
	if r.heldBack == nil && in != nil && old.wasHandedOff(in) {
		by, _, _ := strings.Cut(address, "/handoff-")
		return nil, fmt.Errorf("%q was handed off before the plan was changed; start again from %q", address, by)
	}
	if r.heldBack == nil && (in == nil || in.status == Skipped || r.finish == nil) {
		return nil, fmt.Errorf("the run has no step %q%s", address, old.suggestStep(address))
	}
	if r.finish != nil || r.heldBack.phase != held { // it may also have ended before it came to the step
		return nil, fmt.Errorf("%q would be cancelled again: %s; start again from the step that failed", address, r.whyEnding())
	}
	raise(&set, limits, false)
	return append(kept, Envelope{Seq: len(kept) + 1, Time: now, Clock: r.ClockAt(now), Event: &Forked{From: from, Address: address, Limits: set, Edits: maps.Clone(edits)}}), nil
}

// Edit changes what the task at the address of the fork is told.
func (f *Forked) Edit(edit Edit) {
	if edit == (Edit{}) {
		return
	}
	if f.Edits == nil {
		f.Edits = map[string]Edit{}
	}
	f.Edits[f.Address] = edit
}

func (e *Edit) apply(cmd *StartTask) {
	if e.Prompt != nil {
		cmd.Prompt = *e.Prompt
	}
	cmd.Comment, cmd.Previous = e.Comment, e.Previous
}

// admitEdit reports whether the step of a fork can be told something else.
func (r *Run) admitEdit(ev *Forked) error {
	_, edited := ev.Edits[ev.Address]
	if in := r.heldBack; edited && in != nil && (in.n.place.Agent == "" || in.n.prompt == nil && in.n.text == "") {
		return fmt.Errorf("%q is not a task with a prompt, so it can be given neither a comment nor another prompt", ev.Address)
	}
	return nil
}

// newestPlan returns the index of the event with which the newest plan began. Up to there, a fork is the
// same as the other run: all results are there, and the new plan takes those that it needs.
func newestPlan(events []Envelope) int {
	for i, e := range slices.Backward(events) {
		if _, ok := e.Event.(*Replanned); ok {
			return i
		}
	}
	return 0
}

// whyEnding returns the failure that ends the scope of the instance that is held back.
func (r *Run) whyEnding() string {
	s := r.root
	if r.heldBack != nil {
		s = r.heldBack.scope()
	}
	for ; s != nil; s = s.parent {
		if s.reason != "" {
			return s.reason
		}
	}
	return "a competing branch finished first"
}

// stopped reports whether an event is the end of an attempt that was cancelled. It may have
// failed by itself in the meantime.
func (r *Run) stopped(ev Event) bool {
	ended, ok := ev.(*TaskEnded)
	return ok && r.attempts[ended.Address] != nil && r.attempts[ended.Address].phase == stopping
}

// awaited returns how many handoffs the attempt that caused an event waits for. If it waits for more
// than in the other run, it does not know yet what it knew there, and the event depends on that.
func (r *Run) awaited(ev Event) int {
	address, attempt := "", 0
	switch ev := ev.(type) {
	case *TaskEnded:
		address, attempt = ev.Address, ev.Attempt
	case *Asked:
		address, attempt = ev.Address, ev.Attempt
	case *HandoffAsked:
		address, attempt = ev.Address, ev.Attempt
	case *Started, *TimerFired, *Answered, *Withdrawn, *Queued, *CancelAsked, *LimitRaised, *Recovered, *Forked, *Replanned:
	}
	if in := r.attempts[address]; in != nil && int(in.attempt) == attempt {
		return in.awaits()
	}
	return 0
}

// isOfOther reports whether an event concerns only the other run: it ended that run, or cancelled
// an attempt that is not cancelled here. Other events that answer something which never starts
// here are rejected by Step.
func (r *Run) isOfOther(ev Event, stopped bool) bool {
	switch ev := ev.(type) {
	case *TaskEnded:
		in := r.attempts[ev.Address]
		told := in != nil && (in.phase == stopping || in.expired)
		return (stopped || ev.Fault != nil && ev.Fault.Kind == FaultCancelled) && !told
	case *TimerFired:
		return ev.ID == runtimeTimer && r.version < 3
	case *CancelAsked, *Forked:
		return true
	case *Started, *Asked, *Answered, *Withdrawn, *HandoffAsked, *Queued, *LimitRaised, *Recovered, *Replanned:
	}
	return false
}

// admitRehearsed starts the task that an event of the other run answers. In that run, it found a
// free slot when the instance that is held back here had ended. If the event still does not
// apply, the run is left unchanged.
func (r *Run) admitRehearsed(e Envelope) (*inst, error) {
	address := ""
	switch ev := e.Event.(type) {
	case *TaskEnded:
		address = ev.Address
	case *HandoffAsked:
		address = ev.Address
	case *TimerFired: // of an attempt that was told to stop before it ended
		of, _ := strings.CutPrefix(ev.ID, timeoutTimer+" ")
		address = of[:max(0, strings.LastIndexByte(of, '@'))]
	case *Answered: // to the question whether to repeat an effect
		address = ev.ID
	case *Started, *Asked, *Withdrawn, *Queued, *CancelAsked, *LimitRaised, *Recovered, *Forked, *Replanned:
	}
	if address == "" || r.finish != nil || r.attempts[address] != nil {
		return r.admit(e)
	}
	before := r.Snapshot()
	r.makeRoom(address)
	about, err := r.admit(e)
	if err != nil {
		as := newRun(r.plan)
		as.first, as.store = r.first, r.store
		as, _ = as.restore(before)
		*r = *as
	}
	return about, err
}

// makeRoom starts the task at an address, if only a limit keeps it from starting.
func (r *Run) makeRoom(address string) {
	r.root.body.eaches(func(in *inst) { r.startItemsUpTo(in, address) })
	r.work()
	for _, in := range r.steps {
		waits := (in.phase == queued || in.phase == held) && in.status == Running && in != r.heldBack
		if waits && in.address == address {
			in.granted = true
			r.startAttempt(in)
			return
		}
	}
}

// startItemsUpTo starts the item of a for_each that contains an address, and the items before it.
func (r *Run) startItemsUpTo(in *inst, address string) {
	x := in.each
	if item := in.n.body.itemOf(in, address); item < len(x.items) && !x.stopped {
		for ; x.next <= item; x.next++ {
			r.startItem(in, x.next)
			x.open++
		}
	}
}

// suggestStep suggests the step that was probably meant.
func (r *Run) suggestStep(address string) string {
	var known []string
	for _, in := range r.steps {
		if in.status != Skipped {
			known = append(known, in.address)
		}
	}
	if text := workflow.DidYouMean(address, known); text != "" {
		return "; " + text
	}
	return ""
}
