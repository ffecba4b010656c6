package local

import (
	"testing"
	"time"

	"github.com/hocket-dev/hocket/engine"
)

// Results that are recorded together have times that never go back, whatever the clock showed when
// they arrived.
func TestTimesOfABatch(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	l := &loop{mail: newMailbox(), attempts: newAttempts(), last: noon}
	for _, ahead := range []time.Duration{-time.Hour, time.Hour, 0} {
		l.mail.post(letter{ended: engine.Envelope{Time: noon.Add(ahead), Event: &engine.TaskEnded{}}})
	}
	l.collect()
	for i, want := range []time.Time{noon, noon.Add(time.Hour), noon.Add(time.Hour)} {
		if got := l.batch[i].Time; !got.Equal(want) {
			t.Errorf("result %d happened at %s, want %s", i+1, got, want)
		}
	}
}
