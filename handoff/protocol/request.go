package protocol

import (
	"strings"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// Mode says how a request is carried out.
type Mode string

// The modes.
const (
	Spawn        Mode = "spawn"             // in a session, in the background
	Blocking     Mode = "blocking"          // in a session; the sender waits
	Conversation Mode = "conversation_only" // no session: the agent's next task gets the context
)

// Method says how the agent should work.
type Method string

// The methods.
const (
	Spike    Method = "SPIKE" // research: nothing changes outside the session directory
	TDD      Method = "TDD"   // the failing test comes first
	Standard Method = "standard"
	None     Method = "none"
)

// Priority orders waiting sessions.
type Priority string

// The priorities.
const (
	High   Priority = "high"
	Medium Priority = "medium"
	Low    Priority = "low"
)

// Request is an <agent_request>.
type Request struct {
	Version      string
	SessionID    string // "": the receiver chooses one
	ParentAgent  string
	TargetAgent  string // "": the receiver chooses one
	Mode         Mode
	Intent       string // original_intent
	Summary      string // current_task_summary
	Workflow     Method
	Details      string // task_details
	Constraints  []string
	Deliverables []Deliverable
	Notes        string // backlog_notes

	Priority   Priority
	Estimate   time.Duration // estimated_duration; 0: none
	Timeout    time.Duration // 0 if there is none
	MaxRetries int
	DependsOn  []string // session ids
	Notify     []string // agents

	// Attributes and Extensions are what the protocol does not define: unknown attributes,
	// and elements of other namespaces. They are kept for the agent.
	Attributes []Attribute
	Extensions []Extension
	// Namespaces maps the prefixes that the request declares to their URIs.
	Namespaces map[string]string

	XML  string // the block as written
	Pos  workflow.Pos
	root element
}

// Kind is the kind of a deliverable.
type Kind string

// The kinds of deliverables.
const (
	File     Kind = "file"
	Decision Kind = "decision"
	Report   Kind = "report"
)

// Deliverable is something that the agent has to deliver.
type Deliverable struct {
	Kind     Kind
	Path     string // for a file; {session-id} stands for the id of the session
	Required bool   // a file that is not required may be missing
	Text     string // what it must contain
	Pos      workflow.Pos
}

// sessionPlaceholder stands for the id of the session in the path of a deliverable.
const sessionPlaceholder = "{session-id}"

// PathIn returns the path of a file that is delivered in a session.
func (d *Deliverable) PathIn(session string) string {
	return strings.ReplaceAll(d.Path, sessionPlaceholder, session)
}

// Attribute is an attribute that the protocol does not define.
type Attribute struct{ Name, Value string }

// Extension is an element of another namespace.
type Extension struct {
	Name  string // with the prefix, as written
	Space string // the URI of its namespace
	XML   string
}

// AttributePos returns the position of the value of an attribute.
func (q *Request) AttributePos(name string) workflow.Pos { return q.root.Attr(name).Pos() }
