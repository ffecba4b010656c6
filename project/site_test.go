package project_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/project"
)

// When project directories are swapped, their stored state moves with them.
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

	// A directory that replaces a removed one is the same project.
	must(os.RemoveAll(path("b")))
	must(os.Mkdir(path("b"), 0o755))
	if got := open("b").State; got != a {
		t.Errorf("a new directory at b has its state in %s, want %s", got, a)
	}
}

// A link resolves to the project that contains its target.
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

// State that an older version stored under the path as typed is still found.
func TestStateOfASpelledPath(t *testing.T) {
	base, home := t.TempDir(), t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(base, "real", "a"), 0o755))
	must(os.Symlink("real", filepath.Join(base, "link")))
	open := func(name string) string {
		t.Helper()
		p, err := project.Open(filepath.Join(base, name), project.Options{StateHome: home})
		must(err)
		return p.State
	}
	sum := sha256.Sum256([]byte(filepath.Join(base, "link", "a")))
	old := filepath.Join(home, "hocket", "a-"+hex.EncodeToString(sum[:6]))
	if got := open("link/a"); got == old {
		t.Fatalf("a new project has its state in %s", got)
	}
	must(os.MkdirAll(old, 0o755))
	if got := open("link/a"); got != old {
		t.Errorf("the state is in %s, want %s", got, old)
	}
	p, err := project.Open(filepath.Join(base, "link", "a"), project.Options{StateHome: home})
	must(err)
	must(p.NotePlace())
	if got := open("real/a"); got != old {
		t.Errorf("without the link the state is in %s, want %s", got, old)
	}
	must(os.WriteFile(filepath.Join(old, "projects.json"), []byte("{"), 0o600))
	if err := p.NotePlace(); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("damaged: %v", err)
	}
}
