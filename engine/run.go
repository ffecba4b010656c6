package engine

import (
	"github.com/hocket-dev/hocket/workflow"
)

// Version is the version of the engine's behaviour. A run keeps the version it
// was started with.
const Version = 1

// Run is the state of one run. It is not safe for concurrent use.
type Run struct{}

// New makes a run that has not started. The error says why the bundle cannot
// run at all (a check would have found it).
func New(b *workflow.Bundle) (*Run, error) { panic("being written") }

// Step takes one event and says what to do about it. The commands, and what
// Facts gives, are valid until the next Step. An error means that the event does
// not fit the run; the run is then unchanged.
func (r *Run) Step(ev Event) ([]Command, error) { panic("being written") }

// Admit says whether Step would take the event now, with an error made for
// people: an answer that is not offered, a gate that was withdrawn.
func (r *Run) Admit(ev Event) error { panic("being written") }

// Pending are the commands that were issued and not answered, in the order in
// which they were issued: what a new process has to carry out after Recovered.
func (r *Run) Pending() []Command { panic("being written") }

// Facts are what the last Step brought about.
func (r *Run) Facts() []Fact { panic("being written") }

// Snapshot prints the whole state, equal for equal states.
func (r *Run) Snapshot() []byte { panic("being written") }

// Result is what the run has come to so far.
func (r *Run) Result() Result { panic("being written") }

// Result is the outcome of a run, also of one that is still under way.
type Result struct {
	Run      string
	Status   Status
	Output   any
	Error    string
	Steps    []StepResult // in the order in which they started, skipped ones where that was decided
	Warnings []string
	Usage    RunUsage
}

// RunUsage is what a run has used so far.
type RunUsage struct {
	Steps int `json:"steps"`
	Usage
}

// Fork gives the events of a new run that repeats an old one up to an instance:
// the journal without that instance, what depended on it and what was cancelled.
// The caller appends what is to happen instead. run is the new run's id.
func Fork(b *workflow.Bundle, events []Event, address, run string) ([]Event, error) {
	panic("being written")
}

// Encode writes an event as one line of JSON, with its name under "type".
func Encode(ev Event) ([]byte, error) { panic("being written") }

// Decode reads what Encode wrote.
func Decode(data []byte) (Event, error) { panic("being written") }
