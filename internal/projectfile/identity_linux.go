package projectfile

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Identity is the same for a directory wherever it is moved on its file system, and
// another for every other one; "": this file system cannot tell. The number of a
// directory that was removed is used again, so the time at which it was made counts too.
func Identity(dir string) string {
	var s unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_INO|unix.STATX_BTIME, &s)
	if err != nil || s.Mask&unix.STATX_BTIME == 0 || s.Btime.Sec == 0 {
		return ""
	}
	return fmt.Sprintf("%d-%d.%09d", s.Ino, s.Btime.Sec, s.Btime.Nsec)
}
