//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package cli

import (
	"os"

	"golang.org/x/term"
)

// quiet makes a terminal hand over keys at once and not show them. The function
// gives the terminal back as it was.
func quiet(f *os.File) (restore func(), err error) {
	fd := int(f.Fd())
	was, err := term.MakeRaw(fd)
	if err != nil {
		return nil, err
	}
	return func() { _ = term.Restore(fd, was) }, nil
}

// forgetTyped drops what was typed and not read. Here nothing can be dropped.
func forgetTyped(*os.File) {}

// onSuspend calls functions around a stop by Ctrl-Z. Here there is none.
func onSuspend(before, after func()) (forget func()) { return func() {} }
