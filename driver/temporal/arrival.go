package temporal

import (
	"cmp"
	"encoding/json"
	"errors"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
)

// attemptKey names an attempt. An attempt that was lost is made again under the same number.
type attemptKey struct {
	address string
	attempt int
}

func (k attemptKey) compare(o attemptKey) int {
	return cmp.Or(cmp.Compare(k.address, o.address), cmp.Compare(k.attempt, o.attempt))
}

// queued returns the event that says that the attempt waits for a worker, or has begun.
func (k attemptKey) queued(begun bool) *engine.Queued {
	return &engine.Queued{Address: k.address, Attempt: k.attempt, Begun: begun}
}

// attempt is one that the run asks for.
type attempt struct {
	task *engine.StartTask
	site driver.Site
	pin  *driver.Pin
	// waits means that no worker has taken it for a while. The one that takes it at last says so.
	waits bool
	// unasked means that it was recorded as waiting although the run has not asked for it: it could not yet.
	unasked bool
}

func (a *attempt) key() attemptKey { return attemptKey{a.task.Address, a.task.Attempt} }

func (a *attempt) queued(begun bool) *engine.Queued { return a.key().queued(begun) }

// ticket names a request of an attempt that waits for a reply.
type ticket struct {
	Queue string `json:"queue"` // of the process that makes the attempt
	ID    string `json:"id"`

	key      attemptKey
	question bool // otherwise it is a handoff
	waits    bool // for the result of the handoff
}

// reply answers a request of an attempt.
type reply struct {
	Value  string         `json:"value,omitempty"`
	Return *engine.Return `json:"return,omitempty"`
	Nobody bool           `json:"nobody,omitempty"` // no one can answer
	Error  string         `json:"error,omitempty"`  // why the request was refused
	More   bool           `json:"more,omitempty"`   // another reply follows
}

// arrival is something that reached a run from outside. One of its fields is set.
type arrival struct {
	ended *engine.TaskEnded
	// untaken is an attempt that no worker has taken for a while.
	untaken *attemptKey
	home    *home
	note    *note
	act     *act
	rang    bool   // the timer of the workflow fired
	told    string // the ticket whose reply reached its attempt
	// cancelled means that somebody used Temporal's own way of cancelling.
	cancelled bool
}

// note is a signal of an attempt: it asks, hands work off, or no longer waits.
type note struct {
	Ticket ticket    `json:"ticket,omitzero"`
	Event  eventJSON `json:"event,omitzero"`
	Gone   bool      `json:"gone,omitempty"` // the attempt no longer waits for a reply to the ticket
	Left   string    `json:"left,omitempty"` // a question that no one here will answer
}

// UnmarshalJSON changes nothing if it fails: the SDK skips a signal that it cannot decode, and decodes the next one into the
// same value.
func (n *note) UnmarshalJSON(data []byte) error {
	type fields note
	var read fields
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	*n = note(read)
	return nil
}

// act is an update: an answer, a cancellation, a raised limit, a new plan.
type act struct {
	Event eventJSON   `json:"event"`
	Plan  *driver.Pin `json:"plan,omitempty"` // of a Replanned

	verdict func(error) // tells the sender; nil in a mirror
}

// eventJSON is an event as the engine encodes it.
type eventJSON struct{ engine.Envelope }

func (e eventJSON) MarshalJSON() ([]byte, error) {
	if e.Event == nil {
		return []byte("null"), nil
	}
	return engine.Encode(e.Envelope)
}

func (e *eventJSON) UnmarshalJSON(data []byte) (err error) {
	if string(data) != "null" {
		e.Envelope, err = engine.Decode(data)
	}
	return err
}

// order is the order in which arrivals of the same moment are handled. Neither the workflow nor a
// mirror can see in which order Temporal received those of different kinds.
func (a arrival) order() int {
	switch {
	case a.told != "": // an attempt that ended had heard it
		return -1
	case a.untaken != nil: // the time that it has waited is that until now
		return 0
	case a.ended != nil:
		return 1
	case a.home != nil:
		return 2
	case a.note != nil:
		return 3
	case a.cancelled:
		return 4
	}
	return 5
}

func compareArrivals(a, b arrival) int {
	if c := cmp.Compare(a.order(), b.order()); c != 0 {
		return c
	}
	switch {
	case a.home != nil:
		return cmp.Compare(a.home.label, b.home.label)
	case a.untaken != nil:
		return a.untaken.compare(*b.untaken)
	case a.ended != nil:
		return attemptKey{a.ended.Address, a.ended.Attempt}.compare(attemptKey{b.ended.Address, b.ended.Attempt})
	}
	return 0
}

// result converts a reply for the attempt that waits for it.
func (r reply) result() (string, error) {
	switch {
	case r.Nobody:
		return "", agent.ErrNobody
	case r.Error != "":
		return "", errors.New(r.Error)
	}
	return r.Value, nil
}
