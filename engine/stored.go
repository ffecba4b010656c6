package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// store loads long outputs, so that a run need not keep them in memory.
type store struct {
	over int                           // maximum size in bytes of an output that is kept
	load func(seq int) (string, error) // nil if the run keeps all outputs

	last  *stored // the last one that Step loaded, because it is often needed again
	value any     // of last
}

// Offload makes the run keep only outputs of at most over bytes. It loads longer ones when it
// needs them: load returns the output of the TaskEnded with a sequence number, and must be safe
// for concurrent use. Call Offload before the first Step, or after Restore.
func (r *Run) Offload(over int, load func(seq int) (string, error)) {
	r.store.over, r.store.load = over, load
}

// LoadError says that a long output could not be loaded. A run whose Step returns it cannot be
// used any more. Its events are intact: once the cause is fixed, they can be replayed.
type LoadError struct {
	Seq   int    // of the event that has the output
	Node  string // whose output it is
	Cause error
}

func (e *LoadError) Error() string {
	return fmt.Sprintf("cannot load the output of %q, event %d: %v", e.Node, e.Seq, e.Cause)
}

func (e *LoadError) Unwrap() error { return e.Cause }

// Long is an output that is longer than the run keeps in memory, see [Run.Offload].
type Long struct{ of any }

// Value loads the output. An error is a *[LoadError].
func (l *Long) Value() (any, error) { return load(l.of) }

// String loads the output as text, or returns the error.
func (l *Long) String() string {
	value, err := l.Value()
	if err != nil {
		return err.Error()
	}
	return workflow.FormatText(value)
}

// MarshalJSON loads and encodes the output.
func (l *Long) MarshalJSON() ([]byte, error) {
	value, err := l.Value()
	if err != nil {
		return nil, err
	}
	return []byte(workflow.FormatJSON(value)), nil
}

// shown returns an output in the form used outside the engine.
func shown(v any) any {
	if standsIn(v) {
		return &Long{v}
	}
	return v
}

// valueOf returns the value of an output returned by shown.
func valueOf(output any) (any, error) {
	if l, ok := output.(*Long); ok {
		return l.Value()
	}
	return output, nil
}

// Placeholders for values in a run: stored, and lists and objects that contain such values. Use
// whole to get the value itself.
type (
	// stored is the value that a node reads from its output.
	stored struct {
		in    *store
		n     *node
		seq   int  // of the TaskEnded that has the output; 0 if given has it
		given any  // one of these types; for a combine, the list of its parts
		lines bool // it may be text that ends with a newline
		raw   bool // it is the output itself, which n has yet to read
	}
	list   []any
	object map[string]any
)

func standsIn(v any) bool {
	switch v.(type) {
	case *stored, list, object:
		return true
	}
	return false
}

// listOf returns a list of values.
func listOf(values []any) any {
	for _, v := range values {
		if standsIn(v) {
			return list(values)
		}
	}
	return values
}

// objectOf returns an object of values.
func objectOf(values map[string]any) any {
	for _, k := range sorted.Keys(values) {
		if standsIn(values[k]) {
			return object(values)
		}
	}
	return values
}

// keep returns the form in which the run keeps a value that a node has read: if it is long, a
// placeholder from which it can be read again.
func (s *store) keep(n *node, value any, again *stored) any {
	if s.load == nil || again == nil || standsIn(value) || size(value) <= s.over {
		return value
	}
	again.in, again.n = s, n
	text, _ := value.(string)
	again.lines = strings.HasSuffix(text, "\n")
	s.last, s.value = again, value
	return again
}

// given returns the output of an instance's attempt and, if that is long, where it can be loaded
// again.
func (r *Run) given(in *inst, ev *TaskEnded) (given any, again *stored) {
	switch {
	case ev.Stored > 0:
		return &stored{in: r.store, n: in.n, seq: ev.Stored, raw: true, lines: true}, &stored{seq: ev.Stored}
	case r.store.load == nil || len(ev.Output) <= r.store.over:
		return ev.Output, nil
	default:
		return ev.Output, &stored{seq: r.count}
	}
}

// composed returns a placeholder for a value that is computed from others, or nil if these are
// all in memory.
func composed(of any) *stored {
	if !standsIn(of) {
		return nil
	}
	return &stored{given: of}
}

// size returns the approximate size of a value in bytes.
func size(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		n := 0
		for _, x := range v {
			n += 16 + size(x)
		}
		return n
	case map[string]any:
		n := 0
		for k, x := range v {
			n += 32 + len(k) + size(x)
		}
		return n
	}
	return 0
}

// whole returns the value itself. It panics with a *LoadError, which Step returns.
func whole(v any) any {
	if !standsIn(v) {
		return v
	}
	one, _ := v.(*stored)
	if one != nil && one.in.last == one {
		return one.in.value
	}
	value, err := load(v)
	if err != nil {
		panic(err)
	}
	if one != nil {
		one.in.last, one.in.value = one, value
	}
	return value
}

// wholes returns the values themselves.
func wholes(values []any) []any {
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = whole(v)
	}
	return list
}

// load loads a value. An error is a *LoadError.
func load(v any) (any, error) {
	switch v := v.(type) {
	case *stored:
		return v.load()
	case list:
		values := make([]any, len(v))
		for i := range v {
			var err error
			if values[i], err = load(v[i]); err != nil {
				return nil, err
			}
		}
		return values, nil
	case object:
		values := make(map[string]any, len(v))
		for _, k := range sorted.Keys(v) {
			var err error
			if values[k], err = load(v[k]); err != nil {
				return nil, err
			}
		}
		return values, nil
	}
	return v, nil
}

func (v *stored) load() (any, error) {
	given, err := v.reload()
	if err != nil || v.raw {
		return given, err
	}
	value, err := v.n.read(given)
	if err != nil {
		return nil, &LoadError{v.seq, v.n.def.ID, err}
	}
	return value, nil
}

func (s *store) output(seq int) (string, error) {
	if s.load == nil {
		return "", errors.New("the run was restored without access to its outputs")
	}
	return s.load(seq)
}

// reload returns the output of the node.
func (v *stored) reload() (any, error) {
	if v.seq > 0 {
		text, err := v.in.output(v.seq)
		if err != nil {
			return nil, &LoadError{v.seq, v.n.def.ID, err}
		}
		return text, nil
	}
	given, err := load(v.given)
	if parts, ok := given.([]any); ok && err == nil {
		if c, ok := v.n.does.(*workflow.Combine); ok {
			return join(c, parts)
		}
	}
	return given, err
}
