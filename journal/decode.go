package journal

import (
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/engine"
)

// decoder decodes events. Nearly all events of a long run say that a task ended, in the
// same few fields; these are decoded without encoding/json, which takes ten times as long.
// Everything else is left to the engine.
type decoder struct {
	room   []engine.TaskEnded // allocated for many events at once
	prefix string             // date, hour and minute of the time read last
	minute time.Time          // when that minute began
}

// taskEnded is the beginning of such an event.
const taskEnded = `{"type":"TaskEnded","time":"`

func (d *decoder) decode(line string) (engine.Envelope, error) {
	var e engine.Envelope
	if d.taskEnded(line, &e) {
		return e, nil
	}
	return engine.Decode([]byte(line))
}

// taskEnded reads an event of the form
//
//	{"type":"TaskEnded","time":"…","clock":1,"address":"…","attempt":1,"output":"…"}
//
// as the engine writes it now, and as it did before it had a clock. Events with escapes,
// faults or usage do not have this form.
func (d *decoder) taskEnded(line string, e *engine.Envelope) bool {
	stamp, rest, _ := field(line, taskEnded) // of another event, this is no time
	var ok bool
	if e.Time, ok = d.time(stamp); !ok {
		return false
	}
	clock, rest, _ := number(rest, `,"clock":`)
	address, rest, ok := field(rest, `,"address":"`)
	if !ok {
		return false
	}
	attempt, rest, ok := number(rest, `,"attempt":`)
	if !ok {
		return false
	}
	output := ""
	if rest != "}" {
		output, rest, ok = field(rest, `,"output":"`)
	}
	if !ok || rest != "}" {
		return false
	}
	if len(d.room) == 0 {
		d.room = make([]engine.TaskEnded, chunk)
	}
	ev := &d.room[0]
	d.room = d.room[1:]
	ev.Address, ev.Attempt, ev.Output = address, int(attempt), output
	e.Clock, e.Event = time.Duration(clock), ev
	return true
}

// number reads a key and its number; if the key is missing, rest is everything.
func number(text, key string) (value int64, rest string, ok bool) {
	after, found := strings.CutPrefix(text, key)
	digits := len(after) - len(strings.TrimLeft(after, "-0123456789"))
	value, err := strconv.ParseInt(after[:digits], 10, 64)
	if !found || err != nil {
		return 0, text, false
	}
	return value, after[digits:], true
}

// time reads a time in UTC. The times of a run are close together, so most differ from the
// previous one only in their seconds.
func (d *decoder) time(stamp string) (time.Time, bool) {
	const minute, second = len("2006-01-02T15:04:"), len("2006-01-02T15:04:05")
	if !strings.HasSuffix(stamp, "Z") || len(stamp) <= second {
		return time.Time{}, false
	}
	if stamp[:minute] != d.prefix {
		at, err := time.Parse(time.RFC3339Nano, stamp[:minute]+"00Z")
		if err != nil {
			return time.Time{}, false
		}
		d.prefix, d.minute = stamp[:minute], at
	}
	var nanos time.Duration
	for i, unit := minute, 10*time.Second; i < len(stamp)-1; i++ {
		switch c := stamp[i]; {
		case i == second && c == '.' && len(stamp) > second+2:
			continue
		case i == second || c < '0' || c > '9' || unit == 0 || i == minute && c > '5':
			return time.Time{}, false
		default:
			nanos += time.Duration(c-'0') * unit
			unit /= 10
		}
	}
	return d.minute.Add(nanos), true
}

// field reads a key, with the quote after it, and its string, which must have no escapes. If
// the string does not end, rest is empty.
func field(text, key string) (value, rest string, ok bool) {
	after, found := strings.CutPrefix(text, key)
	value, rest, _ = strings.Cut(after, `"`)
	return value, rest, found && !strings.Contains(value, `\`)
}
