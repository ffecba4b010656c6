//go:build amd64 || arm64

package inside

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestNumbers(t *testing.T) {
	for name, pair := range map[string][2]int{
		"close_range": {sysCloseRange, unix.SYS_CLOSE_RANGE}, "restrict": {sysRestrictSelf, unix.SYS_LANDLOCK_RESTRICT_SELF}, "seccomp": {sysSeccomp, unix.SYS_SECCOMP},
		"cloexec": {closeOnExec, unix.CLOSE_RANGE_CLOEXEC}, "privileges": {setNoNewPrivs, unix.PR_SET_NO_NEW_PRIVS}, "filter": {setFilter, unix.SECCOMP_SET_MODE_FILTER},
		"listener": {newListener, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER}, "wait": {waitKillable, unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV},
		"capabilities": {capabilities, unix.LINUX_CAPABILITY_VERSION_3}, "size": {sizeOfOneFilter, unix.SizeofSockFilter},
		"kept": {kept, 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID | 1<<unix.CAP_KILL | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %d, and not %d", name, pair[1], pair[0])
		}
	}
}

func FuzzValues(f *testing.F) {
	f.Add("A=1\nB=2")
	f.Add("")
	f.Add("\x00")
	f.Fuzz(func(t *testing.T, lines string) {
		env := strings.Split(strings.ReplaceAll(lines, "\x00", ""), "\n")
		if len(env) == 1 && env[0] == "" {
			env = nil
		}
		if got := decodeValues(EncodeValues(env)); !slices.Equal(got, env) {
			t.Errorf("%q became %q", env, got)
		}
	})
}

func FuzzFailure(f *testing.F) {
	f.Add("13 ")
	f.Add("1 set the rules for files")
	f.Add("-1")
	f.Fuzz(func(t *testing.T, said string) {
		stage, err := ParseFailure(said)
		var errno syscall.Errno
		if !errors.As(err, &errno) || errno == 0 {
			t.Fatalf("%q is no failure", said)
		}
		if again, same := ParseFailure(string(failure(stage, err))); again != stage || !errors.Is(same, err) {
			t.Errorf("%q, %v became %q, %v", stage, err, again, same)
		}
	})
}

func TestParseFailure(t *testing.T) {
	for said, want := range map[string]struct {
		stage string
		errno syscall.Errno
	}{
		"13 ":             {"", syscall.EACCES},
		"1 close files":   {"close files", syscall.EPERM},
		"4095 x":          {"x", 4095}, // the largest error number
		"4096 x":          {"confine itself", syscall.EIO},
		"0 x":             {"confine itself", syscall.EIO},
		"-1 x":            {"confine itself", syscall.EIO},
		"x":               {"confine itself", syscall.EIO},
		"":                {"confine itself", syscall.EIO},
		"13x close files": {"confine itself", syscall.EIO},
	} {
		if stage, err := ParseFailure(said); stage != want.stage || err != want.errno {
			t.Errorf("%q: %q, %v", said, stage, err)
		}
	}
	if said := string(failure("read", errors.New("odd"))); said != "5 read" {
		t.Errorf("an error without a number: %q", said)
	}
}
