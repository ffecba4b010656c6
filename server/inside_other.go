//go:build !linux

package server

// insideRun reports false: here it is not known which process is at the other end of a connection.
func insideRun(string, string) bool { return false }
