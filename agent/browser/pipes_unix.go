//go:build unix

package browser

import (
	"os"
	"os/exec"
)

// give passes the browser its ends of the pipes: it reads from descriptor 3 and writes to
// 4.
func give(cmd *exec.Cmd, in, out *os.File) { cmd.ExtraFiles = []*os.File{in, out} }
