//go:build !unix

package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
)

// predecessor is the process that a handed over command comes from.
func predecessor() int { return os.Getppid() }

// execute runs another program in place of this one, and returns its exit code.
func execute(program string, args, env []string) (int, error) {
	signal.Ignore(os.Interrupt) // the other program gets it, too, and ends when it is done
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		return ended.ExitCode(), nil
	}
	if err != nil {
		err = fmt.Errorf("cannot start %s: %w", program, err)
	}
	return exitDone, err
}
