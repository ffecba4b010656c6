//go:build unix

package cli

import (
	"fmt"
	"os"
	"syscall"
)

// predecessor is the process that a handed over command comes from: this one, which was another program before.
func predecessor() int { return os.Getpid() }

// execute replaces this program by another one. It returns only if it fails.
func execute(program string, args, env []string) (int, error) {
	err := syscall.Exec(program, append([]string{program}, args...), env)
	return exitFailed, fmt.Errorf("cannot start %s: %w", program, err)
}
