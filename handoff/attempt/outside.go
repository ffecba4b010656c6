package attempt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff/protocol"
)

// detachAttribute is the attribute of a request for work in a separate session.
const detachAttribute = "detach"

// takeDetach removes the attribute from a request, and returns its value.
func takeDetach(q *protocol.Request) (bool, error) {
	at := slices.IndexFunc(q.Attributes, func(a protocol.Attribute) bool { return a.Name == detachAttribute })
	if at < 0 {
		return false, nil
	}
	value := q.Attributes[at].Value
	q.Attributes = slices.Delete(slices.Clone(q.Attributes), at, at+1)
	switch {
	case value == "true" && q.Mode == protocol.Conversation:
		return false, fmt.Errorf("a request with the mode %s cannot be detached: it starts no work", q.Mode)
	case value == "true" || value == "false":
		return value == "true", nil
	}
	return false, fmt.Errorf("invalid detach=%q: write true or false", value)
}

// outside reports whether the work is done outside the run: the task only starts a session or leaves
// a message. No agent runs in this task, and it is safe to repeat an attempt.
func (h *Handoff) outside() bool { return h.Detach || h.MessageOnly }

var errDetached = errors.New("cannot detach work: this program does not run sessions")

// sendOutside starts the session of a detached handoff, or leaves a message. The amount that the
// session may use was reserved in this run, so it counts as used here.
func (w *wrapped) sendOutside(ctx context.Context, task *agent.Task, h *Handoff) (agent.Result, error) {
	if h.MessageOnly {
		return w.leaveMessage(task, h)
	}
	if w.o.Detach == nil {
		return agent.Result{}, agent.Permanentf("%v", errDetached)
	}
	if err := w.o.Detach(ctx, task, h); err != nil {
		return agent.Result{}, agent.Permanentf("%v", err)
	}
	limits := Limits(h.Request)
	return agent.Result{Output: h.Session, Usage: agent.Usage{CostUSD: limits.CostUSD, TokensOut: limits.Tokens}}, nil
}

// leaveMessage leaves a message for the task's agent.
func (w *wrapped) leaveMessage(task *agent.Task, h *Handoff) (agent.Result, error) {
	if !w.traits.FromPrompt(task) {
		return agent.Result{}, agent.Permanentf("%s cannot receive messages: it does not work from a prompt", task.Agent.Name)
	}
	if w.o.LeaveMessage == nil {
		return agent.Result{}, agent.Permanentf("messages for agents are not supported here")
	}
	if err := w.o.LeaveMessage(task.Agent.Name, task.Run+" "+task.Address, h.Message()); err != nil {
		return agent.Result{}, agent.Errorf("cannot leave the message: %v", err)
	}
	return agent.Result{Output: fmt.Sprintf("message left for %s", task.Agent.Name)}, nil
}
