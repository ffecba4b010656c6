package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func TestOneHolderAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	first, err := Take(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Take(path); !errors.Is(err, ErrLocked) {
		t.Errorf("a second Take gives %v", err)
	}
	if _, err := Wait(path, time.Millisecond); !errors.Is(err, ErrLocked) {
		t.Errorf("Wait gives %v", err)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

// Lock files are created and removed while many wait, and still only one holds the lock
// at a time.
func TestManyTakeTurns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	var group sync.WaitGroup
	inside, most := make(chan int, 1), 0
	inside <- 0
	for range 8 {
		group.Go(func() {
			for range 20 {
				l, err := Wait(path, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				n := <-inside + 1
				most = max(most, n)
				inside <- n
				n = <-inside - 1
				inside <- n
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if most != 1 {
		t.Errorf("%d held the lock at once", most)
	}
}
