package engine

import (
	"fmt"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// Fork gives the events of a new run that repeats an old one up to an instance:
// the journal without that instance, without what depended on it and without
// what was cancelled; what parallel branches had finished stays. The last of
// them is Forked. run is the new run's id, now the time of the fork.
func Fork(b *workflow.Bundle, events []Event, address, run string, now time.Time) ([]Event, error) {
	r, err := New(b)
	if err != nil {
		return nil, err
	}
	from, dropped := "", false
	var kept []Event
	for _, ev := range events {
		if started, ok := ev.(*Started); ok {
			again := *started
			from, again.Run = started.Run, run
			ev = &again
		} else if r.of(ev, address) {
			dropped = true
			continue
		} else if !r.survives(ev) {
			continue
		}
		if _, err := r.Step(ev); err != nil {
			return nil, err
		}
		kept = append(kept, ev)
	}
	if !dropped {
		return nil, fmt.Errorf("the run has no finished step %q to start again from%s", address, r.suggest(events, address))
	}
	return append(kept, &Forked{Time: now, From: from, Address: address}), nil
}

// of says whether an event belongs to the instance at an address, or to what
// runs inside it.
func (r *Run) of(ev Event, address string) bool {
	var in *inst
	switch ev := ev.(type) {
	case *TaskEnded:
		in = r.attempts[ev.Address]
	case *HumanAnswered:
		in = r.gates[ev.Address]
	case *TimerFired:
		if t := r.timers[ev.ID]; t != nil {
			in = t.in
		}
	case *Started, *CancelAsked, *LimitRaised, *Recovered, *Forked:
	}
	for ; in != nil; in = in.scope.owner {
		if in.address == address {
			return true
		}
	}
	return false
}

// survives says whether an event still has a place in the forked run: it does
// not if what it answers never starts there, and cancelling is not repeated.
func (r *Run) survives(ev Event) bool {
	if r.Admit(ev) != nil {
		return false
	}
	switch ev := ev.(type) {
	case *TaskEnded:
		return ev.Fault == nil || ev.Fault.Kind != FaultCancelled
	case *TimerFired:
		return ev.ID != runtimeTimer
	case *CancelAsked:
		return false
	case *Started, *HumanAnswered, *LimitRaised, *Recovered, *Forked:
	}
	return true
}

func (r *Run) suggest(events []Event, address string) string {
	var known []string
	for _, ev := range events {
		if ended, ok := ev.(*TaskEnded); ok {
			known = append(known, ended.Address)
		}
	}
	if text := workflow.DidYouMean(address, known); text != "" {
		return "; " + text
	}
	return ""
}
