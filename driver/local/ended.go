package local

import (
	"math"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// endedEvent returns the event for an outcome, with everything in it as it will come back
// from the journal: a replay must see what the run saw.
func endedEvent(address string, attempt int, out driver.Outcome) *engine.TaskEnded {
	ev := &engine.TaskEnded{Address: address, Attempt: attempt, Output: valid(out.Output), Usage: out.Usage, Warning: valid(out.Warning)}
	if c := ev.Usage.CostUSD; math.IsNaN(c) || math.IsInf(c, 0) {
		ev.Usage.CostUSD, ev.Usage.CostUnknown = 0, true
	}
	if ev.Usage != (engine.Usage{}) {
		ev.Agent = valid(out.Agent)
	}
	if out.Fault != nil {
		fault := *out.Fault
		fault.Message, fault.Until = valid(fault.Message), moment(fault.Until)
		ev.Fault = &fault
	}
	for _, f := range out.Found {
		ev.Found = append(ev.Found, workflow.Finding{OK: f.OK, Why: valid(f.Why)})
	}
	return ev
}

// valid replaces invalid UTF-8, as JSON does.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// moment returns a time with the precision of the journal.
func moment(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.Round(0).UTC()
}
