package project_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/project"
)

// Projects that change places take what is kept about them along.
func TestStateFollowsTheDirectory(t *testing.T) {
	base, home := t.TempDir(), t.TempDir()
	if projectfile.Identity(base) == "" {
		t.Skip("this file system does not tell which directory is which")
	}
	path := func(name string) string { return filepath.Join(base, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	open := func(name string) *project.Project {
		t.Helper()
		p, err := project.Open(path(name), project.Options{StateHome: home})
		must(err)
		return p
	}
	used := func(name string) string {
		t.Helper()
		p := open(name)
		must(p.NotePlace())
		return p.State
	}
	for _, name := range []string{"a", "b"} {
		must(os.Mkdir(path(name), 0o755))
	}
	a, b := used("a"), used("b")
	must(os.Rename(path("a"), path("away")))
	must(os.Rename(path("b"), path("a")))
	must(os.Rename(path("away"), path("b")))
	if got := used("a"); got != b {
		t.Errorf("the project that was at b has its state in %s, want %s", got, b)
	}
	if got := used("b"); got != a {
		t.Errorf("the project that was at a has its state in %s, want %s", got, a)
	}
	if p := open("b"); p.Now(path("a")) != p.Root {
		t.Errorf("a run that began in a goes on in %s, want %s", p.Now(path("a")), p.Root)
	}

	// A directory that takes the place of one that is gone is the same project.
	must(os.RemoveAll(path("b")))
	must(os.Mkdir(path("b"), 0o755))
	if got := open("b").State; got != a {
		t.Errorf("a new directory at b has its state in %s, want %s", got, a)
	}
}

// A link leads to the project that its target is in.
func TestLinkToAProject(t *testing.T) {
	base := t.TempDir()
	sub := filepath.Join(base, "project", "sub")
	for _, dir := range []string{filepath.Join(base, "project", ".hocket"), sub} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(sub, link); err != nil {
		t.Skip(err)
	}
	direct, err := project.Open(sub, project.Options{StateHome: base})
	if err != nil {
		t.Fatal(err)
	}
	linked, err := project.Open(link, project.Options{StateHome: base})
	if err != nil {
		t.Fatal(err)
	}
	if linked.Root != direct.Root || linked.State != direct.State {
		t.Errorf("through a link: %s, %s; want %s, %s", linked.Root, linked.State, direct.Root, direct.State)
	}
}
