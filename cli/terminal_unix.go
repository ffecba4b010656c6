//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package cli

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// quiet turns off echo and line buffering, so that keys do not disturb the drawing.
// Ctrl-C and Ctrl-Z still work. restore turns them back on.
func quiet(f *os.File) (restore func(), err error) {
	fd := int(f.Fd())
	was, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, err
	}
	now := *was
	now.Lflag &^= unix.ECHO | unix.ICANON
	now.Cc[unix.VMIN], now.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, setTermios, &now); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, setTermios, was) }, nil
}

// forgetTyped discards typed input that has not been read.
func forgetTyped(f *os.File) { _ = flushInput(int(f.Fd())) }

// onSuspend calls before when the user presses Ctrl-Z, stops the process, and calls after
// when it continues.
func onSuspend(before, after func()) (forget func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGTSTP)
	go func() {
		for range signals {
			before()
			_ = unix.Kill(os.Getpid(), unix.SIGSTOP) // continues here
			after()
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}
