//go:build !(linux || darwin || freebsd)

package cli

// freeDisk returns the free disk space for a directory, which is unknown on this system.
func freeDisk(string) (bytes uint64, known bool) { return 0, false }
