package handoff_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff"
)

// An agent that makes pipes in the directory of its session cannot make the one who writes
// there wait forever.
func TestPipesInTheDirectory(t *testing.T) {
	o := newOffice(t, "")
	o.work = func(*agent.Task) (string, error) {
		var failed error
		for _, name := range []string{"state.json", "result.json", "output.log"} {
			dir := o.Dir("s1")
			failed = errors.Join(failed, os.RemoveAll(filepath.Join(dir, name)), syscall.Mkfifo(filepath.Join(dir, name), 0o600))
		}
		return "fine", failed
	}
	o.send(request(to("s1"), ""))
	o.drive()
	if one := o.find("s1"); one.Status != handoff.Completed || len(o.problems) > 0 {
		t.Errorf("%+v, %q", one.State, o.problems)
	}
	wantValid(t, "handoff-state", o.read("s1", "state.json"))
}

// An agent cannot have Hocket write where it may not write itself.
func TestDirectoryBecomesALink(t *testing.T) {
	o := newOffice(t, "")
	write(t, filepath.Join(o.p.Root(), "src/result.json"), "old")
	o.work = func(*agent.Task) (string, error) {
		return "fine", errors.Join(os.RemoveAll(o.Dir("s1")), os.Symlink("../../../src", o.Dir("s1")))
	}
	o.send(request(to("s1"), ""))
	o.drive()
	if len(o.problems) == 0 || !strings.Contains(o.problems[0], "docs/.scratch/sessions/s1 is a symbolic link") {
		t.Errorf("%q", o.problems)
	}
	if text, err := os.ReadFile(filepath.Join(o.p.Root(), "src/result.json")); string(text) != "old" {
		t.Errorf("%s, %v", text, err)
	}
}

// A session that cannot be driven does not keep the others from working, and leaves no
// environment behind.
func TestUndriven(t *testing.T) {
	o := newOffice(t, "handoff: {tmux: true}")
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "tmux"), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	o.send(request(to("s1"), ""), request(to("s2"), ""))
	o.Tmux = &handoff.Tmux{Command: func(string, string) ([]string, error) { return []string{"true"}, nil }}
	err := o.Drive(t.Context())
	for _, id := range []string{"s1", "s2"} {
		if err == nil || !strings.Contains(err.Error(), "session "+id+" cannot be driven: tmux: exit status 1") {
			t.Errorf("%s: %v", id, err)
		}
		if _, err := os.Stat(filepath.Join(o.p.State(), "environment-"+id)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the environment of %s: %v", id, err)
		}
	}
}
