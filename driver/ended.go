package driver

import (
	"math"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// Ended returns the event for an outcome, with everything in it as it will come back from where it
// is stored: a replay must see what the run saw.
func Ended(address string, attempt int, out Outcome) *engine.TaskEnded {
	ev := &engine.TaskEnded{Address: address, Attempt: attempt, Output: Valid(out.Output), Usage: out.Usage, Workspace: Valid(out.Workspace), Warning: Valid(out.Warning)}
	if c := ev.Usage.CostUSD; math.IsNaN(c) || math.IsInf(c, 0) {
		ev.Usage.CostUSD, ev.Usage.CostUnknown = 0, true
	}
	if ev.Usage != (engine.Usage{}) {
		ev.Agent = Valid(out.Agent)
	}
	if out.Asks != nil {
		asks := *out.Asks
		asks.Address, asks.Attempt, asks.Text, asks.Detail = address, attempt, Valid(asks.Text), Valid(asks.Detail)
		ev.Asks = &asks
	}
	if out.Fault != nil {
		fault := *out.Fault
		fault.Message, fault.Until = Valid(fault.Message), Moment(fault.Until)
		ev.Fault = &fault
	}
	for _, f := range out.Found {
		ev.Found = append(ev.Found, workflow.Finding{OK: f.OK, Why: Valid(f.Why)})
	}
	return ev
}

// Valid replaces invalid UTF-8, as JSON does.
func Valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Moment returns a time with the precision with which it is stored.
func Moment(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.Round(0).UTC()
}
