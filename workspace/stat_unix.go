//go:build unix

package workspace

import "golang.org/x/sys/unix"

// statOf returns what git notes about a file or a link in an index.
func statOf(name string) (s stat, ok bool) {
	var is unix.Stat_t
	if unix.Lstat(name, &is) != nil {
		return s, false
	}
	return stat{
		uint32(is.Ctim.Sec), uint32(is.Ctim.Nsec), uint32(is.Mtim.Sec), uint32(is.Mtim.Nsec),
		uint32(is.Dev), uint32(is.Ino), uint32(is.Mode), is.Uid, is.Gid, uint32(is.Size),
	}, true
}
