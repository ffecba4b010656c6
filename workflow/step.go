package workflow

// Step is what a node does: one of *Task, *Human, *Call, *Choice, *Combine,
// *Loop and *Each.
//
//sumtype:decl
type Step interface{ step() }

// Task has an agent work on a prompt. A task with label edges is a router.
type Task struct {
	Agent  string    `json:",omitempty"` // "": the project's default agent
	Prompt Template  `json:",omitzero"`
	Inputs []Binding `json:",omitempty"`
	// Context is what the task is given of what its live in-edges brought.
	Context Context `json:",omitempty"`
	// Settings are opaque to all but the agent, which checks them against its
	// own schema. Strings in them are templates in canonical form.
	Settings map[string]any `json:",omitzero"`

	// Pos is where the agent is named; zero: where the node is. SettingsPos is
	// where each setting is named, SettingsSrc what the author wrote there; of
	// one that is no text, only its position. A part of a setting has the path to
	// it as its name: "command.2", "env.HOME".
	Pos         Pos               `json:",omitzero"`
	SettingsPos map[string]Pos    `json:",omitzero"`
	SettingsSrc map[string]Source `json:",omitzero"`
}

// Context says whether a task is given what its live in-edges brought.
type Context string

// The kinds of context. Zero is auto.
const (
	AutoContext     Context = ""         // if it has no inputs and its prompt refers to nothing before it
	PreviousContext Context = "previous" // in any case
	NoContext       Context = "none"
)

// Human asks a person. Without options and without label edges it offers
// approve and reject, and reject fails it.
type Human struct {
	Question Template `json:",omitzero"`
	Options  []Option
	Custom   bool // an answer that is not an option is taken as it is
	Required bool // no flag may skip this gate
}

// Option is one answer a person may give.
type Option struct {
	Value       string `json:"value"`
	Label       string `json:"label,omitempty"` // "": the value
	Description string `json:"description,omitempty"`
}

// Call runs another workflow in its own scope.
type Call struct {
	Workflow string
	Inputs   []Binding
	Pos      Pos `json:",omitzero"` // where the workflow is named; zero: where the node is
}

// Choice takes edges. At most one of On and Ask is set; without them, the decision
// is what the live edge brought.
type Choice struct {
	On Expr `json:",omitzero"` // a condition, whose value is the decision
	// Ask is a question, its prompt. An agent answers it with a label, unless what the
	// live edge brought names one, or comes from a person ([Graph.TaskOf]).
	Ask *Task `json:",omitempty"`
}

// Combine aggregates values and does no work.
type Combine struct {
	Strategy Strategy
	// Inputs are references, each a variable or a node's output. None: what the
	// live in-edges brought.
	Inputs    []Expr
	Separator string // for Concatenate; "" a blank line
}

// Strategy is a way to aggregate.
type Strategy string

// The strategies of semantics §9.
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
	Max  int // zero: 50
}

// DefaultMaxIterations bounds a loop that names no bound.
const DefaultMaxIterations = 50

// Each runs its body once per item of a list. No edge leaves the body.
type Each struct {
	Items    Expr   `json:",omitzero"`
	As       string // variable that holds the item in the body; "" none (it is `item` anyway)
	Body     Graph
	Parallel int // items at once; zero: as many as the run allows
}

func (*Task) step()    {}
func (*Human) step()   {}
func (*Call) step()    {}
func (*Choice) step()  {}
func (*Combine) step() {}
func (*Loop) step()    {}
func (*Each) step()    {}
