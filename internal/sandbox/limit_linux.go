//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hocket-dev/hocket/internal/sandbox/inside"
)

// Unlimited returns why this system cannot limit where a program writes; "": it can.
func Unlimited() string { return unlimited(version()) }

func unlimited(version int, err error) string {
	if none := support(ability{}, err, nil).None; none != "" {
		return none
	}
	if version < versionTruncate {
		return "the Landlock of this kernel does not keep a program from truncating files; it needs Linux 6.2 or newer"
	}
	return ""
}

// Check returns an error if the limit cannot be used, which is a *[PlaceError] if a place is
// the reason.
func (l *Limit) Check() error {
	r, err := l.rules()
	if err != nil {
		return err
	}
	return r.file.Close()
}

// Apply makes a command start with the limit. Its path, arguments and environment are set,
// and its extra files are not. Close the box once the command has ended.
func (l *Limit) Apply(cmd *exec.Cmd) (_ *Box, err error) {
	temp, err := os.MkdirTemp("", "hocket-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(temp)
		}
	}()
	r, err := l.rules(Place{Base: temp})
	if err != nil {
		return nil, err
	}
	cmd.Env = append(cmd.Environ(), "TMPDIR="+temp, "TMP="+temp, "TEMP="+temp)
	b, err := newBox(cmd, r)
	if err != nil {
		return nil, err
	}
	b.temp = temp
	b.enter(cmd, inside.Only, &clerk{})
	return b, nil
}

// alwaysWritable are used by programs that write nothing that lasts: terminals, shared
// memory, and in /proc the settings of their own processes.
var alwaysWritable = append(strings.Fields("/dev/tty /dev/ptmx /dev/pts /dev/shm /proc"), devices...)

// rules returns the rules of a limit, which allow some further places.
func (l *Limit) rules(more ...Place) (_ *rules, err error) {
	r, err := newRules(unix.LandlockRulesetAttr{Handled_access_fs: toChange | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = r.file.Close()
		}
	}()
	for _, file := range alwaysWritable {
		r.system(file, toChange)
	}
	for _, place := range more {
		if err := r.place(place, toChange); err != nil {
			return nil, err
		}
	}
	for _, area := range l.Areas {
		if err := r.area(area); err != nil && !(area.Optional && errors.Is(err, os.ErrNotExist)) {
			return nil, err
		}
	}
	return r, r.refused
}

// area allows an area.
func (r *rules) area(a Area) error {
	fd, err := a.open()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	e := exceptions{never: map[inode]bool{}, above: map[inode]bool{}, names: map[string]bool{}}
	for _, file := range a.Except {
		if err := e.add(file); err != nil {
			return &PlaceError{Place: Place{Path: file}, Err: err}
		}
	}
	if inside, err := e.contain(fd); inside || err != nil {
		return err
	}
	return r.around(fd, &e)
}

// around allows an open file, and everything in it but the exceptions. Files are compared,
// not names: renaming a directory meanwhile makes no difference.
func (r *rules) around(fd int, e *exceptions) error {
	is, kind, err := inodeOf(fd)
	switch {
	case err != nil || kind == unix.S_IFLNK || e.never[is]: // the target of a link has its own rules
		return err
	case !e.above[is]:
		r.grant(fd, toChange)
		return nil
	}
	names, err := e.entries(fd)
	if err != nil {
		return err
	}
	for _, name := range names {
		next, err := open(fd, name, unix.O_NOFOLLOW)
		if err == nil {
			err = r.around(next, e)
			_ = unix.Close(next)
		} else if !tooMany(err) { // it is gone, or nobody may enter the directory
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func tooMany(err error) bool { return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) }

// inode identifies a file.
type inode struct{ device, number uint64 }

func inodeOf(fd int) (is inode, kind uint32, err error) {
	var stat unix.Stat_t
	err = unix.Fstat(fd, &stat)
	return inode{stat.Dev, stat.Ino}, stat.Mode & unix.S_IFMT, err
}

// exceptions are files that a program must not change, and the directories above them, with
// the names of these.
type exceptions struct {
	never, above map[inode]bool
	names        map[string]bool
}

// entries returns the names in an open directory; if it cannot be read, as /home on some
// systems, those that lead to an exception.
func (e *exceptions) entries(fd int) ([]string, error) {
	dir, err := os.Open(byNumber(fd))
	if tooMany(err) {
		return nil, err
	}
	if err == nil {
		defer dir.Close()
		if names, err := dir.Readdirnames(-1); err == nil {
			return names, nil
		}
	}
	return slices.Collect(maps.Keys(e.names)), nil
}

// add adds a file. If it is a link, the link is in a directory above, and so stays in its
// place; its target is the exception.
func (e *exceptions) add(file string) error {
	places := []string{file}
	if target, err := filepath.EvalSymlinks(file); err == nil {
		places = append(places, target)
		fd, err := open(unix.AT_FDCWD, target, unix.O_NOFOLLOW)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		is, _, err := inodeOf(fd)
		if err != nil {
			return err
		}
		e.never[is] = true
	} else if !missing(err) {
		return err
	}
	for _, place := range places {
		if err := e.addAbove(filepath.Dir(place)); err != nil {
			return err
		}
	}
	return nil
}

// addAbove adds a directory and those above it. If the path does not exist, it adds the part that
// does.
func (e *exceptions) addAbove(dir string) error {
	fd, err := open(unix.AT_FDCWD, dir, unix.O_DIRECTORY)
	if missing(err) {
		return e.addAbove(filepath.Dir(dir))
	}
	if err != nil {
		return err
	}
	if path, err := os.Readlink(byNumber(fd)); err == nil {
		for _, name := range strings.Split(strings.Trim(path, "/"), "/") {
			e.names[name] = true
		}
	}
	return climb(fd, func(is inode) bool {
		e.above[is] = true
		return false
	})
}

func missing(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) }

// contain reports whether an open file is an exception, or inside one. What is not a
// directory is found by its name.
func (e *exceptions) contain(fd int) (found bool, err error) {
	is, kind, err := inodeOf(fd)
	if err != nil || e.never[is] {
		return true, err
	}
	at := "."
	if kind != unix.S_IFDIR {
		name, err := os.Readlink(byNumber(fd))
		if err != nil {
			return true, err
		}
		at = filepath.Dir(name)
	}
	dir, err := open(fd, at, unix.O_DIRECTORY)
	if err != nil {
		return true, err
	}
	err = climb(dir, func(is inode) bool {
		found = found || e.never[is]
		return found
	})
	return found, err
}

// climb visits an open directory, which it closes, and those above it, until done.
func climb(fd int, done func(inode) bool) error {
	defer func() { _ = unix.Close(fd) }()
	for last := (inode{}); ; {
		is, _, err := inodeOf(fd)
		if err != nil || is == last || done(is) {
			return err
		}
		up, err := open(fd, "..", unix.O_DIRECTORY)
		if err != nil {
			return err
		}
		_ = unix.Close(fd)
		fd, last = up, is
	}
}
