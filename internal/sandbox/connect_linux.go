//go:build amd64 || arm64

package sandbox

import (
	"context"
	"encoding/binary"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

type connectFunc = func(context.Context, netip.AddrPort) bool

// connects makes the connection that a program wants, if allowed.
func (c *clerk) connects(ctx context.Context, q *question) error {
	const largest = 128
	data, err := q.read(1, int(min(q.call.arguments[2], largest)))
	if err != nil {
		return err
	}
	to, where, errno := parseAddress(data)
	if errno != 0 {
		return errno
	}
	socket := -1
	if c.take {
		if socket, err = q.take(q.number(0)); err != nil {
			return unix.EBADF
		}
		defer unix.Close(socket)
	}
	if err := c.waits(q); err != nil {
		return err
	}
	if !c.connect(ctx, to) {
		return unix.EACCES
	}
	if !c.take {
		return errItself
	}
	stop := context.AfterFunc(ctx, func() { _ = unix.Shutdown(socket, unix.SHUT_RDWR) })
	defer stop()
	return unix.Connect(socket, where)
}

// parseAddress parses a socket address in the format of a system call.
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
