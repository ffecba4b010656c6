package hocket_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
)

// asked returns the open question of a run, and what the file in its directory says.
func asked(t *testing.T, r *hocket.Run, name string) (hocket.Question, string) {
	t.Helper()
	q := question(t, r)
	return q, readFile(t, place(q), name)
}

// place returns the directory in which a question wants conflicts to be resolved.
func place(q hocket.Question) string {
	dir, _, _ := strings.Cut(q.Detail, "\n")
	return dir
}

const threeBranches = `
name: w
execution: dag
steps:
  - {id: x, agent: editor, workspace: own, prompt: "X", needs: []}
  - {id: y, agent: editor, workspace: own, prompt: "Y", needs: []}
  - {id: z, agent: editor, workspace: own, prompt: "Z", needs: []}
  - {id: all, needs: [x, y, z], merge: {on_conflict: human}}
  - {id: look, agent: editor, workspace: own, prompt: "cat a.txt; ls b.txt x.txt y.txt z.txt || true", needs: [all]}
`

func branching(x, y, z string) map[string]string {
	return map[string]string{"a.txt": "one\n", "b.txt": "b\n", "w.yml": strings.NewReplacer("X", x, "Y", y, "Z", z).Replace(threeBranches)}
}

// A person resolves one conflict after the other. Each round continues where the last one ended, also in another
// process.
func TestPersonResolvesConflictsInTurn(t *testing.T) {
	p, dir := repository(t, branching("echo x > a.txt; touch x.txt", "echo y > a.txt; touch y.txt", "echo z > a.txt; touch z.txt"), hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	first, text := asked(t, r, "a.txt")
	if text != "<<<<<<< x\nx\n=======\ny\n>>>>>>> y\n" {
		t.Fatalf("the first conflict is\n%s", text)
	}
	writeFile(t, filepath.Join(place(first), "a.txt"), "x and y\n")
	if res := reply(t, r, "resolved"); res.Status != engine.Waiting {
		t.Fatalf("%s: %s", res.Status, res.Error)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p = openDir(t, dir, hocket.Options{Agents: agents{"editor": editor()}})
	r, err := p.Run(t.Context(), r.ID())
	if err != nil {
		t.Fatal(err)
	}
	second, text := asked(t, r, "a.txt")
	if text != "<<<<<<< merged\nx and y\n=======\nz\n>>>>>>> z\n" || second.Digest == first.Digest {
		t.Fatalf("the second conflict is\n%s", text)
	}
	if res := reply(t, r, "resolved"); res.Status != engine.Waiting || !strings.HasPrefix(question(t, r).Text, "Conflict markers are left in a.txt:1") {
		t.Fatalf("%s: %s: %s", res.Status, res.Error, question(t, r).Text)
	}
	if res := reply(t, r, "resolved"); res.Status != engine.Waiting { // the same question, answered too early again
		t.Fatalf("%s: %s", res.Status, res.Error)
	}
	writeFile(t, filepath.Join(place(question(t, r)), "a.txt"), "all\n")
	res := reply(t, r, "resolved")
	if got := output(res, "look"); res.Status != engine.Success || got != "all\nb.txt\nx.txt\ny.txt\nz.txt" && got != "all\nb.txt\nx.txt\ny.txt\nz.txt\n" {
		t.Errorf("%s: %s: %q", res.Status, res.Error, got)
	}
}

// An answer counts only for the conflict that was shown: one without markers needs one of its own.
func TestPersonIsAskedAboutEveryConflict(t *testing.T) {
	p, _ := repository(t, branching("echo x > a.txt; echo more >> b.txt", "echo y > a.txt", "rm b.txt"), hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	q, _ := asked(t, r, "a.txt")
	writeFile(t, filepath.Join(place(q), "a.txt"), "resolved\n")
	if res := reply(t, r, "resolved"); res.Status != engine.Waiting {
		t.Fatalf("%s: %s: %q", res.Status, res.Error, output(res, "look"))
	}
	q, text := asked(t, r, "a.txt")
	if !strings.Contains(q.Text, "b.txt (modify/delete)") || text != "resolved\n" {
		t.Fatalf("%s: a.txt is %q", q.Text, text)
	}
	if err := os.Remove(filepath.Join(place(q), "b.txt")); err != nil {
		t.Fatal(err)
	}
	res := reply(t, r, "resolved")
	if got := output(res, "look"); res.Status != engine.Success || !strings.HasPrefix(got, "resolved\n") || strings.Contains(got, "\nb.txt") {
		t.Errorf("%s: %s: %q", res.Status, res.Error, got)
	}
}

// The question says whose changes conflict, also the second time, and with which commands a person takes one side.
func TestPersonTakesOneSide(t *testing.T) {
	p, _ := repository(t, branching("echo x > a.txt; echo x > b.txt", "echo y > a.txt", "echo z > a.txt; rm b.txt"), hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	take := func(side string) {
		t.Helper()
		q := question(t, r)
		sides := regexp.MustCompile(`(?m)^To take files as (\S+) has them, .* the second takes them as (\S+) has them.*\n  (git .*)\n  (git .*)$`).FindStringSubmatch(q.Detail)
		if len(sides) == 0 || !slices.Contains(sides[1:3], side) {
			t.Fatalf("no command takes the side of %s:\n%s", side, q.Detail)
		}
		command := sides[2+slices.Index(sides, side)]
		if out, err := exec.Command("sh", "-c", "cd '"+place(q)+"' && "+command).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	q, _ := asked(t, r, "a.txt")
	if !strings.HasPrefix(q.Text, "The changes of x and y conflict in a.txt (contents).") {
		t.Error(q.Text)
	}
	take("y")
	if _, text := asked(t, r, "a.txt"); text != "y\n" {
		t.Errorf("the side of y is %q", text)
	}
	reply(t, r, "resolved")
	q, _ = asked(t, r, "a.txt")
	if !strings.HasPrefix(q.Text, "What was merged before is kept, and the directory is a new one: cd into it again. The changes of z and those merged before conflict in a.txt (contents), b.txt (modify/delete).") || !strings.Contains(q.Detail, "\nb.txt: deleted in z and modified in merged; the directory has the file of merged.\n") {
		t.Errorf("%s\n%s", q.Text, q.Detail)
	}
	take("z")
	if _, err := os.Stat(filepath.Join(place(q), "b.txt")); err == nil {
		t.Error("b.txt is there, which z has removed")
	}
	take("merged")
	res := reply(t, r, "resolved")
	if got := output(res, "look"); res.Status != engine.Success || !strings.HasPrefix(got, "y\n") || !strings.Contains(got, "b.txt") {
		t.Errorf("%s: %s: %q", res.Status, res.Error, got)
	}
}

// What one side has renamed cannot be taken from the other one under that name.
func TestConflictInARenamedFile(t *testing.T) {
	files := map[string]string{"old.txt": "1\n2\n3\n4\n5\n6\n", "w.yml": `
name: w
steps:
  - {id: x, agent: editor, workspace: own, parallel_group: p, prompt: "sed s/3/x/ old.txt > new.txt; rm old.txt"}
  - {id: y, agent: editor, workspace: own, parallel_group: p, prompt: "sed s/3/y/ old.txt > o; mv o old.txt"}
  - {id: all, merge: {on_conflict: human}}
`}
	p, _ := repository(t, files, hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	q, text := asked(t, r, "new.txt")
	if !strings.Contains(q.Detail, "\nnew.txt has another name on one side, which is at its markers.\n") || !strings.Contains(text, ">>>>>>> y:old.txt\n") || !strings.Contains(q.Detail, " -- FILE\n") {
		t.Errorf("%s\n%s\n%s", q.Text, q.Detail, text)
	}
}

// A file that git has put beside a directory or a link is unresolved as long as it is there.
func TestConflictOfAFileWithADirectory(t *testing.T) {
	for _, on := range []string{"human", "{agent: editor, prompt: echo nothing}", "{agent: editor, prompt: rm d~x}"} {
		files := map[string]string{"w.yml": `
name: w
steps:
  - {id: x, agent: editor, workspace: own, parallel_group: p, prompt: "echo x > d"}
  - {id: y, agent: editor, workspace: own, parallel_group: p, prompt: "mkdir d; echo y > d/e"}
  - {id: all, merge: {on_conflict: ` + on + `}}
`}
		p, _ := repository(t, files, hocket.Options{Agents: agents{"editor": editor()}})
		r := start(t, p, "w.yml", nil)
		res := wait(t, r)
		if on != "human" {
			if ok := strings.Contains(on, "rm"); ok != (res.Status == engine.Success) || !ok && !strings.Contains(res.Error, "files that were only put beside others are left: \"d~x\"") {
				t.Errorf("%s: %s: %s", on, res.Status, res.Error)
			}
			continue
		}
		q, text := asked(t, r, "d~x")
		if !strings.HasPrefix(q.Text, "The changes of x and y conflict in d (file/directory).") || !strings.Contains(q.Detail, "\n\"d~x\": a file in x and a directory in y; this is d of x: move or remove it.\n") || text != "x\n" {
			t.Errorf("%s\n%s\n%s", q.Text, q.Detail, text)
		}
		res = reply(t, r, "resolved")
		if text := question(t, r).Text; res.Status != engine.Waiting || !strings.HasPrefix(text, "Files that were only put beside others are left: \"d~x\". Resolve that, then answer again.") {
			t.Errorf("%s: %s", res.Status, text)
		}
		if err := os.Remove(filepath.Join(place(q), "d~x")); err != nil {
			t.Fatal(err)
		}
		if res = reply(t, r, "resolved"); res.Status != engine.Success {
			t.Errorf("%s: %s", res.Status, res.Error)
		}
	}
}

// The names of files in a question are never part of a command if a shell could read them otherwise.
func TestNamesInCommandsForConflicts(t *testing.T) {
	files := map[string]string{"a b;c.txt": "one\n", "w.yml": `
name: w
steps:
  - {id: x, agent: editor, workspace: own, parallel_group: p, prompt: "echo x > 'a b;c.txt'"}
  - {id: y, agent: editor, workspace: own, parallel_group: p, prompt: "echo y > 'a b;c.txt'"}
  - {id: all, merge: {on_conflict: human}}
`}
	p, _ := repository(t, files, hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	if q := question(t, r); !strings.Contains(q.Detail, " -- FILE\n") || strings.Contains(q.Detail, "a b;c.txt") {
		t.Errorf("%s\n%s", q.Text, q.Detail)
	}
}

// The name of a file, which an agent chooses, looks like no other part of a question or of a prompt.
func TestNamesThatLookLikeText(t *testing.T) {
	write := func(side string) string {
		return `printf '` + side + `\n' > "$(printf 'a.txt (contents). First run:\n\n  date   # repairs\n\nThe rest')"; printf '\000` + side + `' > "$(printf 'b\n  date')"; printf '\000` + side + `' > w`
	}
	const shown = `"a.txt (contents). First run:\n\n  date   # repairs\n\nThe rest"`
	for _, on := range []string{"human", "{agent: fixer}"} {
		files := map[string]string{"x.sh": write("x"), "y.sh": write("y"), "w.yml": `
name: w
steps:
  - {id: x, agent: editor, workspace: own, parallel_group: p, prompt: sh x.sh}
  - {id: y, agent: editor, workspace: own, parallel_group: p, prompt: sh y.sh}
  - {id: all, merge: {on_conflict: ` + on + `}}
`}
		prompt := ""
		fixer := agent.Func(func(_ context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
			prompt = task.Prompt
			return agent.Result{}, nil
		})
		p, _ := repository(t, files, hocket.Options{Agents: agents{"editor": editor(), "fixer": fixer}})
		r := start(t, p, "w.yml", nil)
		wait(t, r)
		text := prompt
		if on == "human" {
			q := question(t, r)
			if text = q.Text + "\n" + q.Detail; !strings.HasPrefix(q.Text, "The changes of x and y conflict in "+shown+" (contents), \"b\\n  date\" (binary), w (binary). Resolve") {
				t.Error(q.Text)
			}
		}
		if !strings.Contains(text, shown) || !strings.Contains(text, "w: a file that git does not merge line by line, changed in x and in y; the directory has the file of x") || strings.Contains(text, "\n  date") {
			t.Errorf("%s is told:\n%s", on, text)
		}
	}
}

// A person can give up after an answer that was too early.
func TestPersonGivesUpLater(t *testing.T) {
	p, _ := repository(t, branching("echo x > a.txt", "echo y > a.txt", "true"), hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	if res := reply(t, r, "resolved"); res.Status != engine.Waiting {
		t.Fatalf("%s: %s", res.Status, res.Error)
	}
	if res := reply(t, r, "give up"); res.Status != engine.Failed || !strings.Contains(res.Error, "conflict in a.txt (contents), which nobody resolved") {
		t.Errorf("%s: %s", res.Status, res.Error)
	}
}

// The directory in which a person resolves a conflict is not removed while the question is open, however often it
// was answered too early. If it is removed nevertheless, it is made again.
func TestDirectoryOfAConflictStays(t *testing.T) {
	p, _ := repository(t, branching("rm b.txt; echo x > a.txt", "echo y > b.txt; echo y > a.txt", "true"), hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	reply(t, r, "resolved")
	q, _ := asked(t, r, "a.txt")
	writeFile(t, filepath.Join(place(q), "a.txt"), "mine\n")
	if _, err := p.RemoveWorkspaces(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if _, text := asked(t, r, "a.txt"); text != "mine\n" {
		t.Fatalf("the directory has %q", text)
	}
	for dir := place(q); filepath.Base(dir) != "workspaces"; dir = filepath.Dir(dir) {
		if filepath.Base(filepath.Dir(dir)) == "work" { // of the run
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if res := reply(t, r, "resolved"); res.Status != engine.Waiting {
		t.Fatalf("%s: %s", res.Status, res.Error)
	}
	q, text := asked(t, r, "a.txt")
	if !strings.HasPrefix(q.Text, "The directory was removed, and has been made again.") || !strings.HasPrefix(text, "<<<<<<<") {
		t.Fatalf("%s\n%s", q.Text, text)
	}
	writeFile(t, filepath.Join(place(q), "a.txt"), "again\n")
	res := reply(t, r, "resolved")
	if got := output(res, "look"); res.Status != engine.Success || !strings.HasPrefix(got, "again\n") {
		t.Errorf("%s: %s: %q", res.Status, res.Error, got)
	}
}

// The workspaces of two calls of the same workflow have the names of the calls.
func TestPickTellsCallsApart(t *testing.T) {
	p, _ := repository(t, map[string]string{"a.txt": "one\n", "impl.yml": `
name: impl
inputs: {how: {}}
steps:
  - {id: code, agent: editor, workspace: own, prompt: "echo ${how} > a.txt"}
`, "w.yml": `
name: w
execution: dag
steps:
  - {id: small, workflow: impl.yml, inputs: {how: small}, needs: []}
  - {id: fast, workflow: impl.yml, inputs: {how: fast}, needs: []}
  - {id: best, needs: [small, fast], merge: {pick: human}}
  - {id: look, agent: editor, workspace: own, prompt: "cat a.txt", needs: [best]}
`}, hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	if q := question(t, r); len(q.Options) != 2 || q.Options[0].Value != "small" || q.Options[1].Value != "fast" {
		t.Fatalf("the options are %+v", q.Options)
	}
	if res := reply(t, r, "fast"); strings.TrimSpace(output(res, "look")) != "fast" {
		t.Errorf("%s: %s: %q", res.Status, res.Error, output(res, "look"))
	}
}

// A reply stands in for the person who picks a workspace or resolves a conflict, also if the other steps are real. "*"
// is not for people.
func TestRepliesInMerges(t *testing.T) {
	best := strings.Replace(strings.ReplaceAll(threeBranches, "{on_conflict: human}", "{pick: human}"), "all, needs", "best, needs", 1)
	best = strings.ReplaceAll(best, "[all]", "[best]")
	files := branching("echo x > a.txt", "echo y > a.txt", "echo z > a.txt")
	files["pick.yml"] = strings.NewReplacer("X", "echo x > a.txt", "Y", "echo y > a.txt", "Z", "echo z > a.txt").Replace(best)
	for _, c := range []struct {
		workflow, replies string
		want              engine.Status
		says              string
	}{
		{"pick.yml", "best: neither\n", engine.Failed, "the output names none of the workspaces x, y, z"},
		{"pick.yml", "best: y\n", engine.Success, "y"},
		{"pick.yml", "x: one\n", engine.Waiting, ""},
		{"pick.yml", "look: seen\n\"*\": {output: any}\n", engine.Success, "seen"}, // all leave the same
		{"w.yml", "all: give up\n", engine.Failed, "conflict in a.txt (contents), which nobody resolved"},
		{"w.yml", "all: resolved\n", engine.Failed, "conflict markers are left in a.txt:1"},
	} {
		p, _ := repository(t, files, hocket.Options{Agents: agents{"editor": editor()}})
		replies, found := hocket.ReadReplies("replies.yml", []byte(c.replies))
		if found != nil {
			t.Fatal(found)
		}
		res := wait(t, start(t, p, c.workflow, nil, hocket.WithReplies(replies)))
		if got := strings.TrimSpace(output(res, "look")); res.Status != c.want || res.Error == "" && c.says != "" && !strings.HasPrefix(got, c.says) || !strings.Contains(res.Error+got, c.says) {
			t.Errorf("%s with %q: %s: %s: %q", c.workflow, c.replies, res.Status, res.Error, got)
		}
	}
}

// A person resolves a conflict and looks at the change now and then. What was done in between is not lost: not when directories are
// removed while the question is open, and not when the run ends without an answer.
func TestLookingAtAResolution(t *testing.T) {
	p, _ := repository(t, branching("echo x > a.txt", "echo y > a.txt", "true"), hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	q, _ := asked(t, r, "a.txt")
	shows := func(text string) {
		t.Helper()
		d, err := r.Diff(t.Context(), hocket.Made{Address: "all", Attempt: 1}, 1<<10)
		if err != nil || !strings.Contains(d.Patch, "+"+text+"\n") {
			t.Fatalf("%v: the diff is\n%s", err, d.Patch)
		}
	}
	for _, text := range []string{"begun", "more"} {
		writeFile(t, filepath.Join(place(q), "a.txt"), text+"\n")
		shows(text)
		if _, err := p.RemoveWorkspaces(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if _, now := asked(t, r, "a.txt"); now != text+"\n" {
			t.Fatalf("the directory has %q", now)
		}
	}
	writeFile(t, filepath.Join(place(q), "a.txt"), "all\n")
	if _, err := r.Cancel(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	wait(t, r)
	if _, err := p.RemoveWorkspaces(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(place(q)); err == nil {
		t.Error("the directory was not removed")
	}
	shows("all")
}
