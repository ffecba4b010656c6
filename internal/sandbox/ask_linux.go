//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// question is a system call of a program that waits for an answer, as the kernel reports
// it.
//
// The program can change its memory and its files meanwhile. So everything is read from
// there once, and only that copy is used: we make the system call ourselves instead of
// letting the program make it.
type question struct {
	id    uint64
	task  uint32
	flags uint32
	call  struct {
		number       int32
		architecture uint32
		pointer      uint64
		arguments    [6]uint64
	}
}

// answer sets the result of the system call, without executing it.
type answer struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

// isValid checks whether a question still waits, with the request number that all kernels
// know.
const isValid = 0x80082102

// most is how many questions are handled at once. Others wait.
const most = 64

// clerk answers the questions of one program.
type clerk struct {
	file    *os.File
	conn    syscall.RawConn
	connect connectFunc
	take    bool // sockets can be taken from the program
	areas   areas
}

// errItself means that the program may make its system call itself.
var errItself = errors.New("sandbox: it may do so itself")

// work answers until the program has ended or ctx is done.
func (c *clerk) work(ctx context.Context, fd int) {
	_ = unix.SetNonblock(fd, true) // so that the file can be polled, and closed while it is being read
	c.file = os.NewFile(uintptr(fd), "questions")
	defer c.file.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.file.Close() })
	defer stop()
	c.conn, _ = c.file.SyscallConn() // it cannot fail
	var answers sync.WaitGroup
	defer answers.Wait()
	slots := make(chan struct{}, most)
	for {
		q, ended := c.next()
		if ended {
			return
		}
		if q == nil {
			continue // the process that asked is gone
		}
		slots <- struct{}{}
		answers.Go(func() {
			defer func() { <-slots }()
			a := answer{id: q.id}
			if err := c.decide(ctx, q); errors.Is(err, errItself) {
				a.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
			} else {
				a.err = -int32(number(err))
			}
			_ = c.control(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&a)) // it may no longer be waiting
		})
	}
}

// next waits for a question.
func (c *clerk) next() (q *question, ended bool) {
	err := c.conn.Read(func(fd uintptr) bool {
		now := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, _ := unix.Poll(now, 0); n <= 0 {
			return false
		}
		if ended = now[0].Revents&unix.POLLIN == 0; !ended {
			var heard question
			if control(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&heard)) == nil {
				q = &heard
			}
		}
		return true
	})
	return q, ended || err != nil
}

// decide does what a program asks for, if allowed, and returns the error.
func (c *clerk) decide(ctx context.Context, q *question) error {
	if how, ok := marks[q.call.number]; ok {
		return c.mark(q, how)
	}
	if q.call.number == unix.SYS_CONNECT && c.connect != nil {
		return c.connects(ctx, q)
	}
	return unix.ENOSYS
}

// number returns an error as the program sees it.
func number(err error) syscall.Errno {
	var errno syscall.Errno
	if err != nil && !errors.As(err, &errno) {
		return unix.EACCES
	}
	return errno
}

// waits reports whether the question still waits. If not, its process id may by now belong
// to another process, and what was read is not the program's.
func (c *clerk) waits(q *question) error {
	if c.control(isValid, unsafe.Pointer(&q.id)) != nil {
		return unix.EINTR
	}
	return nil
}

func (c *clerk) control(request uintptr, with unsafe.Pointer) (err error) {
	return errors.Join(c.conn.Control(func(fd uintptr) { err = control(fd, request, with) }), err)
}

// number returns a 32-bit argument.
func (q *question) number(arg int) int { return int(int32(q.call.arguments[arg])) }

// read reads from the memory of the program what an argument points to.
func (q *question) read(arg, size int) ([]byte, error) {
	data, err := q.readAt(uintptr(q.call.arguments[arg]), size)
	if err != nil || len(data) < size {
		return nil, unix.EFAULT
	}
	return data, nil
}

// readAt reads as much as possible.
func (q *question) readAt(at uintptr, size int) ([]byte, error) {
	data := make([]byte, size)
	ours := []unix.Iovec{{Base: unsafe.SliceData(data)}}
	ours[0].SetLen(size)
	n, err := unix.ProcessVMReadv(int(q.task), ours, []unix.RemoteIovec{{Base: at, Len: size}}, 0)
	return data[:max(n, 0)], err
}

// text reads the string that an argument points to, which is a path. It is read in parts
// that end at a page boundary: the next page may not be mapped.
func (q *question) text(arg int) (string, error) {
	const page = 4096
	var text strings.Builder
	for at := uintptr(q.call.arguments[arg]); text.Len() < unix.PathMax; {
		data, err := q.readAt(at, page-int(at%page))
		if err != nil || len(data) == 0 {
			return "", unix.EFAULT
		}
		part, _, found := bytes.Cut(data, []byte{0})
		text.Write(part)
		if found {
			return text.String(), nil
		}
		at += uintptr(len(data))
	}
	return "", unix.ENAMETOOLONG
}

// open opens the program's file with a descriptor as O_PATH.
func (q *question) open(number int) (int, error) {
	fd, err := open(unix.AT_FDCWD, "/proc/"+strconv.Itoa(int(q.task))+"/fd/"+strconv.Itoa(number), 0)
	if errors.Is(err, unix.ENOENT) {
		err = unix.EBADF
	}
	return fd, err
}

// take returns the program's file with a descriptor, with full access.
func (q *question) take(number int) (int, error) {
	leader, err := leaderOf(int(q.task))
	if err != nil {
		return -1, err
	}
	process, err := unix.PidfdOpen(leader, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(process)
	return unix.PidfdGetfd(process, number, 0)
}

// leaderOf returns the process that a thread belongs to.
func leaderOf(thread int) (int, error) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(thread) + "/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(status, []byte("\nTgid:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return strconv.Atoi(string(bytes.TrimSpace(line)))
}

// control makes an ioctl request to an open file.
func control(fd, request uintptr, with unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, request, uintptr(with)); errno != 0 {
		return errno
	}
	return nil
}

// seccomp queries what filters support.
func seccomp(operation uintptr, with *uint32) error {
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, operation, 0, uintptr(unsafe.Pointer(with))); errno != 0 {
		return errno
	}
	return nil
}
