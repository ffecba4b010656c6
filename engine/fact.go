package engine

import (
	"slices"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// Fact is something that happened in a step of the engine, for people who watch the run. Facts
// follow from the events, so they are not stored.
type Fact struct {
	Time     time.Time
	Kind     FactKind
	Address  string // "" for the run itself
	Workflow string
	Node     string
	Agent    string
	Attempt  int       // for Iterated: the iteration that begins
	Items    int       // for StepStarted of a for_each: how many it has
	Status   Status    // for StepEnded and RunEnded
	Text     string    // an error, a decision and its rule, a warning, a question
	Until    time.Time // for Retrying
	Usage    Usage     // for StepEnded and AttemptFailed; for PlanChanged: of planning
	Branch   *Branch   `json:",omitempty"` // for Decided
	Output   any       // for StepEnded and RunEnded: the output of the step or the run; a *Long if a step's output is long, see Value

	Plan *NewPlan `json:",omitempty"` // for PlanChanged
}

// Branch is what a step decided for: all its edges of this kind with this label or condition were taken.
type Branch struct {
	On   workflow.On // OnElse, too, if an edge without a condition was taken because no other matched
	Case string      // the label or the condition
}

// NewPlan is what a run continues with when its plan was changed.
type NewPlan struct {
	Bundle *workflow.Bundle `json:"-"` // the new definition
	Kept   []string         // the addresses of steps that are as they were; facts tell the others, if they have begun
}

// Value returns the output, and loads it if it is long.
func (f *Fact) Value() (any, error) { return valueOf(f.Output) }

// FactKind is the kind of a fact.
type FactKind string

// The kinds of facts.
const (
	StepStarted    FactKind = "step_started" // the first attempt, question or call begins
	AttemptStarted FactKind = "attempt_started"
	AttemptFailed  FactKind = "attempt_failed"
	Retrying       FactKind = "retrying" // after a delay, or when a quota is reset
	StepEnded      FactKind = "step_ended"
	StepSkipped    FactKind = "step_skipped"
	QuestionAsked  FactKind = "asked"
	AnswerGiven    FactKind = "answered"
	AnswerUnused   FactKind = "answer_unused" // it was kept for the next attempt, which did not ask the question
	Decided        FactKind = "decided"       // which edges were taken, and by which rule
	Iterated       FactKind = "iterated"      // a loop starts another iteration
	Paused         FactKind = "paused"        // a budget would be exceeded
	Raised         FactKind = "raised"
	Warned         FactKind = "warned"
	PlanChanged    FactKind = "replanned" // the run has a new definition
	RunEnded       FactKind = "run_ended"
)

func (r *Run) note(f Fact) {
	if r.replans.old != nil && f.Address != "" && f.Kind != Warned {
		return // see tellChanges
	}
	f.Time = r.now
	if f.Workflow == "" {
		f.Workflow = r.bundle.Root.Name
	}
	r.facts = append(r.facts, f)
}

// tell records a fact about an instance in its current state.
func (r *Run) tell(in *inst, kind FactKind, text string) { r.note(in.fact(kind, text)) }

func (in *inst) fact(kind FactKind, text string) Fact {
	at := &in.n.place
	f := Fact{
		Kind: kind, Address: in.address, Workflow: at.Workflow, Node: at.Node, Agent: at.Agent,
		Attempt: int(in.attempt), Status: in.status, Text: text, Usage: in.usage,
	}
	if kind == StepEnded {
		f.Output = shown(in.shown())
	}
	return f
}

// Facts returns what happened in the last Step.
func (r *Run) Facts() []Fact { return slices.Clone(r.facts) }
