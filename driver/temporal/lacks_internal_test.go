package temporal

import (
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// A worker that was lost is back if it was heard of after all its old requests have ended, or makes an attempt.
func TestLostWorkerIsBack(t *testing.T) {
	lost := time.Now()
	for name, c := range map[string]struct {
		heard, beat time.Duration // since it was lost
		worker      string        // of the attempt
		back        bool
	}{
		"silent":                       {heard: -time.Minute},
		"an old request has ended":     {heard: time.Minute},
		"it has asked":                 {heard: 71 * time.Second, back: true},
		"it makes an attempt":          {heard: -time.Minute, beat: time.Second, worker: "one", back: true},
		"its attempt was heard of":     {heard: -time.Minute, beat: -time.Second, worker: "one"},
		"another one makes an attempt": {heard: -time.Minute, beat: time.Second, worker: "two"},
	} {
		now := &workflowservice.DescribeWorkflowExecutionResponse{PendingActivities: []*workflowpb.PendingActivityInfo{
			{LastWorkerIdentity: c.worker, LastHeartbeatTime: timestamppb.New(lost.Add(c.beat))},
			{LastWorkerIdentity: "one"}, // has just begun
		}}
		l := look{m: &mirror{lost: map[string]time.Time{"one": lost}}, now: now}
		if back := !l.hasLost(presence{identity: "one", heard: lost.Add(c.heard)}); back != c.back {
			t.Errorf("%s: back %t", name, back)
		}
	}
}

// Who has the run's files is named, also when the server lists no worker any more.
func TestNoWorkerIsThere(t *testing.T) {
	d := &Driver{o: Options{Queue: "shop@rkhpgjmcdtpm", Store: Folder("/store"), Now: time.Now}, project: "shop"}
	const none = "no worker serves the queue shop with the store /store"
	for want, homes := range map[string]map[string]string{
		none: {},
		none + "; start `hocket worker --name one`, which has this run's files": {"": "shop@rkhpgjmcdtpm/worker/one"},
	} {
		m := &mirror{machine: &machine{homes: homes}}
		for age, want := range map[time.Duration]string{time.Minute: want, 0: ""} { // a worker may be about to take it
			task := &workflowpb.PendingWorkflowTaskInfo{State: enums.PENDING_WORKFLOW_TASK_STATE_SCHEDULED, ScheduledTime: timestamppb.New(time.Now().Add(-age))}
			l := look{d: d, m: m, now: &workflowservice.DescribeWorkflowExecutionResponse{PendingWorkflowTask: task}, workers: func() ([]presence, error) { return nil, nil }}
			if got := l.undecided(); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
	}
}
