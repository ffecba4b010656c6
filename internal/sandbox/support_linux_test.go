//go:build amd64 || arm64

package sandbox

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Tests the files next to the programs of a directory, as package managers install them.
func TestBeside(t *testing.T) {
	for dir, parts := range map[string]string{
		"bin":   "lib lib32 lib64 libexec include opt Cellar ssl pyvenv.cfg",
		"shims": "bin lib libexec versions installs plugins version pyenv.d rbenv.d",
		"other": "",
	} {
		d := filepath.Join(t.TempDir(), "tools")
		write(t, filepath.Join(d, dir, "program"), "x")
		var want []Place
		for _, part := range strings.Fields(parts) {
			want = append(want, Place{Base: d, Path: part})
		}
		got := installed("/nowhere", &Policy{Programs: []string{filepath.Join(d, dir)}, Home: t.TempDir()})
		if len(got) == 0 || got[0] != (Place{Base: filepath.Join(d, dir)}) || !slices.Equal(got[1:], want) {
			t.Errorf("%s: %v", dir, got)
		}
	}
}

// Root may let a program read those files in /etc that every user may read.
func TestPublic(t *testing.T) {
	d := t.TempDir()
	for file, mode := range map[string]os.FileMode{
		"open/a": 0o644, "open/sub/b": 0o604, "half/a": 0o644, "half/key": 0o640, "deep/half/a": 0o644, "deep/half/key": 0o600, "listed/a": 0o644, "passed/a": 0o644, "closed/a": 0o644, "file": 0o444, "secret": 0o600,
	} {
		write(t, filepath.Join(d, file), "x")
		if err := os.Chmod(filepath.Join(d, file), mode); err != nil {
			t.Fatal(err)
		}
	}
	link(t, filepath.Join(d, "secret"), filepath.Join(d, "open/link"))
	for name, mode := range map[string]os.FileMode{"listed": 0o754, "passed": 0o751, "closed": 0o750} {
		if err := os.Chmod(filepath.Join(d, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	shown, all := public(d)
	for i := range shown {
		shown[i], _ = filepath.Rel(d, shown[i])
	}
	if got := strings.Join(shown, " "); all || got != "deep/half/a file half/a open" {
		t.Errorf("%s, all %v", got, all)
	}
	if got := settingsFor(false); !slices.Equal(got, []string{"/etc"}) {
		t.Errorf("a user may read %q", got)
	}
	if got := settingsFor(true); len(got) == 0 || slices.Contains(got, "/etc/shadow") {
		t.Errorf("root may read %q", got)
	}
	if shown, all := public(filepath.Join(d, "none")); all || len(shown) > 0 {
		t.Errorf("of nothing there is %v, %v", shown, all)
	}
}

// The other tests are skipped where nothing can be enforced, so Supported must not deny
// support on a system that has it.
func TestSupportedWhereThereIsLandlock(t *testing.T) {
	list, _ := os.ReadFile("/sys/kernel/security/lsm")
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	status, _ := os.ReadFile("/proc/self/status")
	if there := (strings.Contains(string(list), "landlock") || errno == 0 && version > 0) && strings.Contains(string(status), "Seccomp:"); !there {
		t.Skip("no Landlock here")
	}
	if s := Supported(); s.None != "" {
		t.Error(s.None)
	}
}

func TestSupport(t *testing.T) {
	all := ability{landlock: 6, look: true, take: true}
	for _, c := range []struct {
		can               ability
		landlock, filters error
		none              string
		gaps              []string
	}{
		{all, nil, nil, "", nil},
		{ability{}, unix.EOPNOTSUPP, nil, "disabled", nil},
		{ability{}, unix.ENOSYS, unix.EINVAL, "has no Landlock", nil},
		{all, nil, unix.EINVAL, "seccomp", nil},
		{ability{landlock: 5, look: true, take: true}, nil, nil, "", []string{"signals"}},
		{ability{landlock: 7, look: true}, nil, nil, "", []string{"pidfd_getfd"}},
		{ability{landlock: 1, look: true}, nil, nil, "", []string{"signals", "pidfd_getfd"}},
		{ability{landlock: 6}, nil, nil, "", nil}, // then no host can be reached at all
	} {
		s := support(c.can, c.landlock, c.filters)
		same := slices.EqualFunc(s.Gaps, c.gaps, strings.Contains)
		if (s.None == "") != (c.none == "") || !strings.Contains(s.None, c.none) || !same {
			t.Errorf("%+v, %v, %v: %+v", c.can, c.landlock, c.filters, s)
		}
	}
}

func TestScopeOfYama(t *testing.T) {
	for _, c := range []struct {
		scope      string
		user, root bool
	}{{"", true, true}, {"0\n", true, true}, {"1\n", true, true}, {"2", false, true}, {"2\n", false, true}, {"3", false, false}, {"3\n", false, false}} {
		if user, root := looked(c.scope, false), looked(c.scope, true); user != c.user || root != c.root {
			t.Errorf("%q: %v for a user, %v for root", c.scope, user, root)
		}
	}
}

// A program gets the number of an error, and never success for a call that failed.
func TestNumbersOfErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want syscall.Errno
	}{{nil, 0}, {unix.EPERM, unix.EPERM}, {os.NewSyscallError("open", unix.ENOENT), unix.ENOENT}, {errors.New("odd"), unix.EACCES}} {
		if got := number(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}

// Tests what each version of Landlock is asked to refuse.
func TestHandled(t *testing.T) {
	const (
		first    = 1<<13 - 1 // everything in the first version
		refer    = 1 << 13
		truncate = 1 << 14
		devices  = 1 << 15
	)
	for version, want := range map[int]unix.LandlockRulesetAttr{
		1: {Handled_access_fs: first},
		2: {Handled_access_fs: first | refer},
		3: {Handled_access_fs: first | refer | truncate},
		4: {Handled_access_fs: first | refer | truncate, Handled_access_net: 1 | 2},
		5: {Handled_access_fs: first | refer | truncate | devices, Handled_access_net: 1 | 2},
		6: {Handled_access_fs: first | refer | truncate | devices, Handled_access_net: 1 | 2, Scoped: 1 | 2},
		7: {Handled_access_fs: first | refer | truncate | devices, Handled_access_net: 1 | 2, Scoped: 1 | 2},
	} {
		if got := handled(version); got != want {
			t.Errorf("version %d: %+v, want %+v", version, got, want)
		}
	}
}

// The kernel and the clerk follow the same number of links.
func TestMostLinks(t *testing.T) {
	d := t.TempDir()
	write(t, filepath.Join(d, "0"), "x")
	q := &question{task: uint32(os.Getpid())}
	for i := 1; i <= mostLinks+1; i++ {
		link(t, strconv.Itoa(i-1), filepath.Join(d, strconv.Itoa(i)))
	}
	for _, n := range []int{mostLinks, mostLinks + 1} {
		at, err := open(unix.AT_FDCWD, d, unix.O_DIRECTORY)
		if err != nil {
			t.Fatal(err)
		}
		fd, err := q.walk(at, strconv.Itoa(n), true)
		if err == nil {
			_ = unix.Close(fd)
		}
		if _, want := os.Stat(filepath.Join(d, strconv.Itoa(n))); number(err) != number(want) {
			t.Errorf("%d links: %v, want %v", n, err, want)
		}
	}
}

// A question that no rule asks for is not answered with yes.
func TestUnexpectedQuestions(t *testing.T) {
	for _, number := range []int32{unix.SYS_GETPID, unix.SYS_CONNECT} {
		var q question
		q.call.number = number
		if err := (&clerk{}).decide(t.Context(), &q); !errors.Is(err, unix.ENOSYS) {
			t.Errorf("call %d: %v", number, err)
		}
	}
}

// An address that cannot be checked is not connected to.
func TestUnknownAddress(t *testing.T) {
	c := &clerk{connect: func(context.Context, netip.AddrPort) bool { return true }}
	for address, want := range map[[unix.SizeofSockaddrInet4]byte]error{{unix.AF_UNIX}: unix.EAFNOSUPPORT, {unix.AF_INET6}: unix.EINVAL} {
		q := question{task: uint32(os.Getpid())}
		q.call.arguments[1], q.call.arguments[2] = uint64(uintptr(unsafe.Pointer(&address))), uint64(len(address))
		if err := c.connects(t.Context(), &q); !errors.Is(err, want) {
			t.Errorf("family %d: %v, want %v", address[0], err, want)
		}
	}
}

// Nothing is done for a program that no longer waits: its process id may belong to another process by now.
func TestNobodyWaits(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := &clerk{areas: areas{filepath.Dir(f.Name())}, connect: func(context.Context, netip.AddrPort) bool {
		t.Error("somebody was asked")
		return true
	}}
	if c.conn, err = f.SyscallConn(); err != nil { // a file on which no question arrives
		t.Fatal(err)
	}
	q := question{task: uint32(os.Getpid())}
	q.call.arguments = [6]uint64{uint64(f.Fd()), 0o777}
	if err := c.mark(&q, marks[unix.SYS_FCHMOD]); !errors.Is(err, unix.EINTR) {
		t.Error(err)
	}
	if info, err := f.Stat(); err != nil || info.Mode().Perm() == 0o777 {
		t.Error(info, err)
	}
	address := [unix.SizeofSockaddrInet4]byte{unix.AF_INET}
	q.call.arguments = [6]uint64{uint64(f.Fd()), uint64(uintptr(unsafe.Pointer(&address))), uint64(len(address))}
	if err := c.connects(t.Context(), &q); !errors.Is(err, unix.EINTR) {
		t.Error(err)
	}
}

// A path may begin in one page of memory and end in another.
func TestTextAcrossPages(t *testing.T) {
	memory, err := unix.Mmap(-1, 0, 2*4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(memory) }()
	q := question{task: uint32(os.Getpid())}
	for _, from := range []int{0, 4096 - 1, 4096 - 7, 2*4096 - 15} {
		clear(memory)
		copy(memory[from:], "/a/longer/path")
		q.call.arguments[2] = uint64(uintptr(unsafe.Pointer(&memory[from])))
		if text, err := q.text(2); err != nil || text != "/a/longer/path" {
			t.Errorf("from %d: %q, %v", from, text, err)
		}
	}
	if err := unix.Mprotect(memory[4096:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[int]error{4096 - 8: nil, 4096 - 4: unix.EFAULT, 4096: unix.EFAULT} {
		q.call.arguments[2] = uint64(uintptr(unsafe.Pointer(&memory[from])))
		if data, err := q.read(2, 8); !errors.Is(err, want) || (err == nil) != (len(data) == 8) {
			t.Errorf("from %d: %q, %v", from, data, err)
		}
	}
}

// The own directory of a process that has ended has no name.
func TestStepOfAProcessThatHasEnded(t *testing.T) {
	proc, err := open(unix.AT_FDCWD, "/proc", unix.O_DIRECTORY)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(proc)
	q := &question{task: 1<<31 - 1}
	if fd, target, err := q.step(proc, "self", true); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%d, %q, %v", fd, target, err)
	}
}
