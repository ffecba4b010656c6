package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// events has an event of each type, by its name in the journal.
var events = func() map[string]Event {
	byName := map[string]Event{oldAnswered: &Answered{}}
	for _, ev := range []Event{
		&Started{}, &TaskEnded{}, &TimerFired{}, &Asked{}, &Answered{}, &Withdrawn{}, &HandoffAsked{}, &Queued{}, &CancelAsked{}, &LimitRaised{}, &Recovered{}, &Forked{}, &Replanned{},
	} {
		byName[ev.event()] = ev
	}
	return byName
}()

// oldAnswered is the name that Answered had in version 1.
const oldAnswered = "HumanAnswered"

const typeKey = `{"type":"`

// head has the fields of the envelope in a line of JSON. They are in the same object as the
// fields of the event, because every event used to have them itself.
type head struct {
	Time       time.Time     `json:"time"`
	Clock      time.Duration `json:"clock"`
	Unattended bool          `json:"unattended"`
	Address    string        `json:"address"` // in version 1, the ID of Answered
}

// Encode encodes an event as one line of JSON: first its name under "type", then the envelope,
// then the event. The sequence number is left out, because the position of the line determines
// it.
func Encode(e Envelope) ([]byte, error) {
	name := e.Event.event()
	stamp, err := e.Time.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("engine: encode %s: %w", name, err)
	}
	var b bytes.Buffer
	b.WriteString(typeKey + name + `","time":`)
	b.Write(stamp)
	if e.Clock != 0 {
		b.WriteString(`,"clock":`)
		b.Write(strconv.AppendInt(b.AvailableBuffer(), int64(e.Clock), 10))
	}
	if e.Unattended {
		b.WriteString(`,"unattended":true`)
	}
	head := b.Len()
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e.Event); err != nil {
		return nil, fmt.Errorf("engine: encode %s: %w", name, err)
	}
	line := b.Bytes()[:b.Len()-1] // without the newline
	if line[head] = ','; string(line[head+1:]) == "}" {
		line = append(line[:head], '}')
	}
	return line, nil
}

// Decode decodes what Encode wrote, in this version and in all earlier ones.
func Decode(data []byte) (Envelope, error) {
	rest, ok := bytes.CutPrefix(data, []byte(typeKey))
	name, _, found := bytes.Cut(rest, []byte{'"'})
	if !ok || !found {
		return Envelope{}, fmt.Errorf("engine: not an event: %.60q", data)
	}
	kind, ok := events[string(name)]
	if !ok {
		return Envelope{}, fmt.Errorf("engine: unknown event %q; update hocket", name)
	}
	ev := reflect.New(reflect.TypeOf(kind).Elem()).Interface().(Event)
	var h head
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := cmp.Or(json.Unmarshal(data, &h), dec.Decode(ev)); err != nil {
		return Envelope{}, fmt.Errorf("engine: decode %s: %w", name, err)
	}
	if old, ok := ev.(*Answered); ok && string(name) == oldAnswered {
		old.ID = h.Address
	}
	return Envelope{Time: h.Time, Clock: h.Clock, Unattended: h.Unattended, Event: ev}, nil
}
