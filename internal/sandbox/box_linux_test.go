//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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

// Renaming between two directories needs a separate right, which the first version of Landlock does
// not have.
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
