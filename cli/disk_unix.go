//go:build linux || darwin || freebsd

package cli

import "golang.org/x/sys/unix"

// freeDisk is how many bytes a user may still write where a directory is.
func freeDisk(dir string) (bytes uint64, known bool) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0, false
	}
	return uint64(s.Bavail) * uint64(s.Bsize), true //nolint:unconvert // their types differ from system to system
}
