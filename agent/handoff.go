package agent

import (
	"context"

	"github.com/hocket-dev/hocket/workflow"
)

// HandOffFunc hands work off to another agent while an attempt runs. If h.Blocking, it waits for the
// result, which may take a very long time; otherwise it returns at once. Handing off the same work
// again attaches to the same handoff, unless that has failed. The error says why the work cannot be
// handed off. If the other agent fails, that is a result, not an error.
//
// To get the result of work that was handed off before, hand off a Handoff with only its ID, and
// Blocking to wait for it.
type HandOffFunc func(ctx context.Context, h Handoff) (Handed, error)

// Handoff is work for another agent.
type Handoff struct {
	ID       string          // of work that was handed off before, to get its result; "": this is new work
	To       string          // one of the agents that the task may hand work off to
	Prompt   string          // what to do
	Settings map[string]any  // of the task, such as [HandoffSetting]
	Attempts int             // how often to try; zero: the default of the other agent
	Limits   workflow.Limits // for all attempts together; zero fields: the limits of the run
	Blocking bool            // wait for the result
	Key      string          // identifies the work; "": derived from the other fields
	// Detach means that the task only starts the work, which is then not part of the run. May is the
	// amount that is reserved for it.
	Detach bool
	// May is set for a task that does not need its agent. It says what the task may use; repeating it
	// uses no more. Nil means what the agent may use.
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
