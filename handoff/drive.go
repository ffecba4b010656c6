package handoff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/internal/filelock"
	"github.com/hocket-dev/hocket/internal/sorted"
)

// Drive carries out the sessions of the project that no other process drives, until all of them
// have ended or wait for people. Only one process does this at a time: if another one is running,
// Drive returns at once.
//
// A blocking session is driven by its sender, which holds it from the start. If the sender is
// killed, Drive takes over the session. If a person has interrupted the sender, Drive leaves the
// session alone: see [Sessions.Interrupted].
//
// A session that is recorded while the other process is about to end is not forgotten: it is
// recorded before its sender looks for the lock, and the other process looks for sessions
// again after it has released the lock.
//
// A session that cannot be driven does not block the others. The error says why it cannot be driven.
func (s *Sessions) Drive(ctx context.Context) error {
	stuck := map[string]error{} // sessions that cannot be driven here
	for {
		lock, err := filelock.Wait(s.drivingLock(), lookTime)
		if errors.Is(err, filelock.ErrLocked) || errors.Is(err, fs.ErrNotExist) { // without a state directory there are no sessions
			return nil
		}
		if err != nil {
			return err
		}
		s.showMarked(ctx)
		err = s.driveAll(ctx, stuck)
		if err = errors.Join(err, lock.Release()); err != nil || ctx.Err() != nil {
			return err
		}
		b := newBoard(s, stuck)
		if err := b.refresh(ctx); err != nil {
			return err
		}
		if len(b.next(ctx)) == 0 {
			return undriven(stuck)
		}
	}
}

// undriven returns an error that says why sessions could not be driven, or nil.
func undriven(stuck map[string]error) (failed error) {
	for _, id := range sorted.Keys(stuck) {
		failed = errors.Join(failed, fmt.Errorf("session %s cannot be driven: %w", id, stuck[id]))
	}
	return failed
}

// Driven reports whether a process drives the spawned sessions of the project.
func (s *Sessions) Driven() bool {
	f, err := os.Open(s.drivingLock())
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(filelock.Look(f), filelock.ErrLocked)
}

func (s *Sessions) drivingLock() string { return filepath.Join(s.p.State(), "handoff.lock") }

// lookTime is much longer than [Sessions.Driven] holds the lock.
const lookTime = 200 * time.Millisecond

// deleted stands for the status of a session that does not exist.
const deleted Status = "DELETED"

// board has the sessions that have not ended, as far as this process knows. It follows the changes
// made by all processes, so that the list of runs need not be read again and again.
type board struct {
	*Sessions
	open  map[string]hocket.Info
	ended map[string]Status
	// awaited are the sessions that others depend on.
	awaited map[string]bool
	active  map[string]bool  // driven by this process
	stuck   map[string]error // cannot be driven here

	changed bool // there may be new sessions to drive
}

func newBoard(s *Sessions, stuck map[string]error) *board {
	return &board{Sessions: s, open: map[string]hocket.Info{}, ended: map[string]Status{}, awaited: map[string]bool{}, active: map[string]bool{}, stuck: stuck}
}

func (b *board) note(i hocket.Info) {
	if !IsSession(i) {
		return
	}
	state := listed(i)
	old, known := b.open[i.ID]
	switch ended := b.ended[i.ID]; {
	case ended != "" && ended != deleted && !state.Final():
		return // we know a newer state
	case state.Final():
		delete(b.open, i.ID)
		b.ended[i.ID] = state.Status
		b.changed = b.changed || b.awaited[i.ID]
	case !known || ended != "" || !b.active[i.ID] && (old.Driven != i.Driven || old.Status != i.Status):
		b.changed = true
		fallthrough
	default:
		b.open[i.ID] = i
		delete(b.ended, i.ID)
	}
	for _, id := range state.DependsOn {
		b.awaited[id] = true
	}
}

// refresh reads the list of runs.
func (b *board) refresh(ctx context.Context) error {
	runs, err := b.p.Runs(ctx, hocket.Filter{Label: labelAgent, Status: unfinished})
	if err != nil {
		return err
	}
	clear(b.open)
	b.changed = true
	for _, r := range runs {
		b.note(r)
	}
	return nil
}

// driveAll drives sessions until there are none left to drive.
func (s *Sessions) driveAll(ctx context.Context, stuck map[string]error) error {
	var group sync.WaitGroup
	defer group.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changed := make(chan hocket.Info)
	group.Go(func() { s.changes(ctx, changed) })
	type end struct {
		id   string
		info hocket.Info
		err  error
	}
	ended := make(chan end)
	b := newBoard(s, stuck)
	var queue []string
	patient := false // waiting for a session that another process drives
	for ctx.Err() == nil {
		if len(b.active) == 0 && !patient {
			if err := b.refresh(ctx); err != nil {
				return err
			}
		}
		if b.changed {
			queue, b.changed = b.next(ctx), false
		}
		for len(queue) > 0 && len(b.active) < s.p.Config().Handoff.Parallel {
			id := queue[0]
			queue = queue[1:]
			b.active[id] = true
			group.Go(func() {
				err := s.driveOne(ctx, id)
				info, lost := s.info(context.WithoutCancel(ctx), id)
				select {
				case ended <- end{id, info, errors.Join(err, lost)}:
				case <-ctx.Done():
				}
			})
		}
		if patient = len(b.active) == 0 && b.awaitsOthers(); len(b.active) == 0 && !patient {
			return nil
		}
		select {
		case e := <-ended:
			delete(b.active, e.id)
			if e.err != nil {
				stuck[e.id] = e.err
				s.obstacle(e.id, e.err.Error())
			}
			b.note(e.info)
		case change := <-changed:
			b.note(change)
		case <-ctx.Done():
		}
	}
	return context.Cause(ctx)
}

// awaitsOthers reports whether a session depends on one that another process drives.
func (b *board) awaitsOthers() bool {
	for _, info := range b.open {
		for _, id := range listed(info).DependsOn {
			if on, open := b.open[id]; open && on.Driven && info.Pending {
				return true
			}
		}
	}
	return false
}

func (s *Sessions) info(ctx context.Context, id string) (hocket.Info, error) {
	run, err := s.exact(ctx, id)
	if err != nil {
		return hocket.Info{}, err
	}
	return run.Info(ctx)
}

// changes sends the changes of runs until ctx is done. If watching fails, it tries again; otherwise
// the receiver would wait forever. A new watch first reports every run, so nothing is lost.
func (s *Sessions) changes(ctx context.Context, changed chan<- hocket.Info) {
	said := ""
	for ctx.Err() == nil {
		for change, err := range s.p.Watch(ctx) {
			if err != nil {
				if said != err.Error() {
					s.problem(err)
				}
				said = err.Error()
				break
			}
			select {
			case changed <- change.Info:
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// driveOne drives a session, and keeps its directory up to date.
func (s *Sessions) driveOne(ctx context.Context, id string) error {
	s.ClearObstacle(id)
	if s.Tmux != nil && s.p.Config().Handoff.Tmux {
		return s.driveInTmux(ctx, id)
	}
	run, err := s.p.Run(ctx, id)
	if err != nil {
		return err
	}
	observer, end := s.Follow(ctx, run, nil)
	_, err = run.Drive(ctx, hocket.Front{Elsewhere: true, Observer: observer})
	end()
	var held *hocket.HeldError
	var interrupted *hocket.InterruptedError
	if errors.As(err, &held) || errors.As(err, &interrupted) {
		return nil
	}
	return err
}

// next returns the sessions that can be driven now, in the order to drive them. It cancels those
// whose dependencies failed.
func (b *board) next(ctx context.Context) []string {
	var next []State
	before := len(b.open)
	for _, info := range b.open {
		state := listed(info)
		if info.Driven || b.active[info.ID] || b.stuck[info.ID] != nil || state.Phase == Waiting {
			continue
		}
		if b.onHold(info) {
			continue
		}
		if state.Phase == Pending && len(state.DependsOn) > 0 {
			ready, err := b.ready(ctx, &state)
			if err != nil {
				b.stuck[info.ID] = err
				b.obstacle(info.ID, err.Error())
			}
			if err != nil || !ready {
				continue
			}
		}
		next = append(next, state)
	}
	if len(b.open) < before { // a session was skipped, and so are those that depend on it
		return b.next(ctx)
	}
	sort.Slice(next, func(i, j int) bool {
		a, b := &next[i], &next[j]
		return cmp.Or(cmp.Compare(rank(a.Priority), rank(b.Priority)), cmp.Compare(a.order, b.order)) < 0
	})
	ids := make([]string, len(next))
	for i, state := range next {
		ids[i] = state.ID
	}
	return ids
}

func rank(priority string) int {
	return slices.Index([]string{string(protocol.High), string(protocol.Medium), string(protocol.Low)}, priority)
}

// ready reports whether all sessions that a session waits for have completed. If one has
// failed, it cancels the session.
func (b *board) ready(ctx context.Context, state *State) (bool, error) {
	for _, id := range state.DependsOn {
		if _, open := b.open[id]; open || b.active[id] {
			return false, nil
		}
		if b.ended[id] == "" {
			info, err := b.info(ctx, id)
			var unknown *hocket.UnknownRunError
			if err != nil && !errors.As(err, &unknown) {
				return false, err
			}
			if b.ended[id] = deleted; err == nil {
				if b.ended[id] = listed(info).Status; b.ended[id] == Running {
					b.note(info)
					delete(b.ended, id)
					return false, nil
				}
			}
		}
		if status := b.ended[id]; status != Completed {
			_, err := b.Cancel(ctx, state.ID, fmt.Sprintf(skipped+"it depends on session %s, which is %s", id, status))
			if delete(b.open, state.ID); err == nil {
				b.ended[state.ID] = Cancelled
			}
			return false, err
		}
	}
	return true, nil
}
