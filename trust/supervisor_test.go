//go:build unix

package trust_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/trust"
)

// As a subprocess, the test binary prints which agent supervises it, or starts another
// program with a clean environment.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "start" {
		cmd := exec.Command(os.Args[2], os.Args[3:]...)
		cmd.Env, cmd.Stdout = []string{}, os.Stdout
		if err := cmd.Run(); err != nil {
			panic(err)
		}
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "who" {
		os.Stdout.WriteString(trust.Supervisor(os.Environ()))
		return
	}
	os.Exit(m.Run())
}

// Uses real processes, each started as a step or an agent would start it.
func TestSupervisor(t *testing.T) {
	if by := trust.Supervisor(nil); by != "" {
		t.Skipf("the test itself is run by %s", by)
	}
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for name, text := range map[string]string{
		"claude": "#!/bin/sh\nenv -i " + me + " who\n", "sub": "#!/bin/sh\n" + me + " who\n", "clean": "#!/bin/sh\nenv -i " + me + " who; true\n",
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(me, filepath.Join(bin, "hocket")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why       string
		argv, env []string
		want      string
		linux     bool // only Linux can inspect parent processes
	}{
		{"a person", []string{me, "who"}, nil, "", false},
		{"a script of a person", []string{filepath.Join(bin, "clean")}, nil, "", false},
		{"an attempt", []string{me, "who"}, []string{"HOCKET_KEY=x"}, "an attempt of a run", false},
		{"an attempt", []string{me, "who"}, []string{"HOCKET_RUN=x"}, "an attempt of a run", false},
		{"what an attempt starts", []string{filepath.Join(bin, "sub")}, []string{"HOCKET_RUN=x"}, "an attempt of a run", false},
		{"an attempt that hides", []string{filepath.Join(bin, "clean")}, []string{"HOCKET_RUN=x"}, "an attempt of a run", true},
		{"a CLI agent", []string{me, "who"}, []string{"CLAUDECODE=1"}, "claude", false},
		{"a variable without a value", []string{me, "who"}, []string{"CLAUDECODE="}, "", false},
		{"a step with an empty environment", []string{filepath.Join(bin, "hocket"), "start", me, "who"}, nil, "an attempt of a run", true},
		{"a step with a lowered mark", []string{"bash", "-c", "ulimit -x 1000; " + me + " who; true"}, nil, "a process whose limit of file locks is so low that a step may have set it to hide (`ulimit -Hx`)", true},
		{"a CLI agent that hides", []string{filepath.Join(bin, "claude")}, nil, "claude", true},
	} {
		if c.linux && runtime.GOOS != "linux" {
			continue
		}
		cmd := exec.Command(c.argv[0], c.argv[1:]...)
		cmd.Env = append([]string{"PATH=/usr/bin:/bin"}, c.env...)
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != c.want {
			t.Errorf("%s %q %q: %q, %v; want %q", c.why, c.argv, c.env, got, err, c.want)
		}
	}
}
