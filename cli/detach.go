package cli

import (
	"cmp"
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
	return a.background(cmp.Or(a.trusted, os.Getenv("HOCKET_TRUST")), args...)
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

// background starts a command of this program that continues after this process has ended. It has
// no terminal and prints nothing: the journal and the logs contain everything. digest is what it
// trusts; "" means what was approved earlier.
func (a *app) background(digest string, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find the hocket executable: %w", err)
	}
	cmd := exec.Command(self, append(args, a.where()...)...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = withoutKey(os.Environ())
	if digest != "" {
		cmd.Env = append(cmd.Env, "HOCKET_TRUST="+digest)
	}
	setsid(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("the run is recorded, but the process that drives it could not be started: %w", err)
	}
	return cmd.Process.Release()
}

// withoutKey returns an environment for a process that outlives this one. When a step ends, all processes
// with its key are killed, and a digest is for one command.
func withoutKey(env []string) []string {
	return slices.DeleteFunc(env, func(pair string) bool {
		return strings.HasPrefix(pair, "HOCKET_KEY=") || strings.HasPrefix(pair, "HOCKET_TRUST=")
	})
}
