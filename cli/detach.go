package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/journal"
)

// detachNew records a new run and leaves it to a process of its own.
func (a *app) detachNew(store *journal.Store, spec driver.Spec) error {
	runs, err := local.Open(store.Dir(), local.Options{})
	if err != nil {
		return err
	}
	spec.Owner = driver.Owner{By: userName(), Via: "cli"}
	_, err = runs.Start(context.Background(), spec)
	if err := errors.Join(err, runs.Close()); err != nil {
		return err
	}
	return a.detach(spec.Run, "")
}

// detach starts a process that drives a run, and prints the id of the run.
func (a *app) detach(run, replies string) error {
	if err := a.spawn(run, replies); err != nil {
		return err
	}
	return a.printID(run)
}

// spawn starts a process that drives a run when this one has ended. It has no
// terminal and says nothing: the journal and the logs have everything.
func (a *app) spawn(run, replies string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the program does not know where it is: %w", err)
	}
	args := []string{"resume", run, "--quiet", "--apart"}
	if replies != "" {
		args = append(args, "--replies", replies)
	}
	if a.dir != "" {
		args = append(args, "-C", a.dir)
	}
	if a.state != "" {
		args = append(args, "--state", a.state)
	}
	cmd := exec.Command(self, args...)
	cmd.Args[0] = os.Args[0]
	// Started from a step, it is to outlive the step, whose processes end with
	// it and are known by this mark.
	marked := func(pair string) bool { return strings.HasPrefix(pair, "HOCKET_KEY=") }
	cmd.Env = slices.DeleteFunc(os.Environ(), marked)
	setsid(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("the run is recorded, but no process could be started to drive it: %w", err)
	}
	return cmd.Process.Release()
}
