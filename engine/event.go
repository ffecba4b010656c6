package engine

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// Envelope is an event with what is the same for all events: when it happened.
type Envelope struct {
	// Seq is the number of the event in its run, from 1. Zero: not numbered.
	Seq int
	// Time is what the wall clock showed. It counts for what people and quotas
	// agree on: deadlines and the times at which a quota is reset.
	Time time.Time
	// Clock is the run's own monotonic clock: the time since the run began, as
	// measured by the processes that drove it. It counts for durations. Between
	// two processes the wall clock fills the gap, see [Run.ClockAt]. Zero: it was
	// not measured, as in runs of version 1, and Time counts.
	Clock time.Duration
	// Unattended says that no driver carries out what the event leads to: nothing
	// starts before the next Recovered.
	Unattended bool

	Event Event
}

// Event is something that happened. Events are the only input of a [Run], the
// only thing that a journal stores, and all that time and chance can say to the
// engine.
//
//sumtype:decl
type Event interface{ event() string }

// Started is the first event of every run. It carries what the engine may not
// look up.
type Started struct {
	Run     string          `json:"run"`
	Version int             `json:"version"` // of the engine's behaviour, see Version
	Inputs  map[string]any  `json:"inputs,omitempty"`
	Limits  workflow.Limits `json:"limits"` // of the whole run, defaults filled in
	// Tasks says what is known of the agents' work, by "workflow/node". A task
	// that is not listed costs nothing and has no time limit of its own.
	Tasks map[string]TaskFacts `json:"tasks,omitempty"`
	// Rehearse makes the run repeat events of another one, up to Forked: the
	// instance at this address is held back, and what was recorded may start
	// beyond the limits.
	Rehearse string `json:"rehearse,omitempty"`
}

// TaskFacts is what the driver knows of a task before it starts.
type TaskFacts struct {
	May     workflow.Budget `json:"may"`               // what one attempt may use
	Keeps   bool            `json:"keeps,omitempty"`   // to what it is given: an attempt may use what the limits leave
	Timeout time.Duration   `json:"timeout,omitempty"` // the agent's own; the node's wins
	Retry   workflow.Retry  `json:"retry,omitzero"`    // the agent's own; the node's wins
}

// NoFacts hold for a task of which the driver says nothing.
var NoFacts = TaskFacts{May: workflow.Free}

// UnmarshalJSON reads facts also as version 1 wrote them: with a zero that could
// mean free, unknown or without a limit.
func (f *TaskFacts) UnmarshalJSON(data []byte) error {
	type plain TaskFacts
	var old struct {
		MaxCostUSD  float64 `json:"max_cost_usd"`
		MaxTokens   int64   `json:"max_tokens"`
		UnknownCost bool    `json:"unknown_cost"`
		Rest        bool    `json:"rest"`
		May         *struct{}
	}
	if err := cmp.Or(json.Unmarshal(data, &old), json.Unmarshal(data, (*plain)(f))); err != nil || old.May != nil {
		return err
	}
	f.Keeps = old.Rest
	unknown := old.UnknownCost || old.Rest
	f.May = workflow.Budget{CostUSD: workflow.AtMost(old.MaxCostUSD), Tokens: workflow.AtMost(old.MaxTokens)}
	if unknown && old.MaxCostUSD == 0 {
		f.May.CostUSD = workflow.Bound{}
	}
	if unknown && old.MaxTokens == 0 {
		f.May.Tokens = workflow.Bound{}
	}
	return nil
}

// TaskEnded answers StartTask, always, also after CancelTask.
type TaskEnded struct {
	Address string `json:"address"`
	Attempt int    `json:"attempt"`
	Output  string `json:"output,omitempty"` // raw; the node's output mode is applied by the engine
	Fault   *Fault `json:"fault,omitempty"`  // nil: the agent did its work
	Usage   Usage  `json:"usage,omitzero"`
	// Stored is the number of the event that has the output, where Output was left out
	// because it is long: that of this event, in a fork that of the other run. The run
	// must know how to load it, see [Run.Offload]. Zero: Output is there.
	Stored int `json:"-"`
}

// TimerFired answers SetTimer, unless CancelTimer came first.
type TimerFired struct {
	ID string `json:"id"`
}

// Asked says that an attempt asks people something while it runs. The engine
// puts it to them with Ask, or answers it with Reply at once.
type Asked struct {
	Address string            `json:"address"`
	Attempt int               `json:"attempt"`
	Text    string            `json:"text"`
	Detail  string            `json:"detail,omitempty"`
	Options []workflow.Option `json:"options,omitempty"`
	Custom  bool              `json:"custom,omitempty"`
}

// Answered answers a question. [Run.Admit] says beforehand whether it would be
// taken. Its time is that at which the answer was given, also if it is recorded
// later.
type Answered struct {
	ID      string `json:"id"` // of the question, or the address of a step that asks only one
	Value   string `json:"value"`
	By      string `json:"by,omitempty"`      // who answered
	Via     string `json:"via,omitempty"`     // through what, such as "terminal"
	Comment string `json:"comment,omitempty"` // what else they said
	Digest  string `json:"digest,omitempty"`  // of the question as it was shown; "": not checked
}

// Withdrawn says that the attempt that asked a question does not wait for the
// answer any more.
type Withdrawn struct {
	ID string `json:"id"`
}

// CancelAsked ends the run: everything under way is cancelled.
type CancelAsked struct {
	By     string `json:"by,omitempty"`
	Via    string `json:"via,omitempty"` // as in Answered
	Reason string `json:"reason,omitempty"`
}

// LimitRaised sets limits of the whole run anew; zero fields stay as they are.
// Where these are of cost or tokens, a task goes on that waits because what it may use
// is unknown.
type LimitRaised struct {
	Limits workflow.Limits `json:"limits"`
	By     string          `json:"by,omitempty"`
	Via    string          `json:"via,omitempty"`
}

// Recovered says that a new process has taken the run up. Attempts without an
// answer are lost, and the time since the last event does not count.
type Recovered struct {
	// Unsettled says that a lost attempt may have cost what it could: its cost is
	// not known. Without it, as in older runs, such an attempt cost nothing.
	Unsettled bool `json:"unsettled,omitempty"`
}

// Forked says that the events before it were taken from another run, without
// the instance at Address and what followed from it. It recovers like Recovered,
// unattended, and the clock of the run begins anew.
type Forked struct {
	From    string          `json:"from"` // the other run
	Address string          `json:"address"`
	Limits  workflow.Limits `json:"limits,omitzero"` // of the new run; zero fields stay as they are
}

// Usage is what an attempt used.
type Usage = workflow.Usage

// Fault is the failure of a step: data, kept in the journal.
type Fault struct {
	Kind      FaultKind `json:"kind"`
	Message   string    `json:"message"`
	Permanent bool      `json:"permanent,omitempty"` // a retry would fail the same way
	Until     time.Time `json:"until,omitzero"`      // for FaultQuota: when it is worth trying again
}

// FaultKind is the reason of a failure.
type FaultKind string

// The kinds of faults.
const (
	FaultError     FaultKind = "error"      // the agent failed
	FaultTimeout   FaultKind = "timeout"    // it took too long
	FaultBadOutput FaultKind = "bad_output" // its output could not be extracted or does not fit the schema
	FaultNoRoute   FaultKind = "no_route"   // its decision matches no edge
	FaultLost      FaultKind = "lost"       // nobody knows what became of it
	FaultQuota     FaultKind = "quota"      // the provider refuses for now
	FaultBudget    FaultKind = "budget"     // a limit on steps was reached
	FaultCancelled FaultKind = "cancelled"
	FaultLimit     FaultKind = "limit" // a loop reached its bound without an exit
)

func (*Started) event() string     { return "Started" }
func (*TaskEnded) event() string   { return "TaskEnded" }
func (*TimerFired) event() string  { return "TimerFired" }
func (*Asked) event() string       { return "Asked" }
func (*Answered) event() string    { return "Answered" }
func (*Withdrawn) event() string   { return "Withdrawn" }
func (*CancelAsked) event() string { return "CancelAsked" }
func (*LimitRaised) event() string { return "LimitRaised" }
func (*Recovered) event() string   { return "Recovered" }
func (*Forked) event() string      { return "Forked" }
