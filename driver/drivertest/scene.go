package drivertest

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"
)

// scene is the test of one scenario. The scenario runs on its own goroutine with a
// deadline, so a driver that never does what the scenario waits for fails the test
// instead of hanging it.
type scene struct {
	testing.TB
	ctx context.Context

	mu      sync.Mutex
	over    bool   // later reports of the scenario are dropped
	skipped string // why it was skipped
}

// Play plays the scenario. A driver has until the limit, and half of that again to return
// after its context is done.
func (s Scenario) Play(t testing.TB, newWorld func(t testing.TB) World, limit time.Duration) {
	t.Helper()
	late := fmt.Errorf("what the scenario waits for did not happen within %s", limit)
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit, late)
	defer cancel()
	sc, done := &scene{TB: t, ctx: ctx}, make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				sc.Errorf("the driver panicked: %v\n%s", p, debug.Stack())
			}
		}()
		s.run(sc, newWorld(sc))
	}()
	select {
	case <-done:
	case <-time.After(limit + limit/2):
		sc.Errorf("the driver hangs: the scenario has not ended %s after %v\n%s", limit/2, late, stackOf(s.run))
	}
	sc.end()
	if sc.skipped != "" {
		t.Skip(sc.skipped)
	}
}

// stackOf returns the stack of the goroutine that runs a function.
func stackOf(f func(*scene, World)) string {
	name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name() + "("
	stacks := make([]byte, 1<<20)
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(stack, name) {
			return stack
		}
	}
	return ""
}

func (s *scene) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// Context returns a context that is done when the scenario has ended or is late.
func (s *scene) Context() context.Context { return s.ctx }

func (s *scene) Error(args ...any) {
	s.Helper()
	s.Errorf("%s", fmt.Sprintln(args...))
}

func (s *scene) Errorf(format string, args ...any) {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.TB.Errorf(format, args...)
	}
}

func (s *scene) Fatal(args ...any) {
	s.Helper()
	s.Error(args...)
	runtime.Goexit()
}

func (s *scene) Fatalf(format string, args ...any) {
	s.Helper()
	s.Errorf(format, args...)
	runtime.Goexit()
}

func (s *scene) FailNow() { s.Fatal("failed") }

func (s *scene) Skip(args ...any) {
	s.skipped = fmt.Sprint(args...)
	runtime.Goexit()
}

// await returns the next value from a channel.
func await[V any](t *scene, what string, from <-chan V) V {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-t.Context().Done():
		t.Fatalf("waiting for %s: %v", what, context.Cause(t.Context()))
		panic("unreachable")
	}
}

// eventually waits until a condition holds.
func eventually(t *scene, what string, holds func() bool) {
	t.Helper()
	for !holds() {
		select {
		case <-t.Context().Done():
			t.Fatalf("waiting for %s: %v", what, context.Cause(t.Context()))
		case <-time.After(5 * time.Millisecond):
		}
	}
}
