//go:build !(linux || darwin || freebsd)

package cli

// freeDisk is how many bytes a user may still write where a directory is. Here
// nobody knows.
func freeDisk(string) (bytes uint64, known bool) { return 0, false }
