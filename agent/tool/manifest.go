package tool

import (
	"time"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/extract"
	"github.com/hocket-dev/hocket/workflow/jsonpath"
)

// Manifest is a tool as its author describes it. It is not changed once read.
type Manifest struct {
	Name        string
	Description string
	Inputs      map[string]any // JSON Schema of an object
	Outputs     any            // JSON Schema of what it gives as JSON; nil: it gives text
	Permissions Permissions
	Approval    bool          // a person is asked before every call
	Timeout     time.Duration // of a call; never zero
	MaxOutputKB int           // most that a call may give; never zero
	Examples    []Example
	Work        Work // how it works; nil: only the file that is wrong has none
	Builtin     bool
	Dir         string // its folder, absolute; "" for a built-in tool
	Pos         workflow.Pos

	inputs  *extract.Schema
	outputs *extract.Schema // nil: it gives text
	needs   string          // what a built-in tool that cannot work yet needs; "" nothing
}

// Work is how a tool works: [*Request], [*Command] or [*Search].
//
//sumtype:decl
type Work interface{ kind() string }

// Kind is the word for how the tool works: http, command, script or search.
func (m *Manifest) Kind() string {
	if m.Work == nil {
		return ""
	}
	return m.Work.kind()
}

// Needs says what has to be done before the tool can work; "" nothing.
func (m *Manifest) Needs() string { return m.needs }

// Permissions are what a tool may do.
type Permissions struct {
	Network Network
	Read    []string // paths that its program reads: of the project, ~/… or /…
	Write   []string // and writes
	Secrets []string // by name
}

// Example is a call that would be right.
type Example struct {
	Inputs map[string]any
	Output any // nil: not said
}

// Request is how an http tool works. Texts in it may refer to inputs as {name}.
type Request struct {
	Method    string // "" GET, or POST where there is a body
	URL       string
	Query     []field
	Headers   []field
	HeadersOf string // the input that holds more headers; ""
	Body      any    // text, or a value to send as JSON
	HasBody   bool
	Full      bool  // the output has status and type of the answer too, whatever they are
	Pick      *Pick // what the output is of an answer that is JSON; nil: all of it
}

// field is a named part of a request: a template, or a secret.
type field struct {
	name   string
	value  any
	secret string
	prefix string
}

// Command is how a command or a script tool works.
type Command struct {
	Argv []string
	Args []any             // more arguments, which may refer to inputs, each a word of its own
	JSON bool              // they are given as one argument: a JSON list
	Good []int             // exit codes of success; none: 0
	File string            // for a script: in the tool's folder, given to Argv
	Dir  string            // in the project; "" its root
	Env  map[string]string // constants
}

// Search is how a search tool works.
type Search struct {
	Request
	Results, Title, Link, Snippet *jsonpath.Path
}

func (*Request) kind() string { return "http" }
func (*Search) kind() string  { return "search" }

func (c *Command) kind() string {
	if c.File != "" {
		return "script"
	}
	return "command"
}

// Kinds are the words for how a tool may work.
func Kinds() []string { return []string{"http", "command", "script", "search"} }
