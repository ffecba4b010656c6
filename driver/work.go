package driver

import (
	"context"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
)

// Work is what a run is driven with. Only Agents is required.
type Work struct {
	// Agents make the attempts of tasks.
	Agents Agents
	// Script answers tasks and people before Agents and Asker are asked. It
	// counts, so it must be a new one for every Drive.
	Script agent.Script
	// ScriptAll: the script answers every task; only then may it answer
	// questions that are required.
	ScriptAll bool
	// Asker asks people who are here. Nil: nobody is.
	Asker Asker
	// Elsewhere: questions of attempts may be answered from elsewhere if nobody is
	// here. Else an attempt learns at once that nobody is.
	Elsewhere bool
	// Observer sees what happens. Nil: nobody looks.
	Observer Observer
	// Patience is how long a run that waits for people, a quota or a budget is
	// kept waiting for a timer before Drive returns. Zero: one minute.
	Patience time.Duration
}

// Agents make attempts. Run is called from many goroutines at once.
type Agents interface {
	// Run makes one attempt. It returns soon after ctx is done and leaves no
	// process behind.
	Run(ctx context.Context, run string, task *engine.StartTask, at Attempt) Outcome
}

// Attempt is what an attempt can use while it runs.
type Attempt struct {
	Log agent.Log // takes what it prints
	Ask agent.Ask // puts a question to a person
	// Keep replaces the prompt, or appends to another of the attempt's streams.
	Keep func(s Stream, text []byte)
	// Note keeps the session and the model of the attempt. An empty string leaves
	// what was noted before.
	Note func(session, model string)
	// Artifacts is a directory for the files that it leaves; it does not exist yet.
	Artifacts string
}

// Outcome is what an attempt came to.
type Outcome struct {
	Output string
	Fault  *engine.Fault // nil: it did its work
	Usage  engine.Usage
}

// Asker puts questions to people who are here. Its methods are called by the
// driver and return at once.
type Asker interface {
	// Ask shows a question until it is answered, left or withdrawn. It returns
	// false if nobody here can answer. answer, called from another goroutine,
	// records an answer: its value, who gave it, how, and a comment. Its error, made
	// for people, says why it is not taken; the question stays then. leave says that
	// nobody here will answer: the run does not wait here for it any more.
	Ask(q *engine.Question, answer func(engine.Answered) error, leave func()) bool
	// Withdraw takes a question back: it was answered, here or elsewhere, or it is
	// moot.
	Withdraw(id string)
}

// Observer sees what happens, in order, on a goroutine of its own: however slow
// it is, the run does not wait for it.
type Observer interface {
	Fact(f engine.Fact)
	// Log is what an attempt prints. Where an attempt prints faster than the
	// observer looks, pieces are left out; [Driver.Read] drops nothing.
	Log(address string, attempt int, piece []byte)
}
