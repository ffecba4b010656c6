package journal

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// Room in the -wal file, which two processes make while both write to it, changes nothing
// that was written. A crash at any moment leaves the room behind.
func TestRoom(t *testing.T) {
	dir := t.TempDir()
	var writers []*Writer
	for _, name := range []string{"first", "second"} {
		writers = append(writers, createRun(t, openStore(t, dir), name))
	}
	var all sync.WaitGroup
	for _, w := range writers {
		all.Go(func() {
			for i := range 100 {
				if err := w.Append(Batch{Events: []engine.Envelope{ended(i, "x")}}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if info, err := os.Stat(writers[0].store.file + "-wal"); err != nil || info.Size() != 2<<20 {
		t.Fatalf("the -wal file has %d bytes, %v", info.Size(), err)
	}
	crashed := t.TempDir()
	for _, suffix := range []string{"", "-wal"} {
		if err := copyFile(filepath.Join(crashed, fileName+suffix), filepath.Join(dir, fileName+suffix)); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []*Store{writers[0].store, openStore(t, crashed)} {
		if err := s.Check(t.Context()); err != nil {
			t.Error(err)
		}
		for _, run := range []string{"first", "second"} {
			if n := len(readEvents(t, s, run)); n != 101 {
				t.Errorf("run %s has %d events", run, n)
			}
		}
	}
}
