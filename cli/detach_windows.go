package cli

import (
	"os/exec"
	"syscall"
)

// setsid takes a process out of this console, so that closing it does not end
// the process.
func setsid(cmd *exec.Cmd) {
	const detached = 0x00000008
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detached}
}
