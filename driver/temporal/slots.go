package temporal

import (
	"context"
	"sync"

	"go.temporal.io/sdk/worker"
)

// slots limits how many attempts a worker makes at once, whatever their queues. An attempt that waits for a reply does not
// count, because what it waits for may need its place: work that it handed off may have to be done by the same worker. Nil
// means no limit.
type slots struct {
	most int

	mu    sync.Mutex
	used  int
	freed chan struct{} // closed when used decreases
}

func newSlots(most int) *slots {
	if most == 0 {
		return nil
	}
	return &slots{most: most, freed: make(chan struct{})}
}

// take takes n places as soon as there is one; with n = 0, it only waits for that.
func (s *slots) take(ctx context.Context, n int) error {
	for s != nil {
		s.mu.Lock()
		if s.used < s.most {
			s.used += n
			s.mu.Unlock()
			return nil
		}
		freed := s.freed
		s.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// give gives a place back.
func (s *slots) give() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used--
	close(s.freed)
	s.freed = make(chan struct{})
}

// place is that of an attempt.
type place struct {
	slots *slots

	mu    sync.Mutex
	waits int // requests that wait for a reply
}

// leave means that the attempt waits for a reply.
func (p *place) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waits++; p.waits == 1 {
		p.slots.give()
	}
}

// back means that it no longer waits for one of them. An attempt that has to stop gets its place back at once.
func (p *place) back(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waits--; p.waits == 0 && p.slots.take(ctx, 1) != nil {
		p.slots.mu.Lock()
		defer p.slots.mu.Unlock()
		p.slots.used++
	}
}

// tuner lets the SDK ask a queue for activities only while there is a place.
func (s *slots) tuner() (worker.WorkerTuner, error) {
	if s == nil {
		return nil, nil
	}
	usual, err := worker.NewFixedSizeSlotSupplier(1000)
	if err != nil {
		return nil, err
	}
	return worker.NewCompositeTuner(worker.CompositeTunerOptions{
		ActivitySlotSupplier: polling{s, make(chan struct{}, 1)},
		WorkflowSlotSupplier: usual, LocalActivitySlotSupplier: usual, NexusSlotSupplier: usual, SessionActivitySlotSupplier: usual,
	})
}

// polling lets one task of a queue come at a time. If others have taken the last place meanwhile, it waits here, see
// [crew.prepare]. Without this, a worker would take all tasks that its queues have, also those that others could do now.
type polling struct {
	*slots
	one chan struct{}
}

// ReserveSlot waits until a task may come.
func (p polling) ReserveSlot(ctx context.Context, _ worker.SlotReservationInfo) (*worker.SlotPermit, error) {
	select {
	case p.one <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if p.take(ctx, 0) != nil {
		<-p.one
		return nil, ctx.Err()
	}
	return &worker.SlotPermit{UserData: sync.OnceFunc(func() { <-p.one })}, nil
}

// TryReserveSlot lets none come without being asked for.
func (polling) TryReserveSlot(worker.SlotReservationInfo) *worker.SlotPermit { return nil }

// MarkSlotUsed means that a task has come.
func (polling) MarkSlotUsed(i worker.SlotMarkUsedInfo) { i.Permit().UserData.(func())() }

// ReleaseSlot means that a task has ended, or that none has come.
func (polling) ReleaseSlot(i worker.SlotReleaseInfo) { i.Permit().UserData.(func())() }

// MaxSlots returns 0: what counts is not how many tasks have come.
func (polling) MaxSlots() int { return 0 }
