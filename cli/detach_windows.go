package cli

import (
	"os/exec"
	"syscall"
)

// setsid detaches a process from this console, so that it survives closing it.
func setsid(cmd *exec.Cmd) {
	const detached = 0x00000008
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detached}
}
