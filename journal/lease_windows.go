package journal

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockOffset is far behind what the file holds: a locked range cannot be read
// by others, and they want to read who holds the lease.
const lockOffset = 1 << 30

// lockFile locks a file for this handle, or gives errLocked. Closing the handle
// unlocks it.
func lockFile(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{Offset: lockOffset})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errLocked
	}
	return err
}
