// Package drivertest is the suite that every driver passes: the same workflows,
// the same crashes, the same answers, whatever the driver keeps its runs in. It
// knows the engine and the model, and no driver.
//
// A driver's own test calls [Run] with a [World]. Every scenario ends with a
// check that the recorded events, replayed, give the result that was returned.
package drivertest

import (
	"context"
	"testing"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// World is one durable place for runs. It outlives its drivers.
type World interface {
	// Driver is a new process, as it were, that drives runs of this world with
	// an agent for all tasks.
	Driver(t testing.TB, agent Agent) Driver
}

// Driver drives runs. Start and Resume return when the run is over, or waits for
// something that nobody here can give.
type Driver interface {
	Start(ctx context.Context, s Start) (engine.Result, error)
	Resume(ctx context.Context, run string) (engine.Result, error)
	// Answer, Cancel and Raise record something in a run, whoever drives it. An
	// error means that it was not taken.
	Answer(ctx context.Context, run, address, value string) error
	Cancel(ctx context.Context, run, reason string) error
	Raise(ctx context.Context, run string, limits workflow.Limits) error
	// Events are what is recorded of a run.
	Events(ctx context.Context, run string) ([]engine.Envelope, error)
	// Kill makes this driver die: from now on it records nothing and begins
	// nothing, and others may take its runs up. Start and Resume return some
	// error soon.
	Kill()
}

// Start is a run to start.
type Start struct {
	Run    string
	Bundle *workflow.Bundle
	Inputs map[string]any
	Limits workflow.Limits
	Tasks  map[string]engine.TaskFacts
}

// Agent makes an attempt at a task. It is called from many goroutines.
type Agent func(ctx context.Context, task *engine.StartTask) Outcome

// Outcome is what an attempt came to.
type Outcome struct {
	Output string
	Fault  *engine.Fault // nil: it did its work
	Usage  engine.Usage
}

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
	}
}
