package projectfile

import (
	"fmt"
	"syscall"
)

// Identity is the same for a directory wherever it is moved on its volume, and another
// for every other one; "": it is not known.
func Identity(dir string) string {
	var s syscall.Stat_t
	if syscall.Stat(dir, &s) != nil {
		return ""
	}
	return fmt.Sprintf("%d-%d.%09d", s.Ino, s.Birthtimespec.Sec, s.Birthtimespec.Nsec)
}
