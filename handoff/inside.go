package handoff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/handoff/attempt"
	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/internal/sorted"
)

// showInside writes the directories of all work that was handed off in a run.
func (s *Sessions) showInside(ctx context.Context, run *hocket.Run) {
	s.showing(run.ID(), func() error {
		inside, err := s.Inside(ctx, run)
		for _, one := range inside {
			s.showing(one.ID, func() error { return s.shown(ctx, one) })
		}
		return err
	})
}

// Inside returns the work that agents handed off in a run, oldest first. It is part of the run, not
// a separate one.
func (s *Sessions) Inside(ctx context.Context, run *hocket.Run) ([]*Session, error) {
	all, err := s.handedOff(ctx, run)
	return slices.DeleteFunc(all, func(one *Session) bool { return one.Handoff.Detach }), err
}

// HandedOff returns the states of all work that agents handed off in a run, oldest first, including
// detached sessions.
func (s *Sessions) HandedOff(ctx context.Context, run *hocket.Run) ([]State, error) {
	all, err := s.handedOff(ctx, run)
	states := []State{}
	for _, one := range all {
		if one, err = s.itself(ctx, one); err != nil {
			return nil, err
		}
		states = append(states, one.State)
	}
	return states, err
}

// itself replaces the step that starts a detached session by that session, once it has started. It
// returns any other session unchanged. Until the session has started, the step has an id that begins
// with the id of the run, because the session_id alone may belong to another session.
func (s *Sessions) itself(ctx context.Context, one *Session) (*Session, error) {
	if !one.Handoff.Detach {
		return one, nil
	}
	step := *one
	if !strings.HasPrefix(one.ID, one.State.Run+"-") {
		step.ID = one.State.Run + "-" + one.ID
	}
	if one.Scripted { // there is a reply instead of a session
		return &step, nil
	}
	// In a fork, the original run may have started the session.
	id := one.ID
	if one.Status == Completed {
		id = one.Output
	}
	run, err := s.exact(ctx, id)
	var unknown *hocket.UnknownRunError
	if errors.As(err, &unknown) {
		return &step, nil
	}
	if err != nil {
		return nil, err
	}
	started, err := s.read(ctx, run)
	var other *UnknownError
	if errors.As(err, &other) || err == nil && one.Status != Completed && started.From != one.State.Run+"/"+one.Step {
		return &step, nil // the id belongs to something else, so the step could not start the session
	}
	return started, err
}

// handedOff returns the work that agents handed off in a run. A detached session is represented by
// the step that starts it.
func (s *Sessions) handedOff(ctx context.Context, run *hocket.Run) ([]*Session, error) {
	type work struct{ address, key string }
	var all []*Session
	latest, count, byAddress := map[work]*Session{}, map[string]int{}, map[string]*Session{}
	replies, err := run.Replies(ctx)
	if err != nil {
		return nil, err
	}
	for e, err := range run.History(ctx, hocket.EventID{}) {
		if err != nil {
			return nil, err
		}
		if e.Fact != nil {
			if err := addFact(byAddress, all, e); err != nil {
				return nil, err
			}
			continue
		}
		if ev, ok := e.Event.(*engine.CancelAsked); ok {
			for _, one := range all {
				if !one.Final() {
					one.Error = "the run was " + cancelled(ev)
				}
			}
		}
		ev, ok := e.Event.(*engine.HandoffAsked)
		if !ok || ev.ID != "" {
			continue
		}
		same := work{ev.Address, ev.Work()}
		if before := latest[same]; before != nil && (!before.Final() || before.Status == Completed) {
			continue // the attempt gets this result
		}
		count[ev.Address]++
		one := inside(ev, run, fmt.Sprintf("%s/handoff-%d", ev.Address, count[ev.Address]))
		one.Scripted = replies != nil && replies.Answers(one.address)
		latest[same], byAddress[one.address] = one, one
		switch {
		case one.Handoff == nil: // a program handed it off without the protocol
		case one.Handoff.MessageOnly: // it has no session
		default:
			one.Created = e.Time
			one.began(e.Time)
			all = append(all, one)
		}
	}
	info, err := run.Info(ctx)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		one.Interrupted = one.Phase == Working && !info.Driven
		one.timing(s.now())
	}
	return all, nil
}

// findInside finds work that was handed off in a run by its id, by a unique prefix of the id, or by
// the id of the run and the session_id of the request.
func (s *Sessions) findInside(ctx context.Context, id string) (*Session, error) {
	for at := strings.LastIndexByte(id, '-'); at > 0; at = strings.LastIndexByte(id[:at], '-') {
		run, err := s.exact(ctx, id[:at])
		var unknown *hocket.UnknownRunError
		if errors.As(err, &unknown) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all, err := s.handedOff(ctx, run)
		if err != nil {
			return nil, err
		}
		one, err := pick(all, run.ID(), id, id[at+1:])
		if err != nil {
			return nil, err
		}
		return s.itself(ctx, one)
	}
	return nil, &UnknownError{ID: id}
}

// findStep finds work that was handed off in a run by its step.
func (s *Sessions) findStep(ctx context.Context, id, step string) (*Session, error) {
	run, err := s.p.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	all, err := s.handedOff(ctx, run)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		if one.address == step {
			return s.itself(ctx, one)
		}
	}
	return nil, &UnknownError{id + "/" + step, run.ID()}
}

// pick returns the session of a run with the given id, or the only one with the given session_id or
// prefix of an id. If work was repeated after a failure, with the same session_id, pick returns the
// latest.
func pick(all []*Session, run, id, name string) (*Session, error) {
	found, named := map[string]*Session{}, map[string]string{}
	for _, one := range all {
		if one.Handoff.Request.SessionID == name {
			step := one.Step[:strings.LastIndexByte(one.Step, '/')] // other steps may use the same name
			delete(found, named[step])
			found[one.ID], named[step] = one, one.ID
		} else if strings.HasPrefix(one.ID, id) {
			found[one.ID] = one
		}
	}
	if one := found[id]; one != nil {
		return one, nil
	}
	switch ids := sorted.Keys(found); len(ids) {
	case 0:
		return nil, &UnknownError{id, run}
	case 1:
		return found[ids[0]], nil
	default:
		return nil, fmt.Errorf("%q is ambiguous: it matches %s", id, strings.Join(ids, ", "))
	}
}

// inside returns a new session inside a run.
func inside(ev *engine.HandoffAsked, run *hocket.Run, address string) *Session {
	one := &Session{run: run, address: address, State: State{Run: run.ID(), Step: address, Status: Running, Phase: Pending}}
	settings, _ := ev.Inputs["settings"].(map[string]any)
	h, err := attempt.Of(settings)
	if err != nil || h == nil {
		return one
	}
	q := h.Request
	one.Handoff = h.In(run.ID())
	one.ID = one.Handoff.Session
	one.Agent, one.Parent, one.Mode, one.Workflow = q.TargetAgent, q.ParentAgent, q.Mode, q.Workflow
	one.Summary, one.Priority, one.Version = short(q.Summary), string(q.Priority), q.Version
	one.Estimate, one.DependsOn = protocol.FormatDuration(q.Estimate), q.DependsOn
	return one
}

// addFact adds a fact to the session that it belongs to. The end of a run ends all of its sessions.
func addFact(byAddress map[string]*Session, all []*Session, e hocket.Entry) error {
	if e.Fact.Kind == engine.RunEnded {
		for _, one := range all {
			if !one.Final() {
				one.Status, one.Phase, one.Ended = Cancelled, "", e.Fact.Time
				if one.Error == "" {
					one.Error = "the run ended first: " + string(e.Fact.Status)
				}
			}
		}
		return nil
	}
	one := byAddress[e.Fact.Address]
	if one == nil {
		return nil
	}
	if err := one.fact(e); err != nil {
		return err
	}
	switch e.Fact.Kind {
	case engine.AttemptStarted, engine.AnswerGiven:
		one.Phase = Working
	case engine.QuestionAsked, engine.Paused:
		one.Phase = Waiting
	case engine.StepEnded:
		one.Status, one.Phase, one.Ended = cmp.Or(statuses[e.Fact.Status], Cancelled), "", e.Fact.Time // it may not have started
		if one.Status == TimedOut && one.Handoff != nil {
			one.Error = one.timedOut(one.Error)
		}
		u := e.Fact.Usage
		one.CostUSD, one.TokensIn, one.TokensOut = u.CostUSD, u.TokensIn, u.TokensOut
		one.log(e.Fact.Time, "Session ended: "+string(one.Status))
	}
	return nil
}
