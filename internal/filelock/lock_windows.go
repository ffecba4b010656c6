package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockOffset is far beyond the end of the file: others cannot read a locked range, and they
// may want to read who holds the lock.
const lockOffset = 1 << 30

// Try locks a file for this handle, or returns ErrLocked. Closing the handle unlocks it.
func Try(f *os.File) error { return lock(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// Look returns ErrLocked if the lock on a file is held. Several processes may look at once.
func Look(f *os.File) error { return lock(f, 0) }

func lock(f *os.File, how uint32) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{Offset: lockOffset})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrLocked
	}
	return err
}
