package workspace

import "golang.org/x/sys/unix"

const swapped, notReplaced = unix.RENAME_EXCHANGE, unix.RENAME_NOREPLACE

func renameWith(dir int, from, to string, flags uint) error {
	return unix.Renameat2(dir, from, dir, to, flags)
}
