package journal

import (
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/hocket-dev/hocket/engine"
)

// Changes that share a transaction fail independently.
func TestChangesTogether(t *testing.T) {
	s := openStore(t, t.TempDir())
	const runs = 20
	writers := make([]*Writer, runs)
	for i := range writers {
		writers[i] = createRun(t, s, fmt.Sprintf("demo-%d", i))
	}
	if _, err := s.write.Exec("INSERT INTO events (run, seq, data) SELECT number, 2, '{}' FROM runs WHERE id = 'demo-7'"); err != nil {
		t.Fatal(err)
	}
	held, begun := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { // the others queue up while this one is applied
		_ = s.transact(func(*sql.Tx) error { close(begun); <-held; return nil })
	})
	<-begun
	for i, w := range writers {
		all.Go(func() {
			err := w.Append(Batch{Events: []engine.Envelope{ended(1, "x")}, Summary: &Summary{Status: engine.Success}})
			var conflict *ConflictError
			if errors.As(err, &conflict) != (i == 7) || i != 7 && err != nil {
				t.Errorf("run %d: %v", i, err)
			}
		})
	}
	for s.queued() < runs {
		runtime.Gosched()
	}
	close(held)
	all.Wait()
	for i, w := range writers {
		want := 2
		if i == 7 {
			want = 1
		}
		if w.Recorded() != want {
			t.Errorf("run %d has %d events, want %d", i, w.Recorded(), want)
		}
	}
}
