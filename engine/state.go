package engine

import (
	"bytes"
	"encoding/json"
	"time"
)

// Status is the status of a run or of one of its steps.
type Status string

// The statuses. A run is never skipped; a step is never partial.
const (
	Running   Status = "running"
	Waiting   Status = "waiting" // for a person, a quota or a budget
	Success   Status = "success"
	Partial   Status = "partial" // finished, but with a tolerated failure
	Failed    Status = "error"
	TimedOut  Status = "timeout"
	Skipped   Status = "skipped"
	Cancelled Status = "cancelled"
)

// Done reports whether nothing more will happen.
func (s Status) Done() bool { return s != Running && s != Waiting && s != "" }

// StepResult is the result of one instance of a task, human, call or combine.
type StepResult struct {
	Address    string    `json:"address"`
	Node       string    `json:"node"`
	Agent      string    `json:"agent,omitempty"` // of a task; for a call, the workflow's name
	Status     Status    `json:"status"`
	Output     any       `json:"output"` // a *Long if it is long, see Value
	Error      string    `json:"error,omitempty"`
	DurationMS int64     `json:"duration_ms"`
	Attempts   int       `json:"attempts"`
	Iteration  int       `json:"iteration"`
	StepIndex  int       `json:"step_index"` // of the node among the steps of its workflow, from 0
	Started    time.Time `json:"started,omitzero"`
	Ended      time.Time `json:"ended,omitzero"`
	Usage      Usage     `json:"usage,omitzero"`
	Workspace  string    `json:"workspace,omitempty"` // that it made, if it has a workspace of its own

	Prompt string `json:"prompt,omitempty"` // that a person gave the task when the run was forked; "": that of the workflow
	Unsent bool   `json:"unsent,omitempty"` // its last attempt was decided while no process drove the run, and has not begun
	Effect bool   `json:"effect,omitempty"` // it did not succeed, but its effect, which must happen once, has happened, or may have
}

// Value returns the output of the step, and loads it if it is long.
func (s *StepResult) Value() (any, error) { return valueOf(s.Output) }

// UnmarshalJSON decodes a result, and keeps the numbers in its output as they are written.
func (s *StepResult) UnmarshalJSON(data []byte) error {
	type plain StepResult
	return unmarshal(data, (*plain)(s))
}

// UnmarshalJSON decodes a result, and keeps the numbers in its output as they are written.
func (r *Result) UnmarshalJSON(data []byte) error {
	type plain Result
	return unmarshal(data, (*plain)(r))
}

func unmarshal(data []byte, to any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return dec.Decode(to)
}
