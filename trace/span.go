// Package trace turns the history of a run into spans and figures, and sends them to a collector.
//
// Spans are a function of what the journal has: [Builder] reads events and facts, and nothing else. So the
// spans of an old run can be made again, and are the same. Their ids are hashes of the run, the address of the step
// and the number of the attempt, so a process that resumes a run continues its trace, and the environment of an
// attempt can name its span before that exists.
//
// Names and attributes follow the semantic conventions of OpenTelemetry for generative AI, in the version of
// [SchemaURL]. What the conventions do not have is named hocket.*. [Exporter] sends OTLP over HTTP. It is written by hand: the official
// exporter would add 13 MB to the program.
package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"
)

// SchemaURL names the version of the semantic conventions that spans follow.
const SchemaURL = "https://opentelemetry.io/schemas/1.41.0"

// TraceID names a trace, and SpanID a span in it.
type (
	TraceID [16]byte
	SpanID  [8]byte
)

func (id TraceID) String() string { return hex.EncodeToString(id[:]) }
func (id SpanID) String() string  { return hex.EncodeToString(id[:]) }

// MarshalText returns the id as text, for JSON.
func (id TraceID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// MarshalText returns the id as text, for JSON; "" if there is none.
func (id SpanID) MarshalText() ([]byte, error) {
	if id == (SpanID{}) {
		return nil, nil
	}
	return []byte(id.String()), nil
}

// Of returns the id of the trace of a run.
func Of(run string) (id TraceID) {
	copy(id[:], hash("trace", run))
	return id
}

// Attempt returns the id of the span of an attempt.
func Attempt(run, address string, attempt int) SpanID {
	return spanID("attempt", run, address, strconv.Itoa(attempt))
}

// Root returns the id of the span of a run. A run that went on after its end, with a new plan, has several; the first
// is number 1.
func Root(run string, number int) SpanID { return spanID("run", run, strconv.Itoa(number)) }

func spanID(parts ...string) (id SpanID) {
	copy(id[:], hash(parts...))
	return id
}

// hash returns a hash of texts. It is not all zeros, which would be an invalid id.
func hash(parts ...string) []byte {
	sum := sha256.Sum256([]byte("hocket\x00" + strings.Join(parts, "\x00")))
	sum[0] |= 1
	return sum[:]
}

// Parent returns the value of the variable TRACEPARENT for a process of an attempt, by the W3C recommendation
// Trace Context.
func Parent(run, address string, attempt int, sampled bool) string {
	flags := "-00"
	if sampled {
		flags = "-01"
	}
	return "00-" + Of(run).String() + "-" + Attempt(run, address, attempt).String() + flags
}

// Span is a part of a run: the run itself, a called workflow, an attempt, a question to a person, a response of a model or
// a call of a tool.
type Span struct {
	Trace  TraceID `json:"trace"`
	ID     SpanID  `json:"id"`
	Parent SpanID  `json:"parent,omitzero"`
	// Operation is what it does, such as invoke_agent, and Name that with whom, such as "invoke_agent critic".
	Operation  string      `json:"operation"`
	Name       string      `json:"name"`
	Start      time.Time   `json:"start"`
	End        time.Time   `json:"end,omitzero"` // zero: in progress
	Error      string      `json:"error,omitempty"`
	Message    string      `json:"message,omitempty"` // of the error, only if texts are wanted
	Attributes []Attribute `json:"attributes,omitempty"`
	Events     []Event     `json:"events,omitempty"`
	Links      []Link      `json:"links,omitempty"`
}

// The operations.
const (
	InvokeWorkflow = "invoke_workflow"
	InvokeAgent    = "invoke_agent"
	Chat           = "chat"
	ExecuteTool    = "execute_tool"
	Ask            = "ask" // not of the conventions
)

// Attribute is a fact about a span. The value is a string, bool, int64, float64 or []string.
type Attribute struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
}

// Event is something that happened during a span.
type Event struct {
	Time       time.Time   `json:"time"`
	Name       string      `json:"name"`
	Attributes []Attribute `json:"attributes,omitempty"`
}

// Link leads to a span in another trace.
type Link struct {
	Trace TraceID `json:"trace"`
	Span  SpanID  `json:"span"`
	Why   string  `json:"why"` // fork, nested or replan
}

// Get returns the value of an attribute, nil if there is none.
func (s *Span) Get(key string) any {
	if i := slices.IndexFunc(s.Attributes, func(a Attribute) bool { return a.Key == key }); i >= 0 {
		return s.Attributes[i].Value
	}
	return nil
}

// set adds an attribute unless its value is that of something unknown. An attribute is set once.
func (s *Span) set(key string, value any) {
	if text, ok := value.(string); ok && text == "" {
		return
	}
	s.Attributes = append(s.Attributes, Attribute{key, value})
}

func (s *Span) happened(at time.Time, name string, attributes ...Attribute) {
	s.Events = append(s.Events, Event{at, name, attributes})
}
