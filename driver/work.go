package driver

import (
	"context"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// Work is what a run is driven with. Only Agents is required.
type Work struct {
	// Agents make the attempts of tasks.
	Agents Agents
	// Script answers tasks and people before Agents and Asker are asked. It keeps count, so
	// every Drive needs a new one.
	Script agent.Script
	// ScriptAll means that the script answers every task; only then may it answer required
	// questions.
	ScriptAll bool
	// Scripted makes an attempt with the executor that the script returned for it. Nil means that
	// nothing but the answer matters; then an attempt cannot hand work off.
	Scripted func(ctx context.Context, exec agent.Executor, run string, task *engine.StartTask, at Attempt) Outcome
	// Asker asks people who are here. Nil means that no one is.
	Asker Asker
	// Elsewhere means that questions of attempts may be answered from elsewhere if no one is here.
	// Otherwise an attempt learns at once that no one is.
	Elsewhere bool
	// Observer sees what happens. It may be nil.
	Observer Observer
	// Stalled is told what the run lacks to go on by itself, such as a worker, and "" when it goes on. It may be nil.
	Stalled func(why string)
	// Pin is the plan that this is for. If the run has got another one in the meantime, Replan is
	// asked. Nil means any.
	Pin *Pin
	// Replan returns what the run is driven with after it got a new plan: Agents, Scripted and
	// ScriptAll are used. Its error refuses the plan. Nil means that nothing changes.
	Replan func(p *Pin) (Work, error)
	// Stands reports whether what [Worker.Resolve] has decided is still so. Workers ask before each attempt and each answer of the script, and
	// resolve the plan again if not. Nil means yes.
	Stands func() bool
	// Leave, when it is closed, means that nothing new starts. Attempts in progress may end, and Drive
	// returns an *[InterruptedError] as soon as there is none. Nil means never.
	Leave <-chan struct{}
	// Patience is how long a run that waits for people, a quota or a budget stays in Drive
	// before it returns. Zero means one minute.
	Patience time.Duration
}

// Workers is a driver whose attempts are made by workers, on any machine. Drive then only follows a
// run, and shows its questions to the people who are here.
type Workers interface {
	// Work makes attempts of runs of the project, whoever started them, until ctx is done. When leave is
	// closed, it begins no more of them, and returns when those in progress have ended.
	Work(ctx context.Context, w Worker, leave <-chan struct{}) error
	// Away reports whether an error only says that the server does not answer now. Runs go on when it is back.
	Away(err error) bool
	// Place names where the runs are stored. It is the same for all machines that find the same runs.
	Place() string
	// Deleted returns what was recorded when a run that was stored there was deleted, and nil if nobody has recorded that. That the run is
	// unknown is not enough: the place may have lost its runs, or have been exchanged.
	Deleted(ctx context.Context, run string) (*Deletion, error)
	// Reserve stores what a run inside of another one may use, after so many others, where all machines find it. If somebody else was first, the
	// error wraps fs.ErrExist.
	Reserve(ctx context.Context, outer string, after int, reservation []byte) error
	// Reserved returns everything that was stored so, in order.
	Reserved(ctx context.Context, outer string) ([][]byte, error)
}

// Deletion is what remains of a run that was deleted.
type Deletion struct {
	Origin string `json:"origin,omitempty"` // see [Info]; "" also if nobody could read it
}

// Worker is a process that makes attempts of many runs.
type Worker struct {
	// Name identifies the machine and the files that it has. After a crash, a worker with the same name
	// continues the tasks that stay here.
	Name   string
	Queues []string // labels that it serves, besides tasks without one
	Place  string   // the machine and the directory, for people
	// Most is how many attempts it makes at once; those that wait for a reply do not count. Zero means as many as there are.
	Most int
	// Resolve returns what a run is driven with here. The error says why this worker cannot work for it.
	// The function is called when the worker no longer works for that plan.
	Resolve func(ctx context.Context, run string, pin *Pin) (Work, func(), error)
	// Trusting means that it makes every attempt of a run that it works for. Otherwise it makes sure that the run
	// has asked for exactly that: anyone who can reach the queue could have put it there.
	Trusting bool
	// Programs are the executors that tasks may need and this machine has, see [Site].
	Programs []string
	// Files describes the files that are here.
	Files func(ctx context.Context) (Files, error)
	// Ready is called when it begins to serve queues, with the names by which people know them. It may be nil.
	Ready func(queues []string)
	// Warn tells people what may be wrong, such as another worker with the same name. It may be nil.
	Warn func(text string)
	// Stalled is told that the worker can do nothing, because the server does not answer or the store is not there, and "" when it can again. It may be nil.
	Stalled func(why string)
	// Happened is called when an attempt begins and, with its outcome, when it ends. Refused attempts
	// have an error; so do runs that this worker cannot work for at all, without an attempt.
	Happened func(a AttemptID, out *Outcome, refused error)
}

// Agents make attempts. Run is called from many goroutines at once.
type Agents interface {
	// Run makes one attempt. It returns soon after ctx is done and leaves no
	// process behind.
	Run(ctx context.Context, run string, task *engine.StartTask, at Attempt) Outcome
}

// Attempt is what an attempt can use while it runs.
type Attempt struct {
	Log agent.Log // receives what it prints
	Ask agent.Ask // puts a question to a person
	// HandOff hands work off to another agent. It returns as soon as that has begun or, if the attempt
	// waits for it, has ended. The error says why the work cannot be handed off. An event with an ID
	// has no Definition.
	HandOff func(context.Context, *engine.HandoffAsked) (*engine.Return, error)
	// Keep replaces the prompt, or appends to another of the attempt's streams.
	Keep func(s Stream, text []byte)
	// Note stores the session and the model of the attempt. An empty string leaves the
	// previous value.
	Note func(session, model string)
	// Artifacts is a directory for the files that it leaves; it does not exist yet.
	Artifacts string
	// Worker is the name of the worker that makes it, so that people find its files. "" means that they are where the run was started.
	Worker string
}

// Outcome is the outcome of an attempt.
type Outcome struct {
	Output string
	Fault  *engine.Fault // nil: it succeeded
	Usage  engine.Usage
	// Workspace is that with which it ended, see [engine.TaskEnded].
	Workspace string
	// Asks is a question with which it ended, see [engine.TaskEnded]. Its address and attempt are those of the attempt.
	Asks  *engine.Asked
	Agent string // who did the work
	// Warning is for people; the outcome is the same without it.
	Warning string
	Found   []workflow.Finding // see [agent.Result]
}

// Asker puts questions to people who are here. Its methods are called by the driver and
// return at once.
type Asker interface {
	// Ask shows a question until it is answered, left or withdrawn. It returns false if no one here
	// can answer. answer, called from another goroutine, records an answer: its value, who gave it,
	// how, and a comment. Its error, written for people, says why the answer is not accepted; then
	// the question stays open. leave means that no one here will answer, and that the run no longer
	// waits here for it.
	Ask(q *engine.Question, answer func(engine.Answered) error, leave func()) bool
	// Withdraw withdraws a question: it was answered, here or elsewhere, or is no longer
	// relevant.
	Withdraw(id string)
}

// Observer sees what happens, in order, on its own goroutine: however slow it is, the
// run does not wait for it.
type Observer interface {
	Fact(f engine.Fact)
	// Log receives what an attempt prints. If an attempt prints faster than the observer
	// reads, pieces are dropped; [Driver.Read] drops nothing.
	Log(address string, attempt int, piece []byte)
}
