package engine

import "time"

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
	Status   Status    // for StepEnded and RunEnded
	Text     string    // an error, a decision and its rule, a warning, a question
	Until    time.Time // for Retrying
	Usage    Usage     // for StepEnded and AttemptFailed
	Output   any       // for StepEnded: what the step gave
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

// told is a FactKind while a step is under way.
type told uint8

const (
	toldStepStarted told = iota
	toldAttemptStarted
	toldAttemptFailed
	toldRetrying
	toldStepEnded
	toldStepSkipped
	toldAsked
	toldAnswered
	toldUnused
	toldDecided
	toldIterated
	toldPaused
	toldRaised
	toldWarned
	toldRunEnded
)

func (t told) kind() FactKind {
	return [...]FactKind{
		toldStepStarted:    StepStarted,
		toldAttemptStarted: AttemptStarted,
		toldAttemptFailed:  AttemptFailed,
		toldRetrying:       Retrying,
		toldStepEnded:      StepEnded,
		toldStepSkipped:    StepSkipped,
		toldAsked:          QuestionAsked,
		toldAnswered:       AnswerGiven,
		toldUnused:         AnswerUnused,
		toldDecided:        Decided,
		toldIterated:       Iterated,
		toldPaused:         Paused,
		toldRaised:         Raised,
		toldWarned:         Warned,
		toldRunEnded:       RunEnded,
	}[t]
}

// note is a fact as it is kept during a step: what may change before the step
// is over, and where to find the rest. A replay never looks at it, so it is
// small, and has few pointers: while garbage is collected each of them costs.
type note struct {
	in      *inst // nil for the run itself
	status  Status
	text    string
	until   time.Time // for Retrying
	attempt int32
	kind    told
}

func (r *Run) note(n note) { r.notes = append(r.notes, n) }

// tell notes a fact about an instance as it is now.
func (r *Run) tell(in *inst, kind told, text string) {
	r.notes = append(r.notes, note{kind: kind, in: in, status: in.status, text: text, attempt: in.attempt})
}

// Facts are what the last Step brought about.
func (r *Run) Facts() []Fact {
	facts := make([]Fact, len(r.notes))
	for i, n := range r.notes {
		f := Fact{Time: r.now, Kind: n.kind.kind(), Attempt: int(n.attempt), Status: n.status, Text: n.text, Until: n.until, Workflow: r.bundle.Root.Name}
		if n.in != nil {
			place := &n.in.n.place
			f.Address, f.Workflow, f.Node, f.Agent = n.in.address, place.Workflow, place.Node, place.Agent
			f.Usage = n.in.usage
			if n.kind == toldStepEnded {
				f.Output = n.in.output
			}
		}
		facts[i] = f
	}
	return facts
}
