package hocket_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
)

// git runs git in a directory, and returns what it prints.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := tryGit(dir, args...)
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return out
}

func tryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=ada", "GIT_COMMITTER_EMAIL=ada@example.com")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// repository creates a project in a git repository, with one commit, and opens it.
func repository(t *testing.T, files map[string]string, o hocket.Options) (*hocket.Project, string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	for name, text := range files {
		writeFile(t, filepath.Join(dir, name), text)
	}
	git(t, dir, "init", "-q", "-b", "main")
	writeFile(t, filepath.Join(dir, ".git/info/exclude"), ".state\n")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "first")
	return openDir(t, dir, o), dir
}

// editor is an agent that runs a shell command, which is its prompt, in the directory of its task.
func editor() agent.Executor {
	return agent.Func(func(ctx context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
		command, _, _ := strings.Cut(task.Prompt, "\n")
		cmd := exec.CommandContext(ctx, "sh", "-c", command)
		cmd.Dir = task.Dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			return agent.Result{}, agent.Errorf("%v: %s", err, out)
		}
		return agent.Result{Output: string(out)}, nil
	})
}

func output(res engine.Result, address string) string {
	for _, s := range res.Steps {
		if s.Address == address {
			text, _ := s.Output.(string)
			return text + s.Error
		}
	}
	return "no such step"
}

// question returns the only open question of a run.
func question(t *testing.T, r *hocket.Run) hocket.Question {
	t.Helper()
	open, err := r.Questions(t.Context())
	if err != nil || len(open) != 1 {
		t.Fatalf("open questions: %+v, %v", open, err)
	}
	return open[0]
}

// reply answers the only open question of a run, and waits until the run ends or asks again.
func reply(t *testing.T, r *hocket.Run, value string) engine.Result {
	t.Helper()
	q := question(t, r)
	if _, err := r.Answer(t.Context(), q.ID, hocket.Answer{Value: value, Digest: q.Digest}); err != nil {
		t.Fatal(err)
	}
	if err := r.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	return wait(t, r)
}

// A step damages the index beside its workspace, so that the one in its .git cannot be replaced. The log says what that means.
func TestDirectoryThatIsNotHarmless(t *testing.T) {
	p, _ := repository(t, map[string]string{"w.yml": `
name: w
steps:
  - {id: try, agent: editor, workspace: own, prompt: "echo garbage > ../index"}
`}, hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	var log strings.Builder
	for piece, err := range r.Read(t.Context(), "try", 1, hocket.Output, 0, false) {
		if err != nil {
			t.Fatal(err)
		}
		log.Write(piece.Text)
	}
	if !strings.Contains(log.String(), "may run what the agent has configured there, because the directory could not be made harmless: ") {
		t.Errorf("the log is %q", &log)
	}
}

func TestRetriesStartClean(t *testing.T) {
	again := filepath.Join(t.TempDir(), "again")
	p, dir := repository(t, map[string]string{
		"a.txt": "one\n",
		"w.yml": `
name: w
steps:
  - {id: try, agent: editor, workspace: own, retry: 2, prompt: "ls; cat a.txt; test ! -e left || exit 1; echo more >> a.txt; echo x > left; test -e ` + again + ` || { touch ` + again + `; exit 1; }"}
  - {id: look, agent: editor, prompt: "ls"}
`,
	}, hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	res := wait(t, r)
	if res.Status != engine.Success || strings.Contains(output(res, "try"), "left") {
		t.Fatalf("%s: %+v", res.Error, res.Steps)
	}
	if got := output(res, "look"); strings.Contains(got, "left") || git(t, dir, "status", "--porcelain") != "" {
		t.Errorf("the project has %s", got)
	}
	for attempt := 1; attempt <= 2; attempt++ {
		d, err := r.Diff(t.Context(), hocket.Made{Address: "try", Attempt: attempt}, 1<<20)
		if err != nil || len(d.Files) != 2 || !strings.Contains(d.Patch, "+more") {
			t.Errorf("attempt %d left %+v, %v", attempt, d, err)
		}
	}
	if refs := git(t, dir, "for-each-ref", "--format=%(refname)"); refs != "refs/heads/main\nrefs/hocket/"+r.ID()+"/base" {
		t.Errorf("the repository has the refs %s", refs)
	}
	intent := filepath.Join(p.State(), "workspaces", "land", r.ID()+".x", "intent.json") // of a landing that was killed
	writeFile(t, intent, "{")
	if err := r.Delete(t.Context()); err == nil || !strings.Contains(err.Error(), intent+" is damaged") {
		t.Errorf("error %v", err)
	}
	if _, err := r.Info(t.Context()); err != nil {
		t.Fatal("the run is gone, so its deletion cannot be repeated: ", err)
	}
	if err := os.RemoveAll(filepath.Dir(intent)); err != nil {
		t.Fatal(err)
	}
	if err := r.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if refs := git(t, dir, "for-each-ref", "--format=%(refname)"); refs != "refs/heads/main" {
		t.Errorf("after the run was deleted, the repository has the refs %s", refs)
	}
}

// conflicting is a workflow in which the changes of three steps conflict: the second one with the first one in content, the third
// one because it deletes a file that the first one has changed.
const conflicting = `
name: w
execution: dag
steps:
  - {id: left, agent: editor, workspace: own, prompt: "echo left > a.txt; echo 1 > l.txt; sed -i 1d gone.txt", needs: []}
  - {id: right, agent: editor, workspace: own, prompt: "echo right > a.txt; echo 2 > r.txt", needs: []}
  - {id: third, agent: editor, workspace: own, prompt: "rm gone.txt; echo 3 > t.txt", needs: []}
  - {id: all, needs: [left, right, third], MERGE}
  - {id: look, agent: editor, workspace: own, prompt: "cat a.txt l.txt r.txt t.txt; ls", needs: [all]}
`

func TestConflicts(t *testing.T) {
	var p *hocket.Project
	merging := func(t *testing.T, how string) (*hocket.Run, engine.Result) {
		p, _ = repository(t, map[string]string{"a.txt": "one\n", "gone.txt": "1\n2\n3\n4\n5\n6\n", "w.yml": strings.Replace(conflicting, "MERGE", how, 1)}, hocket.Options{Agents: agents{"editor": editor()}})
		r := start(t, p, "w.yml", nil)
		return r, wait(t, r)
	}
	const files = "1\n2\n3\na.txt\nl.txt\nr.txt\nt.txt\nw.yml"
	t.Run("fail", func(t *testing.T) {
		if _, res := merging(t, "merge: {}"); res.Status != engine.Failed || !strings.Contains(res.Error, "the changes of left and right conflict in a.txt (contents); with on_conflict in the merge, a person or an agent resolves that") {
			t.Errorf("%s: %s", res.Status, res.Error)
		}
	})
	t.Run("error edge", func(t *testing.T) {
		_, res := merging(t, `merge: {}, error: alas}
  - {id: alas, agent: editor, prompt: "echo '${failure.error}'"`)
		if res.Status != engine.Success || output(res, "alas") != "the changes of left and right conflict in a.txt (contents); with on_conflict in the merge, a person or an agent resolves that" {
			t.Errorf("%s: %s: %q", res.Status, res.Error, output(res, "alas"))
		}
	})
	t.Run("agent", func(t *testing.T) {
		_, res := merging(t, `merge: {on_conflict: {agent: editor, prompt: "if grep -q '<<<<' a.txt; then echo resolved > a.txt; else rm gone.txt; fi"}}`)
		if got := output(res, "look"); res.Status != engine.Success || got != "resolved\n"+files {
			t.Errorf("%s: %s: %q", res.Status, res.Error, got)
		}
	})
	t.Run("agent leaves markers", func(t *testing.T) {
		_, res := merging(t, `retry: 2, merge: {on_conflict: {agent: editor, prompt: "echo more >> a.txt"}}`)
		if res.Status != engine.Failed || !strings.Contains(res.Error, "conflict markers are left in a.txt:1") {
			t.Errorf("%s: %s", res.Status, res.Error)
		}
	})
	t.Run("agent leaves markers once", func(t *testing.T) {
		again := filepath.Join(t.TempDir(), "again")
		_, res := merging(t, `retry: 2, merge: {on_conflict: {agent: editor, prompt: "test -e gone.txt && ! grep -q '<<<<' a.txt && rm gone.txt; if test -e `+again+`; then echo resolved > a.txt; else touch `+again+`; fi"}}`)
		if got := output(res, "look"); res.Status != engine.Success || got != "resolved\n"+files {
			t.Errorf("%s: %s: %q", res.Status, res.Error, got)
		}
	})
	t.Run("person", func(t *testing.T) {
		r, res := merging(t, `merge: {on_conflict: human}`)
		if res.Status != engine.Waiting {
			t.Fatalf("%s: %s", res.Status, res.Error)
		}
		dir := place(question(t, r))
		if res = reply(t, r, "resolved"); res.Status != engine.Waiting || !strings.HasPrefix(question(t, r).Text, "Conflict markers are left in a.txt:1") {
			t.Fatalf("%s: %s: %+v", res.Status, res.Error, question(t, r))
		}
		writeFile(t, filepath.Join(dir, "a.txt"), "by hand\n")
		if _, err := p.RemoveWorkspaces(t.Context(), ""); err != nil || readFile(t, dir, "a.txt") != "by hand\n" {
			t.Fatalf("what a person is working on was removed (%v)", err)
		}
		if res = reply(t, r, "resolved"); res.Status != engine.Waiting || !strings.Contains(question(t, r).Text, "gone.txt (modify/delete)") {
			t.Fatalf("%s: %s: %+v", res.Status, res.Error, question(t, r))
		}
		if err := os.Remove(filepath.Join(place(question(t, r)), "gone.txt")); err != nil {
			t.Fatal(err)
		}
		res = reply(t, r, "resolved")
		if got := output(res, "look"); res.Status != engine.Success || got != "by hand\n"+files {
			t.Errorf("%s: %s: %q", res.Status, res.Error, got)
		}
	})
	t.Run("person gives up", func(t *testing.T) {
		r, _ := merging(t, `merge: {on_conflict: human}`)
		writeFile(t, filepath.Join(place(question(t, r)), "a.txt"), "half\n")
		if res := reply(t, r, "give up"); res.Status != engine.Failed || !strings.Contains(res.Error, "conflict in a.txt") {
			t.Errorf("%s: %s", res.Status, res.Error)
		}
		if d, err := r.Diff(t.Context(), hocket.Made{Address: "all", Attempt: 1}, 1<<20); err != nil || !strings.Contains(d.Patch, "+half") {
			t.Errorf("what the person has begun is not recorded: %+v, %v", d, err)
		}
		if left, err := p.Workspaces(t.Context()); err != nil || len(left) != 0 {
			t.Errorf("after the run, there are %+v, %v", left, err)
		}
	})
}

// TestPersonResolvesTwice has two conflicts in one merge, one after the other. A fork asks about both again.
func TestPersonResolvesTwice(t *testing.T) {
	p, _ := repository(t, map[string]string{"a.txt": "one\n", "w.yml": `
name: w
execution: dag
steps:
  - {id: left, agent: editor, workspace: own, prompt: "echo left > a.txt", needs: []}
  - {id: right, agent: editor, workspace: own, prompt: "echo right > a.txt", needs: []}
  - {id: third, agent: editor, workspace: own, prompt: "echo third > a.txt", needs: []}
  - {id: all, needs: [left, right, third], merge: {on_conflict: human}}
  - {id: look, agent: editor, workspace: own, prompt: "cat a.txt", needs: [all]}
`}, hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	for range 2 {
		for _, text := range []string{"left and right\n", "all three\n"} {
			dir := place(question(t, r))
			if got := readFile(t, dir, "a.txt"); !strings.HasPrefix(got, "<<<<<<<") || strings.Contains(got, "left and right") != (text == "all three\n") {
				t.Fatalf("before %q, a.txt is %q", text, got)
			}
			writeFile(t, filepath.Join(dir, "a.txt"), text)
			reply(t, r, "resolved")
		}
		if res := wait(t, r); res.Status != engine.Success || output(res, "look") != "all three" {
			t.Fatalf("%s: %s: %q", res.Status, res.Error, output(res, "look"))
		}
		var err error
		if r, err = r.Fork(t.Context(), "all", nil); err != nil {
			t.Fatal(err)
		}
		if err := r.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		wait(t, r)
	}
}

// TestDeletedFiles merges a step that has changed a file with one that has deleted it.
func TestDeletedFiles(t *testing.T) {
	const deleting = `
name: w
execution: dag
steps:
  - {id: left, agent: editor, workspace: own, prompt: "echo left >> gone.txt; echo 1 > l.txt", needs: []}
  - {id: right, agent: editor, workspace: own, prompt: "rm gone.txt; echo 2 > r.txt", needs: []}
  - {id: third, agent: editor, workspace: own, prompt: "echo 3 > t.txt", needs: []}
  - {id: all, needs: [left, right, third], MERGE}
  - {id: look, agent: editor, workspace: own, prompt: "ls; cat gone.txt l.txt r.txt t.txt || true", needs: [all]}
`
	for name, c := range map[string]struct{ how, do, want string }{
		"fail":       {how: "merge: {}"},
		"error edge": {how: "merge: {}, error: alas}\n  - {id: alas, agent: editor, prompt: \"echo '${failure.error}'\"", want: "the changes of left and right conflict in gone.txt (modify/delete); with on_conflict in the merge, a person or an agent resolves that"},
		"agent keeps it": {how: `merge: {on_conflict: {agent: editor, prompt: "grep left gone.txt"}}`,
			want: "gone.txt\nl.txt\nr.txt\nt.txt\nw.yml\nhere\nleft\n1\n2\n3"},
		"agent deletes it": {how: `merge: {on_conflict: {agent: editor, prompt: "rm gone.txt"}}`, want: "l.txt\nr.txt\nt.txt\nw.yml\ncat: gone.txt: No such file or directory\n1\n2\n3"},
		"person":           {how: `merge: {on_conflict: human}`, do: "resolved", want: "gone.txt\nl.txt\nr.txt\nt.txt\nw.yml\nhere\nleft\n1\n2\n3"},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := repository(t, map[string]string{"gone.txt": "here\n", "w.yml": strings.Replace(deleting, "MERGE", c.how, 1)}, hocket.Options{Agents: agents{"editor": editor()}})
			r := start(t, p, "w.yml", nil)
			res := wait(t, r)
			if c.do != "" {
				res = reply(t, r, c.do)
			}
			if c.want == "" {
				if res.Status != engine.Failed || !strings.Contains(res.Error, "conflict in gone.txt (modify/delete)") {
					t.Errorf("%s: %s", res.Status, res.Error)
				}
				return
			}
			step := "look"
			if strings.Contains(c.how, "alas") {
				step = "alas"
			}
			if got := output(res, step); res.Status != engine.Success || strings.TrimSpace(got) != c.want {
				t.Errorf("%s: %s: %q", res.Status, res.Error, got)
			}
		})
	}
}

// What a person has begun when the run is cancelled is recorded before it is removed.
func TestCancelledConflicts(t *testing.T) {
	p, _ := repository(t, map[string]string{"a.txt": "one\n", "gone.txt": "1\n2\n3\n4\n5\n6\n", "w.yml": strings.Replace(conflicting, "MERGE", "merge: {on_conflict: human}", 1)}, hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	writeFile(t, filepath.Join(place(question(t, r)), "a.txt"), "half\n")
	if _, err := p.RemoveWorkspaces(t.Context(), ""); err != nil || readFile(t, place(question(t, r)), "a.txt") != "half\n" {
		t.Fatalf("it was removed while a person worked there: %v", err)
	}
	if _, err := r.Cancel(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.RemoveWorkspaces(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if left, err := p.Workspaces(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("there are still %+v, %v", left, err)
	}
	if d, err := r.Diff(t.Context(), hocket.Made{Address: "all", Attempt: 1}, 1<<20); err != nil || !strings.Contains(d.Patch, "+half") {
		t.Errorf("it was removed and not recorded: %+v, %v", d, err)
	}
	if err := r.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestItemsAreMerged(t *testing.T) {
	p, _ := repository(t, map[string]string{"a.txt": "one\n", "w.yml": `
name: w
steps:
  - {id: write, agent: editor, for_each: "${inputs.names}", as: name, workspace: own, prompt: "ls | tr '\\n' ' '; echo ${name} > ${name}.txt"}
  - {id: all, merge: {}}
  - {id: look, agent: editor, workspace: own, prompt: "cat x.txt y.txt z.txt; echo ${nodes.all.workspace}"}
inputs: {names: {}}
`}, hocket.Options{Agents: agents{"editor": editor()}})
	res := wait(t, start(t, p, "w.yml", map[string]any{"names": []any{"x", "y", "z"}}))
	if got := output(res, "look"); res.Status != engine.Success || !strings.HasPrefix(got, "x\ny\nz\n") || len(got) != len("x\ny\nz\n")+40 {
		t.Errorf("%s: %s: %q", res.Status, res.Error, got)
	}
	for _, item := range []string{"write[0]", "write[1]", "write[2]"} {
		if got := output(res, item); got != "a.txt w.yml " {
			t.Errorf("%s saw %q", item, got)
		}
	}
}

const bestOfThree = `
name: w
inputs: {names: {}}
steps:
  - {id: write, agent: editor, for_each: "${inputs.names}", as: name, workspace: own, prompt: "echo ${name} > a.txt"}
  - {id: best, merge: {pick: PICK}}
  - {id: ship, land: commit, message: The best one}
`

func TestBestOfThree(t *testing.T) {
	judge := agent.Func(func(_ context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
		if !strings.Contains(task.Prompt, "+three") || len(task.Decide) != 3 {
			return agent.Result{}, agent.Permanentf("it got %s", task.Prompt)
		}
		return agent.Result{Output: "The second one.\nwrite[1]"}, nil
	})
	for pick, choose := range map[string]string{"{agent: judge}": "", "human": "write[1]"} {
		t.Run(pick, func(t *testing.T) {
			p, dir := repository(t, map[string]string{"a.txt": "zero\n", "b.txt": "b\n", "w.yml": strings.Replace(bestOfThree, "PICK", pick, 1)}, hocket.Options{Agents: agents{"editor": editor(), "judge": judge}})
			writeFile(t, filepath.Join(dir, "b.txt"), "not committed\n")
			r := start(t, p, "w.yml", map[string]any{"names": []any{"one", "two", "three"}})
			res := wait(t, r)
			if choose != "" {
				res = reply(t, r, choose)
			}
			if res.Status != engine.Waiting || readFile(t, dir, "a.txt") != "zero\n" {
				t.Fatalf("%s: %s", res.Status, res.Error)
			}
			if res = reply(t, r, "land"); res.Status != engine.Success {
				t.Fatalf("%s: %s", res.Status, res.Error)
			}
			if got := readFile(t, dir, "a.txt"); got != "two\n" || git(t, dir, "show", "--format=%s", "--name-only", "HEAD") != "The best one\n\na.txt" {
				t.Errorf("a.txt is %q, and HEAD is %s", got, git(t, dir, "show", "HEAD"))
			}
			if got := git(t, dir, "status", "--porcelain"); got != "M b.txt" {
				t.Errorf("the checkout has %s", got)
			}
			for address, want := range map[string]string{"write[0]": "+one", "write[1]": "+two", "write[2]": "+three"} {
				d, err := r.Diff(t.Context(), hocket.Made{Address: address}, 1<<20)
				if err != nil || len(d.Files) != 1 || !strings.Contains(d.Patch, want+"\n") {
					t.Errorf("the diff of %s: %+v, %v", address, d, err)
				}
			}
		})
	}
}

func TestLandingAsksAgain(t *testing.T) {
	p, dir := repository(t, map[string]string{"a.txt": "one\ntwo\nthree\n", "w.yml": `
name: w
steps:
  - {id: write, agent: editor, workspace: own, prompt: "echo four >> a.txt"}
  - {id: ship, land: patch}
`}, hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	if res := wait(t, r); res.Status != engine.Waiting {
		t.Fatalf("%s: %s", res.Status, res.Error)
	}
	first := question(t, r)
	writeFile(t, filepath.Join(dir, "a.txt"), "ONE\ntwo\nthree\n") // after the diff was shown
	if res := reply(t, r, "land"); res.Status != engine.Waiting || question(t, r).Digest == first.Digest {
		t.Fatalf("%s: %s: it did not ask again", res.Status, res.Error)
	}
	if got := readFile(t, dir, "a.txt"); got != "ONE\ntwo\nthree\n" {
		t.Errorf("before the second answer, a.txt is %q", got)
	}
	if res := reply(t, r, "land"); res.Status != engine.Success {
		t.Fatalf("%s: %s", res.Status, res.Error)
	}
	if got := readFile(t, dir, "a.txt"); got != "ONE\ntwo\nthree\nfour\n" {
		t.Errorf("a.txt is %q", got)
	}
}

// A change with bytes that are not UTF-8 lands, and a person sees the bytes.
func TestLandingOfAnotherEncoding(t *testing.T) {
	p, dir := repository(t, map[string]string{"a.txt": "one\n", "w.yml": `
name: w
steps:
  - {id: write, agent: editor, workspace: own, prompt: "printf 'caf\\351 ü\\n' >> a.txt"}
  - {id: ship, land: patch}
`}, hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	if q := question(t, r); !strings.Contains(q.Detail, "\n+caf\\xe9 ü\n") {
		t.Errorf("the question shows %q", q.Detail)
	}
	if res := reply(t, r, "land"); res.Status != engine.Success {
		t.Fatalf("%s: %s", res.Status, res.Error)
	}
	if got := readFile(t, dir, "a.txt"); got != "one\ncaf\xe9 ü\n" {
		t.Errorf("a.txt is %q", got)
	}
}

func TestLandingIsRejected(t *testing.T) {
	p, dir := repository(t, map[string]string{"a.txt": "one\n", "w.yml": `
name: w
steps:
  - {id: write, agent: editor, workspace: own, prompt: "echo two >> a.txt"}
  - {id: ship, land: branch, branch: topic}
`}, hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	if res := reply(t, r, "a.txt:2: use three"); res.Status != engine.Failed || !strings.Contains(res.Error, "a person rejected the change: a.txt:2: use three") {
		t.Errorf("%s: %s", res.Status, res.Error)
	}
	if got := git(t, dir, "branch", "--format=%(refname:short)"); got != "main" {
		t.Errorf("the branches are %s", got)
	}
}

// The workflow of the documentation leads from a rejection back to the agent, which continues with what it had made.
func TestRejectionLeadsBack(t *testing.T) {
	text, err := os.ReadFile("docs/spec/26-workspaces.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "```yaml\n# parser.yml\n")
	example, _, closed := strings.Cut(after, "```\n")
	if !found || !closed {
		t.Fatal("the documentation has no parser.yml")
	}
	coder := agent.Func(func(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
		said := strings.Split(task.Prompt, "\n")
		task.Prompt = "echo '" + said[1] + ".' >> a.txt"
		return editor().Run(ctx, task, log)
	})
	p, dir := repository(t, map[string]string{"a.txt": "one\n", "parser.yml": example}, hocket.Options{Agents: agents{"coder": coder}})
	r := start(t, p, "parser.yml", nil)
	wait(t, r)
	if res := reply(t, r, "use tabs"); res.Status != engine.Waiting {
		t.Fatalf("%s: %s", res.Status, res.Error)
	}
	res := reply(t, r, "land")
	if got := readFile(t, dir, "a.txt"); res.Status != engine.Success || got != "one\n.\na person rejected the change: use tabs.\n" {
		t.Errorf("%s: %s: a.txt is %q", res.Status, res.Error, got)
	}
}

// A setup runs once, and its result is copied; it needs trust, because it is a command of the project.
func TestSetupOfWorkspaces(t *testing.T) {
	files := map[string]string{
		"key.txt": "1\n", ".gitignore": "made\n",
		".hocket/config.yml": "workspace: {setup: 'echo run >> made; cat key.txt >> made', setup_key: [key.txt]}\n",
		"w.yml": `
name: w
steps:
  - {id: a, agent: editor, workspace: own, prompt: "cat made; echo changed >> made"}
  - {id: b, agent: editor, workspace: own, prompt: "cat made; echo 2 > key.txt"}
  - {id: c, agent: editor, workspace: own, prompt: "cat made"}
`,
	}
	p, _ := repository(t, files, hocket.Options{Agents: agents{"editor": editor()}})
	w, err := p.Load("w.yml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Start(t.Context(), w, nil); err == nil || !strings.Contains(err.Error(), "trust") {
		t.Errorf("without trust: %v", err)
	}
	p, _ = repository(t, files, hocket.Options{Agents: agents{"editor": editor()}, Trust: func(context.Context, *hocket.UntrustedError) (bool, error) { return true, nil }})
	res := wait(t, start(t, p, "w.yml", nil))
	for step, want := range map[string]string{"a": "run\n1\n", "b": "run\n1\n", "c": "run\n2\n"} {
		if got := output(res, step); strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%s saw %q, want %q", step, got, want)
		}
	}
}

// A reply needs nothing that the setup makes, so it neither runs the command nor needs trust.
func TestSetupIsNotForReplies(t *testing.T) {
	p, _ := repository(t, map[string]string{
		".hocket/config.yml": "workspace: {setup: 'echo run >> made'}\n",
		"w.yml":              "name: w\nsteps:\n  - {id: a, agent: editor, workspace: own, prompt: x}\n",
	}, hocket.Options{Agents: agents{"editor": editor()}})
	w, err := p.Load("w.yml")
	if err != nil {
		t.Fatal(err)
	}
	replies, found := hocket.ReadReplies("replies.yml", []byte("a: done\n"))
	if found.Errors() {
		t.Fatal(found)
	}
	r, err := p.Start(t.Context(), w, nil, hocket.WithReplies(replies))
	if err != nil {
		t.Fatal(err)
	}
	if res := wait(t, r); res.Status != engine.Success || output(res, "a") != "done" {
		t.Errorf("%s: %s", res.Status, res.Error)
	}
}

func readFile(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A run that is started again with its key keeps the files that it began with.
func TestSameKeyKeepsTheBase(t *testing.T) {
	p, dir := repository(t, map[string]string{"a.txt": "one\n", "w.yml": `
name: w
steps:
  - {id: write, agent: editor, workspace: own, prompt: "echo two >> a.txt"}
  - {id: ship, land: patch}
`}, hocket.Options{Agents: agents{"editor": editor()}})
	w, err := p.Load("w.yml")
	if err != nil {
		t.Fatal(err)
	}
	start := func() *hocket.Run {
		r, err := p.Start(t.Context(), w, nil, hocket.WithKey("k"))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := start()
	if res := wait(t, r); res.Status != engine.Waiting {
		t.Fatal(res.Error)
	}
	writeFile(t, filepath.Join(dir, "other.txt"), "x\n")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "second")
	if again := start(); again.ID() != r.ID() {
		t.Fatalf("the key started %s, too", again.ID())
	}
	if res := reply(t, r, "land"); res.Status != engine.Success {
		t.Errorf("the run ends with %s: %s", res.Status, res.Error)
	}
	if refs := git(t, dir, "for-each-ref", "--format=%(refname)", "refs/hocket"); refs != "refs/hocket/"+r.ID()+"/base" {
		t.Errorf("the repository has %s", refs)
	}
}

// Replies change files in workspaces, and stand in for people who pick, resolve and reject. They change nothing in the project.
func TestRepliesMakeWorkspaces(t *testing.T) {
	const flow = `
name: w
steps:
  - {id: left, agent: editor, workspace: own, parallel_group: both}
  - {id: right, agent: editor, workspace: own, parallel_group: both}
  - {id: both, merge: {MERGE: human}}
  - {id: look, agent: editor, workspace: own, prompt: "cat a.txt"}
  - {id: ship, land: patch}
`
	const files = "left: {files: {a.txt: \"left\\n\"}}\nright: {files: {a.txt: \"right\\n\"}}\n"
	tests := []struct {
		merge, replies string
		look, fails    string
	}{
		{"pick", "both: right\nship: land", "right", ""},
		{"pick", "both: neither\nship: land", "", "the output names none of the workspaces left, right"},
		{"on_conflict", "both: {output: resolved, files: {a.txt: both}}\nship: land", "both", ""},
		{"on_conflict", "both: resolved\nship: land", "", "conflict markers are left in a.txt:1, a.txt:5"},
		{"on_conflict", "both: give up\nship: land", "", "conflict in a.txt (contents), which nobody resolved"},
		{"pick", "both: left\nship: reject", "left", "ship: a person rejected the change"},
		{"pick", "both: left\nship: Reject.", "left", "ship: a person rejected the change"},
		{"pick", "both: left\nship: no", "left", "ship: a person rejected the change: no"},
		{"pick", "both: left\nship: text.txt:1, not so loud", "left", "ship: a person rejected the change: text.txt:1, not so loud"},
		{"pick", "both: left\nship: changed my mind", "left", "ship: a person rejected the change: changed my mind"},
		{"pick", "both: left\nship: Looks good!", "left", ""},
		{"pick", "both: left\nship: landed 1 file on main as 0123456789ab", "left", ""},
		{"pick", "both: left\nship: {delay: 1ms}", "left", ""},
		{"pick", "both: left\n\"*\": what any step says", "", ""},
	}
	for _, test := range tests {
		t.Run(test.replies, func(t *testing.T) {
			p, dir := repository(t, map[string]string{"a.txt": "one\n", "w.yml": strings.Replace(flow, "MERGE", test.merge, 1)}, hocket.Options{Agents: agents{"editor": editor()}})
			replies, found := hocket.ReadReplies("replies.yml", []byte(files+test.replies))
			if found.Errors() {
				t.Fatal(found)
			}
			res := wait(t, start(t, p, "w.yml", nil, hocket.WithReplies(replies)))
			if (test.fails == "") != (res.Status == engine.Success) || test.fails != "" && !strings.HasSuffix(res.Error, test.fails) {
				t.Errorf("%s: %s", res.Status, res.Error)
			}
			if test.look != "" && output(res, "look") != test.look {
				t.Errorf("look says %q, not %q", output(res, "look"), test.look)
			}
			if got := git(t, dir, "status", "--porcelain"); got != "" {
				t.Errorf("the project has changed: %s", got)
			}
		})
	}
}

func TestRepliesChangeNothingInTheProject(t *testing.T) {
	p, dir := repository(t, map[string]string{"a.txt": "one\n", "w.yml": "name: w\nsteps: [{id: write, agent: editor}]\n"}, hocket.Options{Agents: agents{"editor": editor()}})
	replies, found := hocket.ReadReplies("replies.yml", []byte("write: {output: done, files: {a.txt: two}}\n"))
	if found.Errors() {
		t.Fatal(found)
	}
	res := wait(t, start(t, p, "w.yml", nil, hocket.WithReplies(replies)))
	if res.Status != engine.Failed || !strings.Contains(res.Error, "give the step a workspace of its own") || readFile(t, dir, "a.txt") != "one\n" {
		t.Errorf("%s: %s; a.txt is %q", res.Status, res.Error, readFile(t, dir, "a.txt"))
	}
}

// TestRetryHasItsOwnAttempts retries a run whose last step has failed twice. What these attempts have left is shown of the first run, and not as if
// the other one had made or interrupted them. What the other run does not repeat is shown of both.
func TestRetryHasItsOwnAttempts(t *testing.T) {
	good := filepath.Join(t.TempDir(), "good")
	p, _ := repository(t, map[string]string{"w.yml": `
name: w
steps:
  - {id: first, agent: editor, workspace: own, prompt: "echo first > first.txt"}
  - {id: last, agent: editor, workspace: own, retry: 2, prompt: "echo $$ > last.txt; test -e ` + good + `"}
`}, hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	if res := wait(t, r); res.Status != engine.Failed {
		t.Fatal(res.Status)
	}
	writeFile(t, good, "")
	again, err := r.Retry(t.Context(), "last", hocket.WithKey("again"))
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if res := wait(t, again); res.Status != engine.Success {
		t.Fatal(res.Error)
	}
	if same, err := r.Retry(t.Context(), "last", hocket.WithKey("again")); err != nil || same.ID() != again.ID() {
		t.Fatal(same, err)
	}
	if n, err := again.Interruptions(t.Context(), "last", 1); n != 0 || err != nil {
		t.Errorf("an attempt that nothing interrupted was interrupted %d times, %v", n, err)
	}
	if d, err := again.Diff(t.Context(), hocket.Made{Address: "last", Attempt: 2}, 1<<20); !errors.As(err, new(*hocket.NoWorkspaceError)) {
		t.Errorf("a second attempt, which was not made, left %+v, %v", d.Files, err)
	}
	for _, made := range []hocket.Made{{Address: "first"}, {Address: "first", Attempt: 1}, {Address: "last"}, {Address: "last", Attempt: 1}} {
		if d, err := again.Diff(t.Context(), made, 1<<20); err != nil || len(d.Files) != 1 {
			t.Errorf("%+v is %+v, %v", made, d.Files, err)
		}
	}
	if _, err := r.Diff(t.Context(), hocket.Made{Address: "last", Attempt: 2}, 1<<20); err != nil {
		t.Error(err)
	}
}

// A run keeps the definitions that it began with, also if a step edits them in its workspace, in the files that the next steps begin with.
func TestEditedDefinitionsChangeNothingInTheRun(t *testing.T) {
	p, _ := repository(t, map[string]string{
		".gitignore":                "made\n",
		"key.txt":                   "1\n",
		".hocket/config.yml":        "workspace: {setup: 'echo before > made', setup_key: [key.txt]}\n",
		".hocket/agents/helper.yml": "agent: shell\nsettings: {command: [echo, before]}\n",
		".hocket/workflows/sub.yml": "name: sub\nsteps:\n  - {id: say, agent: shell, workspace: own, config: {command: echo before}}\n",
		".hocket/prompts/ask.md":    "echo before\n",
		".hocket/workflows/w.yml": `
name: w
steps:
  - {id: edit, agent: shell, workspace: own, config: {command: "echo 2 > key.txt; sed -i s/before/after/ .hocket/*.yml .hocket/*/*"}}
  - {id: helps, agent: helper, workspace: own}
  - {id: calls, workflow: sub}
  - {id: asks, agent: editor, workspace: own, template: ask}
  - {id: prepared, agent: shell, workspace: own, config: {command: cat made}}
  - {id: edited, agent: shell, workspace: own, config: {command: "grep -l after .hocket/*.yml .hocket/*/*"}}
`}, hocket.Options{Agents: agents{"editor": editor()}, Trust: func(context.Context, *hocket.UntrustedError) (bool, error) { return true, nil }})
	res := wait(t, start(t, p, "w", nil))
	if res.Status != engine.Success {
		t.Fatal(res.Error)
	}
	for _, step := range []string{"helps", "calls", "asks", "prepared"} {
		if got := strings.TrimSpace(output(res, step)); got != "before" {
			t.Errorf("%s says %q", step, got)
		}
	}
	const want = ".hocket/config.yml\n.hocket/agents/helper.yml\n.hocket/prompts/ask.md\n.hocket/workflows/sub.yml\n.hocket/workflows/w.yml"
	if got := output(res, "edited"); got != want {
		t.Errorf("the edited files are %s", got)
	}
}
