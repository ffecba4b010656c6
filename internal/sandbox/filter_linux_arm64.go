package sandbox

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_AARCH64

// This architecture never had the older system calls.
var (
	oldWays     []uint32
	oldMarks    map[int32]mark
	oldTruncate []rule
)
