//go:build unix

package project

import (
	"os"
	"syscall"
)

// foreign reports whether a path belongs to another user: not to the current one, not to
// root, and not to the owner of the working directory.
func foreign(path, dir string) bool {
	owner, ok := ownerOf(path)
	if !ok {
		return true
	}
	beside, ok := ownerOf(dir)
	return owner != 0 && int(owner) != os.Geteuid() && (!ok || owner != beside)
}

func ownerOf(path string) (uint32, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return stat.Uid, true
}
