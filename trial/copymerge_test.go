package trial_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/trial"
)

// writers are two agents that change the same line of a file in their workspaces, and report nothing. Another one resolves the
// conflict, and a judge picks the second.
func writers(t *testing.T) *coder {
	return &coder{says: func(task *agent.Task) (string, error) {
		name := filepath.Join(task.Dir, "shared.txt")
		text, err := os.ReadFile(name)
		switch {
		case strings.Contains(task.Prompt, "Resolve"):
			if err != nil || !strings.Contains(string(text), "<<<<<<<") {
				t.Errorf("no conflict in %s: %v", text, err)
			}
			write(t, task.Dir, "shared.txt", "first\nboth\nlast\n")
			return "resolved", nil
		case strings.Contains(task.Prompt, "Judge"):
			return "two", nil
		case task.Node == "one" || task.Node == "two":
			write(t, task.Dir, "shared.txt", strings.Replace(string(text), "middle", task.Node, 1))
			write(t, task.Dir, task.Node+".bin", "\x00\xff"+task.Node)
			return "wrote", os.Remove(filepath.Join(task.Dir, "old.txt"))
		}
		return "looked at " + task.Node, nil
	}}
}

const (
	writing = `name: flow
steps:
  - {id: one, agent: coder, workspace: own, parallel_group: both, prompt: Write}
  - {id: two, agent: coder, workspace: own, parallel_group: both, prompt: Write}
  - %s
  - {id: look, agent: shell, workspace: own, config: {command: "cat shared.txt; touch seen; chmod +x seen"}, next: end}
`
	sorry  = "  - {id: sorry, agent: coder, prompt: \"Say sorry for ${nodes.join.error}\"}\n"
	shared = "first\nmiddle\nlast\n"
)

func flowWith(join string) string {
	flow := fmt.Sprintf(writing, join)
	if strings.Contains(join, "error: sorry") {
		flow += sorry
	}
	return flow
}

func copied(t *testing.T, join string, answers ...string) (root, tape, test string, notes []string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	root = project(t, map[string]string{"flow.yml": flowWith(join), "shared.txt": shared, "old.txt": "old\n", "other.txt": "x"})
	tape, test, notes = copyOf(t, root, "flow.yml", writers(t).host(), answers...)
	return root, tape, test, notes
}

// What agents and commands did in workspaces is in the copy, whether they reported it or not: so what conflicted conflicts again, and
// what was resolved or picked is played.
func TestCopyOfWorkspaces(t *testing.T) {
	for _, c := range []struct {
		name, join string
		answers    []string
		other      string   // what the workflow joins with afterwards
		test, tape []string // what is in them
		want       string   // of the output
		fails      string   // with the other one
	}{
		{
			"a resolver", "{id: join, merge: {on_conflict: {agent: coder, prompt: Resolve}}}", nil, "{id: join, merge: {}}",
			[]string{"files:\n", "shared.txt: |", "old.txt: |"}, []string{"address: join", "path: one.bin", "base64:", "deleted: true", "executable: true"}, "both", "the recording of join was not used",
		},
		{
			"a failure", "{id: join, merge: {}, error: sorry}", nil, "{id: join, merge: {on_conflict: {agent: coder, prompt: Resolve}}, error: sorry}",
			[]string{"looked at sorry"}, []string{"address: sorry", "conflict in shared.txt"}, "", "join has no reply and no recording",
		},
		{
			"an error", "{id: join, merge: {}}", nil, "{id: join, merge: {on_conflict: {agent: coder, prompt: Resolve}}}",
			[]string{"status: error", "error:\n", "conflict in shared.txt"}, []string{"address: two"}, "", "join has no reply and no recording",
		},
		{
			"an agent that picks", "{id: join, merge: {pick: {agent: coder, prompt: Judge}}}", nil, "{id: join, merge: {on_conflict: {agent: coder, prompt: Resolve}}}",
			[]string{"shared.txt"}, []string{"address: join", "output: two"}, "two", "join: the prompt is not what was recorded",
		},
		{
			"a person who picks", "{id: join, merge: {pick: human}}", []string{"two"}, "{id: join, merge: {}}",
			[]string{"shared.txt"}, []string{"address: join", "output: two"}, "two", "the recording of join was not used",
		},
		{
			"a person who resolves", "{id: join, merge: {on_conflict: human}}", []string{"resolved"}, "{id: join, merge: {}}",
			[]string{"shared.txt: |"}, []string{"address: join", "path: shared.txt"}, "person", "the recording of join was not used",
		},
		{
			"a person who gives up", "{id: join, merge: {on_conflict: human}, error: sorry}", []string{"give up"}, "{id: join, merge: {on_conflict: {agent: coder, prompt: Resolve}}, error: sorry}",
			[]string{"looked at sorry"}, []string{"address: join", "output: give up", "which nobody resolved"}, "", "join: the prompt is not what was recorded",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root, tape, test, notes := copied(t, c.join, c.answers...)
			if len(notes) > 0 {
				t.Errorf("notes %q", notes)
			}
			if strings.Contains(test, "other.txt") {
				t.Errorf("a file that no step changed is in\n%s", test)
			}
			for _, want := range c.test {
				if !strings.Contains(test, want) {
					t.Errorf("no %q in\n%s", want, test)
				}
			}
			for _, want := range c.tape {
				if !strings.Contains(tape, want) {
					t.Errorf("no %q in\n%s", want, tape)
				}
			}
			if c.want != "" && !strings.Contains(test, "first\n          "+c.want+"\n") {
				t.Errorf("the output is not %q in\n%s", c.want, test)
			}
			agents := writers(t)
			mustPass(t, run(t, root, trial.Options{Host: agents.host()}))
			if agents.calls.Load() > 0 {
				t.Error("an agent worked")
			}
			if len(c.answers) > 0 { // the person need not answer again
				live := run(t, root, trial.Options{Host: agents.host(), Mode: trial.Live})
				mustPass(t, live)
				if len(live[0].Drift) > 0 {
					t.Errorf("drift %+v", live[0].Drift)
				}
			}
			write(t, root, "flow.yml", flowWith(c.other))
			if got := failures(run(t, root, trial.Options{Host: agents.host()})[0]); !strings.Contains(got, c.fails) {
				t.Errorf("with %s: %s", c.other, got)
			}
		})
	}
}

// What cannot be copied is said with the step, and so is what a workflow does otherwise by now.
func TestCopyWithoutWorkspaces(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	root := project(t, map[string]string{
		"flow.yml": flowWith("{id: join, merge: {on_conflict: {agent: coder, prompt: Resolve}}}"), "shared.txt": shared, "old.txt": "old\n",
	})
	o := writers(t).host()
	o.State = t.TempDir()
	p, err := hocket.Open(root, o)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	w, err := p.Load(filepath.Join(root, "flow.yml"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Start(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, root, "flow.yml", flowWith("{id: join, merge: {}}"))
	const want = "join ended with success in the run, and ended with error now (the changes of one and two conflict in shared.txt (contents); with on_conflict"
	if _, _, _, err := trial.Copy(t.Context(), p, r, trial.Options{Host: o}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("another workflow: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(p.State(), "workspaces")); err != nil {
		t.Fatal(err)
	}
	_, _, notes, err := trial.Copy(t.Context(), p, r, trial.Options{Host: o})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{"one", "two", "look"} {
		if !strings.Contains(strings.Join(notes, "\n"), step+": its changes of files are not in the cassette: ") {
			t.Errorf("%s is not in %q", step, notes)
		}
	}
}

// three is a workflow whose merge conflicts twice.
const three = `name: three
steps:
  - {id: one, agent: coder, workspace: own, parallel_group: all, prompt: Write}
  - {id: two, agent: coder, workspace: own, parallel_group: all, prompt: Write}
  - {id: three, agent: coder, workspace: own, parallel_group: all, prompt: Write}
  - {id: join, merge: {on_conflict: %s}, retry: {attempts: 2, delay: 1s}, error: sorry}
  - {id: look, agent: shell, workspace: own, config: {command: cat shared.txt}, next: end}
  - {id: sorry, agent: coder, prompt: "Say sorry for ${nodes.join.error}"}
`

// A merge that resolves one conflict after the other, in one attempt or with several questions, has a recording for each, also if what it
// did for the first is not in the files at the end.
func TestCopyOfSeveralConflicts(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	// resolving resolves the nth conflict, and fails at those that are named.
	resolving := func(fails map[int]func() error) *coder {
		resolved := 0
		return &coder{says: func(task *agent.Task) (string, error) {
			switch {
			case strings.Contains(task.Prompt, "Resolve"):
				resolved++
				if fail := fails[resolved]; fail != nil {
					return "", fail()
				}
				write(t, task.Dir, "shared.txt", fmt.Sprintf("first\n%d\nlast\n", resolved))
				scratch := filepath.Join(task.Dir, "scratch.txt")
				if os.Remove(scratch) != nil { // it is there for one round
					write(t, task.Dir, "scratch.txt", "x")
				}
			case strings.Contains(task.Prompt, "Write"):
				write(t, task.Dir, "shared.txt", strings.Replace(shared, "middle", task.Node, 1))
			}
			return fmt.Sprint("ok ", resolved), nil
		}}
	}
	const byAgent = "{agent: coder, prompt: Resolve}"
	quota := func(wait time.Duration) map[int]func() error {
		return map[int]func() error{2: func() error { return &agent.Error{Kind: agent.Quota, Message: "used up", Until: time.Now().Add(wait)} }}
	}
	for _, c := range []struct {
		name, by string
		fails    map[int]func() error
		answers  []string
		rounds   int      // that are recorded
		tape     []string // what is in them
		output   string
	}{
		{"an agent", byAgent, nil, nil, 2, []string{"output: ok 2", "path: scratch.txt", "text: x", "deleted: true"}, "2"},
		{"an agent that fails at the second", byAgent, map[int]func() error{2: func() error { return agent.Errorf("oh") }}, nil, 4, []string{"message: oh", "output: ok 4"}, "4"},
		{"an agent that waits for its quota", byAgent, quota(10 * time.Second), nil, 3, []string{"kind: quota", "output: ok 4"}, "4"},
		{"an agent whose quota is there again", byAgent, quota(-time.Second), nil, 4, []string{"kind: quota", "attempt: 2", "output: ok 4"}, "4"},
		{"a person", "human", nil, []string{"resolved", "resolved"}, 2, []string{"person"}, "person"},
		{"a person who gives up at the second", "human", nil, []string{"resolved", "give up"}, 2, []string{"output: give up", "which nobody resolved"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := project(t, map[string]string{"shared.txt": shared, "three.yml": fmt.Sprintf(three, c.by)})
			tape, test, notes := copyOf(t, root, "three.yml", resolving(c.fails).host(), c.answers...)
			if n := strings.Count(tape, "address: join\n"); n != c.rounds || len(notes) > 0 {
				t.Errorf("%d recordings of join, notes %q in\n%s", n, notes, tape)
			}
			for _, want := range c.tape {
				if !strings.Contains(tape, want) {
					t.Errorf("no %q in\n%s", want, tape)
				}
			}
			if c.output != "" && !strings.Contains(test, "first\n          "+c.output+"\n") {
				t.Errorf("the output is not %q in\n%s", c.output, test)
			}
			agents := resolving(nil)
			mustPass(t, run(t, root, trial.Options{Host: agents.host()}))
			if agents.calls.Load() > 0 {
				t.Error("an agent worked")
			}
			if c.answers == nil {
				return
			}
			live := run(t, root, trial.Options{Host: agents.host(), Mode: trial.Live}) // the person need not answer again
			mustPass(t, live)
			for _, d := range live[0].Drift {
				if !strings.Contains(d.Summary, "the reply is not the recorded one") { // what the agents said
					t.Errorf("drift %+v", d)
				}
			}
		})
	}
}

// A run that does not hold what its test needs is refused for that reason, and not because of what follows from it.
func TestRunsThatCannotBeCopied(t *testing.T) {
	root := project(t, map[string]string{"fails.yml": "name: fails\nsteps: [{id: a, agent: coder, prompt: x}, {id: b, agent: coder, prompt: Fail}]\n"})
	failed := false
	c := &coder{says: func(task *agent.Task) (string, error) {
		if strings.Contains(task.Prompt, "Fail") {
			if failed = !failed; failed {
				return "", agent.Permanentf("no")
			}
		}
		return "ok", nil
	}}
	o := c.host()
	o.State = t.TempDir()
	p, err := hocket.Open(root, o)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	w, err := p.Load(filepath.Join(root, "fails.yml"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Start(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = r.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err = r.Retry(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if err := r.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err = r.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	const want = "it was retried or forked, and its first steps are those of run fails-"
	_, _, _, err = trial.Copy(t.Context(), p, r, trial.Options{Host: o})
	var hinted interface{ Hint() string }
	if err == nil || !strings.HasPrefix(err.Error(), "run "+r.ID()+" cannot be copied: "+want) || !errors.As(err, &hinted) || !strings.Contains(hinted.Hint(), "--record") {
		t.Error(err)
	}
}

// A case in which nobody has to resolve a conflict, or in which a workspace is not picked, leaves that to be tested, whether replies or
// recordings say what happens.
func TestCoverageOfMerges(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	for _, c := range []struct{ join, first, second, want string }{
		{"merge: {on_conflict: {agent: coder, prompt: Resolve}}", "", "two: {output: wrote, files: {shared.txt: two}}, join: {output: ok, files: {shared.txt: both}}", "resolver join"},
		{"merge: {on_conflict: human}", "", "two: {output: wrote, files: {shared.txt: two}}, join: give up", "resolver join"},
		{"merge: {}", "", "two: {output: wrote, files: {shared.txt: two}}", ""},
		{"merge: {pick: {agent: coder, prompt: Judge}}", "join: one", "join: two", "pick join -> two"},
		{"merge: {pick: human}", "join: two", "join: one", "pick join -> one"},
	} {
		root := project(t, map[string]string{"flow.yml": fmt.Sprintf(writing, "{id: join, "+c.join+", error: look}"), ".hocket/tests/flow.yml": `workflow: flow.yml
replies: {one: {output: wrote, files: {shared.txt: one}}, two: {output: wrote, files: {other.txt: two}}, look: ok}
cases:
  - {name: first, replies: {` + c.first + `}}
  - {name: second, replies: {` + c.second + `}}
`})
		all := run(t, root, trial.Options{Host: writers(t).host(), Parallel: 2})
		mustPass(t, all)
		missed := func(all []*trial.Outcome) string {
			var text []string
			for _, p := range trial.CoverageOf(all).Workflows[0].Parts {
				if !p.Covered && p.Node == "join" && p.Kind != trial.ErrorPart {
					text = append(text, string(p.Kind)+" "+p.String())
				}
			}
			return strings.Join(text, ", ")
		}
		if got := missed(all[:1]); got != c.want {
			t.Errorf("%s: %q is not tested, not %q", c.join, got, c.want)
		}
		if got := missed(all); got != "" {
			t.Errorf("%s: %q is not tested by both", c.join, got)
		}
	}
	root, _, _, _ := copied(t, "{id: join, merge: {on_conflict: human}}", "resolved")
	all := run(t, root, trial.Options{Host: writers(t).host()})
	mustPass(t, all)
	for _, p := range trial.CoverageOf(all).Workflows[0].Parts {
		if !p.Covered {
			t.Errorf("%s %s is not covered by a recording", p.Kind, p)
		}
	}
}
