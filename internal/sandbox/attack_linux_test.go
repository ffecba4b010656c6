//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attackVariable names the attack that the test program tries.
const attackVariable = "HOCKET_TEST_ATTACK"

var errWorks = errors.New("works")

// attack tries an attack and prints the result. An attack that is not refused does no
// harm, because tests are run as root, and by people who change the rules.
func attack(words string) {
	what, rest, _ := strings.Cut(words, " ")
	try, ok := map[string]func(string) error{
		"tcp": tcp, "blocking": blocking, "mapped": mapped, "many": many, "thread": thread, "races": races, "grandchild": grandchild,
		"fastopen": fastopen, "routed": routed, "datagrams": datagrams, "pair": pair,
		"closed":  func(address string) error { return unix.Connect(999, sockaddr(address)) },
		"nowhere": func(string) error { return call(unix.SYS_CONNECT, 0, nowhere, unix.SizeofSockaddrInet4) },
		"mptcp":   func(string) error { return socket(unix.AF_INET, unix.SOCK_STREAM, 262) },
		"udp":     func(string) error { return socket(unix.AF_INET, unix.SOCK_DGRAM, 0) },
		"netlink": func(string) error { return socket(unix.AF_NETLINK, unix.SOCK_RAW, 0) },
		"raw":     func(string) error { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0) },
		"unix":    func(path string) error { _, err := net.Dial("unix", path); return err },
		"listen":  func(string) error { _, err := net.Listen("tcp4", "127.0.0.1:0"); return err },
		"rename": func(paths string) error {
			from, to, _ := strings.Cut(paths, " ")
			return orWorks(os.Rename(from, to))
		},
		"truncate": func(path string) error { return unix.Truncate(path, 0) },
		"open":     func(path string) error { _, err := unix.Open(path, unix.O_RDONLY|unix.O_TRUNC, 0); return err },
		"environ":  func(string) error { _, err := os.ReadFile(of("environ")); return err },
		"root":     func(string) error { _, err := os.ReadDir(of("root/root")); return err },
		"memory":   memoryOf,
		"trace":    func(string) error { return unix.PtraceAttach(os.Getppid()) },
		"signal":   func(string) error { return unix.Kill(os.Getppid(), 0) },
		"sigio":    sigio,
		"limit": func(string) error {
			return unix.Prlimit(os.Getppid(), unix.RLIMIT_NOFILE, nil, &unix.Rlimit{})
		},
		"priority": func(string) error { return unix.Setpriority(unix.PRIO_PROCESS, os.Getppid(), 0) },
		"schedule": func(string) error {
			return ofAnother(func(pid int) error {
				return call(unix.SYS_SCHED_SETSCHEDULER, uintptr(pid), unix.SCHED_IDLE, uintptr(unsafe.Pointer(new([4]byte))))
			})
		},
		"affinity": func(string) error {
			return ofAnother(func(pid int) error { var all unix.CPUSet; all.Fill(); return unix.SchedSetaffinity(pid, &all) })
		},
		"ioprio": func(string) error {
			return ofAnother(func(pid int) error { return call(unix.SYS_IOPRIO_SET, 1, uintptr(pid), 3<<13) })
		},
		"ownturn": ownTurn,
		"btrfs":   func(string) error { return request("in/read", 0x5000940e) }, // BTRFS_IOC_SUBVOL_CREATE
		"dedupe":  func(string) error { return request("in/read/a", unix.FIDEDUPERANGE) },
		"typing":  func(string) error { return request("in/read/a", unix.TIOCSTI) },
		"size":    func(string) error { return orWorks(request("in/read/a", unix.TIOCINQ)) },
		"uring":   func(string) error { return call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(new([256]byte)))) },
		"unshare": func(string) error { return unix.Unshare(unix.CLONE_NEWUSER) },
		"clone":   func(string) error { return call(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD)) },
		"clone3":  func(string) error { return call(unix.SYS_CLONE3, uintptr(unsafe.Pointer(new([88]byte))), 88) },
		"mount":   func(string) error { return unix.Mount("none", os.Getenv("DIR")+"/out", "nosuchthing", 0, "") },
		"keys": func(string) error {
			_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
			return err
		},
		"shared": func(string) error { return call(unix.SYS_SHMGET, 0, 4096, 0o1600) },
		"watch":  func(string) error { _, err := unix.InotifyInit1(0); return err },
		"handle": func(string) error {
			_, err := unix.OpenByHandleAt(unix.AT_FDCWD, unix.NewFileHandle(1, []byte("12345678")), 0)
			return err
		},
		"newest":    func(string) error { return call(newest+1, 0) },
		"chmod":     func(string) error { return os.Chmod(os.Getenv("DIR")+"/out/a", 0o777) },
		"utime":     func(string) error { return os.Chtimes(os.Getenv("DIR")+"/out/a", time.Now(), time.Now()) },
		"xattr":     func(string) error { return unix.Setxattr(os.Getenv("DIR")+"/out/a", "user.x", []byte("x"), 0) },
		"touch":     touch,
		"marks":     everyMark,
		"flags":     flags,
		"opened":    opened,
		"pointers":  pointers,
		"nested":    func(string) error { return nested(nil) },
		"nestednet": func(string) error { return nested(func(context.Context, netip.AddrPort) bool { return true }) },
		"hindered":  hindered,
		"setuid":    setuid,
		"own":       own,
		"personal":  func(string) error { _, err := os.ReadFile("/proc/self/environ"); return orWorks(err) },
		"parent":    func(string) error { parent(); return nil },
	}[what]
	if !ok {
		fmt.Println("there is no attack", what)
		os.Exit(2)
	}
	err := try(rest)
	var errno syscall.Errno
	if errors.As(err, &errno) {
		err = errno
	}
	fmt.Println(err)
}

func orWorks(err error) error {
	if err == nil {
		return errWorks
	}
	return err
}

// of returns the path of a file in /proc of the parent process.
func of(file string) string { return "/proc/" + strconv.Itoa(os.Getppid()) + "/" + file }

func call(number uintptr, args ...uintptr) error {
	args = append(args, 0, 0, 0, 0, 0, 0)
	if _, _, errno := unix.RawSyscall6(number, args[0], args[1], args[2], args[3], args[4], args[5]); errno != 0 {
		return errno
	}
	return nil
}

func socket(family, kind, protocol int) error {
	_, err := unix.Socket(family, kind, protocol)
	return err
}

func tcp(address string) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	return heard(c)
}

// heard returns what a server sends, as an error.
func heard(r io.Reader) error {
	said, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return errors.New(string(said))
}

func sockaddr(address string) *unix.SockaddrInet4 {
	to := netip.MustParseAddrPort(address)
	return &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
}

func blocking(address string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	if err := unix.Connect(fd, sockaddr(address)); err != nil {
		return err
	}
	return heard(os.NewFile(uintptr(fd), "socket"))
}

func mapped(address string) error {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	to := netip.MustParseAddrPort(address)
	if err := unix.Connect(fd, &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}); err != nil {
		return err
	}
	return heard(os.NewFile(uintptr(fd), "socket"))
}

func many(address string) error {
	var all sync.WaitGroup
	var failed atomic.Value
	for range 200 {
		all.Go(func() {
			if err := tcp(address); err.Error() != "hello" {
				failed.Store(err)
			}
		})
	}
	all.Wait()
	if err, ok := failed.Load().(error); ok {
		return err
	}
	return errors.New("hello")
}

// thread connects from a thread that is not the first of its process.
func thread(address string) error {
	done := make(chan error)
	for range 3 {
		go func() {
			runtime.LockOSThread()
			done <- blocking(address)
			select {}
		}()
		if err := <-done; err.Error() != "hello" {
			return err
		}
	}
	return errors.New("hello")
}

// races changes the address while it is being checked.
func races(addresses string) error {
	first, second, _ := strings.Cut(addresses, " ")
	_, port, _ := net.SplitHostPort(second)
	good, bad := sockaddr(first), port
	var raw unix.RawSockaddrInet4
	raw.Family, raw.Addr = unix.AF_INET, good.Addr
	at := (*uint16)(unsafe.Pointer(&raw.Port))
	swap := func(n int) uint16 { return uint16(n)<<8 | uint16(n)>>8 }
	other, _ := strconv.Atoi(bad)
	var stop atomic.Bool
	go func() {
		for !stop.Load() {
			*at = swap(good.Port)
			*at = swap(other)
		}
	}()
	defer stop.Store(true)
	for range 2000 {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		_ = call(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&raw)), unix.SizeofSockaddrInet4)
		peer, err := unix.Getpeername(fd)
		if to, ok := peer.(*unix.SockaddrInet4); ok && err == nil && to.Port == other {
			return errors.New("it reached another address")
		}
		_ = unix.Close(fd)
	}
	return errors.New("never")
}

func grandchild(what string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env = []string{attackVariable + "=" + what}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return err
	}
	return errors.New(strings.TrimSpace(string(out)))
}

func fastopen(address string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, sockaddr(address))
}

func routed(string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return unix.SetsockoptString(fd, unix.IPPROTO_IP, unix.IP_OPTIONS, "\x83\x07\x04\x01\x01\x01\x01\x00")
}

// datagrams sends a datagram to a socket that has a path, from a socket pair.
func datagrams(path string) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	return unix.Sendto(pair[0], []byte("x"), 0, &unix.SockaddrUnix{Name: path})
}

func pair(string) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	_, err = unix.Write(pair[0], []byte("x"))
	return orWorks(err)
}

func memoryOf(string) error {
	var b [8]byte
	ours := []unix.Iovec{{Base: &b[0]}}
	ours[0].SetLen(len(b))
	_, err := unix.ProcessVMReadv(os.Getppid(), ours, []unix.RemoteIovec{{Base: 0x400000, Len: len(b)}}, 0)
	return err
}

// sigio has the kernel send a signal to the parent.
func sigio(string) error {
	// If the signal arrived, the test would have reported it: SIGUSR1 ends it.
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	for _, step := range [][2]int{{unix.F_SETOWN, os.Getppid()}, {unix.F_SETSIG, int(unix.SIGUSR1)}, {unix.F_SETFL, unix.O_ASYNC | unix.O_NONBLOCK}} {
		if _, err := unix.FcntlInt(uintptr(pair[0]), step[0], step[1]); err != nil {
			return err
		}
	}
	_, err = unix.Write(pair[1], []byte("x"))
	return errors.Join(err, errors.New("no signal"))
}

// touch changes a temporary file's metadata through its descriptor, as touch and cp do.
func touch(string) error {
	fd, err := unix.MemfdCreate("x", 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "x")
	if err := f.Chmod(0o600); err != nil {
		return err
	}
	return orWorks(call(unix.SYS_UTIMENSAT, f.Fd(), 0, 0, 0))
}

// everyMark changes the metadata of a writable file with every system call that can do
// so.
func everyMark(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	base, err := unix.BytePtrFromString(filepath.Base(path))
	if err != nil {
		return err
	}
	at, file := ^uintptr(99), uintptr(unsafe.Pointer(name)) // AT_FDCWD is -100
	uid, gid := os.Getuid(), os.Getgid()
	owner := func(u, g uint32) [3]uintptr { return [3]uintptr{uintptr(uid) + uintptr(u), uintptr(gid) + uintptr(g)} }
	var more uint32
	if uid == 0 { // other users cannot give a file away
		more = 7
	}
	times := []unix.Timespec{{Sec: 3, Nsec: 4}, {Sec: 5, Nsec: 6}}
	first, second := owner(more, 2*more), owner(3*more, 4*more)
	for _, c := range []struct {
		number uintptr
		args   []uintptr
		want   func(*unix.Stat_t) bool
	}{
		{unix.SYS_FCHMOD, []uintptr{f.Fd(), 0o601}, func(is *unix.Stat_t) bool { return is.Mode&0o777 == 0o601 }},
		{unix.SYS_FCHMODAT, []uintptr{at, file, 0o602}, func(is *unix.Stat_t) bool { return is.Mode&0o777 == 0o602 }},
		{unix.SYS_FCHMODAT, []uintptr{dir.Fd(), uintptr(unsafe.Pointer(base)), 0o604}, func(is *unix.Stat_t) bool { return is.Mode&0o777 == 0o604 }},
		{unix.SYS_FCHMODAT2, []uintptr{at, file, 0o603, 0}, func(is *unix.Stat_t) bool { return is.Mode&0o777 == 0o603 }},
		{unix.SYS_FCHMODAT2, []uintptr{f.Fd(), uintptr(unsafe.Pointer(new(byte))), 0o605, unix.AT_EMPTY_PATH}, func(is *unix.Stat_t) bool { return is.Mode&0o777 == 0o605 }},
		{unix.SYS_FCHOWN, []uintptr{f.Fd(), first[0], first[1]}, func(is *unix.Stat_t) bool { return is.Uid == uint32(first[0]) && is.Gid == uint32(first[1]) }},
		{unix.SYS_FCHOWNAT, []uintptr{at, file, second[0], second[1], 0}, func(is *unix.Stat_t) bool { return is.Uid == uint32(second[0]) && is.Gid == uint32(second[1]) }},
		{unix.SYS_UTIMENSAT, []uintptr{at, file, uintptr(unsafe.Pointer(&times[0])), 0}, func(is *unix.Stat_t) bool {
			return is.Atim == times[0] && is.Mtim == times[1]
		}},
		{sysChmod, []uintptr{file, 0o606}, func(is *unix.Stat_t) bool { return is.Mode&0o777 == 0o606 }},
		{sysChown, []uintptr{file, first[0], first[1]}, func(is *unix.Stat_t) bool { return is.Uid == uint32(first[0]) && is.Gid == uint32(first[1]) }},
		{sysLchown, []uintptr{file, second[0], second[1]}, func(is *unix.Stat_t) bool { return is.Uid == uint32(second[0]) && is.Gid == uint32(second[1]) }},
	} {
		if c.number == 0 {
			continue // not on this architecture
		}
		if err := call(c.number, c.args...); err != nil {
			return fmt.Errorf("call %d: %v", c.number, err)
		}
		var is unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &is); err != nil || !c.want(&is) {
			return fmt.Errorf("call %d made it %+v, %v", c.number, is, err)
		}
	}
	slash, err := unix.BytePtrFromString(path + "/")
	if err != nil {
		return err
	}
	if err := call(unix.SYS_FCHMODAT, at, uintptr(unsafe.Pointer(slash)), 0o600); !errors.Is(err, unix.ENOTDIR) {
		return fmt.Errorf("a file with a slash behind it: %v", err)
	}
	if err := call(unix.SYS_FCHMODAT2, f.Fd(), uintptr(unsafe.Pointer(new(byte))), 0o600, 0); !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("a path that is empty: %v", err)
	}
	for _, number := range []uintptr{999, ^uintptr(0)} {
		if err := call(unix.SYS_FCHMOD, number, 0o600); !errors.Is(err, unix.EBADF) {
			return fmt.Errorf("a file that is not open: %v", err)
		}
	}
	long := make([]byte, 2*unix.PathMax)
	copy(long, bytes.Repeat([]byte("/"), len(long)-1))
	if err := call(unix.SYS_FCHMODAT, at, uintptr(unsafe.Pointer(&long[0])), 0o600); !errors.Is(err, unix.ENAMETOOLONG) {
		return fmt.Errorf("a path that is too long: %v", err)
	}
	return errWorks
}

// opened changes a file that was opened for reading.
func opened(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return orWorks(errors.Join(f.Chmod(info.Mode()), f.Chown(os.Getuid(), -1)))
}

// pointers changes the metadata of a file with arguments at addresses that it does not have.
func pointers(path string) error {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	at := ^uintptr(99) // AT_FDCWD is -100
	if err := call(unix.SYS_FCHMODAT, at, nowhere, 0o777); !errors.Is(err, unix.EFAULT) {
		return orWorks(err)
	}
	return call(unix.SYS_UTIMENSAT, at, uintptr(unsafe.Pointer(name)), nowhere, 0)
}

// nowhere is an address that no program has.
const nowhere = 8

// flags sets a flag that excludes a readable file from backups.
func flags(string) error {
	f, err := os.Open(os.Getenv("DIR") + "/in/read/a")
	if err != nil {
		return err
	}
	return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, 0x40)
}

// ofAnother does something to another process with the same rights. Other processes of
// root have more rights, and could not be attacked anyway.
func ofAnother(do func(pid int) error) error {
	other := exec.Command("sleep", "60")
	if err := other.Start(); err != nil {
		return err
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	return do(other.Process.Pid)
}

// request makes an ioctl request on a file that it may read.
func request(file string, number uint) error {
	f, err := os.Open(os.Getenv("DIR") + "/" + file)
	if err != nil {
		return err
	}
	defer f.Close()
	return call(unix.SYS_IOCTL, f.Fd(), uintptr(number), uintptr(unsafe.Pointer(new([4096]byte))))
}

// ownTurn changes when and where the program itself runs.
func ownTurn(string) error {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return err
	}
	return orWorks(errors.Join(unix.SchedSetaffinity(0, &all), call(unix.SYS_IOPRIO_SET, 1, 0, 0)))
}

// nested confines a program once more.
func nested(connect connectFunc) error {
	cmd := exec.Command("cat", os.Getenv("DIR")+"/in/read/a")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	box, err := Confine(cmd, &Policy{Read: []Place{{Base: os.Getenv("DIR"), Path: "in"}}, Connect: connect})
	if err != nil {
		return err
	}
	defer box.Close()
	if err := cmd.Run(); err != nil {
		return errors.Join(box.Failed(), err)
	}
	return errors.New(out.String())
}

// hindrances are system calls that a foreign filter refuses to a process that confines
// itself.
var hindrances = map[string]rule{
	"close_range":                     {unix.SYS_CLOSE_RANGE, refused, nil},
	"prctl":                           {unix.SYS_PRCTL, refused, nil},
	"capget":                          {unix.SYS_CAPGET, refused, nil},
	"capset":                          {unix.SYS_CAPSET, refused, nil},
	"landlock_restrict_self":          {unix.SYS_LANDLOCK_RESTRICT_SELF, refused, nil},
	"seccomp":                         {unix.SYS_SECCOMP, refused, nil},
	"sendmsg":                         {unix.SYS_SENDMSG, refused, nil},
	"a seccomp with another listener": {unix.SYS_SECCOMP, unix.SECCOMP_RET_ERRNO | uint32(unix.EBUSY), []test{has(1, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)}},
	"a busy seccomp":                  {unix.SYS_SECCOMP, unix.SECCOMP_RET_ERRNO | uint32(unix.EBUSY), nil},
	"an old seccomp": {unix.SYS_SECCOMP, unix.SECCOMP_RET_ERRNO | uint32(unix.EINVAL),
		[]test{has(1, unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)}},
}

// hindered confines a program while a foreign filter is in force.
func hindered(by string) error {
	code := compile([]rule{hindrances[by]})
	filter := unix.SockFprog{Len: uint16(len(code) / unix.SizeofSockFilter), Filter: (*unix.SockFilter)(unsafe.Pointer(unsafe.StringData(code)))}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := call(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&filter))); err != nil {
		return err
	}
	cmd := exec.Command("echo", "works")
	cmd.Stdout = os.Stdout
	box, err := Confine(cmd, &Policy{})
	if err != nil {
		return err
	}
	defer box.Close()
	err = cmd.Run()
	if failed := box.Failed(); failed != nil {
		return errors.New(failed.Error())
	}
	return err
}

// setuid starts a set-user-ID program of root.
func setuid(string) error {
	for _, program := range []string{"/usr/bin/su", "/bin/su", "/usr/bin/passwd"} {
		info, err := os.Stat(program)
		if err != nil || info.Mode()&os.ModeSetuid == 0 || os.Geteuid() == 0 {
			continue
		}
		cmd := exec.Command(program, "--help")
		if err := cmd.Start(); err != nil {
			return err
		}
		status, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/status")
		_ = cmd.Wait()
		if err == nil && !strings.Contains(string(status), fmt.Sprintf("Uid:\t%d\t%[1]d\t%[1]d", os.Getuid())) {
			return fmt.Errorf("it has other users: %s", status)
		}
	}
	return errWorks
}

// own does to its own processes what cannot be done to others.
func own(string) error {
	got := make(chan os.Signal, 1)
	signal.Notify(got, unix.SIGUSR1)
	if err := unix.Kill(os.Getpid(), unix.SIGUSR1); err != nil {
		return err
	}
	<-got
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Wait()
	if _, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/environ"); err != nil {
		return err
	}
	return orWorks(cmd.Process.Kill())
}
