//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func canLimit(t testing.TB) {
	t.Helper()
	if why := Unlimited(); why != "" {
		t.Skip(why)
	}
}

// limited runs a script of the shell with a limit, and returns all its output.
func limited(t testing.TB, l *Limit, dir, script string) (string, error) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	box, err := l.Apply(cmd)
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

// tree makes a project with the files src/a, src/deep/b, out/c and top, and a link out/way
// to src.
func tree(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"src/a", "src/deep/b", "out/c", "top"} {
		write(t, filepath.Join(dir, name), "old")
	}
	link(t, "../src", filepath.Join(dir, "out/way"))
	return dir
}

// state returns the names and contents of all files.
func state(t testing.TB, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var data []byte
		if d.Type().IsRegular() {
			data, err = os.ReadFile(name)
		}
		all.WriteString(d.Type().String() + name + " " + string(data) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// changes are scripts that change something in the directory IN.
var changes = map[string]string{
	"create":     "touch IN/new",
	"write":      "echo new >IN/a",
	"append":     "echo new >>IN/a",
	"truncate":   "truncate -s 0 IN/a",
	"remove":     "rm -f IN/a",
	"remove dir": "rm -rf IN/deep",
	"mkdir":      "mkdir IN/new",
	"rename":     "mv IN/a IN/new",
	"move in":    "mv out/c IN/new",
	"move out":   "mv IN/a out/new",
	"link":       "ln IN/a out/new",
	"link in":    "ln out/c IN/new",
	"symlink":    "ln -s x IN/new",
	"pipe":       "mkfifo IN/new",
	"subdir":     "echo new >IN/deep/b",
	"through":    "touch out/way/new",
	"own link":   "ln -s ../IN out/mine && touch out/mine/new",
	"grandchild": "sh -c 'sh -c \"touch IN/new\"'",
	"background": "(setsid sh -c 'touch IN/new' & wait)",
	"absolute":   "touch \"$PWD/IN/new\"",
	"descriptor": "exec 5<IN/a && echo new >/proc/self/fd/5",
	"upwards":    "cd out && touch ../IN/new",
}

func TestLimitKeepsProgramsOut(t *testing.T) {
	canLimit(t)
	for name, script := range changes {
		t.Run(name, func(t *testing.T) {
			script := strings.ReplaceAll(script, "IN", "src")
			for about, l := range map[string]func(dir string) *Limit{
				"only": func(dir string) *Limit { return &Limit{Areas: []Area{{Place: Place{Base: dir, Path: "out"}}}} },
				"except": func(dir string) *Limit {
					return &Limit{Areas: []Area{{Place: Place{Base: "/"}, Except: []string{dir + "/src"}}}}
				},
				"both": func(dir string) *Limit {
					return &Limit{Areas: []Area{{Place: Place{Base: dir}, Except: []string{dir + "/out/way"}}}}
				},
			} {
				dir := tree(t)
				before := state(t, filepath.Join(dir, "src"))
				out, err := limited(t, l(dir), dir, script)
				if err == nil && name != "background" {
					t.Errorf("%s: no error", about)
				}
				if !strings.Contains(out, "ermission denied") && !strings.Contains(out, "cross-device") {
					t.Errorf("%s: %q", about, out)
				}
				if after := state(t, filepath.Join(dir, "src")); after != before {
					t.Errorf("%s: it changed\n%s", about, after)
				}
			}
			dir := tree(t)
			before := state(t, dir)
			if out, err := limited(t, &Limit{Areas: []Area{{Place: Place{Base: "/"}}}}, dir, script); err != nil || state(t, dir) == before {
				t.Errorf("without a limit: %q, %v", out, err)
			}
		})
	}
}

func TestLimitAllowsTheRest(t *testing.T) {
	canLimit(t)
	dir := tree(t)
	only := &Limit{Areas: []Area{{Place: Place{Base: dir, Path: "out"}}}}
	except := &Limit{Areas: []Area{{Place: Place{Base: "/"}, Except: []string{dir + "/src"}}}}
	for _, l := range []*Limit{only, except} {
		for _, script := range []string{
			"echo new >out/c && touch out/d && mv out/d out/e && mkdir out/f && mv out/e out/f && rm -r out/f", // moved between directories
			"cat src/a >/dev/null && ls / >/dev/null",
			"echo x >$TMPDIR/x && test -s $TMPDIR/x && mktemp >/dev/null",
			"echo x >/dev/shm/hocket-$$ && rm /dev/shm/hocket-$$",
			"echo x >/dev/stderr; echo x >/proc/self/fd/1; echo 0 >/proc/self/oom_score_adj",
			"sleep 60 & kill $!",
			"chmod 600 top", // see Limit
		} {
			if out, err := limited(t, l, dir, script); err != nil {
				t.Errorf("%s: %q, %v", script, out, err)
			}
		}
	}
	for script, name := range map[string]string{"echo more >>top": "top", "touch out/new": "out/new"} { // what exists beside an exception
		if out, err := limited(t, except, dir, script); err != nil {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
	for _, script := range []string{"touch new", "rm top", "mv out elsewhere", "mv src elsewhere"} { // see Area
		if out, err := limited(t, except, dir, script); err == nil || !strings.Contains(out, "ermission denied") {
			t.Errorf("%s: %q, %v", script, out, err)
		}
	}
}

// A terminal is opened by a name that appears only when it is made.
func TestLimitAllowsTerminals(t *testing.T) {
	canLimit(t)
	if _, err := exec.LookPath("script"); err != nil {
		t.Skip("there is no program script")
	}
	dir := tree(t)
	out, err := limited(t, &Limit{Areas: []Area{{Place: Place{Base: dir, Path: "out"}}}}, dir, "script -qec 'tty >/dev/tty; touch src/x' /dev/null")
	if !strings.Contains(out, "/dev/pts/") || !strings.Contains(out, "ermission denied") {
		t.Errorf("%q, %v", out, err)
	}
}

func TestLimitRemovesItsDirectory(t *testing.T) {
	canLimit(t)
	dir := tree(t)
	t.Setenv("TMPDIR", t.TempDir())
	out, err := limited(t, &Limit{}, dir, "touch $TMPDIR/x && echo $TMPDIR")
	if _, lost := os.Stat(out); err != nil || !strings.HasPrefix(out, os.Getenv("TMPDIR")) || lost == nil {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := limited(t, &Limit{Areas: []Area{{Place: Place{Base: dir, Path: "none"}}}}, dir, "true"); err == nil {
		t.Error("there is no such place")
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "none"))
	if _, err := limited(t, &Limit{}, dir, "true"); err == nil {
		t.Error("there is no directory for temporary files")
	}
}

func TestLimitOfPlacesThatDoNotExist(t *testing.T) {
	canLimit(t)
	dir := tree(t)
	area := Area{Place: Place{Base: dir, Path: "none"}}
	var at *PlaceError
	if err := (&Limit{Areas: []Area{area}}).Check(); !errors.As(err, &at) || !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	area.Optional = true
	if err := (&Limit{Areas: []Area{area}}).Check(); err != nil {
		t.Error(err)
	}
	area.Path = "out/way"
	if err := (&Limit{Areas: []Area{area}}).Check(); !errors.As(err, &at) || at.Link != "out/way" {
		t.Error(err)
	}
	// Whatever is excepted must not come into being.
	for _, except := range []string{"/out/none", "/out/none/deep", "/out/c/none"} {
		l := &Limit{Areas: []Area{{Place: Place{Base: dir}, Except: []string{dir + except}}}}
		if out, err := limited(t, l, dir, "mkdir out/none"); err == nil {
			t.Errorf("%s: %q", except, out)
		}
		if out, err := limited(t, l, dir, "echo x >out/c && touch src/new"); err != nil {
			t.Errorf("%s: %q, %v", except, out, err)
		}
	}
	// The target of a link is excepted, and not everything around it is allowed.
	link(t, "../src/deep/b", filepath.Join(dir, "out/far"))
	far := &Limit{Areas: []Area{{Place: Place{Base: dir}, Except: []string{dir + "/out/far"}}}}
	if out, err := limited(t, far, dir, "echo x >src/deep/b"); err == nil {
		t.Errorf("%q", out)
	}
	if out, err := limited(t, far, dir, "echo x >src/a"); err != nil {
		t.Errorf("%q, %v", out, err)
	}
	// And nothing is allowed inside an exception.
	for _, place := range []string{"out", "out/c"} {
		l := &Limit{Areas: []Area{{Place: Place{Base: dir, Path: place}, Except: []string{dir + "/out"}}}}
		if out, err := limited(t, l, dir, "echo x >out/c"); err == nil {
			t.Errorf("%s: %q", place, out)
		}
	}
}

// On some systems, users cannot list /home.
func TestLimitBelowAnUnreadableDirectory(t *testing.T) {
	canLimit(t)
	dir := tree(t)
	if err := os.Chmod(dir, 0o300); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	l := &Limit{Areas: []Area{{Place: Place{Base: "/"}, Except: []string{dir + "/src/deep"}}}}
	if out, err := limited(t, l, dir, "echo x >src/a"); err != nil {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := limited(t, l, dir, "echo x >src/deep/b"); err == nil {
		t.Error(out)
	}
}

// A program that is confined by a policy may write what both allow.
func TestPolicyWithLimit(t *testing.T) {
	needed(t)
	canLimit(t)
	dir := tree(t)
	p := &Policy{
		Write: []Place{{Base: dir, Path: "src"}, {Base: dir, Path: "out"}},
		Limit: &Limit{Areas: []Area{{Place: Place{Base: dir, Path: "out"}}, {Place: Place{Base: dir, Path: "top"}}}},
	}
	for script, want := range map[string]bool{"echo x >DIR/out/c": true, "echo x >DIR/src/a": false, "echo x >DIR/top": false} {
		if out, err := run(t, p, nil, "sh", "-c", strings.ReplaceAll(script, "DIR", dir)); (err == nil) != want {
			t.Errorf("%s: %q, %v", script, out, err)
		}
	}
}

func TestUnlimited(t *testing.T) {
	for want, why := range map[string]string{
		"":                   unlimited(versionTruncate, nil),
		"Linux 6.2 or newer": unlimited(versionTruncate-1, nil),
		"lsm=landlock":       unlimited(0, unix.EOPNOTSUPP),
		"has no Landlock":    unlimited(0, unix.ENOSYS),
	} {
		if !strings.Contains(why, want) || (why == "") != (want == "") {
			t.Errorf("%q, want %q", why, want)
		}
	}
}

func TestProgramsThatDoNotStartWithinLimit(t *testing.T) {
	for name, wrong := range map[string]func(*exec.Cmd){
		"missing":        func(c *exec.Cmd) { c.Path = "/none" },
		"not executable": func(c *exec.Cmd) { c.Path = "/etc/passwd" },
	} {
		canLimit(t)
		cmd := exec.Command("sh")
		wrong(cmd)
		box, err := (&Limit{}).Apply(cmd)
		if err != nil {
			t.Fatal(err)
		}
		_ = cmd.Run()
		var not *StartError
		if !errors.As(box.Failed(), &not) || not.Stage != "" {
			t.Errorf("%s: %v", name, box.Failed())
		}
		box.Close()
	}
}

// Everything inside an exception is part of it, however deep, and nothing beside or above it is.
func TestInsideAnException(t *testing.T) {
	d := dir(t)
	write(t, filepath.Join(d, "never/a/b/c"), "x")
	e := exceptions{never: map[inode]bool{}, above: map[inode]bool{}, names: map[string]bool{}}
	write(t, filepath.Join(d, "file"), "x")
	for _, name := range []string{"never", "file"} {
		if err := e.add(filepath.Join(d, name)); err != nil {
			t.Fatal(err)
		}
	}
	link(t, "loop", filepath.Join(d, "loop"))
	if err := e.add(filepath.Join(d, "loop")); err == nil {
		t.Error("an exception that leads nowhere is accepted")
	}
	for name, want := range map[string]bool{
		"file": true, "never": true, "never/a": true, "never/a/b": true, "never/a/b/c": true, ".": false, "out": false, "out/a": false,
	} {
		fd, err := open(unix.AT_FDCWD, filepath.Join(d, name), 0)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := e.contain(fd); err != nil || got != want {
			t.Errorf("%s: %t, %v", name, got, err)
		}
		_ = unix.Close(fd)
	}
}

// If the kernel does not accept a rule, there is no limit.
func TestRuleThatIsNotAccepted(t *testing.T) {
	canLimit(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	before := alwaysWritable
	defer func() { alwaysWritable = before }()
	alwaysWritable = []string{byNumber(int(read.Fd()))}
	if err := (&Limit{}).Check(); !errors.Is(err, unix.EBADFD) {
		t.Errorf("%v", err)
	}
}

// A directory that can be read and not entered has nothing to allow.
func TestDirectoryThatCannotBeEntered(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "closed")
	write(t, filepath.Join(dir, "file"), "")
	if err := os.Chmod(dir, 0o444); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	fd, err := open(unix.AT_FDCWD, dir, unix.O_DIRECTORY)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	is, _, err := inodeOf(fd)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 { // root may enter everything
		runtime.LockOSThread() // and the thread ends with the test
		if err := unix.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		defer unix.Setfsuid(0)
	}
	e := exceptions{above: map[inode]bool{is: true}}
	if names, err := e.entries(fd); err != nil || len(names) != 1 {
		t.Fatalf("its entries are %q, %v", names, err)
	}
	if err := (&rules{}).around(fd, &e); err != nil {
		t.Error(err)
	}
}

// oneFileLeft lets this process open one more file at a time, until it calls restore.
func oneFileLeft(t *testing.T) (restore func()) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	next, err := open(unix.AT_FDCWD, "/", unix.O_DIRECTORY)
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(next)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(next) + 1, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
	}
}

// If files cannot be opened because too many are open, nothing is left out of the rules silently.
func TestRulesWithTooManyOpenFiles(t *testing.T) {
	dir := tree(t)
	e := exceptions{above: map[inode]bool{}}
	var top int
	for _, name := range []string{"src/deep", "src", ""} {
		fd, err := open(unix.AT_FDCWD, filepath.Join(dir, name), unix.O_DIRECTORY)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		is, _, err := inodeOf(fd)
		if err != nil {
			t.Fatal(err)
		}
		e.above[is], top = true, fd
	}
	restore := oneFileLeft(t)
	around := (&rules{}).around(top, &e)
	area := (&rules{}).area(Area{Place: Place{Base: dir}})
	restore()
	if !errors.Is(around, unix.EMFILE) {
		t.Errorf("around a file: %v", around)
	}
	if !errors.Is(area, unix.EMFILE) {
		t.Errorf("an area: %v", area)
	}
}

// Links, files and directories are told apart.
func TestKinds(t *testing.T) {
	dir := tree(t)
	seen := map[inode]bool{}
	for name, want := range map[string]uint32{"src": unix.S_IFDIR, "top": unix.S_IFREG, "out/way": unix.S_IFLNK} {
		fd, err := open(unix.AT_FDCWD, filepath.Join(dir, name), unix.O_NOFOLLOW)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		is, kind, err := inodeOf(fd)
		if err != nil || uint32(kind) != want || seen[is] {
			t.Errorf("%s: %v, %o, %v", name, is, kind, err)
		}
		seen[is] = true
	}
}

// A limit covers devices too, which are allowed nowhere.
func TestLimitCoversDevices(t *testing.T) {
	canLimit(t)
	r, err := (&Limit{}).rules()
	if err != nil {
		t.Fatal(err)
	}
	defer r.file.Close()
	const devices = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	if r.handled&devices != devices || toChange&devices != 0 {
		t.Errorf("handled are %x, allowed are %x", r.handled, uint64(toChange))
	}
}
