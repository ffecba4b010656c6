package engine

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// Envelope is an event with the fields that all events have: its number and when it happened.
type Envelope struct {
	// Seq is the number of the event in its run, from 1. Zero means that it is not numbered.
	Seq int
	// Time is the time on the wall clock. It is used for what people and providers agree on:
	// deadlines and the times at which quotas are reset.
	Time time.Time
	// Clock is the run's own monotonic clock: the time since the run began, as measured by the
	// processes that drove it. It is used for durations. For the time between two processes, the
	// wall clock is used, see [Run.ClockAt]. Zero means that it was not measured, as in runs of
	// version 1, and Time is used.
	Clock time.Duration
	// Unattended says that no driver executes the resulting commands: nothing starts before the
	// next Recovered.
	Unattended bool

	Event Event
}

// Event is something that happened. Events are the only input of a [Run] and the only thing that
// a journal stores. Everything that depends on time or chance reaches the engine in an event.
//
//sumtype:decl
type Event interface{ event() string }

// Started is the first event of every run. It has the information that the engine cannot look up
// itself.
type Started struct {
	Run     string          `json:"run"`
	Version int             `json:"version"` // of the engine's behaviour, see Version
	Inputs  map[string]any  `json:"inputs,omitempty"`
	Limits  workflow.Limits `json:"limits"` // of the whole run, with defaults filled in
	// Tasks says what is known about the tasks, by "workflow/node". A task that is not listed
	// costs nothing and has no time limit of its own.
	Tasks map[string]TaskFacts `json:"tasks,omitempty"`
	// Rehearse makes the run repeat events of another run, up to Forked: the instance at this
	// address does not start, and what the other run started may exceed the limits.
	Rehearse string `json:"rehearse,omitempty"`
	// Base is what the project was when the run began, if steps have workspaces of their own.
	Base string `json:"base,omitempty"`
}

// TaskFacts is what the driver knows about a task before it starts.
type TaskFacts struct {
	May     workflow.Budget `json:"may"`               // what one attempt may use
	Keeps   bool            `json:"keeps,omitempty"`   // the agent enforces its budget, so an attempt may use whatever the limits leave
	Repeats bool            `json:"repeats,omitempty"` // an attempt repeats what a lost one did, so a lost one costs nothing if it is repeated
	Timeout time.Duration   `json:"timeout,omitempty"` // of the agent; the node's own overrides it
	Retry   workflow.Retry  `json:"retry,omitzero"`    // of the agent; the node's own overrides it
}

// NoFacts are the facts of a task about which the driver says nothing.
var NoFacts = TaskFacts{May: workflow.Free}

// UnmarshalJSON also reads facts of version 1, in which a zero could mean free, unknown or
// unlimited.
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

// TaskEnded always answers StartTask, even after CancelTask.
type TaskEnded struct {
	Address string `json:"address"`
	Attempt int    `json:"attempt"`
	Output  string `json:"output,omitempty"` // raw; the engine applies the node's output mode
	Fault   *Fault `json:"fault,omitempty"`  // nil if the agent succeeded
	Usage   Usage  `json:"usage,omitzero"`
	// Workspace is the state of the files with which the attempt ended, if it worked in a folder of its
	// own; "" means that with which it began.
	Workspace string `json:"workspace,omitempty"`
	// Asks is a question with which the attempt ended. When it is answered, the attempt is made again, with the
	// answer and the workspace. Nothing runs in between, and the output does not count.
	Asks *Asked `json:"asks,omitempty"`
	// Agent is who did the work, if it cost something: for reports. It means nothing to the engine.
	Agent   string `json:"agent,omitempty"`
	Warning string `json:"warning,omitempty"` // for people; it does not change the result
	// Found is what was found about each deliverable of a task that was handed off. It means
	// nothing to the engine.
	Found []workflow.Finding `json:"found,omitempty"`
	// Unheard are answers to questions of an attempt that was lost, if it is known that they did not reach it. The
	// next attempt gets them if it asks the same.
	Unheard []Reply `json:"unheard,omitempty"`
	// Stored is the number of the event that has the output, if Output was left out because it is
	// long: the number of this event or, in a fork, of the event in the other run. The run must be
	// able to load it, see [Run.Offload]. Zero means that Output is set.
	Stored int `json:"-"`
}

// TimerFired answers SetTimer, unless CancelTimer came first.
type TimerFired struct {
	ID string `json:"id"`
}

// Asked says that an attempt asks people a question while it runs. The engine passes it on with
// Ask, or answers it immediately with Reply.
type Asked struct {
	Address string            `json:"address"`
	Attempt int               `json:"attempt"`
	Text    string            `json:"text"`
	Detail  string            `json:"detail,omitempty"`
	Options []workflow.Option `json:"options,omitempty"`
	Custom  bool              `json:"custom,omitempty"`
}

// Answered answers a question. [Run.Admit] says beforehand whether the answer would be accepted.
// Its time is the time at which the answer was given, even if it is recorded later.
type Answered struct {
	ID      string `json:"id"` // of the question, or the address of a step with only one question
	Value   string `json:"value"`
	By      string `json:"by,omitempty"`      // who answered
	Via     string `json:"via,omitempty"`     // through which interface, such as "terminal"
	Comment string `json:"comment,omitempty"` // an additional remark
	Digest  string `json:"digest,omitempty"`  // of the question as it was shown; "" means that it is not checked
}

// Withdrawn says that the attempt that asked a question, or handed work off, no longer waits for the
// answer.
type Withdrawn struct {
	ID string `json:"id"` // of the question or the handoff
}

// HandoffAsked says that an attempt hands work off to another agent. The engine answers at once
// with Return: the work begins, or it is the same as what the task has handed off before.
// [Run.Admit] says beforehand whether the task may hand it off.
type HandoffAsked struct {
	Address  string `json:"address"`
	Attempt  int    `json:"attempt"`
	Blocking bool   `json:"blocking,omitempty"` // the attempt waits for the result
	// ID is that of work which the task has handed off before, and whose result the attempt asks for,
	// whatever that is. Then nothing begins, and the fields below are not set.
	ID string `json:"id,omitempty"`
	// Detach says that the task only starts the work, which is then no longer part of the run. What
	// it may use is the amount that is reserved for the work.
	Detach     bool               `json:"detach,omitempty"`
	Definition *workflow.Workflow `json:"definition"` // a workflow with only one task, which refers only to Inputs
	Inputs     map[string]any     `json:"inputs,omitempty"`
	Key        string             `json:"key,omitempty"`   // the same for the same work; "" means that the definition and the inputs decide
	Facts      *TaskFacts         `json:"facts,omitempty"` // what is known about the task; nil means NoFacts
}

// Queued says that an attempt waits for a machine that can make it or, with Begun, that one has begun to. In
// between, its timeout and the run's clock are paused. A driver that begins attempts at once never stores it.
type Queued struct {
	Address string `json:"address"`
	Attempt int    `json:"attempt"`
	Begun   bool   `json:"begun,omitempty"`
}

// CancelAsked ends the run: everything that is running is cancelled.
type CancelAsked struct {
	By     string `json:"by,omitempty"`
	Via    string `json:"via,omitempty"` // as in Answered
	Reason string `json:"reason,omitempty"`
	// For is the run that replaces this one. It means nothing to the engine.
	For string `json:"for,omitempty"`
	// Question, if it is not "", has to be open with this digest, see [Run.Admit]: whoever sends work
	// back instead of answering must not undo an answer.
	Question string `json:"question,omitempty"`
	Digest   string `json:"digest,omitempty"`
}

// LimitRaised changes limits of the whole run; zero fields are left unchanged. If it changes the
// limit for cost or tokens, tasks that wait because their usage is unknown continue.
type LimitRaised struct {
	Limits workflow.Limits `json:"limits"`
	By     string          `json:"by,omitempty"`
	Via    string          `json:"via,omitempty"`
}

// Recovered says that a new process continues the run. Attempts without an answer are lost, and
// the time since the last event does not count.
type Recovered struct {
	// Unsettled says that the cost of a lost attempt is unknown, and may be as high as what was
	// reserved for it. Without it, as in older runs, a lost attempt costs nothing.
	Unsettled bool `json:"unsettled,omitempty"`
}

// Forked says that the events before it were taken from another run, without the instance at
// Address and everything that followed from it. It recovers like Recovered, unattended, and
// restarts the clock of the run.
type Forked struct {
	From    string          `json:"from"` // the other run
	Address string          `json:"address"`
	Limits  workflow.Limits `json:"limits,omitzero"` // of the new run; zero fields are left unchanged
	// Edits says what else tasks are told, by address: the one at Address, and those of earlier forks.
	Edits map[string]Edit `json:"edits,omitempty"`
}

// Edit is what a person changed about a task when the run was forked. It applies to all its attempts. For
// a new plan, the task counts as unchanged.
type Edit struct {
	Prompt   *string `json:"prompt,omitempty"`   // instead of the one that the workflow renders
	Comment  string  `json:"comment,omitempty"`  // why the task is to be done again
	Previous string  `json:"previous,omitempty"` // the output that the comment is about
}

// Replanned replaces the definition of the run, which may be over. The new definition starts
// afresh, but every step that is unchanged takes its recorded result, or goes on with the attempt
// that is running, see replan.go. [Run.Admit] says beforehand whether the run can go on with it.
type Replanned struct {
	// Plan names Bundle where the events are stored. The bundle is not part of the event there, so
	// whoever reads the event has to set it.
	Plan   string           `json:"plan,omitempty"`
	Bundle *workflow.Bundle `json:"-"`
	// Tasks says what is known about the tasks of the new definition, as in Started.
	Tasks map[string]TaskFacts `json:"tasks,omitempty"`
	// Limits changes limits of the run, as in LimitRaised. The limits of the new definition do not
	// apply to the run.
	Limits workflow.Limits `json:"limits,omitzero"`
	// Rehearse makes the run repeat events of another run from here on, as in Started.
	Rehearse string `json:"rehearse,omitempty"`
	Base     string `json:"base,omitempty"`  // as in Started, for a run that had none
	Words    string `json:"words,omitempty"` // what the new plan was asked for with
	// Planning is what was used to make plans for the run, also those that it did not get, by the run in
	// which it was used. It counts against the limits of the run, each of these runs once: two plans that
	// are given at the same time may both name it.
	Planning map[string]Usage `json:"planned,omitempty"`
	// Usage and Planners are in older events instead: the sum, which counts as it is, and the runs.
	Usage    Usage    `json:"usage,omitzero"`
	Planners []string `json:"planning,omitempty"`
	// Labels are labels of the run that the plan changes; an empty one is removed. They mean nothing to
	// the engine.
	Labels map[string]string `json:"labels,omitempty"`
	By     string            `json:"by,omitempty"`
	Via    string            `json:"via,omitempty"`
}

// Usage is what an attempt used.
type Usage = workflow.Usage

// Fault describes the failure of a step. It is data, stored in the journal.
type Fault struct {
	Kind      FaultKind `json:"kind"`
	Message   string    `json:"message"`
	Permanent bool      `json:"permanent,omitempty"` // a retry would fail in the same way
	Until     time.Time `json:"until,omitzero"`      // for FaultQuota: when to try again
}

// FaultKind is the reason for a failure.
type FaultKind string

// The kinds of faults.
const (
	FaultError     FaultKind = "error"      // the agent failed
	FaultTimeout   FaultKind = "timeout"    // it took too long
	FaultBadOutput FaultKind = "bad_output" // its output could not be extracted or does not match the schema
	FaultNoRoute   FaultKind = "no_route"   // its decision matches no edge
	FaultConflict  FaultKind = "conflict"   // workspaces cannot be merged
	FaultLost      FaultKind = "lost"       // its result is not known
	FaultQuota     FaultKind = "quota"      // the provider refuses requests for now
	FaultBudget    FaultKind = "budget"     // a limit on steps was reached
	FaultCancelled FaultKind = "cancelled"
	FaultLimit     FaultKind = "limit" // a loop reached its maximum without an exit
)

func (*Started) event() string      { return "Started" }
func (*TaskEnded) event() string    { return "TaskEnded" }
func (*TimerFired) event() string   { return "TimerFired" }
func (*Asked) event() string        { return "Asked" }
func (*Answered) event() string     { return "Answered" }
func (*Withdrawn) event() string    { return "Withdrawn" }
func (*Queued) event() string       { return "Queued" }
func (*HandoffAsked) event() string { return "HandoffAsked" }
func (*CancelAsked) event() string  { return "CancelAsked" }
func (*LimitRaised) event() string  { return "LimitRaised" }
func (*Recovered) event() string    { return "Recovered" }
func (*Forked) event() string       { return "Forked" }
func (*Replanned) event() string    { return "Replanned" }
