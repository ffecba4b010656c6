//go:build unix

package cli

import (
	"os/exec"
	"syscall"
)

// setsid takes a process out of this terminal, so that closing it does not end
// the process.
func setsid(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
