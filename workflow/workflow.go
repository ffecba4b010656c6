package workflow

import (
	"cmp"
	"time"
)

// Workflow is one workflow, whatever notation it was written in.
type Workflow struct {
	Name        string
	Description string

	// Inputs are the declared inputs. If none are declared, every input that the workflow refers
	// to is required, and others may be given too.
	Inputs []Param
	// State has the initial values of variables; StatePos has the positions of their names.
	State    map[string]any
	StatePos map[string]Pos
	// Agents are lanes: names that tasks refer to. Their colour is decoration.
	Agents []AgentRef
	Limits Limits
	// Output is what the run returns. If it is empty, that is the output of the only successful
	// sink or, if there are several, an object with their outputs by id.
	Output Template
	Body   Graph

	Pos Pos

	// Mistakes are the mistakes of a program that built the workflow which the model cannot
	// represent. A check reports them.
	Mistakes Diagnostics `json:"-"`
}

// Param declares one input.
type Param struct {
	Name        string
	Type        ParamType // zero means any value
	Description string
	Required    bool
	HasDefault  bool // needed because Default may be null
	Default     any
	Pos         Pos // of the name
	DefaultPos  Pos
}

// ParamType is the type of an input, named as in JSON Schema.
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

// AgentRef is a lane: a name by which tasks refer to an agent.
type AgentRef struct {
	Name  string
	Role  string
	Color string
	Title string // what a drawing shows instead of the name; like Color, it is decoration
	Pos   Pos
}

// RoleOf returns the role that the workflow gives to an agent, or "".
func (w *Workflow) RoleOf(agent string) string {
	for i := range w.Agents {
		if w.Agents[i].Name == agent {
			return w.Agents[i].Role
		}
	}
	return ""
}

// Limits are the limits of a run and everything it starts. Zero means that the project's limit
// applies.
type Limits struct {
	Steps    int           `json:"steps,omitempty"`    // task instances that start
	Parallel int           `json:"parallel,omitempty"` // attempts that run at the same time
	Depth    int           `json:"depth,omitempty"`    // levels of nested workflows; the root is level 1
	Runtime  time.Duration `json:"runtime,omitempty"`  // time in which attempts run or retries are awaited
	CostUSD  float64       `json:"cost_usd,omitempty"`
	Tokens   int64         `json:"tokens,omitempty"`
	Replans  int           `json:"replans,omitempty"` // new plans because of on_error: replan; 0 means DefaultReplans
}

// DefaultReplans is how often a failure may lead to a new plan, if the limits do not say it.
const DefaultReplans = 2

// MaxReplans returns how often a failure may lead to a new plan.
func (l Limits) MaxReplans() int { return cmp.Or(l.Replans, DefaultReplans) }

// Binding binds a value to a name: an input of a task or of a called workflow. Every string in
// Value, at any depth, is a template in canonical form.
type Binding struct {
	Name  string
	Value any
	// Src is what the author wrote, if Value is one string.
	Src Source
	Pos Pos
}

// Retry says how often and how fast a failed attempt is repeated.
type Retry struct {
	Attempts int           `json:"attempts,omitempty"` // in total, including the first; 0 and 1 mean no retry
	Backoff  Backoff       `json:"backoff,omitempty"`
	Delay    time.Duration `json:"delay,omitempty"`
	MaxDelay time.Duration `json:"max_delay,omitempty"` // zero means no maximum
}

// Backoff is how the delay grows from one attempt to the next.
type Backoff string

// The ways in which a delay grows. The zero value is fixed.
const (
	Fixed       Backoff = ""
	Linear      Backoff = "linear"
	Exponential Backoff = "exponential"
)

// OnError says what happens to the rest of the workflow when a node finally fails.
type OnError string

// The ways to continue after a failure. The zero value is stop.
const (
	Stop           OnError = ""
	Continue       OnError = "continue"
	SkipDependents OnError = "skip_dependents"
	Replan         OnError = "replan" // ask for a new plan; without one, like Stop
)

// Output says how a node's raw output becomes its value, and where the value is stored.
type Output struct {
	Var     string // variable to which the value is written; "" means none
	Mode    OutputMode
	Pattern string // JSONPath or regular expression, in these modes
	Schema  any    // JSON Schema that the value must match; nil means none

	Pos Pos
	At  *OutputPos // nil if only a variable is written
}

// OutputPos has the positions of the parts of an output; a part that is not written has the zero
// position.
type OutputPos struct{ Mode, Pattern, Schema Pos }

// Places returns the positions of the parts of the output.
func (o *Output) Places() OutputPos {
	if o.At == nil {
		return OutputPos{}
	}
	return *o.At
}

// OutputMode is the way in which a value is extracted from a raw output.
type OutputMode string

// The output modes. The zero value is the whole output as text.
const (
	Full      OutputMode = ""
	JSON      OutputMode = "json"
	JSONPath  OutputMode = "jsonpath"
	Regex     OutputMode = "regex"
	FirstLine OutputMode = "first_line"
)
