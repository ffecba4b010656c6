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
		fails  string // why nothing lands at first, and the person is asked again; "": it lands
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
			fails: "branch topic exists already: rename or remove it, or choose another name", repair: func(t *testing.T, dir string) { git(t, dir, "branch", "-D", "topic") }, branch: "topic"},
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
				q := question(t, r)
				if !strings.HasPrefix(q.Text, "Nothing has landed: ") || !strings.Contains(q.Text, c.fails) || len(q.Options) != 2 {
					t.Fatalf("%s: %s: it asks %s", res.Status, res.Error, q.Text)
				}
				if c.repair == nil {
					res = reply(t, r, "not any more")
					if res.Status != engine.Failed || !strings.Contains(res.Error, "a person rejected the change: not any more") {
						t.Errorf("%s: %s", res.Status, res.Error)
					}
					if got := readFile(t, dir, "a.txt"); got != before {
						t.Errorf("a.txt is %q", got)
					}
					return
				}
				if reply(t, r, "yes"); !strings.Contains(question(t, r).Text, c.fails) {
					t.Errorf("after yes, it asks %s", question(t, r).Text)
				}
				c.repair(t, dir)
				reply(t, r, "land")
				if q := question(t, r); !strings.HasPrefix(q.Text, "The project has changed") || !strings.Contains(q.Detail, "+four") {
					t.Fatalf("the change was not shown again: it asks %s\n%s", q.Text, q.Detail)
				}
				res = reply(t, r, "land")
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
// of these conflicts and asks again, and nothing of the first one is lost.
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
		switch {
		case res.Status == engine.Success:
		case i >= 2 && res.Status == engine.Waiting && strings.Contains(question(t, runs[i]).Text, "the change conflicts with the checkout in a.txt"):
			conflicts++
		default:
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
	for name, c := range map[string]struct {
		do   func(t *testing.T, dir string)
		want string // DIR is the directory
	}{
		"nested repository": {func(t *testing.T, dir string) {
			git(t, dir, "init", "-q", "sub")
			writeFile(t, filepath.Join(dir, "sub", "x"), "x")
		}, "sub is a git repository without commits"},
		"unmerged": {func(t *testing.T, dir string) {
			git(t, dir, "checkout", "-q", "-b", "other")
			writeFile(t, filepath.Join(dir, "a.txt"), "other\n")
			git(t, dir, "commit", "-qam", "other")
			git(t, dir, "checkout", "-q", "main")
			writeFile(t, filepath.Join(dir, "a.txt"), "main\n")
			git(t, dir, "commit", "-qam", "main")
			tryGit(dir, "rebase", "other")
		}, "a.txt is unmerged: finish or abort the merge first"},
		"bare": {func(t *testing.T, dir string) { git(t, dir, "config", "core.bare", "true") },
			"DIR is a bare repository or inside a .git directory: own workspaces need a checkout"},
		"another user's": {func(t *testing.T, dir string) {
			if os.Getuid() != 0 {
				t.Skip("only root can give files away")
			}
			for _, name := range []string{dir, filepath.Join(dir, ".git")} {
				if err := os.Chown(name, 12345, 12345); err != nil {
					t.Fatal(err)
				}
			}
		}, "the git repository of DIR belongs to another user: if you trust it, run: git config --global --add safe.directory DIR"},
	} {
		t.Run(name, func(t *testing.T) {
			p, dir := repository(t, landing("patch"), hocket.Options{Agents: agents{"editor": editor()}})
			c.do(t, dir)
			w, err := p.Load("w.yml")
			if err != nil {
				t.Fatal(err)
			}
			want := "steps of w have workspaces of their own: " + strings.ReplaceAll(c.want, "DIR", dir)
			if _, err := p.Start(t.Context(), w, nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %s", err, want)
			}
			if refs, err := os.ReadDir(filepath.Join(dir, ".git", "refs", "hocket")); err == nil && len(refs) > 0 {
				t.Errorf("the repository has %v", refs)
			}
			if runs, err := p.Runs(t.Context(), hocket.Filter{}); err != nil || len(runs) > 0 {
				t.Errorf("runs %v, %v", runs, err)
			}
		})
	}
}

// TestUnusualRepositories has repositories in which a run works, says what it leaves out, and lands.
func TestUnusualRepositories(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(t *testing.T, dir string)
		notes string
	}{
		"shallow": {func(t *testing.T, dir string) {
			git(t, dir, "commit", "-q", "--allow-empty", "-m", "second")
			git(t, dir, "clone", "-q", "--depth=1", "--no-checkout", "file://"+dir, "clone")
			for _, name := range []string{".git", "clone"} { // the clone takes its place
				if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, ".state", name)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Rename(filepath.Join(dir, ".state", "clone", ".git"), filepath.Join(dir, ".git")); err != nil {
				t.Fatal(err)
			}
			git(t, dir, "reset", "-q")
			writeFile(t, filepath.Join(dir, ".git", "info", "exclude"), ".state\n")
		}, ""},
		"submodule": {func(t *testing.T, dir string) {
			inner := filepath.Join(t.TempDir(), "inner")
			git(t, dir, "init", "-q", inner)
			git(t, inner, "commit", "-q", "--allow-empty", "-m", "first")
			git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner, "inner")
			git(t, dir, "commit", "-q", "-m", "inner")
			writeFile(t, filepath.Join(dir, "inner", "mine.txt"), "mine\n")
		}, "inner is a submodule: changes in it are not captured, and it is empty in workspaces"},
		"Git LFS": {func(t *testing.T, dir string) {
			git(t, dir, "config", "filter.lfs.clean", "tr a-z A-Z")
			git(t, dir, "config", "filter.lfs.smudge", "tr A-Z a-z")
			git(t, dir, "config", "filter.lfs.required", "true")
			writeFile(t, filepath.Join(dir, ".gitattributes"), "*.bin filter=lfs diff=lfs merge=lfs -text\n")
			writeFile(t, filepath.Join(dir, "large.bin"), "content\n")
			git(t, dir, "add", ".")
			git(t, dir, "commit", "-q", "-m", "large")
		}, "files of Git LFS are pointers in workspaces"},
	} {
		t.Run(name, func(t *testing.T) {
			p, dir := repository(t, landing("commit"), hocket.Options{Agents: agents{"editor": editor()}})
			if err := os.MkdirAll(filepath.Join(dir, ".state"), 0o700); err != nil {
				t.Fatal(err)
			}
			c.do(t, dir)
			before := git(t, dir, "status", "--porcelain")
			r := start(t, p, "w.yml", nil)
			if got := strings.Join(r.Notes, "\n"); got != c.notes {
				t.Errorf("the run says %q, want %q", got, c.notes)
			}
			wait(t, r)
			if res := reply(t, r, "land"); res.Status != engine.Success {
				t.Fatalf("%s: %s", res.Status, res.Error)
			}
			if got := git(t, dir, "show", "HEAD:a.txt"); got != "one\ntwo\nthree\nfour" {
				t.Errorf("landed %q", got)
			}
			if after := git(t, dir, "status", "--porcelain"); after != before {
				t.Errorf("the status was %q, is %q", before, after)
			}
			for name, want := range map[string]string{"inner/mine.txt": "mine\n", "large.bin": "content\n"} {
				if got, err := os.ReadFile(filepath.Join(dir, name)); err == nil && string(got) != want {
					t.Errorf("%s has %q", name, got)
				}
			}
			git(t, dir, "fsck", "--strict")
		})
	}
}

// TestRepositoryMovesDuringAStep renames the directory of a project while a step works. The run says what is wrong, nothing is
// lost, and it continues where the directory is now.
func TestRepositoryMovesDuringAStep(t *testing.T) {
	top := t.TempDir()
	dir, moved := filepath.Join(top, "here"), filepath.Join(top, "there")
	files := landing("commit")
	files["w.yml"] = strings.Replace(files["w.yml"], "echo new > new.txt", "echo new > new.txt; test -e "+moved+" || mv "+dir+" "+moved, 1)
	for name, text := range files {
		writeFile(t, filepath.Join(dir, name), text)
	}
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "first")
	o := hocket.Options{Agents: agents{"editor": editor()}, State: filepath.Join(top, "state")}
	p, err := hocket.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, p, "w.yml", nil)
	if res := wait(t, r); res.Status != engine.Failed || !strings.Contains(res.Error, "its files cannot be recorded: the git repository of "+dir+" was moved or removed: retry the run from where it is now") {
		t.Errorf("%s: %s", res.Status, res.Error)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if p, err = hocket.Open(moved, o); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if r, err = p.Run(t.Context(), r.ID()); err != nil {
		t.Fatal(err)
	}
	if d, err := r.Diff(t.Context(), hocket.Made{Address: "write", Attempt: 1}, 1<<20); err != nil || !strings.Contains(d.Patch, "+four") {
		t.Errorf("what the step has made is lost: %+v, %v", d, err)
	}
	if r, err = r.Retry(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if err := r.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait(t, r)
	if res := reply(t, r, "land"); res.Status != engine.Success || readFile(t, moved, "a.txt") != "one\ntwo\nthree\nfour\n" {
		t.Errorf("%s: %s", res.Status, res.Error)
	}
}
