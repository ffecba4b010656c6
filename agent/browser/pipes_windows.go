package browser

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
)

// give passes the browser its ends of the pipes, by the numbers of their handles.
func give(cmd *exec.Cmd, in, out *os.File) {
	read, write := syscall.Handle(in.Fd()), syscall.Handle(out.Fd())
	cmd.SysProcAttr = &syscall.SysProcAttr{AdditionalInheritedHandles: []syscall.Handle{read, write}}
	cmd.Args = slices.Insert(cmd.Args, 1, fmt.Sprintf("--remote-debugging-io-pipes=%d,%d", read, write))
}
