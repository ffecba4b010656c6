package projectfile

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Identity returns a value that stays the same when a directory is moved on its file
// system, and differs for every other directory; "" if this file system has none. The inode
// of a removed directory is reused, so the creation time counts too.
func Identity(dir string) string {
	var s unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_INO|unix.STATX_BTIME, &s)
	if err != nil || s.Mask&unix.STATX_BTIME == 0 || s.Btime.Sec == 0 {
		return ""
	}
	return fmt.Sprintf("%d-%d.%09d", s.Ino, s.Btime.Sec, s.Btime.Nsec)
}
