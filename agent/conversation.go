package agent

import (
	"context"
	"errors"
	"time"
)

// SessionSetting is the setting in which a task of a [Traits.Prompted] executor names the
// session to continue. Executors do not see it.
const SessionSetting = "session"

// HandoffSetting is the setting of a task that was handed off by another agent: what was
// asked for, see package handoff/attempt. Executors do not see it.
const HandoffSetting = "handoff"

// Conversation is a conversation that the executor itself remembers.
type Conversation struct {
	Native string // the executor's id for it; "": none
	Dir    string // where it took place last; "": not known
	// Spent is the total usage so far, for executors that report only totals.
	Spent Usage
}

// Ask puts a question to a person while an attempt runs, and returns one of the options.
// The error is [ErrNobody] if nobody can answer.
type Ask func(ctx context.Context, q Question) (string, error)

// Question is what an attempt wants to know, usually whether it may do something.
type Question struct {
	Text    string
	Detail  string   // e.g. the exact command that would be run
	Options []string // not empty; the first one lets the attempt continue
	Custom  bool     // any other text is an answer, too
}

// ErrNobody means that nobody can answer a question.
var ErrNobody = errors.New("agent: nobody is available to answer")

// Tool is something that a model can call.
type Tool struct {
	Name        string // [a-zA-Z0-9_-]{1,64}
	Description string
	Input       map[string]any // JSON Schema of its arguments, an object
	Approval    bool           // ask a person before every call
	Resumes     bool           // if a call is interrupted, the same call again continues it
	// Call executes the tool. The model sees the result, or the error, and may then try
	// something else. It is safe for concurrent use.
	Call func(ctx context.Context, args map[string]any, task *Task, log Log) (string, error)
}

// Server is an MCP server that provides tools.
type Server struct {
	Name    string
	Command []string          // starts a server that uses its standard streams,
	Env     map[string]string // with these variables in addition to the usual ones;
	URL     string            // otherwise the address of an HTTP server,
	Headers map[string]string // with these headers
	Start   time.Duration     // limit for the first response; zero: the default
	Call    time.Duration     // limit for a call; zero: the default
}
