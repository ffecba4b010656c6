//go:build amd64 || arm64

package sandbox

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// What happens to a system call.
const (
	allow   = unix.SECCOMP_RET_ALLOW
	kill    = unix.SECCOMP_RET_KILL_PROCESS
	ask     = unix.SECCOMP_RET_USER_NOTIF
	denied  = unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES) // a person sees "Permission denied"
	refused = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	without = unix.SECCOMP_RET_ERRNO | uint32(unix.EOPNOTSUPP) // as on a file system without support
	unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)     // programs fall back to another way
)

// newest is the highest system call that was reviewed. Newer ones do not exist for a
// confined program. On x86-64 this also excludes the whole x32 ABI.
const newest = unix.SYS_RSEQ_SLICE_YIELD

// rule says what happens to a system call. The first match counts.
type rule struct {
	call uint32
	then uint32
	when []test
}

// test checks the lower half of an argument. All tested arguments are 32-bit numbers, for
// which the kernel ignores the rest.
type test struct {
	arg  int
	mask uint32
	want uint32
	not  bool // it must be anything else
}

func is(arg int, want uint32) test           { return test{arg: arg, mask: ^uint32(0), want: want} }
func isNot(arg int, want uint32) test        { return test{arg: arg, mask: ^uint32(0), want: want, not: true} }
func masked(arg int, mask, want uint32) test { return test{arg: arg, mask: mask, want: want} }
func has(arg int, bits uint32) test          { return test{arg: arg, mask: bits, not: true} }

// mode selects between rules.
type mode struct {
	network  bool // TCP, with a question for every connect
	silent   bool // no clerk can be asked
	truncate bool // Landlock cannot keep a program from truncating files
}

// ways are system calls with which a program could bypass the rules for files.
var ways = []uint32{
	// Other namespaces, where it would have all privileges, and other file trees.
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
	unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT,
	// Around this filter.
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	// Other programs: memory and queues without a path, and keys.
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	// File names that others use.
	unix.SYS_INOTIFY_INIT1, unix.SYS_INOTIFY_ADD_WATCH, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK,
	// The kernel.
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
	unix.SYS_SYSLOG, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP, unix.SYS_NFSSERVCTL, unix.SYS_LOOKUP_DCOOKIE,
}

// more are system calls that set other metadata of a file. Programs can do without them.
var more = []uint32{
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR,
}

// newer are system calls that do the same in a way that cannot be inspected. Programs know
// the older ones.
var newer = []uint32{unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR}

// requests are the ioctl requests that a program may make. Each file system and each device
// has its own, and some change files that are read-only for the program: btrfs creates and
// deletes whole subvolumes. So only reviewed requests are allowed.
var requests = []uint32{
	// Any file: close-on-exec, blocking mode, available bytes.
	0x5451 /* FIOCLEX */, 0x5450 /* FIONCLEX */, 0x5421 /* FIONBIO */, 0x5452 /* FIOASYNC */, unix.TIOCINQ, 0x5460 /* FIOQSIZE */, unix.TIOCOUTQ, unix.SIOCATMARK,
	// Files: metadata, and copies from what is open for reading to what is open for
	// writing.
	2 /* FIGETBSZ */, unix.FS_IOC_GETFLAGS, 0x801c581f /* FS_IOC_FSGETXATTR */, 0xc020660b /* FS_IOC_FIEMAP */, unix.FICLONE, unix.FICLONERANGE,
	// Terminals, but no simulated input.
	unix.TCGETS, unix.TCGETS2, unix.TCSETS, unix.TCSETSW, unix.TCSETSF, unix.TCSETS2, unix.TCSETSW2, unix.TCSETSF2, unix.TCSBRK, unix.TCFLSH, unix.TCXONC,
	unix.TIOCGWINSZ, unix.TIOCSWINSZ, unix.TIOCGPGRP, unix.TIOCSPGRP, unix.TIOCGSID, unix.TIOCSCTTY, unix.TIOCNOTTY, unix.TIOCGPTN, unix.TIOCSPTLCK, unix.TIOCGPTPEER,
	// Questions of programs that the program itself confines.
	unix.SECCOMP_IOCTL_NOTIF_RECV, unix.SECCOMP_IOCTL_NOTIF_SEND, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, isValid, unix.SECCOMP_IOCTL_NOTIF_ADDFD,
}

// schedules are system calls that determine when and where a process runs. Zero is the
// calling program.
var schedules = []uint32{unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETAFFINITY}

const (
	ioprioUser = 3 // all processes of a user
	namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	kindOf     = 0xf // of a socket, without its flags
)

// rulesOf returns the rules of a mode.
func rulesOf(m mode) []rule {
	list := sockets(m.network)
	for _, calls := range []struct {
		list []uint32
		then uint32
	}{{ways, refused}, {oldWays, refused}, {more, without}, {newer, unknown}} {
		for _, call := range calls.list {
			list = append(list, rule{call: call, then: calls.then})
		}
	}
	for call := range marks {
		then := uint32(ask)
		if m.silent {
			then = refused
		}
		list = append(list, rule{call: uint32(call), then: then})
	}
	for _, request := range requests {
		list = append(list, rule{unix.SYS_IOCTL, allow, []test{is(1, request)}})
	}
	list = append(list, rule{unix.SYS_IOCTL, refused, nil})
	for _, call := range schedules {
		list = append(list, rule{call, refused, []test{isNot(0, 0)}})
	}
	list = append(list,
		rule{unix.SYS_CLONE, refused, []test{has(0, namespaces)}},
		rule{unix.SYS_CLONE3, unknown, nil}, // its flags are in memory; the C library falls back to clone
		// Limits and priorities of other processes could be used to stop them.
		rule{unix.SYS_PRLIMIT64, refused, []test{isNot(0, 0)}},
		rule{unix.SYS_SETPRIORITY, refused, []test{isNot(1, 0)}},
		rule{unix.SYS_SETPRIORITY, refused, []test{is(0, unix.PRIO_USER)}},
		rule{unix.SYS_IOPRIO_SET, refused, []test{isNot(1, 0)}},
		rule{unix.SYS_IOPRIO_SET, refused, []test{is(0, ioprioUser)}})
	if m.truncate {
		// Opening a file for reading can truncate it.
		emptied := []test{masked(2, unix.O_ACCMODE|unix.O_TRUNC, unix.O_TRUNC)}
		list = append(list,
			rule{unix.SYS_TRUNCATE, denied, nil},
			rule{unix.SYS_OPENAT, denied, emptied},
			rule{unix.SYS_OPENAT2, unknown, nil}) // its flags are in memory
		list = append(list, oldTruncate...)
	}
	return list
}

// sockets returns the rules for sockets.
func sockets(network bool) []rule {
	pair := func(kind uint32) rule { // datagrams could be sent to any socket that has a path
		return rule{unix.SYS_SOCKETPAIR, allow, []test{is(0, unix.AF_UNIX), masked(1, kindOf, kind)}}
	}
	list := []rule{
		pair(unix.SOCK_STREAM), pair(unix.SOCK_SEQPACKET), {unix.SYS_SOCKETPAIR, denied, nil},
		{unix.SYS_BIND, denied, nil}, {unix.SYS_LISTEN, denied, nil},
	}
	if !network {
		return append(list, rule{unix.SYS_SOCKET, denied, nil}, rule{unix.SYS_CONNECT, denied, nil})
	}
	for _, family := range []uint32{unix.AF_INET, unix.AF_INET6} {
		for _, protocol := range []uint32{0, unix.IPPROTO_TCP} {
			list = append(list, rule{unix.SYS_SOCKET, allow, []test{is(0, family), masked(1, kindOf, unix.SOCK_STREAM), is(2, protocol)}})
		}
	}
	fast := func(call uint32, arg int) rule { // connects without connect
		return rule{call, refused, []test{has(arg, unix.MSG_FASTOPEN)}}
	}
	routed := func(level, option uint32) rule { // routes through another host
		return rule{unix.SYS_SETSOCKOPT, refused, []test{is(1, level), is(2, option)}}
	}
	return append(list,
		rule{unix.SYS_SOCKET, denied, nil}, rule{unix.SYS_CONNECT, ask, nil},
		fast(unix.SYS_SENDTO, 3), fast(unix.SYS_SENDMSG, 2), fast(unix.SYS_SENDMMSG, 3),
		routed(unix.IPPROTO_IP, unix.IP_OPTIONS), routed(unix.IPPROTO_IPV6, unix.IPV6_RTHDR),
		routed(unix.IPPROTO_IPV6, unix.IPV6_2292RTHDR), routed(unix.IPPROTO_IPV6, unix.IPV6_2292PKTOPTIONS))
}

// Where the kernel puts a system call for a filter.
const (
	atCall         = 0
	atArchitecture = 4
	atArguments    = 16
)

// program returns the filter of a mode.
func program(m mode) string { return compile(rulesOf(m)) }

// compile compiles rules for the virtual machine in the kernel.
func compile(rules []rule) string {
	var p []unix.SockFilter
	load := func(at uint32) { p = append(p, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}) }
	give := func(what uint32) { p = append(p, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what}) }
	jump := func(how uint16, than uint32, yes, no int) {
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | how, K: than, Jt: uint8(yes), Jf: uint8(no)})
	}
	load(atArchitecture)
	jump(unix.BPF_JEQ, architecture, 1, 0)
	give(kill) // its numbers have another meaning
	load(atCall)
	jump(unix.BPF_JGT, newest, 0, 1)
	give(unknown)
	for _, r := range rules {
		const each = 3 // instructions of a test
		left := each * len(r.when)
		jump(unix.BPF_JEQ, r.call, 0, left+1)
		for _, t := range r.when {
			load(uint32(atArguments + 8*t.arg))
			p = append(p, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: t.mask})
			left -= each
			if t.not {
				jump(unix.BPF_JEQ, t.want, left+1, 0)
			} else {
				jump(unix.BPF_JEQ, t.want, 0, left+1)
			}
		}
		give(r.then)
		if len(r.when) > 0 {
			load(atCall) // a test has loaded something else
		}
	}
	give(allow)
	return string(unsafe.Slice((*byte)(unsafe.Pointer(&p[0])), len(p)*unix.SizeofSockFilter))
}
