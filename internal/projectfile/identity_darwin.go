package projectfile

import (
	"fmt"
	"syscall"
)

// Identity returns a value that stays the same when a directory is moved on its volume, and
// differs for every other directory; "" if it is unknown.
func Identity(dir string) string {
	var s syscall.Stat_t
	if syscall.Stat(dir, &s) != nil {
		return ""
	}
	return fmt.Sprintf("%d-%d.%09d", s.Ino, s.Birthtimespec.Sec, s.Birthtimespec.Nsec)
}
