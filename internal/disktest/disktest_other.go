//go:build !linux

// Package disktest helps to test code that must not lose what it writes.
package disktest

import "testing"

// Unsynced skips the test: it is supported on Linux only.
func Unsynced(t *testing.T, _ func()) {
	t.Helper()
	t.Skip("only Linux can be made to refuse fsync")
}
