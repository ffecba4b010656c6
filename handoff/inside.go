package handoff

import (
	"context"
	"fmt"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/handoff/attempt"
)

// showInside writes the directories of everything that was handed on in a run.
func (s *Sessions) showInside(ctx context.Context, run *hocket.Run) {
	s.showing(run.ID(), func() error {
		inside, err := s.Inside(ctx, run)
		for _, one := range inside {
			if err == nil {
				err = s.shown(ctx, one)
			}
		}
		return err
	})
}

// Inside returns what agents handed on in a run, in that order. It is part of the run: it has no
// run of its own.
func (s *Sessions) Inside(ctx context.Context, run *hocket.Run) ([]*Session, error) {
	type work struct{ address, key string }
	var all []*Session
	latest, count, byAddress := map[work]*Session{}, map[string]int{}, map[string]*Session{}
	for e, err := range run.History(ctx, hocket.EventID{}) {
		if err != nil {
			return nil, err
		}
		if e.Fact != nil {
			if err := told(byAddress, all, e); err != nil {
				return nil, err
			}
			continue
		}
		ev, ok := e.Event.(*engine.HandoffAsked)
		if !ok {
			continue
		}
		same := work{ev.Address, ev.Key}
		if before := latest[same]; before != nil && (!before.Final() || before.Status == Completed) {
			continue // the attempt gets that result
		}
		count[ev.Address]++
		one := inside(ev, run, fmt.Sprintf("%s/handoff-%d", ev.Address, count[ev.Address]))
		latest[same], byAddress[one.address] = one, one
		if one.Handoff != nil { // else a program handed it on without the protocol
			one.Created = e.Time
			one.began(e.Time)
			all = append(all, one)
		}
	}
	for _, one := range all {
		one.timing(s.now())
	}
	return all, nil
}

// inside returns a session that begins inside a run.
func inside(ev *engine.HandoffAsked, run *hocket.Run, address string) *Session {
	one := &Session{run: run, address: address, State: State{Run: run.ID(), Status: Running, Phase: Pending}}
	settings, _ := ev.Inputs["settings"].(map[string]any)
	h, err := attempt.Of(settings)
	if err != nil || h == nil {
		return one
	}
	q := h.Request
	one.Handoff, one.ID = h, h.Session
	one.Agent, one.Parent, one.Mode, one.Workflow = q.TargetAgent, q.ParentAgent, q.Mode, q.Workflow
	one.Summary, one.Priority, one.Version = short(q.Summary), string(q.Priority), q.Version
	return one
}

// told adds a fact to the session that it is about. The end of a run ends all of its sessions.
func told(byAddress map[string]*Session, all []*Session, e hocket.Entry) error {
	if e.Fact.Kind == engine.RunEnded {
		for _, one := range all {
			if !one.Final() {
				one.Status, one.Phase, one.Ended = Cancelled, "", e.Fact.Time
			}
		}
		return nil
	}
	one := byAddress[e.Fact.Address]
	if one == nil {
		return nil
	}
	if err := one.fact(e.Fact, e.Unattended); err != nil {
		return err
	}
	switch e.Fact.Kind {
	case engine.AttemptStarted, engine.AnswerGiven:
		one.Phase = Working
	case engine.QuestionAsked, engine.Paused:
		one.Phase = Waiting
	case engine.StepEnded:
		one.Status, one.Phase, one.Ended = statuses[e.Fact.Status], "", e.Fact.Time
		u := e.Fact.Usage
		one.CostUSD, one.TokensIn, one.TokensOut = u.CostUSD, u.TokensIn, u.TokensOut
		one.log(e.Fact.Time, "Session ended: "+string(one.Status))
	}
	return nil
}
