//go:build unix

package cli

import (
	"os/exec"
	"syscall"
)

// setsid detaches a process from this terminal, so that it survives closing it.
func setsid(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
