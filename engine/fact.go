package engine

import (
	"slices"
	"time"
)

// Fact is one thing that a step of the engine brought about, for people who
// watch. Facts follow from the events, so nobody stores them.
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
	Usage    Usage     // for StepEnded and AttemptFailed
	Output   any       // for StepEnded and RunEnded: what the step, or the run, gave; a *Long where that of a step is long: see Value
}

// Value is the output, also where it is long and has to be loaded.
func (f *Fact) Value() (any, error) { return valueOf(f.Output) }

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
	QuestionAsked  FactKind = "asked"
	AnswerGiven    FactKind = "answered"
	AnswerUnused   FactKind = "answer_unused" // it was kept for the next attempt, which did not ask
	Decided        FactKind = "decided"       // which edges were taken, and by which rule
	Iterated       FactKind = "iterated"      // a loop goes round again
	Paused         FactKind = "paused"        // a budget would be exceeded
	Raised         FactKind = "raised"
	Warned         FactKind = "warned"
	RunEnded       FactKind = "run_ended"
)

func (r *Run) note(f Fact) {
	f.Time = r.now
	if f.Workflow == "" {
		f.Workflow = r.bundle.Root.Name
	}
	r.facts = append(r.facts, f)
}

// tell notes a fact about an instance as it is now.
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

// Facts are what the last Step brought about.
func (r *Run) Facts() []Fact { return slices.Clone(r.facts) }
