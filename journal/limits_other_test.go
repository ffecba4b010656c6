//go:build !linux

package journal

// systemRoles are the child process roles that are specific to this system.
var systemRoles map[string]func(args []string) error
