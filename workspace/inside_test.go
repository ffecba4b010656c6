package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinkInsteadOfTheProject has a step that replaces the project, a subdirectory of its repository,
// by a link to the user's checkout. Nothing may work there afterwards.
func TestLinkInsteadOfTheProject(t *testing.T) {
	for _, part := range []string{"pkg/app", "pkg"} {
		t.Run(part, func(t *testing.T) {
			f := newFixture(t)
			f.put("pkg/app/code.txt", "mine\n")
			top := f.repo
			f.repo = filepath.Join(top, "pkg", "app")
			s := f.open()
			b := f.capture(s, "r1")
			a := Attempt{"r1", "evil", 1}
			w := f.checkout(s, a, b.Commit)
			if want := filepath.Join(w.Root, "pkg", "app"); w.Dir != want {
				t.Fatalf("the directory is %s, want %s", w.Dir, want)
			}
			f.no(w.Check())
			link := filepath.Join(w.Root, filepath.FromSlash(part))
			f.no(os.RemoveAll(link))
			f.no(os.Symlink(filepath.Join(top, filepath.FromSlash(part)), link))
			refused := func(what string, err error) {
				t.Helper()
				if err == nil || !strings.Contains(err.Error(), "is a symbolic link") {
					t.Errorf("%s: error %v", what, err)
				}
			}
			refused("the same attempt", w.Check())
			_, err := s.inside(filepath.Join(s.home(Attempt{Run: "r1", Address: "evil"}), "tree"))
			refused("handed-off work", err)
			c := f.collect(w)
			_, err = s.Reopen(a, b.Commit)
			refused("reopen", err)
			_, err = s.Checkout(t.Context(), Attempt{"r1", "next", 1}, c)
			refused("the next step", err)
			if got := f.read(top, "pkg/app/code.txt"); got != "mine\n" {
				t.Errorf("the user's file is %q", got)
			}
		})
	}
}

func TestMissingProject(t *testing.T) {
	f := newFixture(t)
	f.put("pkg/app/code.txt", "mine\n")
	top := f.repo
	f.repo = filepath.Join(top, "pkg", "app")
	s := f.open()
	b := f.capture(s, "r1")
	w := f.checkout(s, Attempt{"r1", "remove", 1}, b.Commit)
	f.no(os.RemoveAll(filepath.Join(w.Root, "pkg")))
	if dir, err := s.inside(filepath.Join(s.home(Attempt{Run: "r1", Address: "remove"}), "tree")); err != nil || dir != w.Dir {
		t.Errorf("directory %s, %v", dir, err)
	}
	c := f.collect(w)
	next := f.checkout(s, Attempt{"r1", "next", 1}, c)
	f.no(next.Check()) // an empty directory
}
