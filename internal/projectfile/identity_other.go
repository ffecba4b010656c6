//go:build !linux && !darwin

package projectfile

// Identity returns "": this system cannot distinguish a directory that was moved from
// another one.
func Identity(string) string { return "" }
