package workflow

import "time"

// Workflow is one workflow, whatever notation it was written in.
type Workflow struct {
	Name        string
	Description string

	// Inputs are the declared inputs. None declared means that every input the
	// workflow refers to is required, and others may be given too.
	Inputs []Param
	// State is the initial value of variables; StatePos is where each is named.
	State    map[string]any
	StatePos map[string]Pos
	// Agents are lanes: names that tasks refer to. Colour is decoration.
	Agents []AgentRef
	Limits Limits
	// Output is what the run returns. Empty: the only successful sink's output,
	// else an object of the successful sinks by id.
	Output Template
	Body   Graph

	Pos Pos

	// Mistakes are what a program did wrong while it built the workflow, and the model
	// cannot hold. A check reports them.
	Mistakes Diagnostics `json:"-"`
}

// Param declares one input.
type Param struct {
	Name        string
	Type        ParamType // zero: any value
	Description string
	Required    bool
	HasDefault  bool // Default may be null on purpose
	Default     any
	Pos         Pos // of the name
	DefaultPos  Pos
}

// ParamType is the type of an input, in the words of JSON Schema.
type ParamType string

// The types an input may have.
const (
	AnyType     ParamType = ""
	StringType  ParamType = "string"
	NumberType  ParamType = "number"
	IntegerType ParamType = "integer"
	BooleanType ParamType = "boolean"
	ArrayType   ParamType = "array"
	ObjectType  ParamType = "object"
)

// AgentRef is a lane: a name under which tasks ask for an agent.
type AgentRef struct {
	Name  string
	Role  string
	Color string
	Title string // what a drawing shows instead of the name; decoration, as is Color
	Pos   Pos
}

// RoleOf is the role that the workflow gives the name of an agent; "": none.
func (w *Workflow) RoleOf(agent string) string {
	for i := range w.Agents {
		if w.Agents[i].Name == agent {
			return w.Agents[i].Role
		}
	}
	return ""
}

// Limits bound a run and everything below it. Zero: not set here, so the
// project's limit holds.
type Limits struct {
	Steps    int           `json:"steps,omitempty"`    // task instances that start
	Parallel int           `json:"parallel,omitempty"` // attempts under way at once
	Depth    int           `json:"depth,omitempty"`    // levels of nested workflows, the root being 1
	Runtime  time.Duration `json:"runtime,omitempty"`  // time in which an attempt runs or a retry is awaited
	CostUSD  float64       `json:"cost_usd,omitempty"`
	Tokens   int64         `json:"tokens,omitempty"`
}

// Binding gives a value to a name: an input of a task or of a called workflow.
// Every string in Value, however deep, is a template in canonical form.
type Binding struct {
	Name  string
	Value any
	// Src is what the author wrote, when Value is one string.
	Src Source
	Pos Pos
}

// Retry says how often and how fast a failed attempt is repeated.
type Retry struct {
	Attempts int           `json:"attempts,omitempty"` // in all, the first included; 0 and 1: no retry
	Backoff  Backoff       `json:"backoff,omitempty"`
	Delay    time.Duration `json:"delay,omitempty"`
	MaxDelay time.Duration `json:"max_delay,omitempty"` // zero: not capped
}

// Backoff is how the delay grows from one attempt to the next.
type Backoff string

// The ways a delay grows. Zero is fixed.
const (
	Fixed       Backoff = ""
	Linear      Backoff = "linear"
	Exponential Backoff = "exponential"
)

// OnError says what a node that failed for good does to the rest.
type OnError string

// The ways to go on after a failure. Zero is stop.
const (
	Stop           OnError = ""
	Continue       OnError = "continue"
	SkipDependents OnError = "skip_dependents"
)

// Output says how a node's raw output becomes its value, and where it goes.
type Output struct {
	Var     string // variable that the value is written to; "" none
	Mode    OutputMode
	Pattern string // JSONPath or regular expression, for those modes
	Schema  any    // JSON Schema that the value must satisfy; nil none

	Pos Pos
	At  *OutputPos // nil where no more than a variable is written
}

// OutputPos is where the parts of an output are written; zero: not written.
type OutputPos struct{ Mode, Pattern, Schema Pos }

// Places are where the parts of the output are written.
func (o *Output) Places() OutputPos {
	if o.At == nil {
		return OutputPos{}
	}
	return *o.At
}

// OutputMode is how a value is taken from a raw output.
type OutputMode string

// The output modes. Zero is the whole output as text.
const (
	Full      OutputMode = ""
	JSON      OutputMode = "json"
	JSONPath  OutputMode = "jsonpath"
	Regex     OutputMode = "regex"
	FirstLine OutputMode = "first_line"
)
