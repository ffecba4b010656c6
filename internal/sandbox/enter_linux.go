//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// name is what this program is called when it is started to confine itself.
const name = "hocket-confines-itself"

// exitNotStarted is the status of a process that did not become its program.
const exitNotStarted = 125

// What a process that confines itself is given besides its standard streams.
const (
	rulesFD  = 3 + iota // its rules of Landlock
	talkFD              // a socket, to tell what went wrong or hand over who asks
	valuesFD            // the environment of the program
)

// Every program that links this package can be started to confine itself: that needs no
// agreement with its main, and tests are such programs too. At this time there is one
// goroutine, and it is on the first thread of the process. That is the one that
// the system kills with Hocket, and the one whose restrictions the program will have.
//
//nolint:gochecknoinits // see above
func init() {
	if len(os.Args) > 2 && os.Args[0] == name {
		stage, err := enter(os.Args[1], os.Args[2], os.Args[3:])
		_, _ = unix.Write(talkFD, failure(stage, err))
		os.Exit(exitNotStarted)
	}
}

// enter confines this process and makes it the program. It comes back only if that failed.
func enter(how, path string, argv []string) (stage string, err error) {
	runtime.LockOSThread()
	m := decodeMode(how)
	env, err := readValues()
	if err != nil {
		return "read the environment", err
	}
	for _, step := range []struct {
		stage string
		do    func() error
	}{
		// What Hocket was started with and did not know of is none of the program's.
		{"close files", func() error { return unix.CloseRange(rulesFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) }},
		{"renounce privileges", func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
		{"drop privileges", dropPrivileges},
		{"set the rules for files", restrictFiles},
		{"set the filter of system calls", func() error { return filterCalls(m) }},
	} {
		if err := step.do(); err != nil {
			return step.stage, err
		}
	}
	return "", syscall.Exec(path, argv, append(os.Environ(), env...))
}

// encode is a mode for an argument of the process that confines itself.
func (m mode) encode() string {
	flags := ""
	for letter, set := range map[string]bool{"n": m.network, "t": m.truncate} {
		if set {
			flags += letter
		}
	}
	return flags
}

func decodeMode(flags string) mode {
	return mode{network: strings.Contains(flags, "n"), truncate: strings.Contains(flags, "t")}
}

// readValues are the variables of the program.
func readValues() ([]string, error) {
	var is unix.Stat_t
	if err := unix.Fstat(valuesFD, &is); err != nil {
		return nil, err
	}
	data := make([]byte, is.Size)
	for done := 0; done < len(data); {
		n, err := unix.Pread(valuesFD, data[done:], int64(done))
		if err != nil || n == 0 {
			return nil, errors.Join(err, unix.EIO)
		}
		done += n
	}
	return decodeValues(string(data)), nil
}

func encodeValues(env []string) string { return strings.Join(env, "\x00") }

func decodeValues(data string) []string {
	if data == "" {
		return nil
	}
	return strings.Split(data, "\x00")
}

// kept are the privileges that root keeps: those over files, for which there are rules,
// and those over its own processes.
const kept = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID |
	1<<unix.CAP_KILL | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID

func dropPrivileges() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData // of 32 privileges each
	if err := unix.Capget(&head, &sets[0]); err != nil {
		return err
	}
	left := sets[0].Permitted & kept
	sets = [2]unix.CapUserData{{Effective: sets[0].Effective & left, Permitted: left}}
	return unix.Capset(&head, &sets[0])
}

func restrictFiles() error {
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rulesFD, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// filterCalls sets the filter, and hands over the file at which is asked. There can be one such
// file only: what somebody else set up for this process before may have it.
func filterCalls(m mode) error {
	// While an answer is on its way a signal must not have the program ask again.
	fd, err := setFilter(m, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	if errors.Is(err, unix.EINVAL) { // before Linux 5.19
		fd, err = setFilter(m, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	}
	if errors.Is(err, unix.EBUSY) && !m.network {
		m.silent = true
		_, err = setFilter(m, 0)
		return err
	}
	if err != nil {
		return err
	}
	return unix.Sendmsg(talkFD, []byte{0}, unix.UnixRights(fd), nil, 0)
}

func setFilter(m mode, flags uintptr) (int, error) {
	code := program(m)
	p := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&p)))
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// failure is what a process tells that did not become its program.
func failure(stage string, err error) []byte {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		errno = unix.EIO
	}
	return []byte(strconv.Itoa(int(errno)) + " " + stage)
}

// parseFailure reads it. The process could not say more than its first words if it was killed.
func parseFailure(said string) *StartError {
	number, stage, _ := strings.Cut(said, " ")
	errno, err := strconv.Atoi(number)
	if err != nil || errno <= 0 {
		return &StartError{Stage: "confine itself", Err: unix.EIO}
	}
	return &StartError{Stage: stage, Err: syscall.Errno(errno)}
}
