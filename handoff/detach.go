package handoff

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff/attempt"
	"github.com/hocket-dev/hocket/handoff/protocol"
)

// Detach starts a session for work that a step of a run detaches. It starts the session only once,
// even if the first attempt is lost before the start is recorded.
func (s *Sessions) Detach(ctx context.Context, h *attempt.Handoff, run, step string, within hocket.StartOption) error {
	ctx = context.WithoutCancel(ctx) // even if the run is cancelled meanwhile, it must count a session that it has started
	from := run + "/" + step
	one, err := s.detachedFrom(ctx, from, h.Session)
	if one == nil && err == nil {
		one, err = s.detach(ctx, from, h, within)
	}
	if err != nil {
		return err
	}
	if one.Phase == Pending { // otherwise a process drives it and writes its directory
		s.showNew(ctx, one)
	}
	if s.Background == nil {
		return nil
	}
	if err := s.Background(); err != nil {
		s.problem(fmt.Errorf("session %s is waiting for a process to drive it: %w", one.ID, err))
	}
	return nil
}

// detachedFrom returns the session that a step has started, or nil if there is none. The project
// may have changed since, so that the session could no longer be started; that does not matter.
func (s *Sessions) detachedFrom(ctx context.Context, from, id string) (*Session, error) {
	run, err := s.exact(ctx, id)
	var unknown *hocket.UnknownRunError
	if errors.As(err, &unknown) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if info, err := run.Info(ctx); err != nil || info.Owner.Labels[labelFrom] != from {
		return nil, err
	}
	return s.read(ctx, run)
}

// detach records the session of a step.
func (s *Sessions) detach(ctx context.Context, from string, h *attempt.Handoff, within hocket.StartOption) (*Session, error) {
	own, q := *h, *h.Request
	q.Mode = protocol.Spawn
	own.Request, own.Detach, own.Source = &q, false, "```xml\n"+q.Format()+"\n```\n"
	for _, id := range q.DependsOn {
		if one, err := s.Find(ctx, id); err != nil || one.ID != id || one.Step != "" {
			return nil, fmt.Errorf("depends_on names %q, which is not a separate session", id)
		}
	}
	why := ""
	if own.Session == q.SessionID {
		why = s.taken(ctx, own.Session)
	} else {
		why = s.used(ctx, own.Session)
	}
	if why != "" {
		return nil, fmt.Errorf("session %s already exists%s: choose another session_id, or omit it", own.Session, why)
	}
	if err := s.mark(own.Session); err != nil {
		return nil, fmt.Errorf("handoff: %w", err)
	}
	one, err := s.start(ctx, &own, nil, orderOf(s.now(), 0), map[string]string{labelFrom: from}, within)
	var exists *hocket.ExistsError
	if errors.As(err, &exists) {
		return nil, fmt.Errorf("session %s already exists: choose another session_id, or omit it", own.Session)
	}
	return one, err
}

// Detached returns the state of a session that was detached from a run.
func (s *Sessions) Detached(ctx context.Context, id string) (agent.Handed, error) {
	one, err := s.Find(ctx, id)
	if err != nil {
		return agent.Handed{}, err
	}
	h := agent.Handed{Running: !one.Final(), Output: one.Output}
	if one.Final() && one.Status != Completed {
		h.Error = cmp.Or(one.Error, string(one.Status))
	}
	return h, nil
}
