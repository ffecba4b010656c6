//go:build !unix

package workspace

// statOf knows nothing: this system does not tell when a file was changed.
func statOf(string) (s stat, ok bool) { return s, false }
