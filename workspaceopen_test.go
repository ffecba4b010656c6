package hocket_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workspace"
)

// What a person does in a copy is never lost: not when it is opened again, removed, or when the run ends or is deleted.
func TestOpenedCopies(t *testing.T) {
	p, _ := repository(t, map[string]string{"a.txt": "one\n", "w.yml": `
name: w
steps:
  - {id: write, agent: editor, workspace: own, prompt: "echo two >> a.txt"}
  - {id: other, agent: editor, workspace: own, prompt: "echo three >> a.txt"}
  - {id: ask, human: {question: "ok?", options: [fine, bad]}}
`}, hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	opened := func(address string, attempt int) string {
		t.Helper()
		dir, err := r.OpenWorkspace(t.Context(), hocket.Made{Address: address, Attempt: attempt})
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	edited := func(dir string) (hocket.Workspace, bool) {
		t.Helper()
		all, err := p.Workspaces(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(all, func(w hocket.Workspace) bool { return strings.HasPrefix(dir, w.Dir+string(filepath.Separator)) })
		if i < 0 {
			return hocket.Workspace{}, false
		}
		return all[i], true
	}
	dir, other := opened("write", 0), opened("other", 0)
	if w, found := edited(dir); !found || !w.Opened || w.Edited || w.Address != "write" {
		t.Errorf("a copy that is unchanged is listed as %+v", w)
	}
	writeFile(t, filepath.Join(dir, "notes.txt"), "mine")
	git(t, other, "checkout", "-q", "-b", "try")
	writeFile(t, filepath.Join(other, "tried.txt"), "mine")
	git(t, other, "add", ".")
	git(t, other, "commit", "-q", "-m", "try")
	git(t, other, "checkout", "-q", "hocket")
	keeps := func(when string) {
		t.Helper()
		if got := readFile(t, dir, "notes.txt"); got != "mine" {
			t.Fatalf("%s, the notes are %q", when, got)
		}
		if _, err := tryGit(other, "rev-parse", "try"); err != nil {
			t.Fatalf("%s, the branch is gone", when)
		}
	}
	for _, d := range []string{dir, other} {
		if w, found := edited(d); !found || !w.Edited {
			t.Errorf("a copy with changes is listed as %+v", w)
		}
	}
	if again := opened("write", 0); again != dir {
		t.Errorf("it was opened in %s, and again in %s", dir, again)
	}
	keeps("after it was opened again")
	git(t, other, "checkout", "-q", "try") // another commit is checked out
	if _, err := r.OpenWorkspace(t.Context(), hocket.Made{Address: "write", Attempt: 2}); !errors.As(err, new(*hocket.NoWorkspaceError)) {
		t.Errorf("attempt 2: error %v", err)
	}
	if freed, err := p.RemoveWorkspaces(t.Context(), ""); err != nil || freed <= 0 {
		t.Fatal(freed, err)
	}
	keeps("after workspaces were removed")
	if res := reply(t, r, "fine"); res.Status != engine.Success {
		t.Fatal(res.Error)
	}
	keeps("after the run has ended")
	if err := r.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	keeps("after the run was deleted")
	if err := os.Remove(filepath.Join(dir, "notes.txt")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.RemoveWorkspaces(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if w, found := edited(dir); found {
		t.Errorf("a copy without changes was not removed: %+v", w)
	}
	if w, found := edited(other); !found || !w.Edited {
		t.Errorf("the other copy is listed as %+v", w)
	}
}

// A copy that was changed is not replaced by one of other files.
func TestOpenedCopyOfAnotherAttempt(t *testing.T) {
	again := filepath.Join(t.TempDir(), "again")
	p, _ := repository(t, map[string]string{"a.txt": "one\n", "w.yml": `
name: w
steps:
  - {id: write, agent: editor, workspace: own, retry: 2, prompt: "echo two >> a.txt; test -e ` + again + ` || { touch ` + again + `; exit 1; }; echo three >> a.txt"}
`}, hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	dir, err := r.OpenWorkspace(t.Context(), hocket.Made{Address: "write", Attempt: 1})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "a.txt"), "mine\n")
	if _, err := r.OpenWorkspace(t.Context(), hocket.Made{Address: "write", Attempt: 2}); !errors.As(err, new(*workspace.EditedError)) {
		t.Errorf("error %v", err)
	}
	if got := readFile(t, dir, "a.txt"); got != "mine\n" {
		t.Errorf("a.txt is %q", got)
	}
}
