package sandbox

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_X86_64

// System calls that only this architecture has: others have newer ones instead.
var (
	oldWays = []uint32{
		unix.SYS_INOTIFY_INIT, unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS_SYSFS, unix.SYS__SYSCTL,
		unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
	}
	oldMarks = map[int32]mark{
		unix.SYS_CHMOD:  {none, 0, none, false, chmod(1)},
		unix.SYS_CHOWN:  {none, 0, none, false, chown(1)},
		unix.SYS_LCHOWN: {none, 0, none, true, chown(1)},
	}
	oldTruncate = []rule{{unix.SYS_OPEN, denied, []test{masked(1, unix.O_ACCMODE|unix.O_TRUNC, unix.O_TRUNC)}}}
)
