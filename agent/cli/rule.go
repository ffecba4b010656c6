package cli

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// reply describes how the output of a CLI is parsed.
type reply struct {
	format string // lines, json or text
	file   string // a file that it writes, in the directory of the run's files, as one more event; "": none
	rules  []rule
}

// rule says what an event means. Every matching rule is applied, in order.
type rule struct {
	when  []condition
	each  path // a list or a map in the event: the rest applies to each of its entries
	where []condition
	take  map[string]paths
	note  []template       // lines for the log, with paths in braces; the first one whose values all exist counts
	add   map[string]paths // numbers to add up
	total map[string]paths // numbers that are already totals for the whole conversation
	means Meaning
	stop  bool // the CLI need not continue

	failed []condition      // when an output is that of a failed call; none: never
	change agent.ChangeKind // what happened to the file at the path; "": it was written
}

// condition constrains one value of an event.
type condition struct {
	at      path
	oneOf   []any // a nil entry means that it may be missing
	not     bool  // the opposite
	matches *regexp.Regexp
}

// path is the path of a value in an event: .message.content.0. The empty path is the event
// itself.
type path []string

// paths are alternatives; the first one that exists counts.
type paths []path

// entryKey is the path to the key of an entry.
const entryKey = "@"

func parsePath(text string) (path, bool) {
	if text == "." {
		return path{}, true
	}
	if text == entryKey {
		return path{entryKey}, true
	}
	rest, ok := strings.CutPrefix(text, ".")
	if !ok || rest == "" {
		return nil, false
	}
	p := path(strings.Split(rest, "."))
	return p, !slices.Contains(p, "")
}

// event is a value, with its key if it is an entry.
type event struct {
	value any
	key   string
}

func (p path) in(e event) any {
	if len(p) == 1 && p[0] == entryKey {
		return e.key
	}
	return workflow.At(e.value, p)
}

func (p paths) in(e event) any {
	for _, alternative := range p {
		if v := alternative.in(e); v != nil && v != "" {
			return v
		}
	}
	return nil
}

func (c *condition) holds(e event) bool {
	v := c.at.in(e)
	if c.matches != nil {
		text, isText := v.(string)
		return (isText && c.matches.MatchString(text)) != c.not
	}
	for _, want := range c.oneOf {
		if same(v, want) {
			return !c.not
		}
	}
	return c.not
}

// same compares scalars. Numbers are equal regardless of notation.
func same(a, b any) bool {
	switch b.(type) {
	case nil, bool, string:
		return a == b
	}
	x, isNumber := a.(json.Number)
	y, wantNumber := b.(json.Number)
	if !isNumber || !wantNumber {
		return false
	}
	f, errF := x.Float64()
	g, errG := y.Float64()
	return errF == nil && errG == nil && f == g
}

func hold(list []condition, e event) bool {
	for i := range list {
		if !list[i].holds(e) {
			return false
		}
	}
	return true
}

// events returns what the rule applies to in an event: nothing if it does not match.
func (r *rule) events(e event) []event {
	if !hold(r.when, e) {
		return nil
	}
	if r.each == nil {
		return []event{e}
	}
	var out []event
	add := func(entry event) {
		if hold(r.where, entry) {
			out = append(out, entry)
		}
	}
	switch list := r.each.in(e).(type) {
	case []any:
		for i, v := range list {
			add(event{v, strconv.Itoa(i)})
		}
	case map[string]any:
		for _, key := range sorted.Keys(list) {
			add(event{list[key], key})
		}
	}
	return out
}

// text returns the value of a field as text; "" if it has none.
func (r *rule) text(field string, e event) string {
	return workflow.FormatText(r.take[field].in(e))
}

// line returns the rule's log line for an event; "" if it has none.
func (r *rule) line(e event) string {
	for _, words := range r.note {
		found := values{}
		for _, name := range words.names() {
			p, _ := parsePath(name) // guaranteed by the reader
			found[name] = p.in(e)
		}
		if line, ok := words.text(found); ok {
			return line
		}
	}
	return r.text("note", e)
}

// number returns a figure; false if there is none.
func number(p paths, e event) (float64, bool) {
	n, ok := p.in(e).(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

// errorRule maps error messages to meanings. A group named reset is the time at which a
// quota is reset.
type errorRule struct {
	matches *regexp.Regexp
	means   Meaning
}
