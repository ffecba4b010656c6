package agent

import (
	"context"
	"errors"
	"time"
)

// SessionSetting is the setting by which a task of a [Traits.Prompted] executor names
// the session that it continues. No executor sees it.
const SessionSetting = "session"

// Conversation is an executor's own memory of what was said.
type Conversation struct {
	Native string // by which the executor knows it; "": it does not
	// Spent is what it has used in all, for executors that only tell totals.
	Spent Usage
}

// Ask puts a question to a person while an attempt runs, and gives one of the
// options. The error is [ErrNobody] where nobody is there to answer.
type Ask func(ctx context.Context, q Question) (string, error)

// Question is what an attempt wants to know, most often whether it may do a thing.
type Question struct {
	Text    string
	Detail  string   // e.g. the command that would be run, as it is
	Options []string // not empty; the first is what lets the attempt go on
}

// ErrNobody says that nobody is there to answer a question.
var ErrNobody = errors.New("agent: nobody is here to answer")

// Tool is something that a model can call.
type Tool struct {
	Name        string // [a-zA-Z0-9_-]{1,64}
	Description string
	Input       map[string]any // JSON Schema of its arguments, an object
	Approval    bool           // a person is asked before every call
	// Call does it. What it gives is told to the model, an error too: then the
	// model may try otherwise. It is safe for concurrent use.
	Call func(ctx context.Context, args map[string]any, task *Task, log Log) (string, error)
}

// Server is where tools are found over MCP.
type Server struct {
	Name    string
	Command []string          // to start one that talks over its standard streams,
	Env     map[string]string // with these variables besides the usual ones;
	URL     string            // else the address of one that talks HTTP,
	Headers map[string]string // with these headers
	Start   time.Duration     // longest time until it has answered for the first time; zero: the usual
	Call    time.Duration     // longest time of a call; zero: the usual
}
