//go:build unix && !linux

package process

import (
	"os"
	"syscall"
	"time"
)

// Only Linux can tie a child to the life of its parent, and show the state and the
// environment of a process.

func dieWithParent(*syscall.SysProcAttr) {}

func runs(int) bool { return true }

func killMarked(string, int) {}

func EndLeft(string, time.Duration) error { return ErrUnseen }

func EndOwned(int, time.Duration) error { return ErrUnseen }

func Stopped(int) bool { return false }

func descendants(int) []*os.Process { return nil }
