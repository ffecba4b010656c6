package clitest

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fakeVariable names the file that describes what the fake does.
const fakeVariable = "HOCKET_FAKE_CLI"

// play is what the fake does.
type play struct {
	Mode   string // "": it prints and exits; otherwise how it misbehaves
	Stdout string
	Stderr string
	Exit   int
	Pids   string // file for the id of the process that it leaves behind
}

func (p *play) write(t *testing.T, dir string) string {
	t.Helper()
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "play.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Main runs the tests. In a process started as the fake, it acts as the fake and does not
// return.
func Main(m *testing.M) int {
	if file := os.Getenv(fakeVariable); file != "" {
		os.Exit(playFile(file))
	}
	return m.Run()
}

func playFile(file string) int {
	var p play
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "clitest: the fake CLI has no recording to play:", err)
		return 2
	}
	if p.Mode == "stay" {
		p.note()
		time.Sleep(time.Minute)
		return 0
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // hangs here if it was given a pipe that is never closed
	_, _ = io.WriteString(os.Stderr, p.Stderr)
	half := len(p.Stdout) / 2
	_, _ = io.WriteString(os.Stdout, p.Stdout[:half]) // output does not arrive in whole lines
	_, _ = io.WriteString(os.Stdout, p.Stdout[half:])
	return p.misbehave()
}

func (p *play) misbehave() int {
	switch p.Mode {
	case "huge":
		for piece := strings.Repeat("x", 1<<16); ; {
			if _, err := io.WriteString(os.Stdout, piece); err != nil {
				return 1
			}
		}
	case "killed":
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			_ = self.Kill()
		}
		time.Sleep(time.Minute)
	case "hang":
		p.leaveChild()
		time.Sleep(time.Minute)
	case "grandchild":
		p.leaveChild()
		waitFor(p.Pids)
	}
	return p.Exit
}

// leaveChild starts a process that leaves the process group and keeps every pipe open.
func (p *play) leaveChild() {
	file := p.Pids + ".play"
	data, err := json.Marshal(play{Mode: "stay", Pids: p.Pids})
	if err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	program, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	child := exec.Command(program)
	child.Env = append(os.Environ(), fakeVariable+"="+file)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	leaveGroup(child)
	if err := child.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// note writes the id of this process to a file.
func (p *play) note() {
	_ = os.WriteFile(p.Pids, fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600) // then the test times out and reports it
}
