package journal

import (
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/engine"
)

// decoder decodes events. Nearly all events of a long run say that a task ended,
// in the same few fields; those are read without encoding/json, which takes ten
// times as long. Everything else is left to the engine.
type decoder struct {
	room []engine.TaskEnded // made for many events at once
}

func (d *decoder) decode(line string) (engine.Event, error) {
	if ev := d.taskEnded(line); ev != nil {
		return ev, nil
	}
	return engine.Decode([]byte(line))
}

// taskEnded reads an event of the form
//
//	{"type":"TaskEnded","time":"…","address":"…","attempt":1,"output":"…"}
//
// as the engine writes it, or gives nil. Strings with escapes, faults and usage
// are not of this form.
func (d *decoder) taskEnded(line string) *engine.TaskEnded {
	rest, ok := strings.CutPrefix(line, `{"type":"TaskEnded","time":`)
	if !ok {
		return nil
	}
	stamp, rest, ok := quoted(rest)
	if !ok {
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil || !strings.HasSuffix(stamp, "Z") {
		return nil
	}
	address, rest, ok := field(rest, `,"address":`)
	if !ok {
		return nil
	}
	rest, ok = strings.CutPrefix(rest, `,"attempt":`)
	digits := strings.IndexAny(rest, ",}")
	if !ok || digits < 0 {
		return nil
	}
	attempt, err := strconv.Atoi(rest[:digits])
	if err != nil {
		return nil
	}
	output, rest, _ := field(rest[digits:], `,"output":`)
	if rest != "}" {
		return nil
	}
	if len(d.room) == 0 {
		d.room = make([]engine.TaskEnded, chunk)
	}
	ev := &d.room[0]
	d.room = d.room[1:]
	ev.Time, ev.Address, ev.Attempt, ev.Output = at, address, attempt, output
	return ev
}

// field reads a key and its string; where the key is missing, rest is all of it.
func field(text, key string) (value, rest string, ok bool) {
	after, found := strings.CutPrefix(text, key)
	if !found {
		return "", text, false
	}
	return quoted(after)
}

// quoted reads a JSON string without escapes.
func quoted(text string) (value, rest string, ok bool) {
	if text == "" || text[0] != '"' {
		return "", text, false
	}
	end := strings.IndexByte(text[1:], '"') + 1
	if end == 0 || strings.IndexByte(text[1:end], '\\') >= 0 {
		return "", text, false
	}
	return text[1:end], text[end+1:], true
}
