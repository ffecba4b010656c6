// Package agent defines executors and agent definitions, and resolves names to them. Each
// directory below it is one executor.
package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// Executor carries out one kind of task: a shell command, an HTTP request, a prompt for a
// model. [Func] and [New] turn a function into one. It is safe for concurrent use.
type Executor interface {
	// Run makes one attempt. It returns soon after ctx is done and leaves no process
	// behind. The error is an *Error if the executor knows what kind of failure it was.
	Run(ctx context.Context, task *Task, log Log) (Result, error)
	// Traits describes the executor. It always returns the same traits.
	Traits() Traits
}

// Log receives what an attempt prints while it runs, in pieces. It is safe for concurrent use and
// never blocks for long.
type Log func(piece []byte)

// Telemetry is how a program exports spans.
type Telemetry struct {
	Endpoint string // the address for traces
	// Environ are the variables of OpenTelemetry for that. They may hold a secret.
	Environ []string
}

// Task is one attempt at a task.
type Task struct {
	Run      string
	Address  string
	Attempt  int
	Key      string // stable for an attempt, even after a crash
	Workflow string
	Node     string
	Agent    *Definition // never nil; built-in agents have one too
	Prompt   string
	Inputs   []Input
	Received []Received     // outputs of earlier steps, for a task that is done from a prompt
	Settings map[string]any // from the definition, overridden by the node's
	Written  map[string]any // the same before references were resolved
	Decide   []string       // the output must name one of these labels
	Asks     bool           // the task is the question of a choice: the output is a JSON object with a decision and its reason
	Output   workflow.Output
	Feedback string // what was wrong with the previous attempt
	Comment  string // of a person who had the task done again
	Dir      string // the project's root, absolute
	// Untrusted means that the user has not trusted the project yet. Programs that the task
	// starts see no secrets in their environment, and read no settings from the project.
	Untrusted bool
	// Telemetry is how a program of the task exports what it does to where the span of the attempt
	// is sent; nil: it does not.
	Telemetry *Telemetry
	Writes    *WriteLimit // nil: none

	// The fields below are for tasks that are done from a prompt, see [Traits.Prompted].

	Tools        []Tool             // for the model to call, in addition to the executor's own
	Servers      []Server           // MCP servers, for executors that connect to them themselves
	Conversation *Conversation      // to continue; nil: start a new one
	Ask          Ask                // never nil; may return [ErrNobody]
	Handoffs     *workflow.Handoffs // what it may hand off; nil: nothing
	HandOff      HandOffFunc        // hands work off; nil if Handoffs is
	Handed       []Handed           // what earlier attempts have handed off, or this one before it was interrupted
	Artifacts    string             // directory for files to keep, not created yet; "": keep none
	KeepPrompt   func(string)       // receives the complete prompt, to be inspected later; nil: not needed
	NoteSession  func(string)       // receives the id of the session that the attempt belongs to; nil: not needed

	// KeepEntry stores an entry of the transcript, see [Task.Record]; nil discards it. It
	// is safe for concurrent use.
	KeepEntry func(Entry)
	// NoteModel stores the name that the provider uses for the model; the last call wins.
	// Nil discards it.
	NoteModel func(model string)

	// Hide masks secrets in what a model is told about its tool calls; nil means that there
	// are none.
	Hide func(text string) string
}

// Input is one named value given to a task.
type Input struct {
	Name  string
	Value any
}

// Result is the outcome of a task. Usage counts even if there is also an error.
type Result struct {
	Output       string
	Usage        Usage
	Conversation *Conversation // how to continue it; nil: the executor keeps no conversation
	Warning      string        // for the person who looks at the run; the result is valid nevertheless
	// Found is what was found about each deliverable of a task that was handed off; nil if they
	// were not checked.
	Found []workflow.Finding
}

// Usage is what an attempt used. An unknown cost is not the same as zero.
type Usage = workflow.Usage

// Error is a failure whose kind the executor knows.
type Error struct {
	Kind      Kind
	Message   string
	Permanent bool      // a retry would fail the same way
	Until     time.Time // for Quota: when to try again; zero: unknown
}

func (e *Error) Error() string { return e.Message }

// Kind is the kind of failure that an Error reports.
type Kind string

// The kinds of failure that executors distinguish.
const (
	Failed    Kind = "error"
	TimedOut  Kind = "timeout"
	BadOutput Kind = "bad_output"
	Quota     Kind = "quota"
)

// Errorf returns an ordinary failure, which may be retried.
//
//go:noinline
func Errorf(format string, args ...any) *Error {
	return &Error{Kind: Failed, Message: fmt.Sprintf(format, args...)}
}

// Permanentf returns a failure that a retry would only repeat.
//
//go:noinline
func Permanentf(format string, args ...any) *Error {
	return &Error{Kind: Failed, Message: fmt.Sprintf(format, args...), Permanent: true}
}

// Reworded returns an error of the same kind with a different message.
func Reworded(err error, text string) error {
	var known *Error
	if errors.As(err, &known) {
		other := *known
		other.Message = text
		return &other
	}
	return errors.New(text)
}

// Interrupted returns the error for an attempt whose context is done: a timeout if a
// deadline passed, otherwise the cause of the cancellation.
func Interrupted(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.DeadlineExceeded) {
		return &Error{Kind: TimedOut, Message: "timed out"}
	}
	return fmt.Errorf("agent: cancelled: %w", cause)
}
