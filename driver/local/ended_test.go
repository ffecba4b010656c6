package local

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
)

// The live engine processes the same events as a later replay, whatever agents return.
func TestEventsSurviveTheJournal(t *testing.T) {
	local := time.FixedZone("somewhere", 3600)
	for _, out := range []driver.Outcome{
		{Output: "plain"},
		{Output: "bytes \xff\xfe and \x00 and <&> and \u2028"},
		{Usage: engine.Usage{CostUSD: math.NaN()}},
		{Usage: engine.Usage{CostUSD: math.Inf(1), TokensIn: 5}},
		{Usage: engine.Usage{CostUSD: math.Inf(-1)}},
		{Fault: &engine.Fault{Kind: engine.FaultQuota, Message: "\xc3", Until: time.Now().In(local)}},
	} {
		ev := engine.Envelope{Time: driver.Moment(time.Now()), Clock: 1, Event: driver.Ended("a", 1, out)}
		back, err := roundTrip(ev)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ev, back); diff != "" {
			t.Errorf("%+v (-stepped +replayed):\n%s", out, diff)
		}
	}
}
