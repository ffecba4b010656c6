//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// group is the process group of a command. Its id is that of the command, and stays
// reserved as long as one process is in the group.
type group struct{ id int }

// A session of its own has a group of its own too, with the same id.
func startGroup(cmd *exec.Cmd) (*group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	dieWithParent(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &group{id: cmd.Process.Pid}, nil
}

// alive reports whether a process of the group is left.
func (g *group) alive() bool { return syscall.Kill(-g.id, 0) == nil && runs(g.id) }

// ask and kill fail only if no process is left, which is their goal.
func (g *group) ask()  { _ = syscall.Kill(-g.id, syscall.SIGTERM) }
func (g *group) kill() { _ = syscall.Kill(-g.id, syscall.SIGKILL) }

func (g *group) release() {}

// unread reads what is in a pipe, without waiting for more.
func unread(pipe *os.File, b []byte) (n int) {
	if conn, err := pipe.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { n, _ = syscall.Read(int(fd), b) })
	}
	return max(n, 0)
}
