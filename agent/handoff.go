package agent

import (
	"context"

	"github.com/hocket-dev/hocket/workflow"
)

// HandOffFunc hands work off to another agent while an attempt runs. If h.Blocking, it returns with the
// result, which may take very long; otherwise it returns at once. The same work again is the same
// handoff, unless that has failed. The error says why the work cannot be handed off; that the other
// agent has failed is a result.
//
// To get the result of work that was handed off before, hand off a Handoff with only its ID, and
// Blocking to wait for it.
type HandOffFunc func(ctx context.Context, h Handoff) (Handed, error)

// Handoff is work for another agent.
type Handoff struct {
	ID       string          // of work that was handed off before, for its result; "": this is work to hand off
	To       string          // one of the agents that the task may hand work off to
	Prompt   string          // what to do
	Settings map[string]any  // of the task, such as [HandoffSetting]
	Attempts int             // how often the work is tried; zero: as often as the other agent says
	Limits   workflow.Limits // of all attempts together; zero fields: those of the run
	Blocking bool            // wait for the result
	Key      string          // the same for the same work; "": what is handed off, and to whom, decides
	// Detach means that the task only starts the work, which is then no longer part of the run. May
	// is the amount that is reserved for it.
	Detach bool
	// May is what the task may use, if it does not need its agent: it can be repeated without using
	// more. Nil means what the agent may use.
	May *workflow.Budget
}

// Mask returns the work with its texts masked.
func (h Handoff) Mask(mask func(text string) string) Handoff {
	h.Prompt = mask(h.Prompt)
	h.Settings, _ = maskValue(h.Settings, mask).(map[string]any)
	return h
}

// Handed is work that was handed off, with its result.
type Handed struct {
	Handoff      // with its ID: the address of the other agent's task
	Running bool // there is no result yet
	Output  string
	Error   string // why it failed; "" if it did not
}
