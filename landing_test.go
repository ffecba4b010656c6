package hocket_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
)

// landing is a workflow that changes two files and lands that.
func landing(how string) map[string]string {
	return map[string]string{"a.txt": "one\ntwo\nthree\n", "w.yml": `
name: w
steps:
  - {id: write, agent: editor, workspace: own, prompt: "echo four >> a.txt; echo new > new.txt"}
  - {id: ship, land: ` + how + `}
`}
}

// TestRepositoryChangesDuringARun does to the repository, while the landing waits for its approval, what its owner may do.
func TestRepositoryChangesDuringARun(t *testing.T) {
	commit := func(t *testing.T, dir, name, text string) {
		writeFile(t, filepath.Join(dir, name), text)
		git(t, dir, "add", name)
		git(t, dir, "commit", "-q", "-m", "mine")
	}
	prune := func(t *testing.T, dir string) {
		git(t, dir, "reflog", "expire", "--expire=now", "--all")
		git(t, dir, "gc", "-q", "--prune=now")
	}
	conflicting := func(t *testing.T, dir string) { // leaves an unfinished rebase
		git(t, dir, "checkout", "-q", "-b", "other")
		commit(t, dir, "w.yml", "other")
		git(t, dir, "checkout", "-q", "main")
		commit(t, dir, "w.yml", "mine")
		tryGit(dir, "rebase", "other")
	}
	hide := func(t *testing.T, dir string) {
		if err := os.Rename(filepath.Join(dir, ".git"), filepath.Join(dir, ".state", "gone")); err != nil {
			t.Fatal(err)
		}
	}
	show := func(t *testing.T, dir string) {
		if err := os.Rename(filepath.Join(dir, ".state", "gone"), filepath.Join(dir, ".git")); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		how    string
		do     func(t *testing.T, dir string)
		again  string // why the person is asked again; "": not
		fails  string // with what the landing fails; "": it lands
		repair func(t *testing.T, dir string)
		branch string // on which it lands, "main" if it is not set
		a      string // what a.txt has in the end, if not what the agent made
	}{
		"gc":                   {how: "commit", do: prune},
		"another commit":       {how: "commit", do: func(t *testing.T, dir string) { commit(t, dir, "b.txt", "b\n") }},
		"commit in the file":   {how: "commit", do: func(t *testing.T, dir string) { commit(t, dir, "a.txt", "ONE\ntwo\nthree\n") }, again: " ONE\n", a: "ONE\ntwo\nthree\nfour\n"},
		"rewritten and pruned": {how: "commit", do: func(t *testing.T, dir string) { git(t, dir, "commit", "-q", "--amend", "-m", "other"); prune(t, dir) }},
		"rewritten with other content": {how: "commit", do: func(t *testing.T, dir string) {
			writeFile(t, filepath.Join(dir, "a.txt"), "ONE\ntwo\nthree\n")
			git(t, dir, "commit", "-q", "-a", "--amend", "-m", "other")
			prune(t, dir)
		}, again: " ONE\n", a: "ONE\ntwo\nthree\nfour\n"},
		"rewritten so that it conflicts": {how: "commit", do: func(t *testing.T, dir string) {
			writeFile(t, filepath.Join(dir, "a.txt"), "one\ntwo\nanother three\n")
			git(t, dir, "commit", "-q", "-a", "--amend", "-m", "other")
			prune(t, dir)
		}, fails: "the change conflicts with the checkout in a.txt"},
		"rewritten as an orphan": {how: "commit", do: func(t *testing.T, dir string) {
			git(t, dir, "checkout", "-q", "--orphan", "fresh")
			git(t, dir, "commit", "-q", "-m", "fresh")
			git(t, dir, "branch", "-q", "-M", "main")
			prune(t, dir)
		}},
		"its branch is deleted": {how: "commit", do: func(t *testing.T, dir string) {
			git(t, dir, "checkout", "-q", "-b", "other")
			git(t, dir, "branch", "-q", "-D", "main")
			prune(t, dir)
		}, again: "as a commit on other", branch: "other"},
		"its branch is deleted, as a branch": {how: "branch", do: func(t *testing.T, dir string) {
			git(t, dir, "checkout", "-q", "-b", "other")
			git(t, dir, "branch", "-q", "-D", "main")
			prune(t, dir)
		}, branch: "hocket/RUN"},
		"the current branch is deleted": {how: "commit", do: func(t *testing.T, dir string) { git(t, dir, "update-ref", "-d", "refs/heads/main") },
			fails: "has no commits yet: commit first, or use land: patch", repair: func(t *testing.T, dir string) { git(t, dir, "commit", "-q", "-m", "again") }},
		"detached": {how: "commit", do: func(t *testing.T, dir string) { git(t, dir, "checkout", "-q", "--detach") },
			fails: "no branch is checked out in", repair: func(t *testing.T, dir string) { git(t, dir, "checkout", "-q", "main") }},
		"the branch exists": {how: "branch, branch: topic", do: func(t *testing.T, dir string) { git(t, dir, "branch", "topic") },
			fails: "branch topic exists already: choose another name", repair: func(t *testing.T, dir string) { git(t, dir, "branch", "-D", "topic") }, branch: "topic"},
		"a rebase is under way": {how: "commit", do: conflicting, fails: "a merge or rebase is in progress in",
			repair: func(t *testing.T, dir string) { git(t, dir, "rebase", "--abort") }},
		"unmerged files": {how: "patch", do: conflicting, fails: "w.yml is unmerged: finish or abort the merge first",
			repair: func(t *testing.T, dir string) { git(t, dir, "rebase", "--abort") }},
		"the repository is gone":          {how: "commit", do: hide, fails: "is not in a git repository", repair: show},
		"the repository is gone, a patch": {how: "patch", do: hide, fails: "may have been removed or replaced", repair: show},
	} {
		t.Run(name, func(t *testing.T) {
			p, dir := repository(t, landing(c.how), hocket.Options{Agents: agents{"editor": editor()}})
			r := start(t, p, "w.yml", nil)
			if res := wait(t, r); res.Status != engine.Waiting {
				t.Fatalf("%s: %s", res.Status, res.Error)
			}
			c.do(t, dir)
			before := ""
			if c.fails != "" && c.repair == nil {
				before = readFile(t, dir, "a.txt")
			}
			res := reply(t, r, "land")
			if c.again != "" {
				if res.Status != engine.Waiting {
					t.Fatalf("it did not ask again: %s %s", res.Status, res.Error)
				}
				if q := question(t, r); !strings.Contains(q.Text+q.Detail, c.again) {
					t.Errorf("it asks %s\n%s", q.Text, q.Detail)
				}
				res = reply(t, r, "land")
			}
			if c.fails != "" {
				if res.Status != engine.Failed || !strings.Contains(res.Error, c.fails) {
					t.Fatalf("%s: %s", res.Status, res.Error)
				}
				if c.repair == nil {
					if got := readFile(t, dir, "a.txt"); got != before {
						t.Errorf("a.txt is %q", got)
					}
					return
				}
				c.repair(t, dir)
				var err error
				if r, err = r.Retry(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
				if err := r.Resume(t.Context()); err != nil {
					t.Fatal(err)
				}
				if res = wait(t, r); res.Status == engine.Waiting {
					res = reply(t, r, "land")
				}
			}
			if res.Status != engine.Success {
				t.Fatalf("%s: %s", res.Status, res.Error)
			}
			want := c.a
			if want == "" {
				want = "one\ntwo\nthree\nfour\n"
			}
			branch := strings.ReplaceAll(c.branch, "RUN", r.ID())
			switch {
			case c.how == "patch":
				if got := readFile(t, dir, "a.txt") + readFile(t, dir, "new.txt"); got != want+"new\n" {
					t.Errorf("landed %q", got)
				}
				return
			case branch == "":
				branch = "main"
			}
			if got := git(t, dir, "show", branch+":a.txt") + git(t, dir, "show", branch+":new.txt"); got != strings.TrimSpace(want)+"new" {
				t.Errorf("landed %q", got)
			}
			if got := git(t, dir, "status", "--porcelain"); got != "" {
				t.Errorf("the checkout has %s", got)
			}
			git(t, dir, "fsck", "--full", "--strict")
		})
	}
}

// TestRepositoryMovesDuringARun renames the directory of a project while a landing waits.
func TestRepositoryMovesDuringARun(t *testing.T) {
	top := t.TempDir()
	dir, moved := filepath.Join(top, "here"), filepath.Join(top, "there")
	for name, text := range landing("commit") {
		writeFile(t, filepath.Join(dir, name), text)
	}
	git(t, dir, "init", "-q", "-b", "main")
	writeFile(t, filepath.Join(dir, ".git/info/exclude"), ".state\n")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "first")
	o := hocket.Options{Agents: agents{"editor": editor()}, State: filepath.Join(dir, ".state")}
	p, err := hocket.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	id := start(t, p, "w.yml", nil)
	wait(t, id)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	r, err := openDir(t, moved, hocket.Options{Agents: agents{"editor": editor()}}).Run(t.Context(), id.ID())
	if err != nil {
		t.Fatal(err)
	}
	if res := reply(t, r, "land"); res.Status != engine.Success {
		t.Fatalf("%s: %s", res.Status, res.Error)
	}
	if got := readFile(t, moved, "a.txt"); got != "one\ntwo\nthree\nfour\n" {
		t.Errorf("landed %q", got)
	}
}

// TestRunsLandAtOnce approves the changes of several runs at the same moment. Two of them change the same line: the second one
// of these conflicts, and nothing of the first one is lost.
func TestRunsLandAtOnce(t *testing.T) {
	p, dir := repository(t, map[string]string{"a.txt": "one\ntwo\nthree\n", "mine.txt": "mine\n", "w.yml": `
name: w
inputs: {do: {}}
steps:
  - {id: write, agent: editor, workspace: own, prompt: "${do}"}
  - {id: ship, land: commit}
`}, hocket.Options{Agents: agents{"editor": editor()}})
	writeFile(t, filepath.Join(dir, "mine.txt"), "not committed\n")
	var runs []*hocket.Run
	for _, do := range []string{"echo 1 > x.txt", "echo 2 > y.txt", "sed -i s/two/2/ a.txt", "sed -i s/two/II/ a.txt"} {
		r := start(t, p, "w.yml", map[string]any{"do": do})
		if res := wait(t, r); res.Status != engine.Waiting {
			t.Fatalf("%s: %s", res.Status, res.Error)
		}
		runs = append(runs, r)
	}
	var all sync.WaitGroup
	results := make([]engine.Result, len(runs))
	for i, r := range runs {
		all.Go(func() { results[i] = reply(t, r, "land") })
	}
	all.Wait()
	conflicts := 0
	for i, res := range results {
		if i >= 2 && res.Status == engine.Failed && strings.Contains(res.Error, "the change conflicts with the checkout in a.txt") {
			conflicts++
		} else if res.Status != engine.Success {
			t.Errorf("run %d: %s: %s", i, res.Status, res.Error)
		}
	}
	if conflicts != 1 {
		t.Errorf("%d conflicts", conflicts)
	}
	if got := git(t, dir, "rev-list", "--count", "main"); got != "4" {
		t.Errorf("%s commits", got)
	}
	if got := readFile(t, dir, "a.txt"); got != "one\n2\nthree\n" && got != "one\nII\nthree\n" {
		t.Errorf("a.txt is %q", got)
	}
	if got := readFile(t, dir, "x.txt") + readFile(t, dir, "y.txt") + readFile(t, dir, "mine.txt"); got != "1\n2\nnot committed\n" {
		t.Errorf("the files are %q", got)
	}
	if got := git(t, dir, "status", "--porcelain"); got != "M mine.txt" {
		t.Errorf("the checkout has %q", got)
	}
}

// TestFoldersWithoutGit refuses a run whose landing needs a repository, before an agent has worked.
func TestFoldersWithoutGit(t *testing.T) {
	for how, want := range map[string]string{"patch": "", "commit": "step ship of w cannot land: ", "branch": "step ship of w cannot land: "} {
		p := open(t, landing(how), hocket.Options{Agents: agents{"editor": editor()}})
		w, err := p.Load("w.yml")
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Start(t.Context(), w, nil)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "is not in a git repository, where only land: patch is possible") {
				t.Errorf("%s: %v", how, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		wait(t, r)
		if res := reply(t, r, "land"); res.Status != engine.Success || readFile(t, p.Root(), "a.txt") != "one\ntwo\nthree\nfour\n" {
			t.Errorf("%s: %s: %s", how, res.Status, res.Error)
		}
	}
}

// TestFailedCaptureLeavesNothing starts runs of projects that cannot be captured.
func TestFailedCaptureLeavesNothing(t *testing.T) {
	for want, do := range map[string]func(dir string){
		"sub is a git repository without commits": func(dir string) {
			git(t, dir, "init", "-q", "sub")
			writeFile(t, filepath.Join(dir, "sub", "x"), "x")
		},
		"a.txt is unmerged: finish or abort the merge first": func(dir string) {
			git(t, dir, "checkout", "-q", "-b", "other")
			writeFile(t, filepath.Join(dir, "a.txt"), "other\n")
			git(t, dir, "commit", "-qam", "other")
			git(t, dir, "checkout", "-q", "main")
			writeFile(t, filepath.Join(dir, "a.txt"), "main\n")
			git(t, dir, "commit", "-qam", "main")
			tryGit(dir, "rebase", "other")
		},
	} {
		p, dir := repository(t, landing("patch"), hocket.Options{Agents: agents{"editor": editor()}})
		do(dir)
		w, err := p.Load("w.yml")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Start(t.Context(), w, nil); err == nil || !strings.Contains(err.Error(), "steps of w have workspaces of their own: "+want) {
			t.Errorf("error %v, want %s", err, want)
		}
		if refs := git(t, dir, "for-each-ref", "refs/hocket/"); refs != "" {
			t.Errorf("the repository has %s", refs)
		}
		if runs, err := p.Runs(t.Context(), hocket.Filter{}); err != nil || len(runs) > 0 {
			t.Errorf("runs %v, %v", runs, err)
		}
	}
}
