package hocket

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workspace"
)

// shared is a workspace in which an attempt works, the host, and with it the attempts of what it hands
// off, its guests. It is locked until all of them have left.
type shared struct {
	place string

	// All below is locked by sharing.
	workspace *workspace.Workspace // nil before the directory exists
	port      int
	free      func() // of the workspace and its ports; nil before they are there

	closed bool // no more guests may come
	left   bool // the host has left
	guests int
	empty  chan struct{} // closed when no guest is there, and none may come
	over   chan struct{} // closed when all have left
}

// sharing has the workspaces of this process in which attempts work, by their places.
var sharing = struct {
	sync.Mutex
	in map[string]*shared
}{in: map[string]*shared{}}

// host waits until nothing works in a place any more, such as what an earlier attempt has handed off. Then it
// lets guests in. The caller calls leave.
func host(ctx context.Context, place string) (*shared, error) {
	for {
		sharing.Lock()
		before := sharing.in[place]
		if before == nil {
			s := &shared{place: place, empty: make(chan struct{}), over: make(chan struct{})}
			sharing.in[place] = s
			sharing.Unlock()
			return s, nil
		}
		sharing.Unlock()
		select {
		case <-before.over:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// provide says where the guests work. When all have left, it calls the function that frees that.
func (s *shared) provide(w *workspace.Workspace, port int, free func()) {
	sharing.Lock()
	defer sharing.Unlock()
	s.workspace, s.port, s.free = w, port, free
}

// close lets no more guests in, and waits until none is there.
func (s *shared) close(ctx context.Context) error {
	sharing.Lock()
	s.closed = true
	s.settle()
	sharing.Unlock()
	select {
	case <-s.empty:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// leave ends what the host does.
func (s *shared) leave() {
	sharing.Lock()
	defer sharing.Unlock()
	s.closed, s.left = true, true
	s.settle()
}

// settle tells those who wait what has become of the workspace. The caller has locked sharing.
func (s *shared) settle() {
	if !s.closed || s.guests > 0 {
		return
	}
	select {
	case <-s.empty:
	default:
		close(s.empty)
	}
	if !s.left {
		return
	}
	if s.free != nil {
		s.free()
	}
	delete(sharing.in, s.place)
	close(s.over)
}

// visit lets an attempt work in the workspace of another one. The caller calls the function when the attempt has ended.
func visit(place string) (s *shared, leave func(), err error) {
	sharing.Lock()
	defer sharing.Unlock()
	switch s = sharing.in[place]; {
	case s == nil || s.closed:
		return nil, nil, errors.New("the attempt that handed the work off has ended")
	case s.workspace == nil:
		return nil, nil, errors.New("the attempt that handed the work off has no workspace yet")
	}
	s.guests++
	return s, func() {
		sharing.Lock()
		defer sharing.Unlock()
		s.guests--
		s.settle()
	}, nil
}

// errands are what an attempt has handed off and has no result of.
type errands struct {
	handOff handOff

	mu   sync.Mutex
	open []*engine.HandoffAsked // for the result
}

// follow returns the function with which an attempt hands work off.
func (e *errands) follow(task *engine.StartTask, at *driver.Attempt) {
	if at.HandOff == nil {
		return
	}
	for _, h := range task.Handed {
		if h.Status == engine.Running {
			e.open = append(e.open, &engine.HandoffAsked{ID: h.ID, Blocking: true})
		}
	}
	e.handOff = at.HandOff
	at.HandOff = func(ctx context.Context, ev *engine.HandoffAsked) (*engine.Return, error) {
		result, err := e.handOff(ctx, ev)
		e.mu.Lock()
		defer e.mu.Unlock()
		switch {
		case err == nil && result.Status == engine.Running:
			e.open = append(e.open, &engine.HandoffAsked{ID: result.ID, Blocking: true})
		case err != nil && ctx.Err() != nil: // it only waits no longer
			again := *ev
			again.Blocking = true
			e.open = append(e.open, &again)
		case err == nil:
			e.open = slices.DeleteFunc(e.open, func(o *engine.HandoffAsked) bool { return o.ID == result.ID })
		}
		return result, err
	}
}

// wait waits for everything that the attempt has handed off: the files are in its workspace, which is recorded
// next. Whether that work succeeded makes no difference to the attempt.
func (e *errands) wait(ctx context.Context) error {
	for {
		e.mu.Lock()
		if len(e.open) == 0 {
			e.mu.Unlock()
			return nil
		}
		next := e.open[0]
		e.open = e.open[1:]
		e.mu.Unlock()
		if _, err := e.handOff(ctx, next); err != nil {
			return err
		}
	}
}
