package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeSize is the most that the system allows everyone.
const pipeSize = 1 << 20

// widen lets a pipe hold more: some programs exit without waiting for what they have
// written last, and the rest of a long line is lost. Where it is not allowed, the pipe
// stays as it is.
func widen(pipe *os.File) {
	if conn, err := pipe.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
	}
}
