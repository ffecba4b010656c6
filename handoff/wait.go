package handoff

import (
	"context"
	"sync"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/handoff/protocol"
)

// Wait waits until each session has ended, cannot be driven, or waits for people while no process
// drives it, and then calls do for it. If no process drives a session, Wait calls start, which
// starts a process that calls [Sessions.Drive].
func (s *Sessions) Wait(ctx context.Context, ids []string, start func() error, do func(*Session) error) error {
	left, inside := map[string]bool{}, map[string]bool{}
	for _, id := range ids {
		one, err := s.Find(ctx, id)
		if err != nil {
			return err
		}
		left[one.ID], inside[one.ID] = true, one.Step != ""
	}
	var group sync.WaitGroup
	defer group.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changed := make(chan hocket.Info)
	group.Go(func() { s.changes(ctx, changed) })
	// Watching the journal is not enough: it does not change when a session cannot be driven, and the
	// list of runs does not change when work inside a run has ended.
	look := time.NewTimer(0)
	defer look.Stop()
	starts, started := 0, time.Time{}
	for len(left) > 0 {
		var over []string
		select {
		case info := <-changed:
			if left[info.ID] && rests(info) {
				over = append(over, info.ID)
			}
		case <-look.C:
			look.Reset(time.Second)
			over = s.overInside(ctx, left, inside)
			undriven, err := s.undrivenOf(ctx, left, inside)
			if err != nil {
				return err
			}
			late, blocked := time.Since(started) > startTime, 0
			for _, id := range undriven {
				if s.Obstacle(id) != "" || late && starts == mostStarts {
					over = append(over, id)
					blocked++
				}
			}
			if len(undriven) > blocked && late {
				if err := start(); err != nil {
					return err
				}
				starts, started = starts+1, time.Now()
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		for _, id := range over {
			delete(left, id)
			one := s.showEnd(ctx, id)
			if one == nil {
				return &UnknownError{ID: id}
			}
			if err := do(one); err != nil {
				return err
			}
		}
	}
	return nil
}

// overInside returns the sessions inside runs that have ended, or whose run no process drives. It
// includes sessions that cannot be read: showing them reports why.
func (s *Sessions) overInside(ctx context.Context, left, inside map[string]bool) (over []string) {
	for id := range left {
		if !inside[id] {
			continue
		}
		one, err := s.Find(ctx, id)
		if err == nil && !one.Final() {
			var info hocket.Info
			if info, err = one.run.Info(ctx); err == nil && (info.Driven || info.Pending) {
				continue
			}
		}
		over = append(over, id)
	}
	return over
}

// Wait starts a process at most three times. If a process exits without saying why it does not
// drive a session, another one will not say so either. startTime is how long Wait waits for a
// process before it starts the next one.
const (
	mostStarts = 3
	startTime  = 10 * time.Second
)

// rests reports whether a session has ended, or waits for a person or a budget while no process
// drives it.
func rests(info hocket.Info) bool {
	return info.Status.Done() || info.Status == engine.Waiting && !info.Driven
}

// undrivenOf returns the given sessions that no process drives or is going to drive, except those
// inside a run.
func (s *Sessions) undrivenOf(ctx context.Context, ids, inside map[string]bool) (undriven []string, err error) {
	if s.Driven() {
		return nil, nil
	}
	for id := range ids {
		if inside[id] {
			continue
		}
		info, err := s.info(ctx, id)
		if err != nil {
			return nil, err
		}
		if !info.Driven && !rests(info) {
			undriven = append(undriven, id)
		}
	}
	return undriven, nil
}

// Idle reports whether there are sessions that could be driven, but no process drives them.
func (s *Sessions) Idle(ctx context.Context) (bool, error) {
	if s.Driven() {
		return false, nil
	}
	b := newBoard(s, nil)
	err := b.refresh(ctx)
	for _, info := range b.open {
		if err == nil && !info.Driven && !rests(info) && !s.onHold(info) {
			return true, nil
		}
	}
	return false, err
}

// onHold reports whether a person has stopped a session, so that only a person continues it.
func (s *Sessions) onHold(i hocket.Info) bool {
	return protocol.Mode(i.Owner.Labels[labelMode]) == protocol.Blocking && s.Obstacle(i.ID) != ""
}
