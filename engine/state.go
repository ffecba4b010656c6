package engine

import "time"

// Status is how far a run, or one step of it, has come.
type Status string

// The statuses. A run is never skipped; a step is never partial.
const (
	Running   Status = "running"
	Waiting   Status = "waiting" // for a person, a quota or a budget
	Success   Status = "success"
	Partial   Status = "partial" // finished, and a tolerated failure happened
	Failed    Status = "error"
	TimedOut  Status = "timeout"
	Skipped   Status = "skipped"
	Cancelled Status = "cancelled"
)

// Done says whether nothing more will happen.
func (s Status) Done() bool { return s != Running && s != Waiting && s != "" }

// StepResult is the result of one instance of a task, human, call or combine.
type StepResult struct {
	Address    string    `json:"address"`
	Node       string    `json:"node"`
	Agent      string    `json:"agent,omitempty"` // of a task; of a call, the workflow's name
	Status     Status    `json:"status"`
	Output     any       `json:"output"`
	Error      string    `json:"error,omitempty"`
	DurationMS int64     `json:"duration_ms"`
	Attempts   int       `json:"attempts"`
	Iteration  int       `json:"iteration"`
	StepIndex  int       `json:"step_index"` // of the node among the steps of its workflow, from 0
	Started    time.Time `json:"-"`
	Ended      time.Time `json:"-"`
	Usage      Usage     `json:"-"`
}

// Fact is one thing that a step of the engine brought about, for people who
// watch. Facts follow from the events, so nobody stores them.
type Fact struct {
	Time     time.Time
	Kind     FactKind
	Address  string // "" for the run itself
	Workflow string
	Node     string
	Agent    string
	Attempt  int
	Status   Status    // for StepEnded and RunEnded
	Text     string    // an error, a decision and its rule, a warning, a question
	Until    time.Time // for Retrying
	Usage    Usage     // for StepEnded and AttemptFailed
}

// FactKind is what a fact is about.
type FactKind string

// The kinds of facts.
const (
	StepStarted    FactKind = "step_started" // the first attempt, question or call begins
	AttemptStarted FactKind = "attempt_started"
	AttemptFailed  FactKind = "attempt_failed"
	Retrying       FactKind = "retrying" // after a delay, or when a quota is reset
	StepEnded      FactKind = "step_ended"
	StepSkipped    FactKind = "step_skipped"
	Asked          FactKind = "asked"
	Answered       FactKind = "answered"
	Decided        FactKind = "decided"  // which edges were taken, and by which rule
	Iterated       FactKind = "iterated" // a loop goes round again
	Paused         FactKind = "paused"   // a budget would be exceeded
	Raised         FactKind = "raised"
	Warned         FactKind = "warned"
	RunEnded       FactKind = "run_ended"
)
