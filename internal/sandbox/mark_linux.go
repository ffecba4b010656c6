//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mark is a system call that changes what is known about a file: its permission bits, its
// owner, its times. Landlock has no rules for them, so they are made here, for files that
// the program may write.
type mark struct {
	dir    int  // argument: the directory that a path is seen from, or the file itself; none: where the program is
	path   int  // argument; none: the file is known by its number
	flags  int  // argument; none: no flags
	itself bool // a link is meant itself
	change func(q *question, file string) error
}

const none = -1

// marks are these system calls by their numbers.
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
		for ; len(data) > 0; data = data[each:] {
			times = append(times, unix.Timespec{Sec: int64(binary.NativeEndian.Uint64(data)), Nsec: int64(binary.NativeEndian.Uint64(data[8:]))})
		}
		return unix.UtimesNanoAt(unix.AT_FDCWD, file, times, 0)
	}
}

// mark does what a program asks for to the file that it means, if it may write that. How
// it was found does not count: what is looked at is where the file that was found is.
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

// meant opens the file that a system call is about, only to name it.
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
	follow := 0
	if how.itself || flags&unix.AT_SYMLINK_NOFOLLOW != 0 {
		follow = unix.O_NOFOLLOW
	}
	if strings.HasPrefix(path, "/") {
		return open(unix.AT_FDCWD, path, follow)
	}
	dir, err := q.seenFrom(how.dir)
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	return open(dir, path, follow)
}

// seenFrom opens the directory that a path begins at.
func (q *question) seenFrom(arg int) (int, error) {
	if arg != none && q.number(arg) != unix.AT_FDCWD {
		return q.open(q.number(arg))
	}
	return open(unix.AT_FDCWD, "/proc/"+strconv.Itoa(int(q.task))+"/cwd", unix.O_DIRECTORY)
}

// byNumber is a path to an open file, wherever that is.
func byNumber(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// areas are the paths of what a program may write. It can move nothing into them or out.
type areas []string

// hold says whether an open file is in one of them, or nowhere at all.
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
