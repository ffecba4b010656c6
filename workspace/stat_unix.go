//go:build unix

package workspace

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// statOf returns what git notes about a file or a link in an index.
func statOf(name string) (s stat, ok bool) {
	var is unix.Stat_t
	if unix.Lstat(name, &is) != nil {
		return s, false
	}
	return noted(&is), true
}

func noted(is *unix.Stat_t) stat {
	return stat{
		uint32(is.Ctim.Sec), uint32(is.Ctim.Nsec), uint32(is.Mtim.Sec), uint32(is.Mtim.Nsec),
		uint32(is.Dev), uint32(is.Ino), uint32(is.Mode), is.Uid, is.Gid, uint32(is.Size),
	}
}

const asDirectory = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC

// walk visits a directory and what is in it, see [visitor]. It opens each directory in the one above, which takes half the time that
// whole paths take.
func walk(root string, visit visitor) error {
	fd, err := unix.Open(root, asDirectory, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: root, Err: err}
	}
	var is unix.Stat_t
	if err := unix.Fstat(fd, &is); err != nil {
		_ = unix.Close(fd)
		return err
	}
	s := noted(&is)
	if err := visit("", modeOf(&is), &s, nil); err != nil {
		_ = unix.Close(fd)
		return err
	}
	return walkIn(fd, "", visit)
}

// walkIn visits what is in a directory, and closes that.
func walkIn(fd int, dir string, visit visitor) error {
	defer unix.Close(fd)
	names, err := namesIn(fd)
	if err != nil {
		return visit(dir, fs.ModeDir, nil, err)
	}
	for _, name := range names {
		path := name
		if dir != "" {
			path = dir + "/" + name
		}
		var is unix.Stat_t
		if err := unix.Fstatat(fd, name, &is, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			if err := visit(path, fs.ModeIrregular, nil, err); err != nil {
				return err
			}
			continue
		}
		s, mode := noted(&is), modeOf(&is)
		err := visit(path, mode, &s, nil)
		if err == fs.SkipDir && mode.IsDir() {
			continue
		}
		if err != nil {
			return err
		}
		if !mode.IsDir() {
			continue
		}
		sub, err := unix.Openat(fd, name, asDirectory, 0)
		if err == nil {
			err = walkIn(sub, path, visit)
		} else {
			err = visit(path, mode, nil, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func namesIn(fd int) (names []string, err error) {
	buffer := make([]byte, 8<<10)
	for {
		n, err := unix.ReadDirent(fd, buffer)
		if err != nil || n <= 0 {
			return names, err
		}
		_, _, names = unix.ParseDirent(buffer[:n], -1, names)
	}
}

func modeOf(is *unix.Stat_t) fs.FileMode {
	mode := fs.FileMode(is.Mode) & fs.ModePerm
	switch is.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	default:
		mode |= fs.ModeIrregular
	}
	return mode
}
