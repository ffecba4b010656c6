//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hocket-dev/hocket/internal/sandbox/inside"
)

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
		_, _ = run(t, &Policy{Limit: &Limit{Areas: []Area{{Place: Place{Base: in, Path: "nowhere"}}}}}, nil, "true")
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
	in, around := filepath.Join(dir(t), "in"), tree(t)
	limit := &Limit{Areas: []Area{{Place: Place{Base: around}, Except: []string{around + "/src/deep", around + "/out/way", around + "/out/none"}}}}
	confine := func(p *Policy) func(*exec.Cmd) (*Box, error) {
		return func(cmd *exec.Cmd) (*Box, error) { return Confine(cmd, p) }
	}
	starts := map[string]func(*exec.Cmd) (*Box, error){
		"nothing": confine(&Policy{}), "read": confine(&Policy{Read: []Place{{Base: in, Path: "read"}}}),
		"write": confine(&Policy{Write: []Place{{Base: in, Path: "write"}}}),
	}
	if Unlimited() == "" {
		starts["limit"] = limit.Apply
		starts["policy with limit"] = confine(&Policy{Write: []Place{{Base: around}}, Limit: limit})
	}
	for name, start := range starts {
		command := func() *exec.Cmd {
			if strings.Contains(name, "limit") { // nothing may be missing
				return exec.Command("sh", "-c", "echo x >"+around+"/out/c && ! echo x 2>/dev/null >"+around+"/src/a")
			}
			return exec.Command("/bin/true")
		}
		once := func(most int) error {
			cmd := command()
			box, err := withFiles(t, most, func() (*Box, error) { return start(cmd) })
			if err != nil {
				return err
			}
			defer box.Close()
			if err := cmd.Run(); err != nil {
				t.Errorf("%s: %v, %v", name, err, box.Failed())
			}
			return nil
		}
		if err := once(1000); err != nil { // the first use opens files that stay open
			t.Fatal(err)
		}
		before := openFiles(t)
		for more, done := 0, false; !done; more++ {
			err := once(before + more)
			if done = err == nil; !done && !errors.Is(err, unix.EMFILE) {
				t.Errorf("%s, %d more files: %v", name, more, err)
			}
			if after := openFiles(t); after != before {
				t.Errorf("%s, %d more files: %d are open, %d before", name, more, after, before)
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
