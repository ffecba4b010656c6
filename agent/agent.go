// Package agent says what an executor is, what an agent definition holds, and
// how a name becomes one of each. Of ours it depends on the model and on the
// reading of YAML only; the folders below it are one executor each.
package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// Executor carries out tasks of one kind: a shell, an HTTP request, a model. [Func]
// and [New] make one of a function. It is safe for concurrent use.
type Executor interface {
	// Run makes one attempt. It returns soon after ctx is done, and leaves no
	// process behind. The error is an *Error where the executor knows more than
	// that it failed.
	Run(ctx context.Context, task *Task, log Log) (Result, error)
	// Traits describes the executor. It always returns the same traits.
	Traits() Traits
}

// Log takes what an attempt prints while it runs, in pieces as they come. It is
// safe for concurrent use and never blocks for long.
type Log func(piece []byte)

// Task is one attempt at a task.
type Task struct {
	Run      string
	Address  string
	Attempt  int
	Key      string // the same for the same attempt, also after a crash
	Workflow string
	Node     string
	Agent    *Definition // never nil; a built-in agent has one too
	Prompt   string
	Inputs   []Input
	Received []Received     // what steps before it brought, for a task that is done from a prompt
	Settings map[string]any // the definition's, with the node's on top
	Written  map[string]any // the same, with references where values are now
	Decide   []string       // labels, one of which the output must name
	Asks     bool           // it is the question of a choice: the output is a JSON object with a decision and its reason
	Output   workflow.Output
	Feedback string // what was wrong with the attempt before
	Dir      string // the project's root, absolute
	// Untrusted: nobody has trusted the project yet. What the task starts sees no
	// secrets in its environment, and takes no settings of its own from the project.
	Untrusted bool

	// What follows is for tasks that are done from a prompt, see [Traits.Prompted].

	Tools        []Tool        // that a model may call, besides the executor's own
	Servers      []Server      // of tools over MCP, for executors that talk to them themselves
	Conversation *Conversation // to take up; nil: a new one
	Ask          Ask           // never nil: it may always say that nobody is here
	Artifacts    string        // a directory for the files that it leaves, not made yet; "": none are kept
	KeepPrompt   func(string)  // takes the whole prompt, for those who look later; nil: nobody does
	NoteSession  func(string)  // takes the id of the session that the attempt is part of; nil: nobody wants it

	// KeepEntry keeps an entry of the transcript, see [Task.Record]; nil: none is kept. It
	// is safe for concurrent use.
	KeepEntry func(Entry)
	// NoteModel keeps the model that does the work, as its provider names it; the last
	// one counts. nil: it is not kept.
	NoteModel func(model string)

	// Hide hides secrets in what a model is told of the calls of its tools; nil: there
	// are none.
	Hide func(text string) string
}

// Input is one named value given to a task.
type Input struct {
	Name  string
	Value any
}

// Result is what a task gave. What was used counts also beside an error.
type Result struct {
	Output       string
	Usage        Usage
	Conversation *Conversation // how to take it up again; nil: the executor keeps none
}

// Usage is what an attempt used. An unknown cost is not zero.
type Usage = workflow.Usage

// Error is a failure of which the executor knows the kind.
type Error struct {
	Kind      Kind
	Message   string
	Permanent bool      // a retry would fail the same way
	Until     time.Time // for Quota: when to try again; zero: unknown
}

func (e *Error) Error() string { return e.Message }

// Kind is what kind of failure an Error is.
type Kind string

// The kinds of failures that executors tell apart.
const (
	Failed    Kind = "error"
	TimedOut  Kind = "timeout"
	BadOutput Kind = "bad_output"
	Quota     Kind = "quota"
)

// Errorf is an ordinary failure.
func Errorf(format string, args ...any) *Error {
	return &Error{Kind: Failed, Message: fmt.Sprintf(format, args...)}
}

// Permanentf is a failure that a retry would only repeat.
func Permanentf(format string, args ...any) *Error {
	return &Error{Kind: Failed, Message: fmt.Sprintf(format, args...), Permanent: true}
}

// Reworded is an error of the same kind that says something else.
func Reworded(err error, text string) error {
	var known *Error
	if errors.As(err, &known) {
		other := *known
		other.Message = text
		return &other
	}
	return errors.New(text)
}

// Interrupted is the error of an attempt whose context is done: a timeout where
// a deadline passed, else the reason of the cancellation.
func Interrupted(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.DeadlineExceeded) {
		return &Error{Kind: TimedOut, Message: "took too long"}
	}
	return fmt.Errorf("agent: cancelled: %w", cause)
}
