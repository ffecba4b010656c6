//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hocket-dev/hocket/internal/sandbox/inside"
)

// TestMain is also the program that the tests confine: if attackVariable is set, it tries
// that attack and prints the result.
func TestMain(m *testing.M) {
	if os.Args[0] == inside.Name { // it failed to confine itself
		os.Exit(2)
	}
	if what := os.Getenv(attackVariable); what != "" {
		attack(what)
		return
	}
	os.Exit(m.Run())
}

func needed(t testing.TB) {
	t.Helper()
	if s := Supported(); s.None != "" {
		t.Skip(s.None)
	}
}

// run starts a confined program and returns all its output.
func run(t testing.TB, p *Policy, env []string, argv ...string) (string, error) {
	t.Helper()
	return runAs(t, p, highest, env, argv...)
}

// highest selects the system's own version of Landlock. With any other version, sockets
// cannot be taken over either.
const highest = 1000

func runAs(t testing.TB, p *Policy, most int, env []string, argv ...string) (string, error) {
	t.Helper()
	can, err := abilities()
	if err != nil {
		t.Fatal(err)
	}
	can.landlock, can.take = min(can.landlock, most), can.take && most == highest
	cmd := exec.Command(argv[0], argv[1:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	box, err := confine(cmd, p, can)
	if err != nil {
		return "", err
	}
	defer box.Close()
	err = cmd.Run()
	if failed := box.Failed(); failed != nil {
		err = failed
	}
	return strings.TrimSpace(out.String()), err
}

// attacks runs this program confined, with an attack to try.
func attacks(t testing.TB, p *Policy, what string, env ...string) string {
	t.Helper()
	return attacksAs(t, p, highest, what, env...)
}

func attacksAs(t testing.TB, p *Policy, most int, what string, env ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := runAs(t, p, most, append(env, attackVariable+"="+what), self)
	if err != nil {
		out += "\n" + err.Error()
	}
	return out
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t testing.TB, target, at string) {
	t.Helper()
	if err := os.Symlink(target, at); err != nil {
		t.Fatal(err)
	}
}

// dir returns a directory with a folder "in", which is the project of a test, and one
// beside it.
func dir(t testing.TB) string {
	t.Helper()
	d, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(d, "in/read/a"), "inside")
	write(t, filepath.Join(d, "in/write/a"), "inside")
	write(t, filepath.Join(d, "out/a"), "outside")
	link(t, filepath.Join(d, "out"), filepath.Join(d, "in/read/out"))
	link(t, "../../out/a", filepath.Join(d, "in/write/out"))
	return d
}

func TestFiles(t *testing.T) {
	needed(t)
	for _, most := range []int{1, 3, highest} { // versions of Landlock
		d := dir(t)
		in := filepath.Join(d, "in")
		p := &Policy{Read: []Place{{Base: in, Path: "read"}, {Base: in, Path: "absent"}}, Write: []Place{{Base: in, Path: "write"}, {Base: in, Path: "made/by/us/"}}}
		for _, c := range []struct {
			script string
			want   string // "" if it fails
		}{
			{"cat in/read/a", "inside"},
			{"cat in/write/a", "inside"},
			{"cat <in/read/a | cat", "inside"},
			{"cp in/read/a in/write/b && mv in/write/b in/write/c && cat in/write/c && rm in/write/c", "inside"},
			{"mkdir in/write/d && echo x >in/write/d/x && ln -s /etc in/write/d/y && rm -r in/write/d && echo gone", "gone"},
			{"echo new >in/made/by/us/x; cat in/made/by/us/x", "new"},
			{"echo long >in/write/t && echo 1 >in/write/t && cat in/write/t && rm in/write/t", "1"},
			{"mkfifo in/write/f && rm in/write/f && echo made", "made"},
			{"cat /dev/null; echo x >/dev/null; head -c 3 /dev/zero | wc -c", "3"},
			{"sh -c 'sh -c \"cat in/read/a\"'", "inside"},
			{"test -s out/a && echo exists", "exists"},
			{"cat out/a", ""},
			{"sh -c 'sh -c \"cat out/a\"'", ""},
			{"ls out", ""},
			{"ls in", ""},
			{"cat in/read/out/a", ""},
			{"cat in/write/out", ""},
			{"echo x >in/write/out", ""},
			{"ln -s ../../out in/write/o; cat in/write/o/a", ""},
			{"ln out/a in/write/hard", ""},
			{"ln in/read/a in/write/hard && echo x >in/write/hard", ""},
			{"mv in/write/a out/", ""},
			{"mv out/a in/write/stolen", ""},
			{"mv in/read/a in/write/stolen", ""},
			{"echo x >in/read/a", ""},
			{"echo x >in/read/new", ""},
			{"echo x >out/new", ""},
			{"rm out/a", ""},
			{"mkdir out/d", ""},
			{": >out/a", ""},
			{"cd out && cat a", ""},
			{"cat /proc/self/cwd/out/a", ""},
			{"mkfifo in/write/f && mknod in/write/m c 1 3", ""},
			{"echo x >/proc/self/comm", ""},
		} {
			cmd := []string{"sh", "-c", "cd '" + d + "' && { " + c.script + "; }"}
			out, err := runAs(t, p, most, nil, cmd...)
			if c.want == "" && err == nil || c.want != "" && (err != nil || out != c.want) {
				t.Errorf("Landlock %d: %s\ngot  %q, %v\nwant %q", most, c.script, out, err, c.want)
			}
		}
		for _, empty := range []string{"truncate " + d + "/out/a", "open " + d + "/out/a", "truncate " + d + "/in/read/a", "open " + d + "/in/read/a"} {
			if got := attacksAs(t, p, most, empty); !strings.Contains(got, "ermission denied") && !strings.Contains(got, "not permitted") {
				t.Errorf("Landlock %d: %s: %s", most, empty, got)
			}
		}
		if made, err := os.Stat(filepath.Join(in, "made/by/us")); err != nil || made.Mode().Perm()&0o700 != 0o700 {
			t.Errorf("Landlock %d: a directory was created as %v, %v", most, made, err)
		}
		write(t, filepath.Join(in, "write/full"), "full")
		for _, empty := range []string{"truncate ", "open "} { // Landlock 3 can tell whose file it is
			if got := attacksAs(t, p, most, empty+in+"/write/full"); (got == "<nil>") != (most >= 3) {
				t.Errorf("Landlock %d: %s of an own file: %s", most, empty, got)
			}
		}
		for file, want := range map[string]string{"out/a": "outside", "in/read/a": "inside", "in/write/a": "inside"} {
			if got, err := os.ReadFile(filepath.Join(d, file)); err != nil || string(got) != want {
				t.Errorf("Landlock %d: afterwards %s is %q, %v", most, file, got, err)
			}
		}
	}
}

// A place is opened without following links, wherever they lead.
func TestPlaces(t *testing.T) {
	needed(t)
	d := dir(t)
	in := filepath.Join(d, "in")
	link(t, "read", filepath.Join(in, "near"))
	link(t, in, filepath.Join(d, "base"))
	for _, c := range []struct {
		place Place
		want  string
	}{
		{Place{Base: in, Path: "read"}, ""},
		{Place{Base: in, Path: "read/a"}, ""},
		{Place{Base: in, Path: "."}, ""},
		{Place{Base: in, Path: ""}, ""},
		{Place{Base: filepath.Join(d, "base"), Path: "read"}, ""},
		{Place{Base: "/", Path: in}, ""},
		{Place{Base: in, Path: "../out"}, "../out: no such file or directory"}, // never above the base
		{Place{Base: in, Path: "near"}, "near: near is a link to read"},
		{Place{Base: in, Path: "near/a"}, "near/a: near is a link to read"},
		{Place{Base: in, Path: "near/x/"}, "near/x/: near is a link to read"},
		{Place{Base: in, Path: "read/out"}, "read/out: read/out is a link to " + filepath.Join(d, "out")},
		{Place{Base: in, Path: "read/out/a"}, "read/out/a: read/out is a link to " + filepath.Join(d, "out")},
		{Place{Base: in, Path: "absent"}, "absent: no such file or directory"},
		{Place{Base: in, Path: "read/a/"}, "read/a/: not a directory"},
		{Place{Base: in, Path: "read/a/x"}, "read/a/x: not a directory"},
		{Place{Base: in, Path: "new/below/"}, ""},
		{Place{Base: filepath.Join(d, "nowhere"), Path: "x/"}, "x/: no such file or directory"},
	} {
		missing := strings.HasSuffix(c.want, "no such file or directory")
		for _, p := range []*Policy{{Write: []Place{c.place}}, {Read: []Place{c.place}}} {
			want := c.want
			if p.Write == nil && missing {
				want = ""
			}
			box, err := Confine(exec.Command("/bin/true"), p)
			if box != nil {
				box.Close()
			}
			if got := errorText(err); got != want {
				t.Errorf("%+v: %q, want %q", p, got, want)
			}
		}
	}
	if info, err := os.Stat(filepath.Join(in, "new/below")); err != nil || info.Mode().Perm()&0o700 != 0o700 {
		t.Error(info, err)
	}
}

// Renaming between two directories needs a right of its own, which the first version of Landlock
// does not have.
func TestRenamedBetweenDirectories(t *testing.T) {
	needed(t)
	if v, _ := version(); v < versionRefer {
		t.Skip("Landlock is too old")
	}
	in := filepath.Join(dir(t), "in")
	write(t, filepath.Join(in, "write/sub/b"), "x")
	p := &Policy{Write: []Place{{Base: in, Path: "write"}}}
	if got := attacks(t, p, "rename "+in+"/write/sub/b "+in+"/write/c"); got != "works" {
		t.Error(got)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// The program receives what it would have without a box.
func TestHandedOver(t *testing.T) {
	needed(t)
	d := dir(t)
	cmd := exec.Command("sh", "-c", `printf '%s|' "$0" "$@" "$A" "$B" "$(cat)"; pwd; exec 2>&1; ls /proc/self/fd | tr '\n' ' '`, "zero", "a b", "", "$(id)")
	cmd.Env = []string{"PATH=/usr/bin:/bin", "A=1", "A=2", "B=x\ny"}
	cmd.Dir, cmd.Stdin = filepath.Join(d, "in"), strings.NewReader("input")
	var out bytes.Buffer
	cmd.Stdout = &out
	box, err := Confine(cmd, &Policy{})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	// A file that Hocket inherited and does not know of.
	leak, err := unix.Open(filepath.Join(d, "out/a"), unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leak)
	if err := cmd.Run(); err != nil || box.Failed() != nil {
		t.Fatal(err, box.Failed())
	}
	want := "zero|a b||$(id)|2|x\ny|input|" + cmd.Dir + "\n0 1 2 3 "
	if out.String() != want {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
}

// A program that cannot be confined or executed does not run, and the box reports why.
func TestNotStarted(t *testing.T) {
	needed(t)
	d := dir(t)
	write(t, filepath.Join(d, "text"), "no program")
	write(t, filepath.Join(d, "script"), "#!"+filepath.Join(d, "out/a")+"\n")
	for _, file := range []string{"script", "out/a"} {
		if err := os.Chmod(filepath.Join(d, file), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := func(content string) *os.File {
		f, err := memory(content)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	opened := func(path string) *os.File {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	given := func(number int, f *os.File) func(*exec.Cmd) {
		return func(c *exec.Cmd) {
			c.ExtraFiles = slices.Clone(c.ExtraFiles) // the box closes its own files
			c.ExtraFiles[number] = f
		}
	}
	for _, c := range []struct {
		program string
		spoil   func(*exec.Cmd)
		stage   string
		want    error
	}{
		{filepath.Join(d, "absent"), nil, "", fs.ErrNotExist},
		{filepath.Join(d, "text"), nil, "", fs.ErrPermission},
		{filepath.Join(d, "script"), nil, "", fs.ErrPermission}, // its interpreter is outside
		{"/bin/true", given(0, file("x")), "set the rules for files", syscall.EBADFD},
		{"/bin/true", given(2, opened(d)), "read the environment", syscall.EISDIR},
		{"/bin/true", given(2, opened("/sys/devices/system/cpu/online")), "read the environment", syscall.EIO}, // the content is shorter than the file's size
		{"/bin/true", given(3, file("")), "set the filter of system calls", syscall.ENOEXEC},
		{"/bin/true", given(3, file("12345678")), "set the filter of system calls", syscall.EINVAL},
	} {
		cmd := exec.Command(c.program)
		box, err := Confine(cmd, &Policy{})
		if err != nil {
			t.Fatal(err)
		}
		if c.spoil != nil {
			c.spoil(cmd)
		}
		err = cmd.Run()
		var failed *StartError
		if !errors.As(box.Failed(), &failed) || failed.Stage != c.stage || !errors.Is(failed, c.want) || cmd.ProcessState.ExitCode() != 125 {
			t.Errorf("%s %q: %v, %#v", c.program, c.stage, err, failed)
		}
		box.Close()
	}
}

func TestStartErrors(t *testing.T) {
	for want, e := range map[string]*StartError{"drop privileges: odd": {Stage: "drop privileges", Err: errors.New("odd")}, "odd": {Err: errors.New("odd")}} {
		if e.Error() != want {
			t.Errorf("got %q, want %q", e.Error(), want)
		}
	}
}

// If another filter refuses any of the steps, the program is not started.
func TestHindered(t *testing.T) {
	needed(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for by, want := range map[string]string{
		"close_range":                     "close files: operation not permitted",
		"prctl":                           "renounce privileges: operation not permitted",
		"capget":                          "drop privileges: operation not permitted",
		"capset":                          "drop privileges: operation not permitted",
		"landlock_restrict_self":          "set the rules for files: operation not permitted",
		"seccomp":                         "set the filter of system calls: operation not permitted",
		"sendmsg":                         "set the filter of system calls: operation not permitted",
		"a seccomp with another listener": "works\n<nil>",
		"a busy seccomp":                  "set the filter of system calls: device or resource busy",
		"an old seccomp":                  "works\n<nil>",
	} {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), attackVariable+"=hindered "+by)
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", by, err, got, want)
		}
	}
}

// This program does nothing for another process that starts it by that name.
func TestStartedByOthers(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, c := range []struct {
		args []string
		talk *os.File
		want int
	}{
		{[]string{inside.Name, ""}, nil, 2}, // it continues as the program it is: here, these tests
		{[]string{inside.Name, "", "/bin/echo"}, nil, 125},
		{[]string{inside.Name, "", "/bin/echo", "echo", "x"}, nil, 125},
		{[]string{inside.Name, "", "/bin/echo", "echo", "x"}, file, 125}, // not a socket
	} {
		cmd := &exec.Cmd{Path: "/proc/self/exe", Args: c.args, ExtraFiles: []*os.File{nil, c.talk}}
		out, err := cmd.CombinedOutput()
		if len(out) > 0 || cmd.ProcessState.ExitCode() != c.want {
			t.Errorf("%q: %q, %v", c.args, out, err)
		}
	}
	if info, err := file.Stat(); err != nil || info.Size() > 0 {
		t.Errorf("%d bytes were written, %v", info.Size(), err)
	}
}

// The program ends with Hocket, as other commands do.
func TestDiesWithItsParent(t *testing.T) {
	needed(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(self)
	parent.Env = append(os.Environ(), attackVariable+"=parent")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 16)
	if n, err := out.Read(said); err != nil || string(said[:n]) != "ready\n" {
		t.Fatal(n, err)
	}
	_ = parent.Process.Kill()
	if _, err := out.Read(said); err == nil { // it has the same standard output
		t.Error("it lives on")
	}
	_ = parent.Wait()
}

// parent starts a long-running confined program, and waits.
func parent() {
	cmd := exec.Command("sh", "-c", "echo ready; exec sleep 600")
	cmd.Stdout = os.Stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	box, err := Confine(cmd, &Policy{})
	if err != nil {
		panic(err)
	}
	defer box.Close()
	_ = cmd.Run()
}

func TestConnections(t *testing.T) {
	needed(t)
	serve := func(network, address string) net.Addr {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Write([]byte("hello"))
				c.Close()
			}
		}()
		return l.Addr()
	}
	good, bad := serve("tcp4", "127.0.0.1:0").String(), serve("tcp4", "127.0.0.1:0").String()
	path := filepath.Join(t.TempDir(), "s")
	serve("unix", path)
	serve("unix", "@hocket-sandbox-test")
	_, goodPort, _ := net.SplitHostPort(good)
	only := func(_ context.Context, to netip.AddrPort) bool { return to.String() == good }
	for _, c := range []struct {
		connect func(context.Context, netip.AddrPort) bool
		what    string
		want    string
	}{
		{only, "tcp " + good, "hello"},
		{only, "blocking " + good, "hello"},
		{only, "mapped " + good, "hello"},
		{only, "many " + good, "hello"},
		{only, "grandchild tcp " + good, "hello"},
		{only, "thread " + good, "hello"},
		{only, "tcp " + bad, "permission denied"},
		{only, "tcp 127.0.0.2:" + goodPort, "permission denied"}, // the same port at another address
		{only, "grandchild tcp " + bad, "permission denied"},
		{only, "fastopen " + good, "operation not permitted"},
		{only, "fastopen " + bad, "operation not permitted"},
		{only, "mptcp " + good, "permission denied"},
		{only, "closed " + good, "bad file descriptor"},
		{only, "nowhere", "bad address"},
		{only, "udp " + good, "permission denied"},
		{only, "listen", "permission denied"},
		{only, "unix " + path, "permission denied"},
		{only, "unix @hocket-sandbox-test", "permission denied"},
		{only, "datagrams " + path, "permission denied"},
		{only, "routed " + good, "operation not permitted"},
		{only, "races " + good + " " + bad, "never"},
		{nil, "tcp " + good, "permission denied"},
		{nil, "udp " + good, "permission denied"},
		{nil, "unix " + path, "permission denied"},
		{nil, "unix @hocket-sandbox-test", "permission denied"},
		{nil, "netlink", "permission denied"},
		{nil, "raw", "permission denied"},
		{nil, "pair", "works"},
		{only, "pair", "works"},
	} {
		if got := attacks(t, &Policy{Connect: c.connect}, c.what); got != c.want {
			t.Errorf("%v, network %v\ngot  %s\nwant %s", c.what, c.connect != nil, got, c.want)
		}
		if strings.HasPrefix(c.what, "races") {
			continue // which is lost where sockets cannot be passed on
		}
		for _, most := range []int{3, 4, highest - 1} {
			if got := attacksAs(t, &Policy{Connect: c.connect, Ports: []uint16{port(good)}}, most, c.what); got != c.want {
				t.Errorf("Landlock %d: %v, network %v\ngot  %s\nwant %s", most, c.what, c.connect != nil, got, c.want)
			}
		}
	}
	// If the program connects by itself, there is one more rule.
	if v, _ := version(); v >= versionTCP {
		all := func(context.Context, netip.AddrPort) bool { return true }
		if got := attacksAs(t, &Policy{Connect: all, Ports: []uint16{port(good)}}, highest-1, "tcp "+bad); got != "permission denied" {
			t.Errorf("another port: %s", got)
		}
	}
	cmd := exec.Command("true")
	var failed *StartError
	if _, err := confine(cmd, &Policy{Connect: only}, ability{landlock: 1}); !errors.As(err, &failed) {
		t.Errorf("nobody can look, and %v", err)
	}
}

func port(address string) uint16 { return netip.MustParseAddrPort(address).Port() }

// Attacks on other processes have no effect.
func TestOtherProcesses(t *testing.T) {
	needed(t)
	v, _ := version()
	for what, want := range map[string]string{
		"environ":   "permission denied", // of this process
		"memory":    "operation not permitted",
		"trace":     "operation not permitted",
		"root":      "permission denied",
		"limit":     "operation not permitted",
		"priority":  "operation not permitted",
		"schedule":  "operation not permitted",
		"affinity":  "operation not permitted",
		"ioprio":    "operation not permitted",
		"btrfs":     "operation not permitted",
		"dedupe":    "operation not permitted",
		"typing":    "operation not permitted",
		"size":      "works",
		"ownturn":   "works",
		"uring":     "operation not permitted",
		"unshare":   "operation not permitted",
		"clone":     "operation not permitted",
		"clone3":    "function not implemented",
		"mount":     "operation not permitted",
		"keys":      "operation not permitted",
		"shared":    "operation not permitted",
		"watch":     "operation not permitted",
		"handle":    "operation not permitted",
		"newest":    "function not implemented",
		"chmod":     "operation not permitted",
		"utime":     "operation not permitted",
		"xattr":     "operation not supported",
		"flags":     "operation not permitted",
		"nested":    "inside",
		"nestednet": "device or resource busy", // already used here
		"touch":     "works",
		"setuid":    "works", // but has no effect
		"own":       "works",
		"personal":  "works",
	} {
		d := dir(t)
		if got := attacks(t, &Policy{Read: []Place{{Base: d, Path: "in/read"}}}, what, "DIR="+d); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", what, got, want)
		}
	}
	if v >= versionScopes {
		for _, what := range []string{"signal", "sigio"} {
			if got := attacks(t, &Policy{}, what); got != "operation not permitted" && got != "no signal" {
				t.Errorf("%s: %s", what, got)
			}
		}
	}
	if out, err := run(t, &Policy{}, nil, "sh", "-c", "grep -E 'NoNewPrivs|Seccomp:' /proc/self/status"); err != nil || strings.Join(strings.Fields(out), " ") != "NoNewPrivs: 1 Seccomp: 2" {
		t.Errorf("%s, %v", out, err)
	}
}

// File metadata changes only where the program may write, however the file is named.
func TestMarks(t *testing.T) {
	needed(t)
	d := dir(t)
	in := filepath.Join(d, "in")
	p := &Policy{Read: []Place{{Base: in, Path: "read"}}, Write: []Place{{Base: in, Path: "write"}}}
	if _, err := run(t, p, nil, "sh", "-c", "cd "+in+`/write && ln -s ../read/a toread && ln -s ../../out toout && ln -s a towrite && mkdir sub && touch -d @1 a && chmod 640 a && chmod 600 towrite && touch -h -d @2 toout && chown -h "$(id -u)" toout &&
		cd sub && chmod 604 ../a && umask 0 && cp -p ../a b && chmod -R 700 . && chown "$(id -u)" b && test -x b`); err != nil {
		t.Error(err)
	}
	// Descriptors are those of the program, not those of the process that checks.
	if _, err := run(t, p, nil, "sh", "-c", "cd "+in+`/write && touch own && exec 7<own && ln -s /proc/self/fd/7 linked &&
		chmod 601 /proc/self/fd/7 && test "$(stat -c %a own)" = 601 && chmod 602 linked && test "$(stat -c %a own)" = 602 &&
		chmod 603 /dev/fd/7 && test "$(stat -c %a own)" = 603 && chmod 605 /proc/thread-self/fd/7 && test "$(stat -c %a own)" = 605 &&
		chmod 606 /proc/self/cwd/./sub/..//own && test "$(stat -c %a own)" = 606 && chmod 700 sub/ && chmod 607 "$(printf '%100s' | sed 's, ,./,g')own" && test "$(stat -c %a own)" = 607 && ! chmod 600 own/ && ln -s loop loop && ! chmod 600 loop`); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(in, "write/a")); err != nil || info.Mode().Perm() != 0o604 || info.ModTime().Unix() != 1 {
		t.Error(info, err)
	}
	if info, err := os.Lstat(filepath.Join(in, "write/toout")); err != nil || info.ModTime().Unix() != 2 {
		t.Error(info, err)
	}
	before := time.Unix(1e9, 0)
	files := []string{filepath.Join(d, "out/a"), filepath.Join(in, "read/a")}
	for _, file := range files {
		if err := os.Chtimes(file, before, before); err != nil {
			t.Fatal(err)
		}
	}
	const same = `as() { chmod "$(stat -c %a "$1")" "$1"; }; as ` // the mode that the file already has
	for _, script := range []string{
		"chmod 777 ../../out/a", "chmod 777 toread", "chmod 777 toout/a", "chmod 777 " + d + "/out/a", "chmod 777 /proc/self/cwd/toout/a", "cd toout && chmod 777 a",
		"cd .. && cd read && chmod 777 a", "touch -c toout/a", "touch -c toread", "touch -h ../read/out", "chown \"$(id -u)\" toread", "chgrp \"$(id -g)\" toout/a",
		same + "/dev/null", same + "/usr", "chmod 777 .. ", "cp -p a ../read/b", same + "$(printf '%4200s' | tr ' ' /)usr", "chmod 777 ''",
	} {
		if out, err := run(t, p, nil, "sh", "-c", "cd "+in+"/write && { "+script+"; }"); err == nil {
			t.Errorf("%s: %s", script, out)
		}
	}
	for script, want := range map[string]string{ // errors are the kernel's
		"chmod 600 none": "No such file or directory", "chmod 600 none/none": "No such file or directory", "chmod 600 a/b": "Not a directory", "chmod 600 loop": "Too many levels of symbolic links",
	} {
		if out, err := run(t, p, nil, "sh", "-c", "cd "+in+"/write && LC_ALL=C "+script); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %s, %v", script, out, err)
		}
	}
	for what, want := range map[string]string{"opened " + in + "/read/a": "operation not permitted", "opened /dev/null": "operation not permitted", "opened " + in + "/write/a": "works", "marks " + in + "/write/own": "works", "pointers " + in + "/write/a": "bad address"} {
		if got := attacks(t, p, what); got != want {
			t.Errorf("%s: %s", what, got)
		}
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o644 || !info.ModTime().Equal(before) {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
}

// A policy for an ordinary user holds as well, and root loses its special rights.
func TestRoot(t *testing.T) {
	needed(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can show this")
	}
	var out strings.Builder
	cmd := exec.Command("sh", "-c", "cat /etc/passwd >/dev/null && grep -E 'Cap(Inh|Prm|Eff|Amb)' /proc/self/status")
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{AmbientCaps: []uintptr{unix.CAP_CHOWN, unix.CAP_NET_RAW, unix.CAP_SYSLOG}}
	box, err := Confine(cmd, &Policy{})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	if err := cmd.Run(); err != nil || strings.Join(strings.Fields(out.String()), " ") != "CapInh: 0000000000000000 CapPrm: 00000000000000fb CapEff: 00000000000000fb CapAmb: 0000000000000000" {
		t.Errorf("%s, %v, %v", out.String(), err, box.Failed())
	}
	if _, err := os.Stat("/etc/shadow"); err == nil {
		if out, err := run(t, &Policy{}, nil, "cat", "/etc/shadow"); err == nil {
			t.Errorf("%s", out)
		}
	}
}

// Variables that a tool's author sets apply to the program only.
func TestEnvironmentOfTheProgram(t *testing.T) {
	needed(t)
	d := dir(t)
	cmd := exec.Command("sh", "-c", "true")
	cmd.Env = []string{"LD_PRELOAD=" + d + "/evil.so", "GODEBUG=inittrace=1"}
	box, err := Confine(cmd, &Policy{})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	if len(cmd.Environ()) != 0 {
		t.Errorf("the process that confines itself has %q", cmd.Environ())
	}
	for _, word := range cmd.Args {
		if strings.Contains(word, "evil.so") {
			t.Errorf("others can see %q", cmd.Args)
		}
	}
}

func TestInstalled(t *testing.T) {
	d := dir(t)
	home := filepath.Join(d, "home")
	for _, file := range []string{
		".pyenv/shims/python", ".pyenv/versions/3/bin/python", ".local/bin/x", ".local/lib/l", ".local/share/keyrings/k",
		".local/share/pipx/venvs/tool/bin/tool", ".local/share/pipx/venvs/tool/lib/l", "bin/own", "lib/l", "private", "work/bin/w", "work/src/s",
	} {
		write(t, filepath.Join(home, file), "x")
	}
	link(t, "../share/pipx/venvs/tool/bin/tool", filepath.Join(home, ".local/bin/tool"))
	link(t, filepath.Join(home, ".local/share/pipx/venvs/tool/bin/tool"), filepath.Join(home, ".local/bin/absolute"))
	link(t, filepath.Join(home, "private"), filepath.Join(home, "work/lib"))
	dirs := []string{home + "/.pyenv/shims", home + "/.local/bin", home + "/bin", home + "/work/bin", home, "/", "", ".", d, home + "/absent/bin"}
	p := &Policy{Programs: dirs, Home: home}
	opened := func(program string) []string {
		var all []string
		for _, place := range installed(filepath.Join(home, program), p) {
			if fd, err := place.open(); err == nil {
				_ = unix.Close(fd)
				below, _ := filepath.Rel(home, filepath.Join(place.Base, place.Path))
				all = append(all, below)
			}
		}
		return all
	}
	always := ".pyenv/shims .pyenv/versions .local/bin .local/lib bin work/bin"
	for program, want := range map[string]string{
		"bin/own":             always,
		".local/bin/tool":     always + " .local/share/pipx/venvs/tool/bin .local/share/pipx/venvs/tool/lib",
		".local/bin/absolute": always + " .local/share/pipx/venvs/tool/bin .local/share/pipx/venvs/tool/lib",
		"work/src/s":          always,
	} {
		if got := strings.Join(opened(program), " "); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", program, got, want)
		}
	}
	if got := installed(filepath.Join(home, "bin/own"), &Policy{Programs: dirs}); got != nil {
		t.Errorf("without a home directory, there are %v", got)
	}
	needed(t)
	for file, want := range map[string]bool{".local/lib/l": true, ".local/share/keyrings/k": false, "lib/l": false, "private": false} {
		if out, err := run(t, p, nil, "cat", filepath.Join(home, file)); (err == nil) != want {
			t.Errorf("%s: %s, %v", file, out, err)
		}
	}
}

// The clerk does not wait for Close: a program that has exited asks nothing.
func TestClerkEndsWithItsProgram(t *testing.T) {
	needed(t)
	cmd := exec.Command("true")
	box, err := Confine(cmd, &Policy{Connect: func(context.Context, netip.AddrPort) bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if err := box.Failed(); err != nil {
		t.Fatal(err)
	}
	ends(t, box.asked.Wait)
}

// ends expects a function to return. The minute is for slow machines.
func ends(t *testing.T, what func()) {
	t.Helper()
	ended := make(chan struct{})
	go func() { what(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("it does not end")
	}
}

// Close does not wait for the program, which may continue without being served.
func TestCloseBeforeTheEnd(t *testing.T) {
	needed(t)
	cmd := exec.Command("sleep", "600")
	box, err := Confine(cmd, &Policy{Connect: func(context.Context, netip.AddrPort) bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := box.Failed(); err != nil { // and so the program has started
		t.Fatal(err)
	}
	ends(t, box.Close)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

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

// openFiles returns how many files this process has open.
func openFiles(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names) - 1 // without the directory itself
}

func TestNothingIsLeft(t *testing.T) {
	needed(t)
	in := filepath.Join(dir(t), "in")
	link(t, "a", filepath.Join(in, "write/link"))
	link(t, "loop", filepath.Join(in, "write/loop"))
	once := func() {
		_, _ = run(t, &Policy{Connect: func(context.Context, netip.AddrPort) bool { return false }}, nil, "true")
		_, _ = run(t, &Policy{Write: []Place{{Base: "/", Path: "nowhere"}}}, nil, "true")
		_, _ = run(t, &Policy{Read: []Place{{Base: in, Path: "read/out"}}}, nil, "true")
		if _, err := run(t, &Policy{Write: []Place{{Base: in, Path: "write"}}}, nil, "sh", "-c", "cd "+in+"/write && chmod 600 a ./a link "+in+"/write/a && ! chmod 600 out && ! chmod 600 none/none && ! chmod 600 loop"); err != nil {
			t.Error(err)
		}
		for _, address := range []string{"127.0.0.1:1", "[::1]:1"} {
			attacks(t, &Policy{Connect: func(context.Context, netip.AddrPort) bool { return true }}, "tcp "+address)
		}
	}
	once() // the first use opens files that stay open
	before := openFiles(t)
	for range 5 {
		once()
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d files are open, %d before", after, before)
	}
}

// If the process has too many files open, nothing is started, and nothing is left open.
func TestTooManyFiles(t *testing.T) {
	needed(t)
	in := filepath.Join(dir(t), "in")
	for _, p := range []*Policy{{}, {Read: []Place{{Base: in, Path: "read"}}}, {Write: []Place{{Base: in, Path: "write"}}}} {
		if _, err := run(t, p, nil, "true"); err != nil { // the first use opens files that stay open
			t.Fatal(err)
		}
		before := openFiles(t)
		for more, done := 0, false; !done; more++ {
			cmd := exec.Command("/bin/true")
			box, err := withFiles(t, before+more, func() (*Box, error) { return Confine(cmd, p) })
			if done = err == nil; done {
				if err := cmd.Run(); err != nil {
					t.Errorf("%d more files: %v, %v", more, err, box.Failed())
				}
				box.Close()
			} else if !errors.Is(err, unix.EMFILE) {
				t.Errorf("%d more files: %v", more, err)
			}
			if after := openFiles(t); after != before {
				t.Errorf("%d more files: %d are open, %d before", more, after, before)
			}
		}
	}
}

// withFiles calls a function while this process can have only some files open.
func withFiles(t *testing.T, most int, do func() (*Box, error)) (*Box, error) {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
	}()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(most), Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	return do()
}

// A file that was deleted is in no place, whatever its name. One that only has such a name is.
func TestDeletedFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f (deleted)")
	write(t, path, "x")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if (areas{}).hold(int(f.Fd())) {
		t.Error("its name suffices")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if !(areas{}).hold(int(f.Fd())) {
		t.Error("a deleted file is somewhere")
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

// Nothing is done for a program that no longer waits: its process id may be that of another.
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
