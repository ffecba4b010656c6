package workspace

import "golang.org/x/sys/unix"

const swapped, notReplaced = unix.RENAME_SWAP, unix.RENAME_EXCL

func renameWith(dir int, from, to string, flags uint) error {
	return unix.RenameatxNp(dir, from, dir, to, uint32(flags))
}
