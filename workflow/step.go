package workflow

import "cmp"

// Step is what a node does: one of *Task, *Human, *Call, *Choice, *Combine,
// *Loop and *Each.
//
//sumtype:decl
type Step interface{ step() }

// Task lets an agent work on a prompt. A task with label edges is a router.
type Task struct {
	Agent  string    `json:",omitempty"` // "" means the project's default agent
	Prompt Template  `json:",omitzero"`
	Inputs []Binding `json:",omitempty"`
	// Context says whether the task receives the outputs that its live in-edges carry.
	Context Context `json:",omitempty"`
	// Settings are opaque to everything except the agent, which checks them against its own
	// schema. Strings in them are templates in canonical form.
	Settings map[string]any `json:",omitzero"`
	// Handoffs says what the agent may hand off to other agents while it works; nil means nothing.
	Handoffs *Handoffs `json:",omitempty"`
	// Branches says what becomes of the workspaces that the live in-edges carry. Its agent works only if
	// the branches conflict, or decides which one is picked.
	Branches Branches `json:",omitempty"`

	// Pos is where the agent is named; zero means the position of the node. SettingsPos is where
	// each setting is named, and SettingsSrc what the author wrote there; for a setting that is not
	// text, only its position. A part of a setting is named by its path: "command.2", "env.HOME".
	Pos         Pos               `json:",omitzero"`
	SettingsPos map[string]Pos    `json:",omitzero"`
	SettingsSrc map[string]Source `json:",omitzero"`
}

// Branches is what a task does with the workspaces that reach it. Without it, they must all be the same.
type Branches string

// The ways in which several workspaces become one.
const (
	OneBranch     Branches = ""      // there is only one
	MergeBranches Branches = "merge" // the changes of all of them, in the order of the edges
	PickBranch    Branches = "pick"  // the one that the agent decides for
)

// The agents of Hocket's own that work on workspaces.
const (
	MergeAgent = "merge" // of a task that merges or picks branches, unless it names another one
	LandAgent  = "land"  // brings a workspace into the project, after a person has approved exactly that
)

// Handoffs limits what an agent may hand off. The agents that it hands work to may hand off parts of
// it in turn, to the same agents.
type Handoffs struct {
	To    []string // the agents that may receive work
	Max   int      `json:",omitempty"` // handoffs of one instance of the task, including those of the receivers; zero means 5
	Depth int      `json:",omitempty"` // how often the same work may be handed off; zero means 3
	// Detach allows work that continues as a separate run, for which an amount is reserved.
	Detach bool  `json:",omitempty"`
	Pos    []Pos `json:",omitempty"` // where each agent is named
}

// The limits of handoffs that a task does not set.
const (
	DefaultMaxHandoffs  = 5
	DefaultHandoffDepth = 3
)

// Limits returns how many handoffs are allowed and how deep they may be nested, with defaults.
func (h *Handoffs) Limits() (most, depth int) {
	return cmp.Or(h.Max, DefaultMaxHandoffs), cmp.Or(h.Depth, DefaultHandoffDepth)
}

// Does says in a few words what a merge, a pick or a landing does, and who decides; "" for other tasks.
func (t *Task) Does() string {
	by := cmp.Or(t.Agent, "the default agent")
	switch {
	case by != MergeAgent:
	case t.Settings["by"] == "human":
		by = "a person"
	default:
		by = ""
	}
	switch t.Branches {
	case PickBranch:
		return "pick by " + cmp.Or(by, "a person")
	case MergeBranches:
		if by == "" {
			return "merge"
		}
		return "merge, conflicts to " + by
	case OneBranch:
	}
	if as, _ := t.Settings["as"].(string); t.Agent == LandAgent && as != "" {
		return "land: " + as
	}
	return ""
}

// Context says whether a task receives the outputs that its live in-edges carry.
type Context string

// The kinds of context. The zero value is auto.
const (
	AutoContext     Context = ""         // if it has no inputs and its prompt refers to no earlier step
	PreviousContext Context = "previous" // always
	NoContext       Context = "none"
)

// Human asks a person. Without options and label edges it offers approve and reject, and reject
// makes it fail.
type Human struct {
	Question Template `json:",omitzero"`
	Options  []Option
	Custom   bool // any text is accepted as an answer
	Required bool // no flag can skip this question
}

// Option is one answer that a person may give.
type Option struct {
	Value       string `json:"value"`
	Label       string `json:"label,omitempty"` // "" means the value
	Description string `json:"description,omitempty"`
}

// Call runs another workflow in its own scope.
type Call struct {
	Workflow string
	Inputs   []Binding
	Pos      Pos `json:",omitzero"` // of the workflow's name; zero if that is the node's
}

// Choice takes edges. At most one of On and Ask is set; without them, the decision is the output
// that the live edge carries.
type Choice struct {
	On Expr `json:",omitzero"` // a condition; its value is the decision
	// Ask is a question, with its prompt. An agent answers it with a label, unless the output that
	// the live edge carries names one, or comes from a person ([Graph.TaskOf]).
	Ask *Task `json:",omitempty"`
}

// Combine aggregates values and does no work.
type Combine struct {
	Strategy Strategy
	// Inputs are references, each to a variable or a node's output. If there are none, the outputs
	// that the live in-edges carry are combined.
	Inputs    []Expr
	Separator string // for Concatenate; "" means a blank line
}

// Strategy is a way to combine values.
type Strategy string

// The strategies, as defined in section 9 of the semantics.
const (
	Concatenate Strategy = "concatenate"
	Merge       Strategy = "merge"
	Array       Strategy = "array"
	First       Strategy = "first"
	Vote        Strategy = "vote"
)

// Loop runs its body until no back edge is taken, at most Max times.
type Loop struct {
	Body Graph
	Max  int // zero means 50
}

// DefaultMaxIterations is the maximum of a loop that does not set one.
const DefaultMaxIterations = 50

// Each runs its body once per item of a list. No edge leaves the body.
type Each struct {
	Items    Expr   `json:",omitzero"`
	As       string // variable for the item in the body; "" means none (`item` is always available)
	Body     Graph
	Parallel int // items at the same time; zero means as many as the run allows
}

func (*Task) step()    {}
func (*Human) step()   {}
func (*Call) step()    {}
func (*Choice) step()  {}
func (*Combine) step() {}
func (*Loop) step()    {}
func (*Each) step()    {}
