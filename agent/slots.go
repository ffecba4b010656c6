package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/hocket-dev/hocket/internal/filelock"
)

// slots limits how many attempts run at once: in this process, first come first served, and
// in all processes that use the same directory.
type slots struct {
	own chan struct{}
	dir string // of the lock files; "": other processes do not count
}

func newSlots(n int, file string) *slots {
	s := &slots{own: make(chan struct{}, n)}
	if file != "" {
		s.dir = filepath.Join(filepath.Dir(file), "slots")
	}
	return s
}

// take waits for a slot of the given name. The error is that of the context.
func (s *slots) take(ctx context.Context, name string) (release func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	select {
	case s.own <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	give := func() { <-s.own }
	if s.dir == "" {
		return give, nil
	}
	lock, err := s.shared(ctx, name)
	if err != nil {
		give()
		return nil, err
	}
	return func() {
		if lock != nil {
			_ = lock.Release() // the end of the process also unlocks it
		}
		give()
	}, nil
}

// shared waits until fewer processes than the limit are at work. It returns nil if files
// cannot be locked: the provider has limits of its own.
func (s *slots) shared(ctx context.Context, name string) (*filelock.Lock, error) {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		lock, err := s.lock(name)
		if !errors.Is(err, filelock.ErrLocked) {
			return lock, nil
		}
		select {
		case <-time.After(pause + rand.N(pause)): // waiting longer gives no precedence
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// lock takes the first free slot.
func (s *slots) lock(name string) (lock *filelock.Lock, err error) {
	_ = os.MkdirAll(s.dir, 0o700)      // otherwise Take fails
	sum := sha256.Sum256([]byte(name)) // a name may contain any character
	for i := range cap(s.own) {
		lock, err = filelock.Take(filepath.Join(s.dir, fmt.Sprintf("%s-%d", hex.EncodeToString(sum[:8]), i)))
		if !errors.Is(err, filelock.ErrLocked) {
			return lock, err
		}
	}
	return nil, err
}
