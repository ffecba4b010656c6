package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLinksInTheStore has links instead of the store's directories. Nothing is removed through them.
func TestLinksInTheStore(t *testing.T) {
	for _, name := range []string{"temp", "setup", "work"} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			s := f.open()
			f.capture(s, "r1")
			outside := t.TempDir()
			precious := filepath.Join(outside, "precious")
			f.write(precious, "keep\n")
			old := time.Now().Add(-100 * 24 * time.Hour)
			f.no(os.Chtimes(precious, old, old))
			dir := filepath.Join(f.state, name)
			f.no(os.RemoveAll(dir))
			f.no(os.Symlink(outside, dir))
			_ = s.Clean(t.Context(), func(Info) bool { return true }) // it may fail
			if got := f.read(precious); got != "keep\n" {
				t.Errorf("%q", got)
			}
			if _, err := Open(t.Context(), f.state, f.repo); err == nil || !strings.Contains(err.Error(), dir+" is a symbolic link") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestMarkersOfAnyKind has things instead of the markers of workspaces. The others are listed, and removed.
func TestMarkersOfAnyKind(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	f.change(s, "good", b.Commit, map[string]string{"x": "x"})
	marker := func(name string) string {
		dir := filepath.Join(f.state, "work", "r1", name)
		f.mkdir(dir)
		return filepath.Join(dir, markerName)
	}
	f.write(marker("cut"), "{")
	f.no(os.Symlink("/dev/zero", marker("link")))
	f.mkdir(marker("directory"))
	bad := []string{"cut", "link", "directory"}
	if err := exec.Command("mkfifo", marker("pipe")).Run(); err == nil {
		bad = append(bad, "pipe")
	}
	outside := t.TempDir()
	f.write(filepath.Join(outside, "home", markerName), "{")
	f.no(os.Symlink(outside, filepath.Join(f.state, "work", "linked-run")))
	all, err := s.List(t.Context())
	f.no(err)
	problems := map[string]string{}
	for _, info := range all {
		problems[info.Address] = info.Problem
	}
	if why, listed := problems["good"]; !listed || why != "" || len(all) != len(bad)+1 {
		t.Errorf("list %+v", all)
	}
	for _, name := range bad {
		if file := filepath.Join(f.state, "work", "r1", name, markerName); !strings.Contains(problems[name], file) {
			t.Errorf("the problem of %s is %q", name, problems[name])
		}
	}
	err = s.Clean(t.Context(), func(Info) bool { return true })
	f.no(err)
	for _, name := range bad {
		if _, err := os.Lstat(filepath.Join(f.state, "work", "r1", name)); err != nil {
			t.Errorf("removed: %v", err)
		}
	}
	if _, err := os.Lstat(filepath.Join(f.state, "work", "r1", "good")); err == nil {
		t.Error("a workspace with a good marker was not removed")
	}
}
