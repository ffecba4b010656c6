//go:build unix

package workspace

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// tellsChanges says whether the system tells when a file was changed, in a way that no program can choose.
const tellsChanges = true

// statOf returns what git notes about a file or a link in an index.
func statOf(name string) (s stat, ok bool) {
	var is unix.Stat_t
	if unix.Lstat(name, &is) != nil {
		return s, false
	}
	return noted(&is), true
}

// mayRead and mayWrite report whether the system lets this user read or change a file, or list a directory or change what is in it.
func mayRead(path string) bool { return unix.Access(path, unix.R_OK) == nil }

func mayWrite(path string) bool { return unix.Access(path, unix.W_OK) == nil }

// hasOtherNames reports whether a file has several hard links. It does so, too, if that is not known.
func hasOtherNames(name string) bool {
	var is unix.Stat_t
	return unix.Lstat(name, &is) != nil || is.Nlink > 1
}

func noted(is *unix.Stat_t) stat {
	return stat{
		uint32(is.Ctim.Sec), uint32(is.Ctim.Nsec), uint32(is.Mtim.Sec), uint32(is.Mtim.Nsec),
		uint32(is.Dev), uint32(is.Ino), uint32(is.Mode), is.Uid, is.Gid, uint32(is.Size),
	}
}

const asDirectory = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC

// walk visits a directory and what is in it, see [visitor]. It looks at files in their directory, which takes half the time that whole
// paths take, and has two directories open at most.
func walk(root string, visit visitor) error {
	fd, err := openIn(unix.AT_FDCWD, root)
	if err != nil {
		return &fs.PathError{Op: "open", Path: root, Err: err}
	}
	defer unix.Close(fd)
	var is unix.Stat_t
	if err := unix.Fstat(fd, &is); err != nil {
		return &fs.PathError{Op: "stat", Path: root, Err: err}
	}
	s := noted(&is)
	if err := visit("", modeOf(&is), &s, nil); err != nil {
		return err
	}
	return walkIn(fd, "", visit)
}

// walkIn visits what is in a directory below another one, first all of its files, and then what is in its directories.
func walkIn(root int, dir string, visit visitor) error {
	fd, err := openIn(root, cmp.Or(dir, "."))
	if err != nil {
		return visit(dir, fs.ModeDir, nil, err)
	}
	dirs, err := visitAll(fd, dir, visit)
	_ = unix.Close(fd)
	for _, sub := range dirs {
		if err == nil {
			err = walkIn(root, sub, visit)
		}
	}
	return err
}

// visitAll visits the entries of an open directory, and returns the directories among them that are not left out.
func visitAll(fd int, dir string, visit visitor) (dirs []string, err error) {
	names, err := namesIn(fd)
	if err != nil {
		return nil, visit(dir, fs.ModeDir, nil, err)
	}
	for _, name := range names {
		path := name
		if dir != "" {
			path = dir + "/" + name
		}
		var is unix.Stat_t
		mode, known := fs.ModeIrregular, (*stat)(nil)
		err := unix.Fstatat(fd, name, &is, unix.AT_SYMLINK_NOFOLLOW)
		if err == nil {
			s := noted(&is)
			mode, known = modeOf(&is), &s
		}
		switch err := visit(path, mode, known, err); {
		case err == fs.SkipDir && mode.IsDir():
		case err != nil:
			return nil, err
		case mode.IsDir():
			dirs = append(dirs, path)
		}
	}
	return dirs, nil
}

func openIn(dir int, path string) (fd int, err error) {
	for {
		if fd, err = unix.Openat(dir, path, asDirectory, 0); err != unix.EINTR {
			return fd, err
		}
	}
}

// namesIn returns the names in an open directory, in order.
func namesIn(fd int) (names []string, err error) {
	buffer := make([]byte, 8<<10)
	for {
		n, err := unix.ReadDirent(fd, buffer)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil || n <= 0:
			slices.Sort(names)
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

// removeTree removes the files in a directory and in those below it of which may says so, and then all directories that are empty. May
// is told whether another name of the file was removed before. No link is followed.
func removeTree(root string, may func(name string, s stat, relinked bool) bool) error {
	parent, err := openIn(unix.AT_FDCWD, filepath.Dir(root))
	if err != nil {
		return &fs.PathError{Op: "open", Path: filepath.Dir(root), Err: err}
	}
	defer unix.Close(parent)
	r := remover{may, map[uint64]bool{}}
	if err := r.directory(parent, filepath.Base(root), ""); err != nil {
		return &fs.PathError{Op: "remove", Path: root, Err: err}
	}
	return nil
}

type remover struct {
	may      func(name string, s stat, relinked bool) bool
	relinked map[uint64]bool // files of which a name was removed, and another one is left
}

// directory removes what is in a directory, and the directory if it is empty then. It goes on after an error, and returns the first one.
func (r remover) directory(parent int, name, path string) error {
	const all = 0o700
	var is unix.Stat_t
	if err := unix.Fstatat(parent, name, &is, unix.AT_SYMLINK_NOFOLLOW); err == nil && is.Mode&unix.S_IFMT == unix.S_IFDIR && is.Mode&all != all {
		_ = unix.Fchmodat(parent, name, uint32(is.Mode)&0o777|all, 0)
	}
	fd, err := openIn(parent, name)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	names, first := namesIn(fd)
	for _, name := range names {
		if err := r.entry(fd, name, strings.TrimPrefix(path+"/"+name, "/")); err != nil && first == nil {
			first = err
		}
	}
	if err := unix.Unlinkat(parent, name, unix.AT_REMOVEDIR); err != unix.ENOTEMPTY && err != unix.EEXIST && first == nil {
		return err // otherwise something is left, which the caller sees
	}
	return first
}

func (r remover) entry(dir int, name, path string) error {
	var is unix.Stat_t
	if err := unix.Fstatat(dir, name, &is, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if is.Mode&unix.S_IFMT == unix.S_IFDIR {
		return r.directory(dir, name, path)
	}
	inode := uint64(is.Ino)
	if !r.may(path, noted(&is), r.relinked[inode]) {
		return nil
	}
	if is.Nlink > 1 {
		r.relinked[inode] = true
	}
	return unix.Unlinkat(dir, name, 0)
}
