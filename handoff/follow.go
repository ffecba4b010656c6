package handoff

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
)

// Follow writes the directories of all work that agents hand off in a run, and of the run itself if
// it is a session, while a process drives it. The caller passes the observer to the driver, and
// calls end afterwards.
func (s *Sessions) Follow(ctx context.Context, run *hocket.Run, also hocket.Observer) (o hocket.Observer, end func()) {
	ctx = context.WithoutCancel(ctx)
	f := &follower{also: also}
	info, err := run.Info(ctx)
	f.session = err == nil && IsSession(info)
	if f.session {
		if err := s.mark(run.ID()); err != nil { // a session that repeats another one has no mark yet
			s.problem(fmt.Errorf("session %s: %w", run.ID(), err))
		}
		s.ClearObstacle(run.ID())
	}
	// After a kill, or in a new fork, the directories of earlier handoffs may be missing. A run that
	// has only started has none, and reading its definition back takes as long as many steps.
	if err != nil || info.Seq > 1 {
		before, err := s.handedOff(ctx, run)
		f.inside.Store(err == nil && len(before) > 0)
	}
	f.show = func() {
		if f.session {
			s.showDriven(ctx, run.ID(), func() (*Session, error) { return s.read(ctx, run) })
		}
		if f.inside.Load() {
			s.showInside(ctx, run)
		}
	}
	return f, func() {
		f.end()
		f.show()
	}
}

// follower writes the directories of a run while it is driven.
type follower struct {
	writing
	also    hocket.Observer // nil: none
	session bool            // the run is a session
	inside  atomic.Bool     // work was handed off in it
}

func (f *follower) Fact(fact engine.Fact) {
	if f.also != nil {
		shown := fact
		shown.Text = ForPeople(fact.Text)
		f.also.Fact(shown)
	}
	if strings.Contains(fact.Address, "/handoff-") {
		f.inside.Store(true)
	}
	if f.session || f.inside.Load() {
		f.writing.Fact(fact)
	}
}

func (f *follower) Log(address string, attempt int, piece []byte) {
	if f.also != nil {
		f.also.Log(address, attempt, piece)
	}
	if f.session || f.inside.Load() {
		f.writing.Log(address, attempt, piece)
	}
}

// writing updates the directory of a session while it is driven: soon after each change, but not
// more often than a person can read.
type writing struct {
	show func()

	mu    sync.Mutex
	timer *time.Timer
	ended bool
	due   sync.WaitGroup // calls of show
}

// The delays after a fact and after output.
const (
	soon  = 200 * time.Millisecond
	later = 2 * time.Second
)

func (o *writing) Fact(f engine.Fact) { o.in(soon) }

func (o *writing) Log(string, int, []byte) { o.in(later) }

func (o *writing) in(delay time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer != nil || o.ended {
		return
	}
	o.due.Add(1)
	o.timer = time.AfterFunc(delay, func() {
		defer o.due.Done()
		o.mu.Lock()
		o.timer = nil
		ended := o.ended
		o.mu.Unlock()
		if !ended {
			o.show()
		}
	})
}

// end stops the updates, and waits for one in progress.
func (o *writing) end() {
	o.mu.Lock()
	o.ended = true
	if o.timer != nil && o.timer.Stop() {
		o.due.Done()
	}
	o.mu.Unlock()
	o.due.Wait()
}
