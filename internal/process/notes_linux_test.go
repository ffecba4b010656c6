package process

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestNotesOfOthers has notes that an agent wrote.
func TestNotesOfOthers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "commands")
	good := unmarked - depthStep - 7
	var lines []string
	for _, n := range []uint64{math.MaxUint64, unmarked, unmarked - 1, unmarked - depthStep, 0, 1, good, 1024, math.MaxInt64} {
		lines = append(lines, strconv.FormatUint(n, 10))
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if marks, err := notesIn(file); err != nil || !slices.Equal(marks, []uint64{good}) {
		t.Errorf("%v, %v", marks, err)
	}
}

// TestLoweredMark has processes that have lowered their limit, and are or are not the work of a step in a directory.
func TestLoweredMark(t *testing.T) {
	dir := t.TempDir()
	marks := []uint64{unmarked - depthStep - 7}
	for _, c := range []struct {
		name, in string
		env      []string
		script   string
		want     bool
	}{
		{"in the directory", dir, nil, "ulimit -x 1; echo; exec sleep 60", true},
		{"has a file open", "/", nil, "ulimit -x 1; exec 7>" + dir + "/open; echo; exec sleep 60", true},
		{"names it in the environment", "/", []string{"W=" + dir + "/tree"}, "ulimit -x 1; echo; exec sleep 60", true},
		{"names it in an argument", "/", nil, "ulimit -x 1; echo; : " + dir + "; read line", true},
		{"names another one", "/", []string{"W=" + dir + "-2/tree"}, "ulimit -x 1; echo; exec sleep 60", false},
		{"elsewhere", "/", nil, "ulimit -x 1; echo; exec sleep 60", false},
		{"of another step", dir, []string{KeyVariable + "=other/step/1"}, "ulimit -x 1; echo; exec sleep 60", false},
		{"another Hocket", dir, nil, "ulimit -x " + strconv.FormatUint(marks[0]-1, 10) + "; echo; exec sleep 60", false},
		{"of the user", dir, nil, "echo; exec sleep 60", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "of the user" && inherited() > 0 {
				t.Skip("the tests run in an attempt")
			}
			cmd := exec.Command("setsid", "bash", "-c", c.script)
			cmd.Dir, cmd.Env = c.in, append(c.env, "PATH="+os.Getenv("PATH"), "PWD="+c.in)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := cmd.StdinPipe(); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Skip(err) // no setsid or bash
			}
			defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
			if _, err := out.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			got := !c.want
			for range 100 { // while it becomes another program, its environment cannot be read
				if got = isNoted(cmd.Process.Pid, marks, dir); got == c.want {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			if got != c.want {
				t.Errorf("it counts: %v, want %v", got, c.want)
			}
		})
	}
}
