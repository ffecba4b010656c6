//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package cli

import (
	"os"

	"golang.org/x/term"
)

// quiet turns off echo and line buffering. restore turns them back on.
func quiet(f *os.File) (restore func(), err error) {
	fd := int(f.Fd())
	was, err := term.MakeRaw(fd)
	if err != nil {
		return nil, err
	}
	return func() { _ = term.Restore(fd, was) }, nil
}

// forgetTyped discards typed input that has not been read. It does nothing on this
// system.
func forgetTyped(*os.File) {}

// onSuspend calls functions before and after Ctrl-Z stops the process, which does not
// exist on this system.
func onSuspend(before, after func()) (forget func()) { return func() {} }
