//go:build amd64 || arm64

// Package inside is the process that package sandbox starts: this program again, which
// confines itself and becomes another program. It is entered by importing the package,
// before almost everything else is initialised, so that it costs little. For that it uses
// only packages that are initialised early: not even the one that has names for all system
// calls.
package inside

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// Name is the name of this program when it is started to confine itself. Its arguments are
// a [Mode], the path of the program, and its name and arguments.
const Name = "hocket-confines-itself"

// Mode is how a program is confined.
type Mode string

// A mode is made up of letters.
const (
	Asks   Mode = "a" // its questions must be answered
	Limits Mode = "l" // a second set of rules limits what it writes
	Only   Mode = "o" // the rules are all: no filter, and it keeps its privileges
)

func (m Mode) has(part Mode) bool { return strings.Contains(string(m), string(part)) }

// exitNotStarted is the status of a process that did not become its program.
const exitNotStarted = 125

// What the process gets besides its standard streams, in the order of descriptors.
const (
	rulesFD  = 3 + iota // its Landlock rules
	talkFD              // a socket, to report errors or pass the file on which questions arrive
	valuesFD            // the environment of the program
	filterFD            // the filter of its system calls
	silentFD            // and the filter used if no clerk can be asked
	limitFD             // its second set of rules
)

// System calls that package syscall does not name; see also the files for architectures.
const (
	sysCloseRange   = 436
	sysRestrictSelf = 446
)

const (
	closeOnExec     = 4 // of close_range
	setNoNewPrivs   = 38
	setFilter       = 1
	newListener     = 8
	waitKillable    = 32
	capabilities    = 0x20080522 // the version of the capget structure
	sizeOfOneFilter = 8
)

// Every program that links this package can be started to confine itself: this needs no
// support in its main, and works in tests too. At this point there is one goroutine, on the
// first thread of the process. The system kills this thread with Hocket, and the program
// inherits its restrictions.
//
//nolint:gochecknoinits // see above
func init() {
	if len(os.Args) < 3 || os.Args[0] != Name {
		return
	}
	var is syscall.Stat_t
	if err := syscall.Fstat(talkFD, &is); err == nil && is.Mode&syscall.S_IFMT == syscall.S_IFSOCK { // otherwise it was not started by us
		stage, err := enter(Mode(os.Args[1]), os.Args[2], os.Args[3:])
		_, _ = syscall.Write(talkFD, failure(stage, err))
	}
	os.Exit(exitNotStarted)
}

// enter confines this process and turns it into the program. It returns only if that
// failed.
func enter(mode Mode, path string, argv []string) (stage string, err error) {
	runtime.LockOSThread()
	env, err := read(valuesFD)
	if err != nil {
		return "read the environment", err
	}
	restrict := func(rules uintptr) func() error {
		return func() error { return call(sysRestrictSelf, rules, 0, 0) }
	}
	for _, step := range []struct {
		skip  bool
		stage string
		do    func() error
	}{
		// The program must not inherit other descriptors that Hocket was started with.
		{false, "close files", func() error { return call(sysCloseRange, rulesFD, uintptr(^uint32(0)), closeOnExec) }},
		{false, "renounce privileges", func() error { return call(syscall.SYS_PRCTL, setNoNewPrivs, 1, 0) }},
		{mode.has(Only), "drop privileges", dropPrivileges},
		{false, "set the rules for files", restrict(rulesFD)},
		{!mode.has(Limits), "limit what it writes", restrict(limitFD)},
		{mode.has(Only), "set the filter of system calls", func() error { return filterCalls(mode.has(Asks)) }},
	} {
		if step.skip {
			continue
		}
		if err := step.do(); err != nil {
			return step.stage, err
		}
	}
	return "", syscall.Exec(path, argv, append(os.Environ(), decodeValues(string(env))...))
}

func call(number, a, b, c uintptr) error {
	if _, _, errno := syscall.Syscall6(number, a, b, c, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// read reads a complete file in memory.
func read(fd int) ([]byte, error) {
	var is syscall.Stat_t
	if err := syscall.Fstat(fd, &is); err != nil {
		return nil, err
	}
	data := make([]byte, is.Size)
	for done := 0; done < len(data); {
		n, err := syscall.Pread(fd, data[done:], int64(done))
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, syscall.EIO
		}
		done += n
	}
	return data, nil
}

// EncodeValues encodes an environment for a file in memory.
func EncodeValues(env []string) string { return strings.Join(env, "\x00") }

func decodeValues(data string) []string {
	if data == "" {
		return nil
	}
	return strings.Split(data, "\x00")
}

// kept are the privileges that root keeps: those over files, for which there are rules, and
// those over its own processes. They are CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER,
// CAP_FSETID, CAP_KILL, CAP_SETGID and CAP_SETUID.
const kept = 1<<0 | 1<<1 | 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<7

func dropPrivileges() error {
	head := struct{ version, process uint32 }{version: capabilities}
	var sets [2]struct{ effective, permitted, inheritable uint32 } // of 32 privileges each
	if err := call(syscall.SYS_CAPGET, uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&sets)), 0); err != nil {
		return err
	}
	sets[0].permitted &= kept
	sets[0].effective &= kept
	sets[0].inheritable = 0
	sets[1].effective, sets[1].permitted, sets[1].inheritable = 0, 0, 0
	return call(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&sets)), 0)
}

// filterCalls installs the filter, and passes on the file on which questions arrive. Only
// one such file can exist: another supervisor of this process may already have it.
func filterCalls(asks bool) error {
	// While an answer is on its way, a signal must not make the program ask again.
	fd, err := filter(filterFD, newListener|waitKillable)
	if errors.Is(err, syscall.EINVAL) { // before Linux 5.19
		fd, err = filter(filterFD, newListener)
	}
	if errors.Is(err, syscall.EBUSY) && !asks {
		_, err = filter(silentFD, 0)
		return err
	}
	if err != nil {
		return err
	}
	return syscall.Sendmsg(talkFD, []byte{0}, syscall.UnixRights(fd), nil, 0)
}

// filter installs the filter in a file.
func filter(from int, flags uintptr) (int, error) {
	code, err := read(from)
	if err != nil || len(code) == 0 {
		return -1, errors.Join(err, syscall.ENOEXEC)
	}
	program := struct {
		size uint16
		code *byte
	}{uint16(len(code) / sizeOfOneFilter), &code[0]}
	fd, _, errno := syscall.Syscall(sysSeccomp, setFilter, flags, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// failure is the message of a process that did not become its program.
func failure(stage string, err error) []byte {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		errno = syscall.EIO
	}
	return []byte(strconv.Itoa(int(errno)) + " " + stage)
}

// ParseFailure parses such a message: the reason, and the step at which it failed, which is
// "" for the last.
func ParseFailure(said string) (stage string, err error) {
	number, stage, _ := strings.Cut(said, " ")
	errno, err := strconv.Atoi(number)
	if err != nil || errno <= 0 || errno >= 1<<12 {
		return "confine itself", syscall.EIO
	}
	return stage, syscall.Errno(errno)
}
