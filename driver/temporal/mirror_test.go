package temporal

import (
	"testing"

	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
)

// The workflow does not learn that a reply has arrived for which it no longer waited. A mirror that woke up then would fire
// timers at another time.
func TestLateReply(t *testing.T) {
	m := &mirror{telling: map[int64]string{5: "ticket"}, scheduled: map[int64]attemptKey{7: {"a", 1}}}
	completed := func(id int64) *historypb.HistoryEvent {
		return &historypb.HistoryEvent{
			EventType: enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
			Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{
				ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{ScheduledEventId: id},
			},
		}
	}
	cancelled := func(id int64) *historypb.HistoryEvent {
		return &historypb.HistoryEvent{
			EventType: enums.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED,
			Attributes: &historypb.HistoryEvent_ActivityTaskCancelRequestedEventAttributes{
				ActivityTaskCancelRequestedEventAttributes: &historypb.ActivityTaskCancelRequestedEventAttributes{ScheduledEventId: id},
			},
		}
	}
	if a, err := m.arrival(completed(5)); err != nil || a == nil || a.told != "ticket" {
		t.Fatalf("a reply that has arrived: %+v, %v", a, err)
	}
	for _, e := range []*historypb.HistoryEvent{cancelled(5), cancelled(7), completed(5)} {
		if err := m.read(e); err != nil {
			t.Fatal(err)
		}
	}
	if len(m.arrivals) > 0 {
		t.Errorf("the run learns of %+v", m.arrivals)
	}
	if _, ok := m.scheduled[7]; !ok {
		t.Error("the end of an attempt that was told to stop would be lost")
	}
}
