package engine

import (
	"slices"
	"strconv"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// Command is something that the driver has to do.
//
//sumtype:decl
type Command interface{ command() }

// StartTask has an agent make one attempt. It is answered by TaskEnded, always,
// also when it is cancelled.
type StartTask struct {
	*Place
	Address  string // of the node's instance, e.g. "serve-customers/order-taker#2"
	Attempt  int    // from 1
	Prompt   string
	Inputs   []Input
	Received []Received // what its live in-edges brought, where the task is given that
	Settings map[string]any
	Feedback string        // what was wrong with the attempt before; "" nothing
	Timeout  time.Duration // the engine cancels the attempt after this; zero: never
	Again    bool          // an earlier try of this same attempt was lost

	May workflow.Budget // what it may use, and what is reserved for it
}

// Place is where a task stands, and what all its attempts in all runs have in
// common. Nobody changes it.
type Place struct {
	Workflow string // the workflow that the node stands in
	Node     string
	Agent    string
	Decide   []string         // labels, one of which the output must name; empty: none
	Written  map[string]any   // its settings, with references where values will be
	Asks     bool             // it is the question of a choice: the output is a decision and its reason, the decision "else" for none
	Output   *workflow.Output // how the output will be read
	Labels   map[string]string
}

// Whole is the command with the inputs and what it received in it, where these are long.
// The error is a *[LoadError].
func (c *StartTask) Whole() (*StartTask, error) {
	w, err := *c, error(nil)
	w.Inputs, w.Received = slices.Clone(c.Inputs), slices.Clone(c.Received)
	for i := range w.Inputs {
		if w.Inputs[i].Value, err = valueOf(w.Inputs[i].Value); err != nil {
			return nil, err
		}
	}
	for i := range w.Received {
		if w.Received[i].Output, err = valueOf(w.Received[i].Output); err != nil {
			return nil, err
		}
	}
	return &w, nil
}

// Key is the same for the same attempt of the same run, also after a crash.
func (c *StartTask) Key(run string) string {
	return run + "/" + c.Address + "@" + strconv.Itoa(c.Attempt)
}

// Input is a rendered input of a task, in the order in which they were written.
type Input struct {
	Name  string
	Value any // a *Long where it is long, see StartTask.Whole
}

// Received is what reached a task from a step, with what a router, a person or a
// question in between decided, and why.
type Received struct {
	Step     string
	Output   any // null where there is only a decision; a *Long where it is long, see StartTask.Whole
	Decision string
	Reason   string
}

// CancelTask ends an attempt and every process that it started.
type CancelTask struct {
	Address string
	Attempt int
}

// SetTimer asks for a TimerFired when its time has come, on one of two clocks. A
// timer with the same ID is replaced.
type SetTimer struct {
	ID    string
	Clock time.Duration // on the run's own clock: a duration has passed
	At    time.Time     // on the wall clock: a deadline; zero: Clock counts
}

// CancelTimer withdraws a timer.
type CancelTimer struct{ ID string }

// Ask shows a question to people until one answers or it is withdrawn. A question
// with the same ID is replaced.
type Ask struct{ Question }

// Withdraw takes a question back.
type Withdraw struct{ ID string }

// Reply gives an attempt the answer to what it asked.
type Reply struct {
	ID      string
	Address string
	Attempt int
	Value   string
}

// Finish ends the run. It comes once, and nothing comes after it.
type Finish struct {
	Status Status
	Output any
	Error  string // why, when the status is not success
}

func (*StartTask) command()   {}
func (*CancelTask) command()  {}
func (*SetTimer) command()    {}
func (*CancelTimer) command() {}
func (*Ask) command()         {}
func (*Withdraw) command()    {}
func (*Reply) command()       {}
func (*Finish) command()      {}
