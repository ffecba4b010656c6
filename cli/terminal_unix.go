//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package cli

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// quiet makes a terminal hand over keys at once and not show them, so that they
// do not disturb what is drawn. Ctrl-C and Ctrl-Z keep their meaning. The
// function gives the terminal back as it was.
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

// forgetTyped drops what was typed and not read.
func forgetTyped(f *os.File) { _ = flushInput(int(f.Fd())) }

// onSuspend calls before when Ctrl-Z stops the process, and after when it goes
// on. It stops the process itself in between, so that nothing is drawn.
func onSuspend(before, after func()) (forget func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGTSTP)
	go func() {
		for range signals {
			before()
			_ = unix.Kill(os.Getpid(), unix.SIGSTOP) // goes on here
			after()
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}
