package trial_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/trial"
)

// copyOf runs a workflow file of a project, answers its questions, and writes a test of the run.
func copyOf(t *testing.T, root, file string, o hocket.Options, answers ...string) (tape, test string, notes []string) {
	t.Helper()
	o.State = t.TempDir()
	p, err := hocket.Open(root, o)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	w, err := p.Load(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Start(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, answer := range append(answers, "") {
		if _, err := r.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if answer == "" {
			break
		}
		open, err := r.Questions(t.Context())
		node, value, named := strings.Cut(answer, "=")
		if i := slices.IndexFunc(open, func(q hocket.Question) bool { return q.Node == node }); named && i >= 0 {
			open, answer = open[i:i+1], value
		}
		if err != nil || len(open) != 1 {
			t.Fatal(open, err)
		}
		if answer == "resolved" { // in the directory that the question names
			dir, _, _ := strings.Cut(open[0].Detail, "\n")
			write(t, dir, "shared.txt", "first\nperson\nlast\n")
		}
		if _, err := r.Answer(t.Context(), open[0].ID, hocket.Answer{Value: answer, Digest: open[0].Digest}); err != nil {
			t.Fatal(err)
		}
		if err := r.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c, made, notes, err := trial.Copy(t.Context(), p, r, trial.Options{Host: o})
	if err != nil {
		t.Fatal(err)
	}
	made.Cassette = filepath.Join(root, ".hocket/tests/cassettes", filepath.Base(file))
	if err := trial.WriteCopy(p, c, made); err != nil {
		t.Fatal(err)
	}
	return string(c.Text()), string(made.Text()), notes
}

// Texts stay as they are, and file steps change what they have changed.
func TestCopyOfCommandsAndFiles(t *testing.T) {
	root := project(t, map[string]string{"dots.yml": `name: dots
steps:
  - id: one
    agent: shell
    config: {command: 'echo "version 1.2.3 is out. See file.txt"'}
  - id: save
    agent: file
    config: {action: write, path: out/note.txt, content: "a.b.c"}
  - id: read
    agent: file
    config: {action: read, path: out/note.txt}
`})
	c := &coder{}
	tape, test, notes := copyOf(t, root, "dots.yml", c.host())
	if !strings.Contains(tape, "version 1.2.3 is out. See file.txt") || !strings.Contains(tape, "path: out/note.txt") || strings.Contains(tape, "⟨") && !strings.HasPrefix(tape, "# ") {
		t.Error(tape)
	}
	if !strings.Contains(test, "equals: a.b.c") {
		t.Error(test)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "not in the cassette: one; ") {
		t.Errorf("notes %q", notes)
	}
	write(t, root, ".hocket/tests/dots.yml", strings.Replace(test, "status: success", "status: success\n      files: {out/note.txt: a.b.c}", 1))
	mustPass(t, run(t, root, trial.Options{Host: c.host()}))
}

// Files that contain what looks like a placeholder or a port of a run are files like any other.
func TestCopyOfPortsAndBrackets(t *testing.T) {
	root := project(t, map[string]string{"fix.yml": "name: fix\nsteps: [{id: fix, agent: coder, prompt: Fix}]\n"})
	c := &coder{says: func(task *agent.Task) (string, error) {
		task.Record(agent.FileChange{Path: "a.txt", Change: agent.Created, New: "at localhost:45678 in ⟨dir⟩"})
		task.Record(agent.FileChange{Path: "a.txt", Change: agent.Modified, Old: "at", New: "on"})
		task.Record(agent.FileChange{Path: "b.txt", Change: agent.Created, New: "at localhost:45678 in ⟨dir⟩"})
		task.Record(agent.FileChange{Path: "b.txt", Change: agent.Deleted})
		return "in ⟨dir⟩", nil
	}}
	tape, test, notes := copyOf(t, root, "fix.yml", c.host())
	if len(notes) > 0 || !strings.Contains(tape, "text: on localhost:⟨port⟩ in ⟨open⟩dir⟩\n") || !strings.Contains(test, "equals: in ⟨dir⟩\n") {
		t.Errorf("notes %q\n%s\n%s", notes, tape, test)
	}
	test = strings.Replace(test, "status: success", "status: success\n      files: {a.txt: 'on localhost:32768 in ⟨dir⟩', b.txt: null}", 1)
	write(t, root, ".hocket/tests/fix.yml", test+`  - name: files of a case
    files: {a.txt: "at localhost:45678 on ⟨time⟩"}
    replies: {fix: done}
    expect: {files: {a.txt: "at localhost:45678 on ⟨time⟩"}}
`)
	mustPass(t, run(t, root, trial.Options{Host: c.host()}))
}

// The ports of workspaces have placeholders, as in a recording.
func TestCopyOfPortsOfWorkspaces(t *testing.T) {
	root := project(t, map[string]string{"flow.yml": `name: flow
steps:
  - {id: serve, agent: shell, workspace: own, output: url, config: {command: 'echo "http://localhost:$HOCKET_PORT/ and $((HOCKET_PORT + 3))"; echo $HOCKET_PORT > port.txt'}}
  - {id: look, agent: coder, prompt: "Look at ${url}"}
`})
	c := &coder{says: func(*agent.Task) (string, error) { return "ok", nil }}
	tape, _, _ := copyOf(t, root, "flow.yml", c.host())
	if strings.Count(tape, "http://localhost:⟨port of serve⟩/ and ⟨port of serve+3⟩") != 2 || !strings.Contains(tape, "⟨port of serve⟩\n") {
		t.Error(tape)
	}
	mustPass(t, run(t, root, trial.Options{Host: c.host()}))
}

// A test cannot expect a path of the run, and says so.
func TestCopyOfAnOutputWithAPath(t *testing.T) {
	root := project(t, map[string]string{"where.yml": "name: where\nsteps:\n  - {id: where, agent: shell, config: {command: pwd}}\n"})
	c := &coder{}
	tape, test, notes := copyOf(t, root, "where.yml", c.host())
	if !strings.Contains(tape, "output: ⟨dir⟩") || strings.Contains(test, "output") {
		t.Errorf("%s\n%s", tape, test)
	}
	if len(notes) != 2 || !strings.HasPrefix(notes[0], "the test does not check the output") {
		t.Errorf("notes %q", notes)
	}
	mustPass(t, run(t, root, trial.Options{Host: c.host()}))
}

// What a person landed or rejected in a run has the same outcome in the test of it, where nothing can land and nobody is asked.
// An attempt that asked again is one recording.
func TestCopyOfALanding(t *testing.T) {
	flow := `name: fix
steps:
  - {id: fix, agent: coder, workspace: own, prompt: x, output: made}
  - {id: ship, land: %s, error: sorry}
  - {id: thanks, agent: coder, prompt: "Thank for ${nodes.ship.output}", next: end}
  - {id: sorry, agent: coder, prompt: "Say sorry for ${nodes.ship.error}"}
`
	for _, c := range []struct {
		name, as string
		answers  []string
		want     []string // in the cassette
		taken    string
	}{
		{"a branch", "branch, message: 'Add ${made}'", []string{"land"}, []string{"landed 1 file on hocket/⟨run⟩ as ", "message: Add it", "Thank for landed 1 file on hocket/⟨run⟩ as "}, "thanks"},
		{"a commit, after another question", "commit", []string{"ok", "land"}, []string{"output: landed 1 file on main as "}, "thanks"},
		{"a patch", "patch", []string{"land"}, []string{"output: changed 1 file\n"}, "thanks"},
		{"rejected", "commit", []string{"use tabs"}, []string{`message: "a person rejected the change: use tabs"`, "permanent: true"}, "sorry"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := project(t, map[string]string{"fix.yml": fmt.Sprintf(flow, c.as), ".gitignore": ".hocket\n"})
			for _, args := range []string{"init -q -b main", "config user.name Ada", "config user.email ada@example.com", "add .", "commit -qm first"} {
				git := exec.Command("git", strings.Fields(args)...)
				git.Dir = root
				if out, err := git.CombinedOutput(); err != nil {
					t.Fatalf("git %s: %v\n%s", args, err, out)
				}
			}
			agent := &coder{says: func(task *agent.Task) (string, error) {
				if task.Node == "fix" { // and does not report it
					write(t, task.Dir, "new.txt", "hello")
				}
				return "it", nil
			}}
			tape, test, _ := copyOf(t, root, "fix.yml", agent.host(), c.answers...)
			if strings.Count(tape, "address: ship") != 1 || !strings.HasPrefix(tape, "# Made of a run by `hocket cassette`. ") {
				t.Error(tape)
			}
			for _, want := range c.want {
				if !strings.Contains(tape, want) {
					t.Errorf("no %q in\n%s", want, tape)
				}
			}
			write(t, root, ".hocket/tests/fix.yml", strings.Replace(test, "status: success", fmt.Sprintf("status: success\n      taken: [%s]\n      files: {new.txt: null}", c.taken), 1))
			mustPass(t, run(t, root, trial.Options{Host: agent.host()}))
			if c.as == "patch" { // which a test may land; it does not, because the recording says what came of it
				live := run(t, root, trial.Options{Host: agent.host(), Mode: trial.Live})
				mustPass(t, live)
				if len(live[0].Drift) > 0 {
					t.Errorf("drift %+v", live[0].Drift)
				}
			}
			write(t, root, "fix.yml", fmt.Sprintf(flow, "branch, message: Other"))
			if got := failures(run(t, root, trial.Options{Host: agent.host()})[0]); !strings.Contains(got, "ship: the settings are not what was recorded") {
				t.Errorf("another landing: %s", got)
			}
		})
	}
}

// A landing that nobody decided before its run ended does not end in the test, either.
func TestCopyOfALandingWithoutAnAnswer(t *testing.T) {
	root := project(t, map[string]string{"fix.yml": `name: fix
steps:
  - {id: fix, agent: coder, workspace: own, prompt: x}
  - {id: ship, land: patch, parallel_group: both}
  - loop: {max: 1, steps: [{id: stop, human: Stop it}, {id: fail, agent: coder, prompt: y}]}
    parallel_group: both
`})
	c := &coder{says: func(task *agent.Task) (string, error) {
		if task.Node == "fail" {
			return "", agent.Permanentf("no")
		}
		write(t, task.Dir, "new.txt", "hello")
		return "it", nil
	}}
	tape, _, _ := copyOf(t, root, "fix.yml", c.host(), "stop=yes")
	if strings.Count(tape, "address: ship") != 1 || !strings.Contains(tape, "kind: cancelled") {
		t.Error(tape)
	}
	mustPass(t, run(t, root, trial.Options{Host: c.host()}))
}

// A step with a workspace of its own begins with what is there, not with the files of the case; its ports and those of others
// have placeholders.
func TestTreesAndPortsAreRecorded(t *testing.T) {
	flow := `name: flow
steps:
  - {id: first, agent: coder, workspace: own, prompt: one}
  - {id: serve, agent: shell, workspace: own, output: url, config: {command: 'echo "http://localhost:$HOCKET_PORT/ and $((HOCKET_PORT + 3))"'}}
  - {id: look, agent: coder, prompt: "Look at ${url}"}
`
	root := project(t, map[string]string{
		"flow.yml":               flow,
		".hocket/tests/flow.yml": "workflow: flow.yml\ncases: [{name: a, files: {a.txt: a}, cassette: cassettes/fix.yml}]\n",
	})
	text := "one"
	c := &coder{says: func(task *agent.Task) (string, error) {
		if task.Node == "first" {
			write(t, task.Dir, "made.txt", text)
		}
		return "ok", nil
	}}
	mustPass(t, run(t, root, trial.Options{Host: c.host(), Mode: trial.Record}))
	recorded := tape(t, root)
	bases := map[string]bool{}
	for line := range strings.Lines(recorded) {
		if base, ok := strings.CutPrefix(strings.TrimSpace(line), "base: "); ok {
			bases[base] = true
		}
	}
	if len(bases) != 2 { // that of the case, with which first and look begin, and that with made.txt
		t.Errorf("%d bases in\n%s", len(bases), recorded)
	}
	if strings.Count(recorded, "http://localhost:⟨port of serve⟩/ and ⟨port of serve+3⟩") != 2 {
		t.Error(recorded)
	}
	mustPass(t, run(t, root, trial.Options{Host: c.host()}))
	text = "two"
	live := run(t, root, trial.Options{Host: c.host(), Mode: trial.Live})
	mustPass(t, live)
	var drift []string
	for _, p := range live[0].Drift {
		drift = append(drift, p.Summary)
	}
	if got := strings.Join(drift, "\n"); !strings.Contains(got, "serve: the files at the start are not what was recorded") {
		t.Errorf("drift: %s", got)
	}
}

// For coding agents, files are what matters: a live run compares them, too.
func TestLiveRunsCompareFiles(t *testing.T) {
	root, c := recordedFix(t)
	c.says = func(task *agent.Task) (string, error) {
		said, err := fixes(task)
		if task.Node == "fix" && err == nil {
			write(t, task.Dir, "fixed.txt", "fixed in another way\n")
			write(t, task.Dir, "new.txt", "x")
			err = os.Remove(filepath.Join(task.Dir, "logo.png"))
		}
		return said, err
	}
	o := run(t, root, trial.Options{Host: c.host(), Mode: trial.Live})[0]
	var got strings.Builder
	for _, p := range o.Drift {
		got.WriteString(p.Summary + "\n")
		for _, l := range p.Diff {
			got.WriteString(l.Kind + l.Text + "\n")
		}
	}
	for _, want := range []string{
		"fix: the change of fixed.txt is not the recorded one\n-fixed in ⟨dir⟩\n+fixed in another way\n",
		"fix: the change of new.txt is not the recorded one: not changed, now created\n",
		"fix: the change of logo.png is not the recorded one: created as a program, now not changed\n",
	} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("no %q in\n%s", want, got.String())
		}
	}
}
