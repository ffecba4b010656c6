//go:build unix

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Try locks a file for this descriptor, or returns ErrLocked. Closing the descriptor
// unlocks it. Child processes do not inherit it (close-on-exec).
func Try(f *os.File) error { return flock(f, unix.LOCK_EX) }

// Look returns ErrLocked if the lock on a file is held. Several processes may look at once.
func Look(f *os.File) error { return flock(f, unix.LOCK_SH) }

func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrLocked
		}
		return err
	}
}
