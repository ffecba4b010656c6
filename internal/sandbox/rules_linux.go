//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"os"
	"path"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Access rights to files in Landlock.
const (
	toRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	toWrite = toRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	// toChange are the rights that a limit is about. Making devices is never granted: they
	// would be another way to the disk.
	toChange = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK
	toUse = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV // a device
	// ofFiles are the rights that apply to anything but directories.
	ofFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// Versions of Landlock that added something that is used here.
const (
	versionRefer    = 2
	versionTruncate = 3
	versionTCP      = 4
	versionDevices  = 5
	versionScopes   = 6
)

// handled returns the rights that a version of Landlock denies unless a rule grants them.
func handled(version int) unix.LandlockRulesetAttr {
	a := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_REFER - 1}
	for _, since := range []struct {
		version int
		right   uint64
	}{
		{versionRefer, unix.LANDLOCK_ACCESS_FS_REFER},
		{versionTruncate, unix.LANDLOCK_ACCESS_FS_TRUNCATE},
		{versionDevices, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
	} {
		if version >= since.version {
			a.Handled_access_fs |= since.right
		}
	}
	if version >= versionTCP { // and usually no rule grants them: connections are made by us
		a.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= versionScopes {
		a.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return a
}

// rules is a set of Landlock rules: what it does not grant is denied.
type rules struct {
	file    *os.File
	handled uint64
	areas   areas // what may be written
	refused error // the last rule that the kernel did not accept
}

func newRules(attr unix.LandlockRulesetAttr) (*rules, error) {
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return nil, os.NewSyscallError("landlock_create_ruleset", errno)
	}
	return &rules{file: os.NewFile(fd, "rules"), handled: attr.Handled_access_fs}, nil
}

// version returns the version of the system's Landlock; zero, and why, if there is none.
func version() (int, error) {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	return int(v), nil
}

// grant grants rights to an open file, and everything in it.
func (r *rules) grant(fd int, rights uint64) {
	var is unix.Stat_t
	_ = unix.Fstat(fd, &is) // otherwise the next call fails too
	if is.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= ofFiles
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights & r.handled, Parent_fd: int32(fd)}
	r.add(unix.LANDLOCK_RULE_PATH_BENEATH, unsafe.Pointer(&attr))
}

func (r *rules) add(kind uintptr, rule unsafe.Pointer) {
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, r.file.Fd(), kind, uintptr(rule), 0, 0, 0); errno != 0 {
		r.refused = os.NewSyscallError("landlock_add_rule", errno)
	}
}

// port lets the program itself connect to a port, on any host.
func (r *rules) port(number uint16) {
	const rulePort = 2
	attr := struct{ access, port uint64 }{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, uint64(number)}
	r.add(rulePort, unsafe.Pointer(&attr))
}

// system grants rights to a file of the system or the person, following links. A file that
// does not exist, or is not accessible to this user, needs no rule.
func (r *rules) system(file string, rights uint64) {
	if fd, err := open(unix.AT_FDCWD, file, 0); err == nil {
		r.grant(fd, rights)
		_ = unix.Close(fd)
	}
}

// place grants rights to a place, unless it cannot be opened.
func (r *rules) place(p Place, rights uint64) error {
	fd, err := p.open()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if rights == toWrite {
		area, err := os.Readlink(byNumber(fd))
		if err != nil {
			return err
		}
		r.areas = append(r.areas, strings.TrimSuffix(area, "/"))
	}
	r.grant(fd, rights)
	return nil
}

// open opens a place as O_PATH. It follows no link below the base, because anyone who can write
// there could make the link point anywhere.
func (p Place) open() (int, error) {
	fd, err := open(unix.AT_FDCWD, p.Base, unix.O_DIRECTORY)
	if err != nil {
		return -1, &PlaceError{Place: p, Err: err}
	}
	below := strings.Trim(path.Clean("/"+p.Path), "/")
	for i, name := range strings.Split(below, "/") {
		if name == "" {
			break // the base itself
		}
		next, err := p.step(fd, name, strings.Join(strings.Split(below, "/")[:i+1], "/"))
		_ = unix.Close(fd)
		if err != nil {
			return -1, err
		}
		fd = next
	}
	return fd, nil
}

// step opens an entry of an open directory.
func (p Place) step(dir int, name, sofar string) (int, error) {
	isDir := strings.HasSuffix(p.Path, "/")
	fd, err := open(dir, name, unix.O_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) && isDir {
		if err = unix.Mkdirat(dir, name, 0o777); err == nil || errors.Is(err, unix.EEXIST) {
			fd, err = open(dir, name, unix.O_NOFOLLOW)
		}
	}
	if err != nil {
		return -1, &PlaceError{Place: p, Err: err}
	}
	var is unix.Stat_t
	if err = unix.Fstat(fd, &is); err == nil {
		switch is.Mode & unix.S_IFMT {
		case unix.S_IFDIR:
			return fd, nil
		case unix.S_IFLNK:
			target := make([]byte, unix.PathMax)
			n, _ := unix.Readlinkat(fd, "", target) // "" if it cannot be read
			err = &PlaceError{Place: p, Link: sofar, Target: string(target[:max(n, 0)])}
		default:
			if !isDir {
				return fd, nil
			}
			err = &PlaceError{Place: p, Err: unix.ENOTDIR}
		}
	}
	_ = unix.Close(fd)
	return -1, err
}

// open opens a file as O_PATH.
func open(dir int, name string, flags int) (fd int, err error) {
	for {
		fd, err = unix.Openat(dir, name, unix.O_PATH|unix.O_CLOEXEC|flags, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}
