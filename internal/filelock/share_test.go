package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Many share a lock that others want alone. Nobody has it alone while it is shared, and the last one removes the file.
func TestShare(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	var sharing, alone atomic.Int32
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			for range 50 {
				if n < 6 {
					l, err := Share(path)
					if errors.Is(err, ErrLocked) {
						time.Sleep(time.Millisecond)
						continue
					}
					if err != nil {
						t.Error(err)
						return
					}
					if sharing.Add(1); alone.Load() > 0 {
						t.Error("it is shared while somebody has it alone")
					}
					sharing.Add(-1)
					if err := l.Release(); err != nil {
						t.Error(err)
					}
					continue
				}
				l, err := Wait(path, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				if alone.Add(1) > 1 || sharing.Load() > 0 {
					t.Error("somebody else has it, too")
				}
				alone.Add(-1)
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	one, err := Share(path)
	if err != nil {
		t.Fatal(err)
	}
	two, err := Share(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := one.Release(); err != nil {
		t.Error(err)
	}
	if _, err := Take(path); !errors.Is(err, ErrLocked) {
		t.Errorf("Take gives %v while it is shared", err)
	}
	if err := two.Release(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}
