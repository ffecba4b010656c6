//go:build amd64 || arm64

package sandbox

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hocket-dev/hocket/internal/sandbox/inside"
)

// Box is a confined program. It is used once.
type Box struct {
	talk   *os.File   // our end of the socket
	theirs []*os.File // passed to the process
	temp   string     // removed at the end; "": none
	done   chan struct{}
	cancel context.CancelFunc
	asked  sync.WaitGroup // the clerk
	failed *StartError    // of listen; after done
}

// Supported returns what this system can enforce.
func Supported() Support {
	can, err := abilities()
	action := uint32(unix.SECCOMP_RET_USER_NOTIF)
	return support(can, err, seccomp(unix.SECCOMP_GET_ACTION_AVAIL, &action))
}

// support returns what can be enforced with the given abilities, and why there is no
// Landlock and why there are no filters.
func support(can ability, landlock, filters error) Support {
	switch {
	case errors.Is(landlock, unix.EOPNOTSUPP):
		return Support{None: "Landlock is disabled in this kernel; enable it with lsm=landlock,… on its command line"}
	case landlock != nil:
		return Support{None: "this kernel has no Landlock, or does not allow it in this container; it needs Linux 5.13 or newer"}
	case filters != nil:
		return Support{None: "this kernel does not let programs filter their system calls (seccomp)"}
	}
	var s Support
	if can.landlock < versionScopes {
		s.Gaps = append(s.Gaps, "it may send signals to your other programs and so kill them; Linux 6.12 and newer prevent this")
	}
	if can.look && !can.take {
		s.Gaps = append(s.Gaps, "a program that may reach some hosts may be able to reach others, because pidfd_getfd is not allowed here, as in most containers")
	}
	return s
}

// ability is what is available here to confine a program.
type ability struct {
	landlock int  // version
	look     bool // access to the memory of a program
	take     bool // and to its sockets
}

func abilities() (ability, error) {
	v, err := version()
	look, take := reach()
	return ability{landlock: v, look: look, take: look && take}, err
}

// reach checks what a process may access of its children here. A container may forbid it
// with its own filter, and a system with a setting.
var reach = sync.OnceValues(func() (look, take bool) {
	q := question{task: uint32(os.Getpid())}
	_, err := q.readAt(uintptr(unsafe.Pointer(&q)), 1)
	scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope") // most systems have none, or 1
	look = err == nil && looked(string(scope), os.Geteuid() == 0)
	fd, err := q.take(0)
	if err == nil {
		_ = unix.Close(fd)
	}
	return look, err == nil || errors.Is(err, unix.EBADF)
})

// looked reports whether the Yama setting lets a process access its children. "" is a
// system without Yama.
func looked(scope string, root bool) bool { return scope < "2" || scope < "3" && root }

// Confine makes a command start confined. Its path, arguments and environment are set, and
// its extra files are not. Close the box once the command has ended.
func Confine(cmd *exec.Cmd, p *Policy) (*Box, error) {
	can, err := abilities()
	if err != nil {
		return nil, &StartError{Stage: "ask for Landlock", Err: err}
	}
	return confine(cmd, p, can)
}

func confine(cmd *exec.Cmd, p *Policy, can ability) (_ *Box, err error) {
	if p.Connect != nil && !can.look {
		return nil, &StartError{Stage: "look at connections, which needs kernel.yama.ptrace_scope below 2 and a container that allows process_vm_readv", Err: unix.EPERM}
	}
	rules, err := p.rules(cmd.Path, can)
	if err != nil {
		return nil, err
	}
	m := mode{network: p.Connect != nil, truncate: can.landlock < versionTruncate, silent: !can.look}
	silent := m
	silent.silent = true
	b, err := newBox(cmd, rules, program(m), program(silent))
	if err != nil {
		return nil, err
	}
	var how inside.Mode
	if m.network {
		how += inside.Asks
	}
	if p.Limit != nil {
		limit, err := p.Limit.rules()
		if err != nil {
			b.closeTheirs()
			_ = b.talk.Close()
			return nil, err
		}
		b.theirs, how = append(b.theirs, limit.file), how+inside.Limits
	}
	b.enter(cmd, how, &clerk{connect: p.Connect, take: can.take, areas: rules.areas})
	return b, nil
}

// newBox returns a box for a command with rules, which it takes over, and filters.
func newBox(cmd *exec.Cmd, rules *rules, filters ...string) (_ *Box, err error) {
	b := &Box{done: make(chan struct{}), theirs: []*os.File{rules.file}}
	defer func() {
		if err != nil {
			b.closeTheirs()
		}
	}()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	b.talk = os.NewFile(uintptr(pair[0]), "sandbox")
	b.theirs = append(b.theirs, os.NewFile(uintptr(pair[1]), "sandbox"))
	for _, content := range append([]string{inside.EncodeValues(cmd.Environ())}, filters...) {
		file, err := memory(content)
		if err != nil {
			_ = b.talk.Close()
			return nil, err
		}
		b.theirs = append(b.theirs, file)
	}
	return b, nil
}

// enter makes a command start in the box, whose questions the clerk answers.
func (b *Box) enter(cmd *exec.Cmd, how inside.Mode, c *clerk) {
	cmd.Args = append([]string{inside.Name, string(how), cmd.Path}, cmd.Args...)
	cmd.Path, cmd.Env, cmd.ExtraFiles = "/proc/self/exe", []string{}, b.theirs
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	go b.listen(ctx, c)
}

// rules returns the rules for the files of a policy.
func (p *Policy) rules(program string, can ability) (_ *rules, err error) {
	r, err := newRules(handled(can.landlock))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = r.file.Close()
		}
	}()
	files := append(slices.Clone(systemPlaces), settings()...)
	if info, err := os.Stat(program); err == nil && info.Mode().IsRegular() {
		files = append(files, program)
	}
	for _, file := range files {
		r.system(file, toRead)
	}
	for _, file := range devices {
		r.system(file, toUse)
	}
	for _, place := range installed(program, p) {
		_ = r.place(place, toRead) // most of them do not exist
	}
	for _, place := range p.Read {
		if err := r.place(place, toRead); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	for _, place := range p.Write {
		if err := r.place(place, toWrite); err != nil {
			return nil, err
		}
	}
	if !can.take && can.landlock >= versionTCP {
		for _, port := range p.Ports {
			r.port(port)
		}
	}
	return r, r.refused
}

// memory returns an anonymous file in memory.
func memory(content string) (*os.File, error) {
	fd, err := unix.MemfdCreate("sandbox", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "sandbox")
	if _, err := f.WriteString(content); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// Failed waits until the command, which was started, has become the program, and returns
// nil, or why it did not: a [*StartError].
func (b *Box) Failed() error {
	b.closeTheirs() // the other ends are closed when the program starts
	<-b.done
	if b.failed == nil {
		return nil
	}
	return b.failed
}

// Close stops the work that the box does for its program, and waits until it has stopped.
func (b *Box) Close() {
	b.closeTheirs()
	_ = b.talk.Close()
	b.cancel()
	<-b.done
	b.asked.Wait()
	_ = os.RemoveAll(b.temp) // what cannot be removed is left to the system
}

func (b *Box) closeTheirs() {
	for _, f := range b.theirs {
		_ = f.Close() // some are closed already
	}
}

// listen receives the message of the process that confines itself: the file on which
// questions arrive, or what went wrong.
func (b *Box) listen(ctx context.Context, c *clerk) {
	defer close(b.done)
	conn, _ := b.talk.SyscallConn() // it cannot fail
	said, rights := make([]byte, 256), make([]byte, unix.CmsgSpace(4))
	for {
		var n, with int
		_ = conn.Read(func(fd uintptr) bool {
			var err error
			n, with, _, _, err = unix.Recvmsg(int(fd), said, rights, unix.MSG_CMSG_CLOEXEC)
			return !errors.Is(err, unix.EAGAIN)
		})
		switch fd := handed(rights[:with]); {
		case n <= 0: // one end is closed
			return
		case fd >= 0:
			b.asked.Go(func() { c.work(ctx, fd) })
		default:
			stage, err := inside.ParseFailure(string(said[:n]))
			b.failed = &StartError{Stage: stage, Err: err}
		}
	}
}

// handed returns the file that came with a message; -1 if none.
func handed(rights []byte) int {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) == 0 {
		return -1
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 {
		return -1
	}
	return fds[0]
}
