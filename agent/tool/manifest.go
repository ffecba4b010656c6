package tool

import (
	"time"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/extract"
	"github.com/hocket-dev/hocket/workflow/jsonpath"
)

// Manifest is a tool as its author describes it. It is immutable.
type Manifest struct {
	Name        string
	Description string
	Inputs      map[string]any // JSON Schema of an object
	Outputs     any            // JSON Schema of its JSON result; nil: it returns text
	Permissions Permissions
	Approval    bool          // ask a person before every call
	Timeout     time.Duration // of a call; never zero
	MaxOutputKB int           // maximum size of a result; never zero
	Examples    []Example
	Work        Work // how it works; nil only if the file is invalid
	Builtin     bool
	Dir         string // its folder, absolute; "" for a built-in tool
	Pos         workflow.Pos

	inputs  *extract.Schema
	outputs *extract.Schema   // nil: it returns text
	files   map[string][]byte // of a tool that a model wrote, see Generated; nil: a person did
	needs   string            // what a built-in tool needs before it can work; "": nothing
}

// Work is how a tool works: [*Request], [*Command] or [*Search].
//
//sumtype:decl
type Work interface{ kind() string }

// Kind returns the name of how the tool works: http, command, script or search.
func (m *Manifest) Kind() string {
	if m.Work == nil {
		return ""
	}
	return m.Work.kind()
}

// Needs returns what must be done before the tool can work; "" means nothing.
func (m *Manifest) Needs() string { return m.needs }

// Generated reports whether a model wrote the tool.
func (m *Manifest) Generated() bool { return m.files != nil }

// Permissions are what a tool may do.
type Permissions struct {
	Network Network
	Read    []string // paths that its program may read: in the project, ~/… or /…
	Write   []string // and writes
	Secrets []string // by name
}

// Example is an example of a valid call.
type Example struct {
	Inputs map[string]any
	Output any // nil: not specified
}

// Request is how an http tool works. Texts in it may refer to inputs as {name}.
type Request struct {
	Method    string // "": GET, or POST if there is a body
	URL       string
	Query     []field
	Headers   []field
	HeadersOf string // the input that holds more headers; "": none
	Body      any    // text, or a value to send as JSON
	HasBody   bool
	Full      bool  // the output includes the status and type of the response
	Pick      *Pick // what to extract from a JSON response; nil: everything
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
	Args []any             // additional arguments, which may refer to inputs, each a separate word
	JSON bool              // they are passed as one argument: a JSON list
	Good []int             // exit codes that mean success; none: 0
	File string            // for a script: in the tool's folder, passed to Argv
	Dir  string            // in the project; "": its root
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

// Kinds lists how a tool may work.
func Kinds() []string { return []string{"http", "command", "script", "search"} }
