package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// names are the event types as the journal spells them.
func nameOf(ev Event) string {
	switch ev.(type) {
	case *Started:
		return "Started"
	case *TaskEnded:
		return "TaskEnded"
	case *TimerFired:
		return "TimerFired"
	case *HumanAnswered:
		return "HumanAnswered"
	case *CancelAsked:
		return "CancelAsked"
	case *LimitRaised:
		return "LimitRaised"
	case *Recovered:
		return "Recovered"
	case *Forked:
		return "Forked"
	}
	panic(fmt.Sprintf("engine: %T is no event", ev))
}

func newEvent(name string) Event {
	switch name {
	case "Started":
		return &Started{}
	case "TaskEnded":
		return &TaskEnded{}
	case "TimerFired":
		return &TimerFired{}
	case "HumanAnswered":
		return &HumanAnswered{}
	case "CancelAsked":
		return &CancelAsked{}
	case "LimitRaised":
		return &LimitRaised{}
	case "Recovered":
		return &Recovered{}
	case "Forked":
		return &Forked{}
	}
	return nil
}

const typeKey = `{"type":"`

// Encode writes an event as one line of JSON, with its name under "type" in the
// first place.
func Encode(ev Event) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(typeKey)
	b.WriteString(nameOf(ev))
	b.WriteString(`",`)
	head := b.Len()
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(ev); err != nil {
		return nil, fmt.Errorf("engine: encode %s: %w", nameOf(ev), err)
	}
	out := b.Bytes()
	copy(out[head:], out[head+1:]) // over the opening brace
	return out[:len(out)-2], nil   // without it, and without the newline
}

// Decode reads what Encode wrote.
func Decode(data []byte) (Event, error) {
	rest, ok := bytes.CutPrefix(data, []byte(typeKey))
	name, _, found := bytes.Cut(rest, []byte{'"'})
	if !ok || !found {
		return nil, fmt.Errorf("engine: not an event: %.60q", data)
	}
	ev := newEvent(string(name))
	if ev == nil {
		return nil, fmt.Errorf("engine: the event %q is unknown; update hocket", name)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(ev); err != nil {
		return nil, fmt.Errorf("engine: decode %s: %w", name, err)
	}
	return ev, nil
}
