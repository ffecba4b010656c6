//go:build !linux

package trust

func ancestors() []ancestor { return nil }
