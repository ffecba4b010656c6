package cli

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// detach starts a process that drives a run, and prints the id of the run.
func (a *app) detach(run, replies string) error {
	if err := a.spawn(run, replies); err != nil {
		return err
	}
	return a.printID(run)
}

// spawn starts a process that drives a run after this one has ended.
func (a *app) spawn(run, replies string) error {
	args := []string{"resume", run, "--quiet", "--apart"}
	if replies != "" {
		args = append(args, "--replies", replies)
	}
	return a.background(args...)
}

// where returns the flags that say which project this process works on.
func (a *app) where() []string {
	var args []string
	if a.dir != "" {
		args = append(args, "-C", a.dir)
	}
	if a.state != "" {
		args = append(args, "--state", a.state)
	}
	return args
}

// background starts a command of this program that goes on after this process has ended. It
// has no terminal and prints nothing: the journal and the logs contain everything.
func (a *app) background(args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find the hocket executable: %w", err)
	}
	cmd := exec.Command(self, append(args, a.where()...)...)
	cmd.Args[0] = os.Args[0]
	// When a step ends, all processes with this variable are killed. A run that the step
	// started has to outlive it.
	marked := func(pair string) bool { return strings.HasPrefix(pair, "HOCKET_KEY=") }
	cmd.Env = slices.DeleteFunc(os.Environ(), marked)
	if a.trusted != "" {
		cmd.Env = append(cmd.Env, "HOCKET_TRUST="+a.trusted)
	}
	setsid(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("the run is recorded, but the process that drives it could not be started: %w", err)
	}
	return cmd.Process.Release()
}
