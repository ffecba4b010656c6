package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-dev/hocket/engine"
)

// called returns the calls of the database while something is done that must succeed.
func (f *faults) called(t *testing.T, do func() error) []string {
	t.Helper()
	f.calls = nil
	if err := do(); err != nil {
		t.Fatal(err)
	}
	return f.calls
}

// with returns the calls that contain a text.
func with(calls []string, text string) []string {
	return slices.DeleteFunc(slices.Clone(calls), func(call string) bool { return !strings.Contains(call, text) })
}

// A batch of events that need nothing else is one call, without a transaction. Its statement is
// prepared once.
func TestPlainBatchIsOneCall(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	f := injectInto(t, s)
	s.statements = statements{}
	appendNext := func() error { return w.Append(Batch{Events: list(ended(w.Recorded(), "x"))}) }
	if calls := f.called(t, appendNext); len(with(calls, "prepare")) != 1 || len(with(calls, "begin")) > 0 {
		t.Errorf("the first batch makes the calls %q", calls)
	}
	for range 3 {
		if calls := f.called(t, appendNext); len(calls) != 1 || !strings.HasPrefix(calls[0], "prepared INSERT INTO events") {
			t.Errorf("the next batch makes the calls %q", calls)
		}
	}
	many := func() error {
		var events []engine.Envelope
		for i := range maxInsert {
			events = append(events, ended(i, "x"))
		}
		return w.Append(Batch{Events: events})
	}
	if calls := f.called(t, many); len(with(calls, "begin")) > 0 {
		t.Errorf("%d events make the calls %q", maxInsert, calls)
	}
}

// What is done in transactions is prepared too, each statement once.
func TestStatementsArePreparedOnce(t *testing.T) {
	s := openStore(t, t.TempDir())
	f := injectInto(t, s)
	runs := 0
	create := func() error {
		runs++
		w, err := s.Create(keyed(fmt.Sprintf("demo-%d", runs), "", ""))
		if err != nil {
			return err
		}
		m := &Summary{Status: engine.Running}
		return errors.Join(w.Append(Batch{Events: list(ended(1, "x")), Begun: true, Summary: m}), w.Append(Batch{Summary: m}), w.Close())
	}
	prepared := with(f.called(t, create), "prepare ")
	for range 3 {
		prepared = append(prepared, with(f.called(t, create), "prepare ")...)
	}
	slices.Sort(prepared)
	if once := slices.Compact(slices.Clone(prepared)); len(once) != len(prepared) || len(once) < 6 {
		t.Errorf("prepared are %q", prepared)
	}
	calls := f.called(t, create)
	if len(with(calls, "prepare ")) > 0 || len(with(calls, "exec ")) > 0 {
		t.Errorf("the calls are %q", calls)
	}
	if len(with(calls, "asked")) > 0 {
		t.Errorf("questions are removed where there are none: %q", calls)
	}
}

// Events without long strings are read with one query for many. Queries are prepared when they
// are used again.
func TestPlainEventsAreReadTogether(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	var events []engine.Envelope
	for i := range chunk + 3 {
		events = append(events, ended(i+1, "x"))
	}
	appendEvents(t, w, events...)
	f := injectInto(t, s)
	read := func() error {
		_, err := collect(s.Events(t.Context(), "demo-1", 0))
		return err
	}
	if calls := with(f.called(t, read), "query"); len(calls) != 2 || len(with(calls, "group_concat")) != 1 {
		t.Errorf("the queries are %q", calls) // the number of the run, and the first of two chunks
	}
	for range 2 {
		if err := read(); err != nil {
			t.Fatal(err)
		}
	}
	if calls := f.called(t, read); len(with(calls, "prepared SELECT number")) != 1 || len(with(calls, "prepared SELECT coalesce")) != 2 || len(with(calls, "query")) > 0 {
		t.Errorf("later, the calls are %q", calls)
	}
	mail := func() error {
		_, err := s.Mail(t.Context())
		return err
	}
	for _, want := range []string{"query", "prepare ", "prepared"} {
		if calls := f.called(t, mail); !strings.HasPrefix(calls[0], want) {
			t.Errorf("the calls are %q, want %s", calls, want)
		}
	}
	last := func() error {
		all, err := collect(s.Events(t.Context(), "demo-1", chunk+4))
		if err == nil && len(all.([]engine.Envelope)) > 0 {
			err = errors.New("there are events after the last one")
		}
		return err
	}
	if calls := f.called(t, last); len(with(calls, "SELECT seq, data, coalesce")) > 0 {
		t.Errorf("after the last event, the calls are %q", calls)
	}
}

// A run whose events fill the chunks exactly ends without an error.
func TestEventsThatFillAChunk(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	want := list(started("demo-1"))
	for i := range chunk - 1 {
		want = append(want, ended(i+1, "x"))
	}
	appendEvents(t, w, want[1:]...)
	wantEvents(t, s, "demo-1", want)
	long := list(ended(chunk, longOutput))
	for i := range chunk - 1 {
		long = append(long, ended(chunk+i+1, "x"))
	}
	appendEvents(t, w, long...)
	wantEvents(t, s, "demo-1", append(want, long...))
}

// A change that fails alone is not repeated. If one of two fails, the other one is made.
func TestChangesThatFail(t *testing.T) {
	s := openStore(t, t.TempDir())
	for _, n := range []int{1, 2} {
		tries, made := 0, 0
		fails := &pending{done: make(chan error, 1), change: func(*sql.Tx) error { tries++; return errFault }}
		works := &pending{done: make(chan error, 1), change: func(*sql.Tx) error { made++; return nil }}
		s.commitAll(list(fails, works)[:n])
		if err := <-fails.done; !errors.Is(err, errFault) || tries != n {
			t.Errorf("of %d changes, the one that fails was tried %d times: %v", n, tries, err)
		}
		if n == 1 {
			continue
		}
		if err := <-works.done; err != nil || made == 0 {
			t.Errorf("of %d changes, the one that works was made %d times: %v", n, made, err)
		}
	}
}

// ending is a context that notes when a context derived from it ends.
type ending struct {
	context.Context
	done  chan struct{}
	ended bool
}

func (e *ending) Done() <-chan struct{}        { return e.done }
func (e *ending) AfterFunc(func()) func() bool { return func() bool { e.ended = true; return true } }

// Whoever has read enough stops the reader, and an error of the context is reported every time.
func TestReaderStops(t *testing.T) {
	s := openStore(t, t.TempDir())
	appendEvents(t, createRun(t, s, "demo-1"), ended(1, "x"))
	ctx := &ending{Context: t.Context(), done: make(chan struct{})}
	for range s.Brief(ctx, "demo-1", 0) {
		break
	}
	if !ctx.ended {
		t.Error("the reader was not stopped")
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		if _, err := collect(s.Events(stopped, "demo-1", 0)); !errors.Is(err, context.Canceled) {
			t.Fatalf("the error is %v", err)
		}
	}
}

// A query that is cancelled is not called damage.
func TestCancelledReader(t *testing.T) {
	dir := t.TempDir()
	writeExample(t, dir)
	s := openStore(t, dir)
	f := injectInto(t, s)
	for name, read := range map[string]func(ctx context.Context) error{
		"Events": func(ctx context.Context) error { _, err := collect(s.Events(ctx, "demo-1", 0)); return err },
		"Output": func(ctx context.Context) error { _, err := s.Output(ctx, "demo-1", 3); return err },
	} {
		for in := 1; ; in++ {
			ctx, cancel := context.WithCancel(t.Context())
			*f = faults{in: in, instead: cancel}
			err := read(ctx)
			cancel()
			if !f.hit {
				break
			}
			if err != nil && (IsProblem(err, Corrupt) || !errors.Is(err, context.Canceled)) {
				t.Errorf("%s is cancelled at call %d, and the error is %v", name, in, err)
			}
		}
	}
}

// A run that is created together with a change that fails is created once.
func TestCreateIsRepeated(t *testing.T) {
	s := openStore(t, t.TempDir())
	if _, err := s.name(); err != nil { // it needs the connection
		t.Fatal(err)
	}
	held, begun := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { _ = s.transact(func(*sql.Tx) error { close(begun); <-held; return nil }) })
	<-begun
	all.Go(func() {
		w, err := s.Create(keyed("demo-1", "", ""))
		if err != nil || w.Recorded() != 1 {
			t.Errorf("it has %d events, %v", w.Recorded(), err)
			return
		}
		if err := errors.Join(w.Append(Batch{Events: list(ended(1, "x"))}), w.Close()); err != nil {
			t.Error(err)
		}
	})
	for s.queued() < 1 {
		runtime.Gosched()
	}
	all.Go(func() {
		if err := s.transact(func(*sql.Tx) error { return errFault }); !errors.Is(err, errFault) {
			t.Errorf("the error is %v", err)
		}
	})
	for s.queued() < 2 {
		runtime.Gosched()
	}
	close(held)
	all.Wait()
	wantEvents(t, s, "demo-1", list(started("demo-1"), ended(1, "x")))
}

// queued returns how many changes wait.
func (s *Store) queued() int {
	s.commits.mu.Lock()
	defer s.commits.mu.Unlock()
	return len(s.commits.waiting)
}
