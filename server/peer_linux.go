package server

import (
	"errors"
	"net"
	"syscall"
)

// peer returns the process at the other end of a socket.
func peer(c net.Conn) (pid int, err error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return 0, errors.New("not a socket of this machine")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *syscall.Ucred
	failed := raw.Control(func(fd uintptr) {
		cred, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err = errors.Join(failed, err); err != nil {
		return 0, err
	}
	return int(cred.Pid), nil
}
