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

// StartTask lets an agent make one attempt. It is always answered by TaskEnded, even if it is
// cancelled.
type StartTask struct {
	*Place
	Address  string         // of the node's instance, e.g. "serve-customers/order-taker#2"
	Attempt  int            // from 1
	Prompt   string         `json:",omitempty"`
	Inputs   []Input        `json:",omitempty"`
	Received []Received     `json:",omitempty"` // the outputs that its live in-edges carry, if the task receives them
	Settings map[string]any `json:",omitempty"`
	Feedback string         `json:",omitempty"` // what was wrong with the previous attempt, or ""
	Comment  string         `json:",omitempty"` // of a person who had the task done again, or ""
	Previous string         `json:",omitempty"` // the output that the comment is about, or its beginning
	Timeout  time.Duration  `json:",omitempty"` // the engine cancels the attempt after this time; zero means never
	Again    bool           `json:",omitempty"` // the same attempt was started before and lost
	// Workspace is the state of the files with which the attempt begins, in a folder of its own; "" means
	// that it works in the project. Trees are what a merge brings together.
	Workspace string `json:",omitempty"`
	Trees     []Tree `json:",omitempty"`
	// Answer is what a person answered to the question with which the attempt before it ended, or nil.
	Answer *Answer `json:",omitempty"`
	// Continues is the workspace with which that attempt ended, or "": what it had done before it asked.
	Continues string `json:",omitempty"`
	// Within is the address of the task in whose folder the attempt works, because that handed the work off.
	Within string   `json:",omitempty"`
	Handed []Handed `json:",omitempty"` // what earlier attempts of the task, or this one before it was lost, have handed off

	May workflow.Budget // what it may use; this amount is reserved for it
}

// Place describes a task, and what all its attempts in all runs have in common. It is immutable.
type Place struct {
	Workflow string // the workflow that contains the node
	Node     string
	Agent    string
	Decide   []string           `json:",omitempty"` // labels, one of which the output must name; empty if there are none
	Written  map[string]any     `json:",omitempty"` // its settings, before references are replaced by values
	Branches workflow.Branches  `json:",omitempty"` // what becomes of StartTask.Trees
	Asks     bool               `json:",omitempty"` // the task is the question of a choice: the output is a decision with its reason, or the decision "else"
	Output   *workflow.Output   `json:",omitempty"` // how the output will be read
	Labels   map[string]string  `json:",omitempty"`
	Handoffs *workflow.Handoffs `json:",omitempty"` // what its attempts may hand off; nil means nothing
}

// Whole returns the command with all outputs in it loaded, if they are long. The error is a
// *[LoadError].
func (c *StartTask) Whole() (*StartTask, error) {
	w, err := *c, error(nil)
	w.Inputs, w.Received, w.Handed = slices.Clone(c.Inputs), slices.Clone(c.Received), slices.Clone(c.Handed)
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
	for i := range w.Handed {
		if w.Handed[i].Output, err = valueOf(w.Handed[i].Output); err != nil {
			return nil, err
		}
	}
	return &w, nil
}

// ByPerson reports whether a person resolves the conflicts of a merge, or picks a workspace.
func (c *StartTask) ByPerson() bool {
	return c.Place.Branches != workflow.OneBranch && c.Agent == workflow.MergeAgent && c.Settings["by"] == "human"
}

// Key returns the same key for the same attempt of the same run, even after a crash.
func (c *StartTask) Key(run string) string {
	return run + "/" + c.Address + "@" + strconv.Itoa(c.Attempt)
}

// Input is a rendered input of a task. Inputs are in the order in which they were written.
type Input struct {
	Name  string
	Value any // a *Long if it is long, see StartTask.Whole
}

// Received is the output of a step that reached a task, with what a router, a person or a
// question in between decided, and why.
type Received struct {
	Step     string
	Output   any    // null if there is only a decision; a *Long if it is long, see StartTask.Whole
	Decision string `json:",omitempty"`
	Reason   string `json:",omitempty"`
}

// Answer is an answer to a question with which an attempt ended.
type Answer struct {
	Value   string `json:"value"`
	Comment string `json:"comment,omitempty"`
	Digest  string `json:"digest"` // of the question, see [Asked.Digest]
}

// Handed is work that a task has handed off to another agent.
type Handed struct {
	ID     string         // the address of the task that was handed off
	Key    string         // for another HandoffAsked of the same work
	Agent  string         // that received it
	Inputs map[string]any // of HandoffAsked
	Status Status         // Running if it has no result yet
	Output any            // a *Long if it is long, see StartTask.Whole
	Error  string
}

// CancelTask ends an attempt and every process that it started.
type CancelTask struct {
	Address string
	Attempt int
}

// SetTimer requests a TimerFired at a time on one of two clocks. It replaces a timer with the
// same ID.
type SetTimer struct {
	ID    string
	Clock time.Duration // on the run's own clock, for durations
	At    time.Time     // on the wall clock, for deadlines; zero means that Clock is used
}

// CancelTimer cancels a timer.
type CancelTimer struct{ ID string }

// Ask shows a question to people until someone answers or it is withdrawn. It replaces a question
// with the same ID.
type Ask struct{ Question }

// Withdraw withdraws a question.
type Withdraw struct{ ID string }

// Reply returns the answer to an attempt that asked a question.
type Reply struct {
	ID      string `json:"id"`
	Address string `json:"-"`
	Attempt int    `json:"-"`
	Value   string `json:"value"`
	Digest  string `json:"digest"` // of the question
}

// Return tells an attempt about work that it handed off. The first one answers HandoffAsked. If its
// status is Running and the attempt waits for the result, another one follows with the result.
type Return struct {
	ID      string // of the handoff: the address of the task that was handed off
	Address string
	Attempt int
	Status  Status
	Output  any // a *Long if it is long, see Value
	Error   string
}

// Value returns the output, and loads it if it is long.
func (c *Return) Value() (any, error) { return valueOf(c.Output) }

// Finish ends the run. It is issued once, and nothing follows it.
type Finish struct {
	Status Status
	Output any
	Error  string // the reason, if the status is not success
}

func (*StartTask) command()   {}
func (*CancelTask) command()  {}
func (*SetTimer) command()    {}
func (*CancelTimer) command() {}
func (*Ask) command()         {}
func (*Withdraw) command()    {}
func (*Reply) command()       {}
func (*Return) command()      {}
func (*Finish) command()      {}
