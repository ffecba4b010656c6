//go:build !linux && !darwin

package projectfile

// Identity is "": this system cannot tell a directory that was moved from another one.
func Identity(string) string { return "" }
