// Package drivertest is the conformance suite for drivers: the same workflows, crashes
// and answers, wherever the driver stores its runs. It depends only on the driver
// interface.
//
// A driver's own test calls [Run] with a [World]. Each scenario lists the duties that it
// proves, by their numbers in package engine. Every scenario with a result also checks
// that replaying the recorded events leads to the same result. A driver that does not do
// what a scenario waits for fails it within minutes.
package drivertest

import (
	"context"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
)

// World is one durable place for runs. It outlives its drivers.
type World interface {
	// Driver opens the place as a new process would, on a machine whose wall clock
	// returns now.
	Driver(t testing.TB, now func() time.Time) Process
	// Spoil makes the output of a task unreadable. seq is the event that ended the task,
	// in a run that is not being driven. restore makes the output readable again.
	Spoil(t testing.TB, run string, seq int) (restore func())
	// Away makes the place unreachable, for all drivers, until back is called.
	Away(t testing.TB) (back func())
	Traits() Traits
}

// Traits say in what a World differs from others. Only the scenarios "two drivers" and "interrupt" do not apply
// to all of them.
type Traits struct {
	// Exclusive means that one process at a time drives a run. Otherwise they share its work.
	Exclusive bool
	// StopsWithCaller means that attempts stop when the context of Drive is done. Otherwise they are made
	// elsewhere and go on.
	StopsWithCaller bool
	// Hour is how long scenarios wait until an hour has passed, in a World whose runs have the time of a server.
	// Zero means that they have the time of the process, which scenarios set.
	Hour time.Duration
	// Forgets means that the driver does not know what changed in the list of runs before somebody watched it.
	Forgets bool
	// Retells means that a driver may read a run again, and then tells its script everything again.
	Retells bool
}

// Process is a driver that stands for a separate process.
type Process interface {
	driver.Driver
	// Kill makes this driver die: from now on it records and starts nothing, and others
	// may take its runs. Drive soon returns an error.
	Kill()
}

// Agent runs an attempt at a task. It is called from many goroutines.
type Agent func(ctx context.Context, task *engine.StartTask) Outcome

// Outcome is the outcome of an attempt.
type Outcome = driver.Outcome

// Limit is the time limit of a scenario. Only a driver that never does what the scenario
// waits for takes that long.
const Limit = 3 * time.Minute

// Run runs the whole suite.
func Run(t *testing.T, newWorld func(t testing.TB) World) {
	for _, s := range Scenarios {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			s.Play(t, newWorld, Limit)
		})
	}
}

// Scenario is one test of the suite.
type Scenario struct {
	Name   string
	Proves []int // duties, by their numbers in package engine
	run    func(t *scene, w World)
}

// Scenarios lists the scenarios of the suite.
var Scenarios = []Scenario{
	{"sequence", []int{1, 2, 3}, sequence},
	{"order", []int{1, 2}, order},
	{"fan out", []int{3}, fanOut},
	{"failures", []int{1, 3}, failures},
	{"panic", []int{4}, panics},
	{"retries", []int{3, 6}, retries},
	{"quota", []int{6}, quota},
	{"attempt times out", []int{5, 6}, attemptTimesOut},
	{"run times out", []int{5, 6}, runTimesOut},
	{"cancel", []int{5, 8}, cancelWhileDriven},
	{"cancel while nobody drives", []int{8, 14}, cancelWhileIdle},
	{"interrupt", []int{12, 15}, interrupt},
	{"leave", []int{14, 15}, leave},
	{"over", []int{16}, over},
	{"clock set", []int{6, 7}, clockSet},
	{"deadline", []int{9}, deadline},
	{"patience", []int{6, 25}, patience},

	{"answer while nobody drives", []int{8, 14}, answerWhileIdle},
	{"answer while driven", []int{8}, answerWhileDriven},
	{"nobody answers", []int{6}, nobodyAnswers},
	{"budget", []int{8}, budget},
	{"unknown cost", []int{8}, unknownCost},

	{"crash", []int{2, 12}, crash},
	{"lost", []int{12}, lost},
	{"unsettled", []int{13}, unsettled},
	{"left running", []int{20}, leftRunning},
	{"answer before once", []int{14}, answerBeforeOnce},
	{"two drivers", []int{19, 21, 22}, twoDrivers},
	{"several die", []int{12, 19}, severalDrive},
	{"away", []int{2, 3}, away},

	{"start key", []int{21}, startKey},
	{"start key race", []int{21}, startKeyRace},
	{"start key of a deleted run", []int{21, 24}, startKeyDeleted},
	{"claim", []int{21}, claim},
	{"claim ends with the first drive", []int{15, 19}, claimEnds},
	{"pending", []int{22, 23}, pending},
	{"recorded and not begun", []int{14}, begun},
	{"find", []int{21, 22}, find},
	{"delete", []int{19, 24}, deleted},
	{"collect", []int{24}, collected},
	{"fork", []int{24}, forked},
	{"fork that replaces", []int{8, 21, 24}, replaced},
	{"what attempts cost", []int{23, 24}, spent},
	{"export", []int{23}, exported},
	{"new plan after the end", []int{16, 22, 24, 26}, replanOver},
	{"new plan before it is driven", []int{26}, replanBetween},
	{"new plan while driven", []int{5, 8, 26}, replanDriven},
	{"new plan and a crash", []int{12, 26}, replanCrash},
	{"follow", []int{23}, follow},
	{"output", []int{23}, output},
	{"long output", []int{17, 23}, longOutput},
	{"unreadable output", []int{17}, unreadable},
	{"watch", []int{22}, watched},
	{"watch since a version", []int{22}, watchedSince},
	{"watch what a run costs", []int{22}, watchedCost},

	{"kinds of questions", []int{8, 22}, kinds},
	{"permission", []int{8, 10}, permission},
	{"withdrawn question", []int{10, 11}, withdrawn},
	{"orphaned question", []int{10, 12}, orphan},
	{"lost question", []int{12}, lostQuestion},
	{"warning", []int{3}, warned},
	{"handoff", []int{1, 3, 8, 10}, handoff},
	{"handoff fails", []int{10}, handoffFails},
	{"handoff after a crash", []int{10, 12}, handoffCrash},
	{"handoff that nobody waits for", []int{10}, handoffLeft},
	{"handoff that waits for a person", []int{10, 25}, handoffWaits},
	{"detached handoff after a crash", []int{10, 12, 13}, handoffDetached},
	{"somebody is here", []int{1, 8, 11}, here},
	{"answered elsewhere", []int{11}, answeredElsewhere},
	{"nobody is here", []int{10, 11}, nobodyHere},
	{"defect", []int{18}, defect},
	{"script", []int{25}, scripted},
	{"script and a crash", []int{12, 25}, scriptedCrash},
	{"script offers something else", []int{25}, offersNothing},
	{"observer", []int{25}, observed},
}
