package local

import (
	"context"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/workflow"
)

// Options say with what a run is driven. Only Agents is required.
type Options struct {
	// Agents do the work of tasks.
	Agents Agents
	// Script answers tasks and people before Agents and Asker are asked. It
	// counts, so it must be a new one for every Start and Resume.
	Script agent.Script
	// ScriptAll says that the script answers every task; only then may it
	// answer questions that are required.
	ScriptAll bool
	// Asker asks people who are here. Nil: nobody is.
	Asker Asker
	// Elsewhere says that what an attempt asks may be answered through the inbox
	// if nobody is here. Else an attempt is told at once that nobody is.
	Elsewhere bool
	// Observer sees what happens. Nil: nobody looks.
	Observer Observer
	// Patience is how long a run that waits for people, a quota or a budget is
	// kept waiting for a timer before it is given up. Zero: one minute.
	Patience time.Duration
	// Poll is how often the inbox is looked at. Zero: 200 ms.
	Poll time.Duration
	// Clock is the time. Nil: the system's.
	Clock Clock
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
	// Prompt keeps the whole prompt that an agent was given.
	Prompt func(text string)
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
// loop and return at once.
type Asker interface {
	// Ask shows a question until it is answered, left or withdrawn. false: nobody
	// here can answer it. answer, called from another goroutine, records an
	// answer; its error, made for people, says why it is not taken, and the
	// question stays. leave says that nobody here will answer: the run does not
	// wait here for it any more.
	Ask(q *engine.AskHuman, answer func(value, by string) error, leave func()) bool
	// Withdraw takes a question back: it was answered, here or elsewhere, or it
	// is moot.
	Withdraw(address string)
}

// Observer sees what happens, in order, on a goroutine of its own: however slow
// it is, the run does not wait for it.
type Observer interface {
	Fact(f engine.Fact)
	// Log is what an attempt prints. Where an attempt prints faster than the
	// observer looks, pieces are left out.
	Log(address string, attempt int, piece []byte)
}

// Clock is a source of time.
type Clock interface {
	Now() time.Time
	// Timer sends once after d, unless stop is called before.
	Timer(d time.Duration) (fires <-chan time.Time, stop func())
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

const (
	defaultPatience = time.Minute
	defaultPoll     = 200 * time.Millisecond
)

func (o Options) withDefaults() Options {
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	if o.Poll == 0 {
		o.Poll = defaultPoll
	}
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	return o
}

// Spec is a run to start.
type Spec struct {
	Run    string // its id; "": NewID makes one
	Pin    *journal.Pin
	Inputs map[string]any
	Limits workflow.Limits // of the whole run, defaults filled in
	Tasks  map[string]engine.TaskFacts
}
