// Package drivertest is the suite that every driver passes: the same workflows,
// the same crashes, the same answers, whatever the driver keeps its runs in. It
// knows the seam, and no driver.
//
// A driver's own test calls [Run] with a [World]. Every scenario ends with a
// check that the recorded events, replayed, give the result that was returned.
package drivertest

import (
	"context"
	"testing"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
)

// World is one durable place for runs. It outlives its drivers.
type World interface {
	// Driver opens the place as a new process would.
	Driver(t testing.TB) Process
}

// Process is a driver in a process of its own, as it were.
type Process interface {
	driver.Driver
	// Kill makes this driver die: from now on it records nothing and begins
	// nothing, and others may take its runs up. Drive returns some error soon.
	Kill()
}

// Agent makes an attempt at a task. It is called from many goroutines.
type Agent func(ctx context.Context, task *engine.StartTask) Outcome

// Outcome is what an attempt came to.
type Outcome = driver.Outcome

// scenario is one test of the suite.
type scenario struct {
	name string
	run  func(t *testing.T, w World)
}

// Run runs the whole suite.
func Run(t *testing.T, newWorld func(t testing.TB) World) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.run(t, newWorld(t))
		})
	}
}

func scenarios() []scenario {
	return []scenario{
		{"sequence", sequence},
		{"fan out", fanOut},
		{"failures", failures},
		{"panic", panics},
		{"retries", retries},
		{"quota", quota},
		{"attempt times out", attemptTimesOut},
		{"run times out", runTimesOut},
		{"cancel", cancelWhileDriven},
		{"cancel while nobody drives", cancelWhileIdle},
		{"interrupt", interrupt},
		{"over", over},

		{"answer while nobody drives", answerWhileIdle},
		{"answer while driven", answerWhileDriven},
		{"nobody answers", nobodyAnswers},
		{"budget", budget},
		{"unknown cost", unknownCost},

		{"crash", crash},
		{"lost", lost},
		{"answer before once", answerBeforeOnce},
		{"two drivers", twoDrivers},

		{"start key", startKey},
		{"start key race", startKeyRace},
		{"claim", claim},
		{"claim ends with the first drive", claimEnds},
		{"pending", pending},
		{"recorded and not begun", begun},
		{"find", find},
		{"delete", deleted},
		{"collect", collected},
		{"fork", forked},
		{"follow", follow},
		{"output", output},
		{"long output", longOutput},
		{"watch", watched},

		{"kinds of questions", kinds},
		{"permission", permission},
		{"orphaned question", orphan},
		{"lost question", lostQuestion},
	}
}
