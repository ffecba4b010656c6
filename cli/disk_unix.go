//go:build linux || darwin || freebsd

package cli

import "golang.org/x/sys/unix"

// freeDisk returns how many bytes the user can still write in a directory.
func freeDisk(dir string) (bytes uint64, known bool) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0, false
	}
	return uint64(s.Bavail) * uint64(s.Bsize), true //nolint:unconvert // the types differ between systems
}
