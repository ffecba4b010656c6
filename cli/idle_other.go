//go:build !linux

package cli

// unmapCode does nothing: other systems unmap code that is not used by themselves, or not at all.
func unmapCode() {}
