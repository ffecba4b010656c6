//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// systemCall is a system call with its arguments.
type systemCall struct {
	number, architecture uint32
	args                 [6]uint64
}

func calling(number uint32, args ...uint64) systemCall {
	c := systemCall{number: number, architecture: architecture}
	copy(c.args[:], args)
	return c
}

// verdict returns a filter's decision about a system call, as the kernel would evaluate
// it.
func verdict(t *testing.T, filter string, c systemCall) uint32 {
	t.Helper()
	data := binary.NativeEndian.AppendUint32(nil, c.number)
	data = binary.NativeEndian.AppendUint32(data, c.architecture)
	data = binary.NativeEndian.AppendUint64(data, 0) // the instruction pointer
	for _, a := range c.args {
		data = binary.NativeEndian.AppendUint64(data, a)
	}
	code := unsafe.Slice((*unix.SockFilter)(unsafe.Pointer(unsafe.StringData(filter))), len(filter)/unix.SizeofSockFilter)
	var value uint32
	for at := 0; at < len(code); at++ {
		in := code[at]
		holds := false
		switch in.Code {
		case unix.BPF_RET | unix.BPF_K:
			return in.K
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			value = binary.NativeEndian.Uint32(data[in.K:])
			continue
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			value &= in.K
			continue
		case unix.BPF_JMP | unix.BPF_K | unix.BPF_JEQ:
			holds = value == in.K
		case unix.BPF_JMP | unix.BPF_K | unix.BPF_JGT:
			holds = value > in.K
		default:
			t.Fatalf("instruction %d is unknown: %+v", at, in)
		}
		if holds {
			at += int(in.Jt)
		} else {
			at += int(in.Jf)
		}
	}
	t.Fatal("the filter has no end")
	return 0
}

func modes() []mode {
	var all []mode
	for i := range 8 {
		all = append(all, mode{network: i&1 > 0, silent: i&2 > 0, truncate: i&4 > 0})
	}
	return all
}

// Numbers of other architectures and of x32 mean something else, and newer ones have not
// been reviewed.
func TestForeignCallsAreNotMade(t *testing.T) {
	for _, m := range modes() {
		filter := program(m)
		for number := range uint32(newest + 1) {
			for _, other := range []uint32{unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_X86_64, unix.AUDIT_ARCH_ARM, unix.AUDIT_ARCH_AARCH64, 0} {
				c := calling(number)
				c.architecture = other
				if got := verdict(t, filter, c); other != architecture && got != kill {
					t.Fatalf("%+v: call %d of the architecture %x gives %x", m, number, other, got)
				}
			}
			const x32 = 0x40000000
			if got := verdict(t, filter, calling(number|x32)); got != unknown {
				t.Fatalf("%+v: call %d of x32 gives %x", m, number, got)
			}
		}
		for _, number := range []uint32{newest + 1, newest + 100, 1 << 31, ^uint32(0)} {
			if got := verdict(t, filter, calling(number)); got != unknown {
				t.Errorf("%+v: call %d, which is too new, gives %x", m, number, got)
			}
		}
	}
}

// applies reports whether a rule covers a system call.
func (r rule) applies(c systemCall) bool {
	return r.call == c.number && !slices.ContainsFunc(r.when, func(w test) bool { return (uint32(c.args[w.arg])&w.mask == w.want) == w.not })
}

// The filter decides what the first rule that applies decides, for every way in which a
// rule can apply or just fail to apply.
func TestFilterFollowsTheRules(t *testing.T) {
	for _, m := range modes() {
		filter, rules := program(m), rulesOf(m)
		look := func(c systemCall) {
			want := uint32(allow)
			if i := slices.IndexFunc(rules, func(r rule) bool { return r.applies(c) }); i >= 0 {
				want = rules[i].then
			}
			if got := verdict(t, filter, c); got != want {
				t.Errorf("%+v: %+v gives %x, want %x", m, c, got, want)
			}
		}
		for _, r := range rules {
			c := calling(r.call)
			for _, w := range r.when { // as it applies
				c.args[w.arg] = uint64(w.want)
				if w.not {
					c.args[w.arg] = uint64(w.mask)
				}
			}
			if !r.applies(c) {
				t.Fatalf("%+v does not apply to %+v", r, c)
			}
			look(c)
			for _, w := range r.when {
				for _, other := range []uint64{uint64(w.want), uint64(w.mask), uint64(^w.mask), uint64(w.want ^ 1), uint64(w.want) + 1, uint64(w.want) | 1<<40, uint64(w.want | ^w.mask), 0} {
					near := c
					near.args[w.arg] = other
					look(near)
				}
			}
		}
	}
}

// Tests calls that no confined program can make in any mode, by what they could be used
// for.
func TestRefusedCalls(t *testing.T) {
	for why, numbers := range map[string][]uint32{
		"other namespaces and trees": {unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
			unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT},
		"calls that no filter sees": {unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER},
		"memory of other programs": {unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_SEMGET,
			unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK},
		"keys":           {unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL},
		"watching files": {unix.SYS_INOTIFY_INIT1, unix.SYS_INOTIFY_ADD_WATCH, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK},
		"ways to exploit the kernel": {unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
			unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_NFSSERVCTL, unix.SYS_LOOKUP_DCOOKIE},
		"administration": {unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG, unix.SYS_SETTIMEOFDAY,
			unix.SYS_CLOCK_SETTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP},
		"what only this architecture has": oldRefused,
	} {
		for _, number := range numbers {
			everywhere(t, why, calling(number), refused)
		}
	}
	for _, number := range []uint32{unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR} {
		everywhere(t, "attributes", calling(number), without)
	}
	for _, number := range []uint32{unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR, unix.SYS_CLONE3} {
		everywhere(t, "arguments in memory", calling(number), unknown)
	}
}

// everywhere expects the same verdict for a system call in all modes.
func everywhere(t *testing.T, why string, c systemCall, want uint32) {
	t.Helper()
	for _, m := range modes() {
		if got := verdict(t, program(m), c); got != want {
			t.Errorf("%s: %+v: %+v gives %x, want %x", why, m, c, got, want)
		}
	}
}

func TestArguments(t *testing.T) {
	const other = 4711 // a process
	for _, c := range []struct {
		call systemCall
		want uint32
	}{
		{calling(unix.SYS_READ), allow},
		{calling(unix.SYS_EXECVE), allow},
		{calling(unix.SYS_CLONE, unix.CLONE_VM|unix.CLONE_THREAD), allow},
		{calling(unix.SYS_CLONE, unix.CLONE_NEWUSER), refused},
		{calling(unix.SYS_CLONE, unix.CLONE_NEWNS), refused},
		{calling(unix.SYS_CLONE, unix.CLONE_NEWPID), refused},
		{calling(unix.SYS_CLONE, unix.CLONE_NEWNET), refused},
		{calling(unix.SYS_CLONE, unix.CLONE_NEWIPC), refused},
		{calling(unix.SYS_CLONE, unix.CLONE_NEWUTS), refused},
		{calling(unix.SYS_CLONE, unix.CLONE_NEWCGROUP|unix.CLONE_VM), refused},
		{calling(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE), allow},
		{calling(unix.SYS_PRLIMIT64, other, unix.RLIMIT_NOFILE), refused},
		{calling(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 0), allow},
		{calling(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, other), refused},
		{calling(unix.SYS_SETPRIORITY, unix.PRIO_USER, 0), refused},
		{calling(unix.SYS_IOPRIO_SET, 1, 0), allow},
		{calling(unix.SYS_IOPRIO_SET, 1, other), refused},
		{calling(unix.SYS_IOPRIO_SET, 3, 0), refused},
		{calling(unix.SYS_SCHED_SETSCHEDULER, 0), allow},
		{calling(unix.SYS_SCHED_SETSCHEDULER, other), refused},
		{calling(unix.SYS_SCHED_SETPARAM, other), refused},
		{calling(unix.SYS_SCHED_SETATTR, other), refused},
		{calling(unix.SYS_SCHED_SETAFFINITY, other), refused},
		{calling(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC), allow},
		{calling(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_SEQPACKET), allow},
		{calling(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_DGRAM), denied},
		{calling(unix.SYS_SOCKETPAIR, unix.AF_INET, unix.SOCK_STREAM), denied},
		{calling(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM), denied},
		{calling(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM), denied},
		{calling(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW), denied},
		{calling(unix.SYS_BIND), denied},
		{calling(unix.SYS_LISTEN), denied},
	} {
		everywhere(t, "arguments", c.call, c.want)
	}
}

// An ioctl request is refused unless programs need it for files and terminals that they
// have. None of the allowed ones types into a terminal, or changes a file that is open
// for reading.
func TestRequests(t *testing.T) {
	for _, request := range []uint64{
		unix.TIOCSTI, unix.TIOCSTI | 1<<32, 0x541c /* TIOCLINUX */, unix.TIOCCONS, unix.TIOCSETD, unix.FIDEDUPERANGE, unix.FS_IOC_SETFLAGS, 0x401c5820, /* FS_IOC_FSSETXATTR */
		0x5000940e /* BTRFS_IOC_SUBVOL_CREATE */, unix.FS_IOC_SET_ENCRYPTION_POLICY, unix.FS_IOC_ENABLE_VERITY, unix.BLKDISCARD, unix.SIOCSIFFLAGS, 0, ^uint64(0),
	} {
		everywhere(t, "a request", calling(unix.SYS_IOCTL, 3, request), refused)
	}
	for _, request := range []uint64{
		0x5451, 0x5450, 0x5421, 0x5452, 0x541b, 0x5460, 0x5411, 0x8905, // FIOCLEX, FIONCLEX, FIONBIO, FIOASYNC, FIONREAD, FIOQSIZE, TIOCOUTQ, SIOCATMARK
		2, 0x80086601, 0x801c581f, 0xc020660b, 0x40049409, 0x4020940d, // FIGETBSZ, FS_IOC_GETFLAGS, FS_IOC_FSGETXATTR, FS_IOC_FIEMAP, FICLONE, FICLONERANGE
		0x5401, 0x5402, 0x5403, 0x5404, 0x802c542a, 0x402c542b, 0x402c542c, 0x402c542d, // TCGETS, TCSETS, TCSETSW, TCSETSF, and the same of TCGETS2
		0x5409, 0x540a, 0x540b, // TCSBRK, TCXONC, TCFLSH
		0x540e, 0x5422, 0x540f, 0x5410, 0x5429, 0x5413, 0x5414, // TIOCSCTTY, TIOCNOTTY, TIOCGPGRP, TIOCSPGRP, TIOCGSID, TIOCGWINSZ, TIOCSWINSZ
		0x80045430, 0x40045431, 0x5441, // TIOCGPTN, TIOCSPTLCK, TIOCGPTPEER
		0xc0502100, 0xc0182101, 0x40082102, 0x80082102, 0x40182103, // SECCOMP_IOCTL_NOTIF_RECV, _SEND, _ID_VALID, the same in its first version, _ADDFD
	} {
		everywhere(t, "a request", calling(unix.SYS_IOCTL, 3, request), allow)
	}
}

func TestFilterOfConnections(t *testing.T) {
	for _, c := range []struct {
		call       systemCall
		with, none uint32 // the verdicts with and without a network
	}{
		{calling(unix.SYS_CONNECT), ask, denied},
		{calling(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK), allow, denied},
		{calling(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP), allow, denied},
		{calling(unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_STREAM), allow, denied},
		{calling(unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_TCP), allow, denied},
		{calling(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP), denied, denied},
		{calling(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP), denied, denied},
		{calling(unix.SYS_SENDTO, 3, 0, 0, unix.MSG_FASTOPEN), refused, allow},
		{calling(unix.SYS_SENDTO, 3, 0, 0, unix.MSG_NOSIGNAL), allow, allow},
		{calling(unix.SYS_SENDMSG, 3, 0, unix.MSG_FASTOPEN|unix.MSG_NOSIGNAL), refused, allow},
		{calling(unix.SYS_SENDMMSG, 3, 0, 0, unix.MSG_FASTOPEN), refused, allow},
		{calling(unix.SYS_SETSOCKOPT, 3, unix.IPPROTO_IP, unix.IP_OPTIONS), refused, allow},
		{calling(unix.SYS_SETSOCKOPT, 3, unix.IPPROTO_IPV6, unix.IPV6_RTHDR), refused, allow},
		{calling(unix.SYS_SETSOCKOPT, 3, unix.IPPROTO_IPV6, unix.IPV6_2292RTHDR), refused, allow},
		{calling(unix.SYS_SETSOCKOPT, 3, unix.IPPROTO_IPV6, unix.IPV6_2292PKTOPTIONS), refused, allow},
		{calling(unix.SYS_SETSOCKOPT, 3, unix.IPPROTO_TCP, unix.TCP_NODELAY), allow, allow},
		{calling(unix.SYS_SETSOCKOPT, 3, unix.IPPROTO_TCP, unix.IP_OPTIONS), allow, allow},
		{calling(unix.SYS_SETSOCKOPT, 3, unix.IPPROTO_IP, unix.IP_TOS), allow, allow},
		{calling(unix.SYS_SETSOCKOPT, 3, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY), allow, allow},
	} {
		for _, m := range modes() {
			want := c.none
			if m.network {
				want = c.with
			}
			if got := verdict(t, program(m), c.call); got != want {
				t.Errorf("%+v: %+v gives %x, want %x", m, c.call, got, want)
			}
		}
	}
}

// An old Landlock does not stop a program from truncating a file that it may only read,
// and without a clerk no metadata can be changed.
func TestFilterInPlaceOfOthers(t *testing.T) {
	for _, m := range modes() {
		truncated, opened, asked := uint32(allow), uint32(allow), uint32(ask)
		if m.truncate {
			truncated, opened = denied, unknown
		}
		if m.silent {
			asked = refused
		}
		for _, c := range []struct {
			call systemCall
			want uint32
		}{
			{calling(unix.SYS_TRUNCATE), truncated},
			{calling(unix.SYS_OPENAT, 0, 0, unix.O_RDONLY|unix.O_TRUNC|unix.O_CLOEXEC), truncated},
			{calling(unix.SYS_OPENAT, 0, 0, unix.O_WRONLY|unix.O_TRUNC), allow}, // Landlock checks these
			{calling(unix.SYS_OPENAT, 0, 0, unix.O_RDONLY), allow},
			{calling(unix.SYS_OPENAT2), opened},
			{calling(unix.SYS_FCHMOD), asked},
			{calling(unix.SYS_FCHMODAT), asked},
			{calling(unix.SYS_FCHMODAT2), asked},
			{calling(unix.SYS_FCHOWN), asked},
			{calling(unix.SYS_FCHOWNAT), asked},
			{calling(unix.SYS_UTIMENSAT), asked},
		} {
			if got := verdict(t, program(m), c.call); got != c.want {
				t.Errorf("%+v: %+v gives %x, want %x", m, c.call, got, c.want)
			}
		}
	}
}
