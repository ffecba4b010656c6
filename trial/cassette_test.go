package trial_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/trial"
)

// coder is an agent that works from a prompt, changes files, and counts its attempts.
type coder struct {
	calls atomic.Int32
	says  func(task *agent.Task) (string, error)
}

func (c *coder) host() hocket.Options {
	exec := agent.New(agent.Traits{Prompted: true}, func(_ context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
		c.calls.Add(1)
		text, err := c.says(task)
		return agent.Result{Output: text, Usage: agent.Usage{CostUSD: 0.25, TokensIn: 10, TokensOut: 20}}, err
	})
	return hocket.Options{
		Agents: map[string]agent.Executor{"coder": exec},
		Trust:  func(context.Context, *hocket.UntrustedError) (bool, error) { return true, nil },
	}
}

func fixes(task *agent.Task) (string, error) {
	if err := os.WriteFile(filepath.Join(task.Dir, "fixed.txt"), []byte("fixed in "+task.Dir+"\n"), 0o644); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(task.Dir, "logo.png"), []byte{0x89, 'P', 0, 1, 255}, 0o755); err != nil {
		return "", err
	}
	if err := os.Remove(filepath.Join(task.Dir, "bug.txt")); err != nil && task.Node == "fix" {
		return "", err
	}
	return "done in " + task.Dir + " by " + task.Run, nil
}

const fixFlow = `name: fix
steps:
  - id: fix
    agent: coder
    prompt: Fix the bug in bug.txt
    output: summary
  - id: review
    agent: coder
    prompt: Review ${summary}
`

const fixTest = `workflow: fix.yml
cases:
  - name: fixes it
    files: {bug.txt: "a bug"}
    cassette: cassettes/fix.yml
    expect:
      cost_usd: 0.5
      taken: [fix, review]
      output: {contains: done in}
      files: {bug.txt: null, fixed.txt: {contains: fixed in}, logo.png: {matches: PNG|P}}
`

func recordedFix(t *testing.T) (root string, c *coder) {
	t.Helper()
	root = project(t, map[string]string{"fix.yml": fixFlow, ".hocket/tests/fix.yml": fixTest})
	c = &coder{says: fixes}
	all := run(t, root, trial.Options{Host: c.host(), Mode: trial.Record})
	mustPass(t, all)
	if c.calls.Load() != 2 {
		t.Fatalf("%d attempts", c.calls.Load())
	}
	return root, c
}

func tape(t *testing.T, root string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, ".hocket/tests/cassettes/fix.yml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRecordAndReplay(t *testing.T) {
	root, c := recordedFix(t)
	text := tape(t, root)
	t.Log("\n" + text)
	for _, secret := range []string{os.TempDir() + "/hocket-test-", "hocket-test-run"} {
		if strings.Contains(text, secret) {
			t.Errorf("the cassette contains %s", secret)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "untracked.txt"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	all := run(t, root, trial.Options{Host: c.host()})
	mustPass(t, all)
	if c.calls.Load() != 2 {
		t.Error("an agent worked")
	}
	before := text
	mustPass(t, run(t, root, trial.Options{Host: c.host(), Mode: trial.Record}))
	if tape(t, root) != before {
		t.Error("recording again changed the cassette")
	}
	live := run(t, root, trial.Options{Host: c.host(), Mode: trial.Live})
	mustPass(t, live)
	if len(live[0].Drift) > 0 {
		t.Errorf("drift: %v", live[0].Drift)
	}
}

// A recording is played where its agents are not installed. Recording needs them, and so does a test with real agents.
func TestRecordingsNeedNoAgent(t *testing.T) {
	root, c := recordedFix(t)
	exec := agent.New(agent.Traits{Prompted: true, Missing: func() string { return "coder is not installed" }}, func(context.Context, *agent.Task, agent.Log) (agent.Result, error) {
		c.calls.Add(1)
		return agent.Result{}, nil
	})
	calls := c.calls.Load()
	host := hocket.Options{Agents: map[string]agent.Executor{"coder": exec}, Trust: c.host().Trust}
	mustPass(t, run(t, root, trial.Options{Host: host}))
	for _, mode := range []trial.Mode{trial.Record, trial.Live} {
		if o := run(t, root, trial.Options{Host: host, Mode: mode})[0]; o.Passed() || !strings.Contains(fmt.Sprint(o.Invalid), "coder is not installed") {
			t.Errorf("%s: %+v", mode, o)
		}
	}
	if c.calls.Load() != calls {
		t.Error("an agent worked")
	}
}

func TestChangedPrompt(t *testing.T) {
	root, c := recordedFix(t)
	flow := strings.Replace(fixFlow, "Fix the bug", "Fix the error", 1)
	if err := os.WriteFile(filepath.Join(root, "fix.yml"), []byte(flow), 0o644); err != nil {
		t.Fatal(err)
	}
	all := run(t, root, trial.Options{Host: c.host()})
	got := failures(all[0])
	t.Log(got)
	for _, want := range []string{"fix: the prompt is not what was recorded", "-Fix the bug in bug.txt", "+Fix the error in bug.txt"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	live := run(t, root, trial.Options{Host: c.host(), Mode: trial.Live})
	mustPass(t, live)
	if len(live[0].Drift) == 0 {
		t.Error("a live run does not report the changed prompt")
	}
}

func TestPlantedSecret(t *testing.T) {
	real := t.TempDir()
	home := filepath.Join(t.TempDir(), "home")
	if err := os.Symlink(real, home); err != nil {
		t.Skip(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("USER", "ada-lovelace")
	t.Setenv("SHOP_TOKEN", "s3cr3t-t0k3n-value")
	for _, leak := range []string{"s3cr3t-t0k3n-value", home + "/notes", real + "/notes", url.PathEscape(home + "/notes"), strings.ReplaceAll(home, "/", `\/`), "signed: Ada-Lovelace."} {
		root := project(t, map[string]string{
			"fix.yml": fixFlow, ".hocket/tests/fix.yml": fixTest,
			".hocket/config.yml": "secrets: {shop: {env: SHOP_TOKEN}}\n",
		})
		c := &coder{says: func(task *agent.Task) (string, error) {
			if err := os.WriteFile(filepath.Join(task.Dir, "leak.txt"), []byte("first\n"+leak+"\n"), 0o644); err != nil {
				return "", err
			}
			return fixes(task)
		}}
		all := run(t, root, trial.Options{Host: c.host(), Mode: trial.Record})
		got := failures(all[0])
		t.Log(got)
		if !strings.Contains(got, "line 2 of the file leak.txt of fix contains ") {
			t.Errorf("%s: %s", leak, got)
		}
		if _, err := os.Stat(filepath.Join(root, ".hocket/tests/cassettes/fix.yml")); err == nil {
			t.Error("the cassette was written")
		}
	}
}

// A file whose name a cassette cannot hold is not recorded by another name.
func TestFileNamesThatAreNotUTF8(t *testing.T) {
	if os.WriteFile(filepath.Join(t.TempDir(), "inv\xff"), nil, 0o644) != nil {
		t.Skip("the file system has no such names")
	}
	root := project(t, map[string]string{"fix.yml": fixFlow, ".hocket/tests/fix.yml": fixTest})
	c := &coder{says: func(task *agent.Task) (string, error) {
		if err := os.WriteFile(filepath.Join(task.Dir, "inv\xff"), nil, 0o644); err != nil {
			return "", err
		}
		return fixes(task)
	}}
	if got := failures(run(t, root, trial.Options{Host: c.host(), Mode: trial.Record})[0]); !strings.Contains(got, `fix cannot be recorded: the name "inv\xff" is not UTF-8`) {
		t.Error(got)
	}
}

// A file whose name means something else on other systems is refused when it is recorded, rather than when the cassette is read, and a copy of
// a run says why it does without it.
func TestFileNamesOfOtherSystems(t *testing.T) {
	for _, name := range []string{"a:b", `a\b`} {
		if os.WriteFile(filepath.Join(t.TempDir(), name), nil, 0o644) != nil {
			t.Skip("the file system has no such names")
		}
		root := project(t, map[string]string{
			"fix.yml":               "name: fix\nsteps: [{id: fix, agent: coder, workspace: own, prompt: Fix}]\n",
			".hocket/tests/fix.yml": "workflow: fix.yml\ncases: [{name: a, cassette: cassettes/fix.yml}]\n",
		})
		c := &coder{says: func(task *agent.Task) (string, error) {
			return "ok", os.WriteFile(filepath.Join(task.Dir, name), nil, 0o644)
		}}
		why := fmt.Sprintf("contains the character %q, which not all systems allow in names", name[1])
		o := run(t, root, trial.Options{Host: c.host(), Mode: trial.Record})[0]
		if got := failures(o); !strings.Contains(got, fmt.Sprintf("fix cannot be recorded: the path %q %s; have the step use another name, or give it a reply", name, why)) || o.Written != "" {
			t.Error(got)
		}
		_, _, notes := copyOf(t, root, "fix.yml", c.host())
		if want := "the change of " + name + " is not in the cassette: its name " + why; !strings.Contains(strings.Join(notes, "\n"), want) {
			t.Errorf("notes %q, want %s", notes, want)
		}
	}
}

// A placeholder for a part of a secret does not hide the rest of it.
func TestSecretsWithWhatHasPlaceholders(t *testing.T) {
	for _, value := range []string{"postgres://app:S3cretPassw0rd@localhost:54321/prod", "s3cr3t⟨t0k3n⟩value", "s3cr3t-hocket-test-run-value"} {
		t.Setenv("SHOP_DB", value)
		root := project(t, map[string]string{
			"fix.yml":               "name: fix\nsteps:\n  - {id: fix, agent: coder, workspace: own, prompt: x}\n",
			".hocket/tests/fix.yml": "workflow: fix.yml\ncases: [{name: a, cassette: cassettes/fix.yml}]\n",
			".hocket/config.yml":    "secrets: {shop: {env: SHOP_DB}}\n",
		})
		c := &coder{says: func(task *agent.Task) (string, error) {
			write(t, task.Dir, "db.env", "# in "+task.Dir+"\nURL="+value+"\n")
			return "done with " + value, nil
		}}
		got := failures(run(t, root, trial.Options{Host: c.host(), Mode: trial.Record})[0])
		for _, want := range []string{"line 2 of the file db.env of fix contains the value of a secret", "the output of fix contains the value of a secret"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in %s", value, want, got)
			}
		}
		if _, err := os.Stat(filepath.Join(root, ".hocket/tests/cassettes/fix.yml")); err == nil {
			t.Errorf("%s: the cassette was written", value)
		}
	}
}

// A setup is recorded where it ran first, and plays where it runs first. Nobody has to trust it to replay it, and replies do
// without it. With exec, it runs.
func TestSetupIsRecorded(t *testing.T) {
	root := project(t, map[string]string{
		".hocket/config.yml": "workspace: {setup: 'echo made > made.txt'}\n",
		"flow.yml": `name: flow
execution: parallel
steps:
  - {id: write, agent: coder, for_each: '["x", "y"]', as: name, workspace: own, prompt: "Write ${name}"}
  - {id: both, needs: [write], merge: {on_conflict: {agent: coder}}}
  - {id: look, needs: [both], agent: coder, workspace: own, prompt: Look}
`,
		".hocket/tests/flow.yml": "workflow: flow.yml\ncases: [{name: a, cassette: cassettes/fix.yml, expect: {output: x.txt y.txt}}]\n",
	})
	c := &coder{says: func(task *agent.Task) (string, error) {
		if text, err := os.ReadFile(filepath.Join(task.Dir, "made.txt")); string(text) != "made\n" {
			return "", fmt.Errorf("made.txt is %q: %w", text, err)
		}
		for _, name := range []string{"x", "y"} {
			if strings.Contains(task.Prompt, "Write "+name) {
				write(t, task.Dir, name+".txt", name)
			}
		}
		found, err := filepath.Glob(filepath.Join(task.Dir, "?.txt"))
		for i := range found {
			found[i] = filepath.Base(found[i])
		}
		return strings.Join(found, " "), err
	}}
	mustPass(t, run(t, root, trial.Options{Host: c.host(), Mode: trial.Record}))
	recorded := tape(t, root)
	if strings.Count(recorded, "agent: workspace setup") != 1 {
		t.Error(recorded)
	}
	untrusting := c.host()
	untrusting.Trust = nil
	for range 3 { // either of the two may be first
		mustPass(t, run(t, root, trial.Options{Host: untrusting}))
	}
	write(t, root, ".hocket/tests/flow.yml", "workflow: flow.yml\ncases: [{name: a, replies: {\"*\": ok}, expect: {files: {made.txt: null}}}]\n")
	mustPass(t, run(t, root, trial.Options{Host: untrusting}))
	write(t, root, "flow.yml", "name: flow\nsteps:\n  - {id: look, agent: shell, workspace: own, config: {command: cat made.txt}}\n")
	write(t, root, ".hocket/tests/flow.yml", "workflow: flow.yml\ncases: [{name: a, exec: true, expect: {output: made}}]\n")
	mustPass(t, run(t, root, trial.Options{Host: c.host()}))
	if got := failures(run(t, root, trial.Options{Host: untrusting})[0]); !strings.Contains(got, "trust") {
		t.Errorf("a command runs without trust: %s", got)
	}
}

// A recording may be unused because its step has failed.
func TestUnusedRecordingOfAFailedStep(t *testing.T) {
	root := project(t, map[string]string{
		".hocket/config.yml":     "workspace: {setup: 'echo made > made.txt'}\n",
		"flow.yml":               "name: flow\nsteps:\n  - {id: write, agent: coder, workspace: own, prompt: x}\n",
		".hocket/tests/flow.yml": "workflow: flow.yml\ncases: [{name: a, cassette: cassettes/fix.yml}]\n",
	})
	c := &coder{says: func(*agent.Task) (string, error) { return "ok", nil }}
	mustPass(t, run(t, root, trial.Options{Host: c.host(), Mode: trial.Record}))
	recorded := tape(t, root)
	edited := strings.Replace(recorded, "      output: \"\"\n", "      error: {kind: error, message: no space}\n", 1)
	if edited == recorded {
		t.Fatal(recorded)
	}
	write(t, root, ".hocket/tests/cassettes/fix.yml", edited)
	want := "the recording of write was not used, because the step failed: its workspace cannot be prepared: echo made > made.txt: no space\n"
	if got := failures(run(t, root, trial.Options{Host: c.host()})[0]); got != want {
		t.Errorf("got %s", got)
	}
}

func TestUnusedAndMissingRecordings(t *testing.T) {
	root, c := recordedFix(t)
	file := filepath.Join(root, "fix.yml")
	short := fixFlow[:strings.Index(fixFlow, "  - id: review")]
	if err := os.WriteFile(file, []byte(short), 0o644); err != nil {
		t.Fatal(err)
	}
	test := strings.NewReplacer("      taken: [fix, review]\n", "", "      cost_usd: 0.5\n", "").Replace(fixTest)
	if err := os.WriteFile(filepath.Join(root, ".hocket/tests/fix.yml"), []byte(test), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := failures(run(t, root, trial.Options{Host: c.host()})[0]); got != "the recording of review was not used\n" {
		t.Errorf("got %q", got)
	}
	longer := fixFlow + "  - id: publish\n    agent: coder\n    prompt: Publish\n"
	if err := os.WriteFile(file, []byte(longer), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := failures(run(t, root, trial.Options{Host: c.host()})[0]); got != "publish has no reply and no recording: it is done by coder\n" {
		t.Errorf("got %q", got)
	}
}

func TestHostileCassette(t *testing.T) {
	outside := t.TempDir()
	for _, path := range []string{"../out.txt", "/etc/x", "a/../../x", ".git/config", "sub/.GIT/hooks/x", "link/x", `a\b`, ".", ""} {
		root, c := recordedFix(t)
		text := strings.Replace(tape(t, root), "path: fixed.txt", fmt.Sprintf("path: %q", path), 1)
		if err := os.WriteFile(filepath.Join(root, ".hocket/tests/cassettes/fix.yml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		o := run(t, root, trial.Options{Host: c.host()})[0]
		if path == "link/x" { // a plain path, which is fine without the link
			continue
		}
		if o.Passed() || !o.Invalid.Errors() {
			t.Errorf("%q is accepted", path)
		}
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Error("a file was written outside")
	}
}

// TestWorkspacesAreRecorded records steps that have workspaces of their own, of which one fails at first, and a merge with a
// conflict. The recordings give the same files in the same workspaces, with no agent and no state of the recording left.
func TestWorkspacesAreRecorded(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	root := project(t, map[string]string{
		"flow.yml": `name: flow
steps:
  - {id: write, agent: coder, for_each: '["x", "y"]', as: name, workspace: own, retry: 2, prompt: "Write ${name}"}
  - {id: both, merge: {on_conflict: {agent: coder, prompt: Resolve}}}
  - {id: look, agent: coder, workspace: own, prompt: Look}
  - {id: ship, land: patch}
`,
		".hocket/tests/flow.yml": `workflow: flow.yml
cases:
  - name: a
    files: {shared.txt: "a\n", old.txt: "old"}
    replies: {ship: land}
    cassette: cassettes/fix.yml
    expect: {outputs: {look: "x.txt y.txt shared.txt resolved"}, attempts: {write: 3}, files: {x.txt: null, shared.txt: a, old.txt: old}}
`,
	})
	var failed atomic.Bool
	c := &coder{says: func(task *agent.Task) (string, error) {
		read := func(name string) string {
			text, err := os.ReadFile(filepath.Join(task.Dir, name))
			if err != nil {
				return "no " + name
			}
			return strings.TrimSpace(string(text))
		}
		write := func(name, text string) {
			if err := os.WriteFile(filepath.Join(task.Dir, name), []byte(text), 0o644); err != nil {
				t.Error(err)
			}
		}
		_, name, _ := strings.Cut(task.Prompt, "Write ")
		switch {
		case task.Node == "write":
			name = name[:1]
			if _, err := os.Stat(filepath.Join(task.Dir, "half.txt")); err == nil || read("shared.txt") != "a" {
				t.Errorf("attempt %d of %s does not begin with the files of the test", task.Attempt, task.Address)
			}
			write("half.txt", "half")
			if name == "y" && !failed.Swap(true) {
				return "", agent.Errorf("no connection")
			}
			if err := errors.Join(os.Remove(filepath.Join(task.Dir, "half.txt")), os.Remove(filepath.Join(task.Dir, "old.txt"))); err != nil {
				return "", err
			}
			write(name+".txt", name)
			write("shared.txt", name+"\n")
			return "wrote in " + task.Dir, nil
		case strings.Contains(task.Prompt, "Resolve"):
			if !strings.Contains(read("shared.txt"), "<<<<<<<") {
				t.Error("no conflict")
			}
			write("shared.txt", "resolved\n")
			return "resolved", nil
		}
		return fmt.Sprintf("%s.txt %s.txt shared.txt %s", read("x.txt"), read("y.txt"), read("shared.txt")), nil
	}}
	mustPass(t, run(t, root, trial.Options{Host: c.host(), Mode: trial.Record}))
	made := c.calls.Load()
	text := tape(t, root)
	if strings.Contains(text, os.TempDir()) {
		t.Errorf("the cassette has a path of this machine:\n%s", text)
	}
	write(t, root, "untracked.txt", "x")
	for range 3 {
		mustPass(t, run(t, root, trial.Options{Host: c.host(), Parallel: 2}))
	}
	if got := c.calls.Load(); got != made || made != 5 {
		t.Errorf("%d attempts were recorded, %d made", made, got)
	}
	flow := string(must(os.ReadFile(filepath.Join(root, "flow.yml"))))
	write(t, root, "flow.yml", strings.Replace(flow, "Resolve", "Decide", 1))
	if got := failures(run(t, root, trial.Options{Host: c.host()})[0]); !strings.Contains(got, "both: the prompt is not what was recorded") || !strings.Contains(got, "+Decide") {
		t.Errorf("a changed prompt: %s", got)
	}
}

// If a step begins with other files than it did when it was recorded, these are named.
func TestOtherFilesAtTheStart(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	const flow = `name: flow
steps:
  - {id: first, agent: coder, workspace: own, prompt: one}
  - {id: second, agent: coder, workspace: own, prompt: two}
`
	const files = "workflow: flow.yml\ncases: [{name: a, files: {%s}, cassette: cassettes/fix.yml}]\n"
	recorded := "same.txt: x, gone.txt: x, other.txt: x, run: '#!/bin/sh'"
	var many []string
	for i := range 12 {
		many = append(many, fmt.Sprintf("new%02d.txt: x", i))
	}
	root := project(t, map[string]string{"flow.yml": flow, ".hocket/tests/flow.yml": fmt.Sprintf(files, recorded)})
	c := &coder{says: func(task *agent.Task) (string, error) {
		return "ok", os.WriteFile(filepath.Join(task.Dir, task.Node+".out"), []byte(task.Node), 0o644)
	}}
	mustPass(t, run(t, root, trial.Options{Host: c.host(), Mode: trial.Record}))
	for now, want := range map[string]string{
		"same.txt: x, other.txt: y, new.txt: x, run: exit": "gone.txt is missing, new.txt is new, other.txt differs, run differs\n",
		recorded + ", " + strings.Join(many, ", "):         "new08.txt is new, new09.txt is new, and 2 more\n",
	} {
		write(t, root, ".hocket/tests/flow.yml", fmt.Sprintf(files, now))
		got := failures(run(t, root, trial.Options{Host: c.host()})[0])
		if !strings.HasPrefix(got, "first: the files at the start are not what was recorded: ") || !strings.HasSuffix(got, want) {
			t.Errorf("got %s", got)
		}
	}
	write(t, root, ".hocket/tests/flow.yml", fmt.Sprintf(files, recorded))
	text := tape(t, root)
	write(t, root, ".hocket/tests/cassettes/fix.yml", strings.Replace(text, "path: first.out", "path: changed.out", 1))
	if got := failures(run(t, root, trial.Options{Host: c.host()})[0]); got != "second: the files at the start are not what was recorded: changed.out is new, first.out is missing\n" {
		t.Errorf("a recording that was changed: %s", got)
	}
	at := strings.Index(text, "\nbases:") // as an older version wrote it
	write(t, root, ".hocket/tests/cassettes/fix.yml", strings.Replace(text[:at+1], "path: first.out", "path: changed.out", 1))
	if got := failures(run(t, root, trial.Options{Host: c.host()})[0]); !strings.HasPrefix(got, "second: the files at the start are not what was recorded\n  -sha256:") {
		t.Errorf("without a list: %s", got)
	}
}
