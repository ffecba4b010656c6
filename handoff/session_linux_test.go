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

// Pipes that an agent creates in the directory of its session cannot block Hocket when it writes
// there.
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

// Next to a path that must not change, nothing can be created. Both the check and the prompt say so.
func TestUndeliverableBesideAnException(t *testing.T) {
	if why := agent.WriteLimits(); why != "" {
		t.Skip(why)
	}
	o := newOffice(t, "")
	write(t, filepath.Join(o.p.Root(), "README.md"), "old")
	for constraint, want := range map[string]string{
		"Do not modify src/":         "new.md: the agent cannot create files directly in the root of the project, because something in it must not change",
		"Do not modify docs/plans/":  "docs/new.md: the agent cannot create files directly in `docs`, because something in it must not change\nnew.md: the agent cannot create files directly in the root of the project, because something in it must not change",
		"Only modify docs/":          "README.md: the agent may write only to docs/, docs/.scratch/sessions/s1/\nlib/a.go: the agent may write only to docs/, docs/.scratch/sessions/s1/\nnew.md: the agent may write only to docs/, docs/.scratch/sessions/s1/",
		"Do not modify lib/ or src/": "lib/a.go: a constraint forbids writing it\nnew.md: the agent cannot create files directly in the root of the project, because something in it must not change",
	} {
		q := strings.Replace(request(to("s1"), "<constraint>"+constraint+"</constraint>"), "<report>what you found</report>",
			`<file path="README.md">it</file><file path="docs/new.md">it</file><file path="lib/a.go">it</file><file path="new.md">it</file><file path="x.md" required="false">it</file>`, 1)
		h, err := handoff.Check(o.p, "a.md", []byte(fenced(q)), false)
		var got []string
		for _, d := range h.Found {
			got = append(got, strings.Replace(d.Summary, " cannot be delivered", "", 1))
		}
		if strings.Join(got, "\n") != want || err != nil {
			t.Errorf("%s: %s, %v", constraint, strings.Join(got, "\n"), err)
		}
	}
	o.send(request(to("s1"), "<constraint>Do not modify docs/plans/</constraint>"))
	o.drive()
	if len(o.prompts) != 1 || !strings.Contains(o.prompts[0], "Directly in the root of the project, `docs`, you can change existing files, but not create, remove or rename files.") {
		t.Errorf("%q", o.prompts)
	}
}

// An agent cannot make Hocket write where the agent itself may not.
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

// A session that cannot be driven does not block the others, and leaves no environment file behind.
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

// If the disk is full when the directory is written, nothing is lost: the session continues, the
// failure is reported, and the directory can be written when there is space again.
func TestFullDisk(t *testing.T) {
	o := newOffice(t, "")
	sessions := filepath.Join(o.p.Root(), "docs/.scratch/sessions")
	if err := os.MkdirAll(sessions, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", sessions, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("no file system can be mounted here:", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(sessions, syscall.MNT_DETACH) })
	ballast := filepath.Join(sessions, "ballast")
	o.work = func(*agent.Task) (string, error) {
		if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("the disk is not full: %v", err)
		}
		return "all is fine", nil
	}
	o.send(request(to("s1"), ""))
	o.drive()
	if one := o.find("s1"); one.Status != handoff.Completed {
		t.Errorf("%+v", one.State)
	}
	if len(o.problems) == 0 || !strings.Contains(o.problems[0], "no space left") {
		t.Errorf("%q", o.problems)
	}
	if state := o.read("s1", "state.json"); !strings.Contains(state, `"RUNNING"`) {
		t.Errorf("half of a state is shown: %s", state)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	o.Show(t.Context(), "s1")
	wantValid(t, "handoff-state", o.read("s1", "state.json"))
	wantValid(t, "handoff-result", o.read("s1", "result.json"))
}
