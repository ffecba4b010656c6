package sandbox

import (
	"testing"

	"golang.org/x/sys/unix"
)

// The older system calls that change metadata.
const sysChmod, sysChown, sysLchown = unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN

var oldRefused = []uint32{
	unix.SYS_INOTIFY_INIT, unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS_SYSFS, unix.SYS__SYSCTL,
	unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
}

// Older system calls do not bypass the rules for their replacements.
func TestOldCalls(t *testing.T) {
	for _, m := range modes() {
		opened, asked := uint32(allow), uint32(ask)
		if m.truncate {
			opened = denied
		}
		if m.silent {
			asked = refused
		}
		for _, c := range []struct {
			call systemCall
			want uint32
		}{
			{calling(unix.SYS_OPEN, 0, unix.O_RDONLY|unix.O_TRUNC|unix.O_CREAT), opened},
			{calling(unix.SYS_OPEN, 0, unix.O_RDWR|unix.O_TRUNC), allow}, // Landlock checks these
			{calling(unix.SYS_OPEN, 0, unix.O_RDONLY), allow},
			{calling(unix.SYS_CHMOD), asked},
			{calling(unix.SYS_CHOWN), asked},
			{calling(unix.SYS_LCHOWN), asked},
		} {
			if got := verdict(t, program(m), c.call); got != c.want {
				t.Errorf("%+v: %+v gives %x, want %x", m, c.call, got, c.want)
			}
		}
	}
}
