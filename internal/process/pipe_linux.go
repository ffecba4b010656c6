package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// widen increases the capacity of a pipe: some programs exit without waiting for their last
// write, and the rest of a long line is lost. If that is not allowed, the pipe keeps its
// size.
func widen(pipe *os.File) {
	if conn, err := pipe.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
	}
}
