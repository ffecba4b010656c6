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

// Detach starts the session of work that a step of a run detaches. The key of the run makes sure
// that it starts only once, although the attempt that starts it may be lost before that is
// recorded.
func (s *Sessions) Detach(ctx context.Context, h *attempt.Handoff, run, step string, within hocket.StartOption) error {
	ctx = context.WithoutCancel(ctx) // the run must count a session that it has started, even if it is cancelled meanwhile
	own, q := *h, *h.Request
	q.Mode = protocol.Spawn
	own.Request, own.Detach, own.Source = &q, false, "```xml\n"+q.Format()+"\n```\n"
	for _, id := range q.DependsOn {
		if one, err := s.Find(ctx, id); err != nil || one.ID != id || one.Step != "" {
			return fmt.Errorf("depends_on names %q, which is not a separate session", id)
		}
	}
	if err := s.mark(own.Session); err != nil {
		return fmt.Errorf("handoff: %w", err)
	}
	from := run + "/" + step
	one, err := s.start(ctx, &own, nil, orderOf(s.now(), 0), map[string]string{labelFrom: from}, within, hocket.WithKey("detached "+from))
	var started *hocket.KeyError // by an attempt that was lost, with another configuration
	var exists *hocket.ExistsError
	switch {
	case errors.As(err, &started):
	case errors.As(err, &exists):
		return fmt.Errorf("session %s already exists: choose another session_id, or leave it out", own.Session)
	case err != nil:
		return err
	case one.Phase == Pending: // otherwise a process drives it, and shows it
		s.showNew(ctx, one)
	}
	if s.Background == nil {
		return nil
	}
	if err := s.Background(); err != nil {
		s.problem(fmt.Errorf("session %s waits until a process drives it: %w", own.Session, err))
	}
	return nil
}

// Detached returns what became of a session that was detached from a run.
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
