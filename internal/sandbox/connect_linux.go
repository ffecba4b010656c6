//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

type connectFunc = func(context.Context, netip.AddrPort) bool

// question is a system call that waits for an answer, as the kernel tells it.
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

// reply is the answer: what the system call gives, without being made.
type reply struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

// isValid asks whether a question still waits, in the number that all kernels know.
const isValid = 0x80082102

// most is how many questions are looked at at once. Others wait.
const most = 64

// answer answers all questions of a program until it has ended or ctx is done.
func answer(ctx context.Context, fd int, connect connectFunc) {
	_ = unix.SetNonblock(fd, true) // then the file can be waited for, and closed meanwhile
	f := os.NewFile(uintptr(fd), "questions")
	defer f.Close()
	stop := context.AfterFunc(ctx, func() { _ = f.Close() })
	defer stop()
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	var answers sync.WaitGroup
	defer answers.Wait()
	slots := make(chan struct{}, most)
	for {
		q, ended := next(conn)
		if ended {
			return
		}
		if q == nil {
			continue // whoever asked is gone
		}
		slots <- struct{}{}
		answers.Go(func() {
			defer func() { <-slots }()
			r := reply{id: q.id, err: -int32(q.decide(ctx, conn, connect))}
			_ = conn.Control(func(fd uintptr) { _ = control(fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)) }) // nobody may wait for it any more
		})
	}
}

// next waits for a question.
func next(conn syscall.RawConn) (q *question, ended bool) {
	err := conn.Read(func(fd uintptr) bool {
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

// decide makes the connection that a program wants, if it may, and gives the error of that. The
// program can change its memory and its files while we look, so everything is taken
// from there once, and what was taken is used.
func (q *question) decide(ctx context.Context, conn syscall.RawConn, connect connectFunc) syscall.Errno {
	to, where, errno := q.address()
	if errno != 0 {
		return errno
	}
	socket, err := q.file(int(int32(q.call.arguments[0])))
	if err != nil {
		return unix.EBADF
	}
	defer unix.Close(socket)
	// The number of a process that has ended may be that of another by now.
	var same error
	_ = conn.Control(func(fd uintptr) { same = control(fd, isValid, unsafe.Pointer(&q.id)) })
	if same != nil {
		return unix.EINTR
	}
	if !connect(ctx, to) {
		return unix.EACCES
	}
	stop := context.AfterFunc(ctx, func() { _ = unix.Shutdown(socket, unix.SHUT_RDWR) })
	defer stop()
	err = unix.Connect(socket, where)
	if errors.As(err, &errno) {
		return errno
	}
	return 0
}

// address is what the program wants to connect to.
func (q *question) address() (netip.AddrPort, unix.Sockaddr, syscall.Errno) {
	const largest = 128
	data := make([]byte, min(q.call.arguments[2], largest))
	if len(data) < 2 {
		return netip.AddrPort{}, nil, unix.EINVAL
	}
	ours := []unix.Iovec{{Base: &data[0]}}
	ours[0].SetLen(len(data))
	n, err := unix.ProcessVMReadv(int(q.task), ours, []unix.RemoteIovec{{Base: uintptr(q.call.arguments[1]), Len: len(data)}}, 0)
	if err != nil || n != len(data) {
		return netip.AddrPort{}, nil, unix.EFAULT
	}
	return parseAddress(data)
}

// parseAddress reads a socket address as a system call is given it.
func parseAddress(data []byte) (netip.AddrPort, unix.Sockaddr, syscall.Errno) {
	const size4, size6 = unix.SizeofSockaddrInet4, unix.SizeofSockaddrInet6
	family := uint16(0)
	if len(data) >= 2 {
		family = binary.NativeEndian.Uint16(data)
	}
	switch {
	case family == unix.AF_INET && len(data) >= size4:
		to := &unix.SockaddrInet4{Port: int(binary.BigEndian.Uint16(data[2:])), Addr: [4]byte(data[4:8])}
		return netip.AddrPortFrom(netip.AddrFrom4(to.Addr), uint16(to.Port)), to, 0
	case family == unix.AF_INET6 && len(data) >= size6-4: // its zone may be missing
		to := &unix.SockaddrInet6{Port: int(binary.BigEndian.Uint16(data[2:])), Addr: [16]byte(data[8:24])}
		if len(data) >= size6 {
			to.ZoneId = binary.NativeEndian.Uint32(data[24:])
		}
		return netip.AddrPortFrom(netip.AddrFrom16(to.Addr).Unmap(), uint16(to.Port)), to, 0
	case family == unix.AF_INET || family == unix.AF_INET6:
		return netip.AddrPort{}, nil, unix.EINVAL
	}
	return netip.AddrPort{}, nil, unix.EAFNOSUPPORT
}

// file is the socket of the program that it names by a number.
func (q *question) file(number int) (int, error) {
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

// leaderOf is the process that a thread belongs to.
func leaderOf(thread int) (int, error) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(thread) + "/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(status, []byte("\nTgid:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return strconv.Atoi(string(bytes.TrimSpace(line)))
}

// control makes a request to an open file.
func control(fd, request uintptr, with unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, request, uintptr(with)); errno != 0 {
		return errno
	}
	return nil
}

// seccomp asks what filters can do.
func seccomp(operation uintptr, with *uint32) error {
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, operation, 0, uintptr(unsafe.Pointer(with))); errno != 0 {
		return errno
	}
	return nil
}
