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
				if got = lookFor(marks, dir).has(cmd.Process.Pid); got == c.want {
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

// TestLoweredMarkWhileItStarts has a process of another step that becomes another program again and again. It is never taken for one that this
// step has left.
func TestLoweredMarkWhileItStarts(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("bash", "-c", `ulimit -x 1; echo; exec bash -c 'exec bash -c "$0" "$0"' 'exec bash -c "$0" "$0"'`)
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), KeyVariable + "=other/step/1"}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip(err) // no bash
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	looks, found := 0, 0
	for end := time.Now().Add(time.Second); time.Now().Before(end); looks++ {
		if worksIn(cmd.Process.Pid, dir) && len(withoutKey(map[int]string{cmd.Process.Pid: ""})) > 0 {
			found++
		}
	}
	if fields := statOf(cmd.Process.Pid); len(fields) == 0 || string(fields[0]) == "Z" {
		t.Fatal("it has ended")
	}
	if found > 0 {
		t.Errorf("it counts %d times of %d", found, looks)
	}
}

// TestManyLoweredMarks has more processes than could be looked at one after the other.
func TestManyLoweredMarks(t *testing.T) {
	if inherited() > 0 || isGiven(os.Getpid()) {
		t.Skip("the tests run in an attempt, or with a low limit")
	}
	dir := t.TempDir()
	for range 60 {
		cmd := exec.Command("setsid", "-w", "bash", "-c", "ulimit -x 1; echo; exec sleep 60")
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH")}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Skip(err) // no setsid or bash
		}
		defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "commands")
	if err := addNote(file, unmarked-depthStep-7); err != nil {
		t.Fatal(err)
	}
	if others, err := EndNoted(file); err != nil || others != nil {
		t.Errorf("%v, %v", others, err)
	}
	if left := lookFor([]uint64{unmarked - depthStep - 7}, dir).lowered; len(left) > 0 {
		t.Errorf("%d processes are left", len(left))
	}
}
