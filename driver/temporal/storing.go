package temporal

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"go.temporal.io/api/workflowservice/v1"
)

// What an attempt has printed is stored before its end is reported. If the store cannot take it, such as one that is full or away, the
// outcome is still known and must not be lost, so the attempt goes on for a while and says what it waits for. Until the store takes something
// again, the worker begins no other attempt.

// storePatience is for how many heartbeat timeouts the end of an attempt waits for the store.
const storePatience = 30

// store stores the log of an attempt that has ended. The error says what is missing.
func (c *crew) store(ctx context.Context, log *attemptLog, waits *atomic.Pointer[string]) (err error) {
	end := time.Now().Add(storePatience * c.d.o.Heartbeat)
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, c.d.o.Heartbeat/2) {
		if err = cmp.Or(c.d.storeGone(ctx), log.close()); err == nil { // without the store, the result would be lost, too
			return nil
		}
		c.full.Store(true)
		why := err.Error()
		waits.Store(&why)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		if time.Now().After(end) {
			return err
		}
	}
}

// canStore returns an error if the store could not take the log of an earlier attempt, and still takes nothing.
func (c *crew) canStore(ctx context.Context) error {
	if !c.full.Load() {
		return nil
	}
	key := "probes/" + part(c.identity)
	err := c.d.o.Store.Put(ctx, key, []byte(c.identity))
	if err == nil {
		err = c.d.o.Store.Delete(ctx, key)
	}
	if err != nil {
		return refuse(fmt.Errorf("worker %s cannot store what a step prints: %w", c.w.Name, err))
	}
	c.full.Store(false)
	return nil
}

// unstored says that a step has ended whose log cannot be stored.
func (d *Driver) unstored(now *workflowservice.DescribeWorkflowExecutionResponse) string {
	for _, a := range now.GetPendingActivities() {
		var why string
		if a.GetHeartbeatDetails() == nil || a.GetActivityType().GetName() != attemptName || d.o.Client.DataConverter.FromPayloads(a.GetHeartbeatDetails(), &why) != nil {
			continue
		}
		return fmt.Sprintf("step %s has ended, but what it printed cannot be stored: %s", keyOf(a.GetActivityId()).address, why)
	}
	return ""
}
