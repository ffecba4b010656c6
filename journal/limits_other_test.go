//go:build !linux

package journal

// systemRoles are the roles that only this system can play.
var systemRoles map[string]func(args []string) error
