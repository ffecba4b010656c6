//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"errors"
	"os/exec"
	"runtime"
)

// Supported returns what this system can enforce.
func Supported() Support {
	return Support{None: "Hocket can confine programs on Linux on x86-64 and ARM64 only, and this is " + runtime.GOOS + " on " + runtime.GOARCH}
}

// Unlimited returns why this system cannot limit where a program writes; "": it can.
func Unlimited() string { return Supported().None }

// Check returns an error if the limit cannot be used.
func (*Limit) Check() error { return errors.New("sandbox: " + Unlimited()) }

// Apply makes a command start with the limit.
func (l *Limit) Apply(*exec.Cmd) (*Box, error) { return nil, l.Check() }

// Box is a confined program.
type Box struct{}

// Confine makes a command start confined.
func Confine(*exec.Cmd, *Policy) (*Box, error) {
	return nil, errors.New("sandbox: " + Supported().None)
}

// Failed returns why the command did not become the program.
func (*Box) Failed() error { return nil }

// Close ends what the box does for its program.
func (*Box) Close() {}
