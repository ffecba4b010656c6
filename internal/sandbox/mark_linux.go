//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mark is a system call that changes the metadata of a file: its permission bits, its
// owner, its times. Landlock has no rules for them, so they are executed here, for files
// that the program may write.
type mark struct {
	dir    int  // argument: the directory of a relative path, or the file itself; none: the working directory
	path   int  // argument; none: the file is given by descriptor
	flags  int  // argument; none: no flags
	itself bool // a link itself is meant
	change func(q *question, file string) error
}

const none = -1

// marks has these system calls by number.
var marks = func() map[int32]mark {
	all := map[int32]mark{
		unix.SYS_FCHMOD:    {0, none, none, false, chmod(1)},
		unix.SYS_FCHMODAT:  {0, 1, none, false, chmod(2)},
		unix.SYS_FCHMODAT2: {0, 1, 3, false, chmod(2)},
		unix.SYS_FCHOWN:    {0, none, none, false, chown(1)},
		unix.SYS_FCHOWNAT:  {0, 1, 4, false, chown(2)},
		unix.SYS_UTIMENSAT: {0, 1, 3, false, utime(2)},
	}
	maps.Copy(all, oldMarks)
	return all
}()

func chmod(arg int) func(*question, string) error {
	return func(q *question, file string) error { return unix.Chmod(file, uint32(q.number(arg))) }
}

func chown(arg int) func(*question, string) error {
	return func(q *question, file string) error { return unix.Chown(file, q.number(arg), q.number(arg+1)) }
}

func utime(arg int) func(*question, string) error {
	return func(q *question, file string) error {
		if q.call.arguments[arg] == 0 {
			return unix.UtimesNanoAt(unix.AT_FDCWD, file, []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}, 0)
		}
		const each = 16
		data, err := q.read(arg, 2*each)
		if err != nil {
			return err
		}
		var times []unix.Timespec
		for one := range slices.Chunk(data, each) {
			times = append(times, unix.Timespec{Sec: int64(binary.NativeEndian.Uint64(one)), Nsec: int64(binary.NativeEndian.Uint64(one[8:]))})
		}
		return unix.UtimesNanoAt(unix.AT_FDCWD, file, times, 0)
	}
}

// mark executes a system call on the file that the program means, if it may write that
// file. How the file was found does not matter: its actual location is checked.
func (c *clerk) mark(q *question, how mark) error {
	fd, err := q.meant(how)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := c.waits(q); err != nil {
		return err
	}
	if !c.areas.hold(fd) {
		return unix.EPERM
	}
	return how.change(q, byNumber(fd))
}

// meant opens the file of a system call as O_PATH.
func (q *question) meant(how mark) (int, error) {
	if how.path == none || q.call.arguments[how.path] == 0 {
		return q.open(q.number(how.dir))
	}
	path, err := q.text(how.path)
	if err != nil {
		return -1, err
	}
	flags := 0
	if how.flags != none {
		flags = q.number(how.flags)
	}
	if path == "" && flags&unix.AT_EMPTY_PATH != 0 {
		return q.open(q.number(how.dir))
	}
	if path == "" {
		return -1, unix.ENOENT
	}
	dir, err := q.seenFrom(how.dir, path)
	if err != nil {
		return -1, err
	}
	return q.walk(dir, path, !how.itself && flags&unix.AT_SYMLINK_NOFOLLOW == 0)
}

// mostLinks is how many links the kernel follows on the way to a file.
const mostLinks = 40

// walk opens, as O_PATH, the file that a path leads to from a directory, which it closes.
// It goes step by step, because /proc/self means another process here than in the program.
func (q *question) walk(at int, path string, follow bool) (int, error) {
	links := 0
	for path != "" {
		if path[0] == '/' {
			root, err := open(unix.AT_FDCWD, "/", unix.O_DIRECTORY)
			_ = unix.Close(at)
			if err != nil {
				return -1, err
			}
			at, path = root, strings.TrimLeft(path, "/")
			continue
		}
		name, rest, more := strings.Cut(path, "/")
		rest = strings.TrimLeft(rest, "/")
		next, target, err := q.step(at, name, more || follow)
		if target != "" {
			if links++; links > mostLinks {
				err = unix.ELOOP
			}
		}
		if err != nil {
			_ = unix.Close(at)
			return -1, err
		}
		if target != "" { // relative to the directory of the link
			if path = target; more {
				path += "/" + rest
			}
			continue
		}
		_ = unix.Close(at)
		if at, path = next, rest; more && rest == "" { // a trailing slash
			path = "."
		}
	}
	return at, nil
}

// step opens an entry of an open directory, or returns the target of a link that must be
// followed.
func (q *question) step(dir int, name string, follow bool) (fd int, target string, err error) {
	if fd, err = open(dir, name, unix.O_NOFOLLOW); err != nil || !follow {
		return fd, "", err
	}
	var is unix.Stat_t
	if err = unix.Fstat(fd, &is); err == nil && is.Mode&unix.S_IFMT != unix.S_IFLNK {
		return fd, "", nil
	}
	defer unix.Close(fd)
	if err != nil {
		return -1, "", err
	}
	var system unix.Statfs_t
	if err = unix.Fstatfs(dir, &system); err != nil {
		return -1, "", err
	}
	if system.Type == unix.PROC_SUPER_MAGIC {
		var of unix.Stat_t
		if err = unix.Fstat(dir, &of); err != nil {
			return -1, "", err
		}
		const top = 1 // the inode of /proc itself; targets of links below it have no path
		if of.Ino != top {
			fd, err = open(dir, name, 0)
			return fd, "", err
		}
		leader, err := leaderOf(int(q.task))
		if err != nil {
			return -1, "", err
		}
		switch name {
		case "self":
			return -1, strconv.Itoa(leader), nil
		case "thread-self":
			return -1, fmt.Sprintf("%d/task/%d", leader, q.task), nil
		}
	}
	text := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", text)
	if err == nil && n == 0 {
		err = unix.ENOENT
	}
	return -1, string(text[:max(n, 0)]), err
}

// seenFrom opens the directory at which a path begins.
func (q *question) seenFrom(arg int, path string) (int, error) {
	if path[0] == '/' {
		return open(unix.AT_FDCWD, "/", unix.O_DIRECTORY)
	}
	if arg != none && q.number(arg) != unix.AT_FDCWD {
		return q.open(q.number(arg))
	}
	return open(unix.AT_FDCWD, "/proc/"+strconv.Itoa(int(q.task))+"/cwd", unix.O_DIRECTORY)
}

// byNumber returns a path to an open file, wherever it is.
func byNumber(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// areas are the paths that a program may write. It cannot move anything into or out of
// them.
type areas []string

// hold reports whether an open file is in one of them, or has no path at all.
func (a areas) hold(fd int) bool {
	var is unix.Stat_t
	if err := unix.Fstat(fd, &is); err != nil {
		return false
	}
	path, err := os.Readlink(byNumber(fd))
	if err != nil {
		return false
	}
	if !strings.HasPrefix(path, "/") || is.Nlink == 0 && strings.HasSuffix(path, " (deleted)") {
		return true
	}
	return slices.ContainsFunc(a, func(area string) bool { return path == area || strings.HasPrefix(path, area+"/") })
}
