package trial_test

import (
	"context"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/trial"
)

// person answers every question.
type person struct {
	says  string
	asked atomic.Int32
}

func (p *person) Ask(_ *engine.Question, answer func(engine.Answered) error, _ func()) bool {
	p.asked.Add(1)
	go answer(engine.Answered{Value: p.says, Comment: "fine", By: "someone", Via: "test"}) //nolint:errcheck // the run says so
	return true
}

func (*person) Withdraw(string) {}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestPeopleAreRecorded(t *testing.T) {
	root := project(t, map[string]string{
		"flow.yml": `name: flow
steps:
  - id: draft
    agent: coder
    prompt: Draft
    output: draft
  - id: approve
    human: Send ${draft}?
    route: {approve: send, reject: end}
  - id: send
    agent: coder
    prompt: Send
`,
		".hocket/tests/flow.yml": "workflow: flow.yml\ncases: [{name: a, cassette: cassettes/flow.yml, expect: {taken: [send]}}]\n",
	})
	c := &coder{says: func(task *agent.Task) (string, error) { return "the " + task.Node, nil }}
	p := &person{says: "approve"}
	mustPass(t, run(t, root, trial.Options{Host: c.host(), Mode: trial.Record, People: p}))
	mustPass(t, run(t, root, trial.Options{Host: c.host(), People: p}))
	if c.calls.Load() != 2 || p.asked.Load() != 1 {
		t.Errorf("%d attempts, %d questions", c.calls.Load(), p.asked.Load())
	}
	// A live run gives the same answer to the same question, and asks others.
	drift := func(people hocket.Asker) string {
		live := run(t, root, trial.Options{Host: c.host(), Mode: trial.Live, People: people})
		mustPass(t, live)
		var all []string
		for _, p := range live[0].Drift {
			all = append(all, p.Summary)
		}
		return strings.Join(all, "\n")
	}
	if got := drift(nil); got != "" {
		t.Errorf("drift: %s", got)
	}
	whole := string(must(os.ReadFile(filepath.Join(root, "flow.yml"))))
	write(t, root, "flow.yml", strings.Replace(whole, "human: Send ${draft}?", `human: {question: "Send ${draft}?", required: true}`, 1))
	if got := drift(p); got != "" || p.asked.Load() != 2 { // what comes after it really happens
		t.Errorf("drift: %s, %d questions", got, p.asked.Load())
	}
	write(t, root, "flow.yml", whole)
	text, err := os.ReadFile(filepath.Join(root, ".hocket/tests/cassettes/flow.yml"))
	if err != nil || !strings.Contains(string(text), "decision: approve") || strings.Contains(string(text), "someone") {
		t.Errorf("%v\n%s", err, text)
	}
	write(t, root, "flow.yml", strings.Replace(string(must(os.ReadFile(filepath.Join(root, "flow.yml")))), "Send ${draft}?", "Post ${draft}?", 1))
	if got := drift(p); got != "approve: the prompt is not what was recorded" || p.asked.Load() != 3 {
		t.Errorf("drift: %s, %d questions", got, p.asked.Load())
	}
	o := run(t, root, trial.Options{Host: c.host(), Mode: trial.Live})[0]
	if o.Passed() || !strings.HasPrefix(o.Problems[0].Detail, "approve asks a person, and nobody answered in time: no answer to this question is recorded: ") {
		t.Errorf("without people: %+v", o.Problems)
	}
	got := failures(run(t, root, trial.Options{Host: c.host()})[0])
	if !strings.Contains(got, "approve: the prompt is not what was recorded") || !strings.Contains(got, "+Post the draft?") {
		t.Error(got)
	}
}

func must(text []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return text
}

// Attempts that fail, wait for a quota, run side by side or are cancelled are played as they were.
func TestEveryOutcomeIsRecorded(t *testing.T) {
	root := project(t, map[string]string{
		"flow.yml": `name: flow
steps:
  - id: flaky
    agent: coder
    prompt: Try
    retry: {attempts: 3, delay: 200ms}
  - id: quota
    agent: coder
    prompt: Ask
  - id: each
    for_each: '["a", "b", "c"]'
    as: one
    agent: coder
    prompt: Do ${one}
  - id: slow
    agent: coder
    prompt: Hang
    timeout: 300ms
`,
		".hocket/tests/flow.yml": `workflow: flow.yml
cases:
  - name: a
    cassette: cassettes/flow.yml
    expect: {error: {contains: took longer}, attempts: {flaky: 2, each: 3}, files: {a.txt: a, b.txt: b, c.txt: c}}
`,
	})
	var quota atomic.Bool
	c := &coder{}
	exec := agent.New(agent.Traits{Prompted: true}, func(ctx context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
		c.calls.Add(1)
		switch {
		case task.Node == "flaky" && task.Attempt == 1:
			return agent.Result{Usage: agent.Usage{CostUSD: 1}}, agent.Errorf("no connection")
		case task.Node == "quota" && !quota.Swap(true):
			return agent.Result{}, &agent.Error{Kind: agent.Quota, Message: "used up", Until: time.Now().Add(1500 * time.Millisecond)}
		case task.Node == "slow":
			<-ctx.Done()
			return agent.Result{}, agent.Interrupted(ctx)
		case task.Node == "each":
			_, after, _ := strings.Cut(task.Prompt, "Do ")
			return agent.Result{Output: after[:1]}, os.WriteFile(filepath.Join(task.Dir, after[:1]+".txt"), []byte(after[:1]), 0o600)
		}
		return agent.Result{Output: "ok"}, nil
	})
	host := hocket.Options{Agents: map[string]agent.Executor{"coder": exec}}
	mustPass(t, run(t, root, trial.Options{Host: host, Mode: trial.Record}))
	made := c.calls.Load()
	for range 5 {
		all := run(t, root, trial.Options{Host: host})
		mustPass(t, all)
	}
	if c.calls.Load() != made {
		t.Error("an agent worked")
	}
}

// A run that was not a test becomes one, with the files that its agent reported.
func TestCopyOfARun(t *testing.T) {
	root := project(t, map[string]string{"fix.yml": fixFlow})
	c := &coder{says: func(task *agent.Task) (string, error) {
		task.Record(agent.FileChange{Path: "new.txt", Change: agent.Created, New: "first"})
		task.Record(agent.FileChange{Path: "new.txt", Change: agent.Modified, Old: "fir", New: "wor"})
		task.Record(agent.FileChange{Path: "old.txt", Change: agent.Modified, Old: "a", New: "b"})
		return task.Node + " done", nil
	}}
	o := c.host()
	o.State = t.TempDir()
	p, err := hocket.Open(root, o)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	w, err := p.Load(filepath.Join(root, "fix.yml"))
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
	calls := c.calls.Load()
	tape, made, notes, err := trial.Copy(t.Context(), p, r, trial.Options{Host: c.host()})
	if err != nil {
		t.Fatal(err)
	}
	if len(notes) != 2 || !strings.Contains(notes[0], "old.txt") {
		t.Errorf("notes %q", notes)
	}
	made.Cassette = filepath.Join(root, ".hocket/tests/cassettes/fix.yml")
	if err := trial.WriteCopy(p, tape, made); err != nil {
		t.Fatal(err)
	}
	write(t, root, ".hocket/tests/fix.yml", strings.Replace(string(made.Text()), "status: success", "status: success\n      files: {new.txt: worst}", 1))
	all := run(t, root, trial.Options{Host: c.host()})
	mustPass(t, all)
	if len(all) != 1 || c.calls.Load() != calls {
		t.Errorf("%d cases, %d attempts", len(all), c.calls.Load()-calls)
	}
	write(t, root, "fix.yml", strings.Replace(fixFlow, "id: review", "id: look", 1))
	if _, _, _, err := trial.Copy(t.Context(), p, r, trial.Options{Host: c.host()}); err == nil || !strings.Contains(err.Error(), "review ended with success in the run, and is not reached now; look, attempt 1, was not made") {
		t.Errorf("got %v", err)
	}
}

func TestRecordingsStayInTheProject(t *testing.T) {
	outside := t.TempDir()
	root := project(t, map[string]string{"fix.yml": fixFlow, ".hocket/tests/fix.yml": fixTest})
	if err := os.Symlink(outside, filepath.Join(root, ".hocket/tests/cassettes")); err != nil {
		t.Skip(err)
	}
	c := &coder{says: fixes}
	if o := run(t, root, trial.Options{Host: c.host(), Mode: trial.Record})[0]; o.Passed() {
		t.Error("a cassette was written outside of the project")
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("outside are %v", left)
	}
}

// Only what stands in the case is in its directory, and commands run there.
func TestCommandsRunInTheDirectoryOfTheTest(t *testing.T) {
	root := project(t, map[string]string{
		"flow.yml": `name: flow
steps:
  - id: list
    agent: shell
    config: {command: "ls; echo made > made.txt"}
`,
		"secret.txt": "x",
		".hocket/tests/flow.yml": `workflow: flow.yml
cases:
  - name: runs
    exec: true
    files: {a.txt: "a", b/c.txt: {from: ../../secret.txt}}
    expect: {output: "a.txt\nb", files: {made.txt: made, b/c.txt: x, no.txt: null}}
  - name: does not run
    expect: {status: success}
  - name: a command that hangs
    exec: true
    workflow: slow.yml
    expect: {status: error, error: {contains: took longer}}
`,
		"slow.yml": `name: slow
steps:
  - id: wait
    agent: shell
    timeout: 200ms
    config: {command: "sleep 60"}
`,
	})
	all := run(t, root, trial.Options{})
	mustPass(t, []*trial.Outcome{all[0], all[2]})
	if got := failures(all[1]); got != "list has no reply and no recording: it is done by shell\n" {
		t.Errorf("got %q", got)
	}
	if _, err := os.Stat(filepath.Join(root, "made.txt")); err == nil {
		t.Error("a command ran in the project")
	}
}

// What a command left is killed when it ends, but not the command of the same step in a case that runs at the same time.
func TestCasesDoNotKillEachOther(t *testing.T) {
	pipes := t.TempDir()
	for _, name := range []string{"began", "go"} {
		if out, err := exec.Command("mkfifo", filepath.Join(pipes, name)).CombinedOutput(); err != nil {
			t.Skipf("mkfifo: %v: %s", err, out)
		}
	}
	root := project(t, map[string]string{
		"flow.yml": strings.ReplaceAll(`name: flow
steps:
  - id: work
    agent: shell
    timeout: 30s
    config: {command: "if test -e first; then echo > PIPES/began; cat PIPES/go; else cat PIPES/began; fi"}
  - id: after
    agent: shell
    timeout: 30s
    config: {command: "test -e first || echo done > PIPES/go"}
`, "PIPES", pipes),
		".hocket/tests/flow.yml": `workflow: flow.yml
cases:
  - {name: waits for the other one, exec: true, files: {first: ""}, expect: {outputs: {work: done}}}
  - {name: ends while the other one waits, exec: true}
`,
	})
	mustPass(t, run(t, root, trial.Options{Parallel: 2}))
}

func TestUntakenEdgesAreReported(t *testing.T) {
	root := project(t, map[string]string{
		"flow.yml": `name: flow
steps:
  - id: work
    agent: coder
    prompt: Work
    error: repair
  - loop:
      max: 3
      until: verdict.pass
      steps:
        - id: judge
          agent: coder
          prompt: Judge
          output: {var: verdict, mode: json}
  - id: good
    choice: {on: "${verdict.kind}"}
    route: {note: post}
    else: file
  - id: post
    agent: coder
    next: end
  - id: file
    agent: coder
    next: end
  - id: repair
    agent: coder
`,
		".hocket/tests/flow.yml": `workflow: flow.yml
cases: [{name: a, replies: {judge: '{"pass": true, "kind": "note"}', "*": ok}, expect: {taken: [post]}}]
`,
	})
	all := run(t, root, trial.Options{})
	mustPass(t, all)
	var missed []string
	c := trial.CoverageOf(all)
	for _, p := range c.Workflows[0].Parts {
		if !p.Covered {
			missed = append(missed, string(p.Kind)+" "+p.String())
		}
	}
	t.Log(strings.Join(missed, "\n"))
	for _, want := range []string{"node repair", "error work -> repair (error)", "back choice -> again (else)", "node file", "else good -> file (else)"} {
		found := false
		for _, m := range missed {
			found = found || strings.HasPrefix(m, want)
		}
		if !found {
			t.Errorf("%q is not reported", want)
		}
	}
	if len(missed) != 5 {
		t.Errorf("%d are reported", len(missed))
	}
}

// junit is the part of a report that matters here.
type junit struct {
	XMLName xml.Name `xml:"testsuites"`
	Suites  []struct {
		Name  string     `xml:"name,attr"`
		Attrs []xml.Attr `xml:",any,attr"`
		Cases []struct {
			Name      string     `xml:"name,attr"`
			Classname string     `xml:"classname,attr"`
			Time      float64    `xml:"time,attr"`
			Attrs     []xml.Attr `xml:",any,attr"`
			Failure   *struct {
				Message string `xml:"message,attr"`
				Type    string `xml:"type,attr"`
				Text    string `xml:",chardata"`
			} `xml:"failure"`
			Error *struct {
				Message string `xml:"message,attr"`
			} `xml:"error"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

// junitReport returns the report about four cases: one that passes, one that fails and two that cannot run.
func junitReport(t *testing.T) string {
	t.Helper()
	root := project(t, map[string]string{"flow.yml": gate, ".hocket/tests/flow.yml": `workflow: flow.yml
replies: {draft: x, publish: "a <b> & \"c\" ]]>", remind: ok}
cases:
  - {name: "a <good> case & more", replies: {approve: approve}}
  - {name: bad, replies: {approve: approve}, expect: {output: "\u0007"}}
  - {name: invalid, replies: {nobody: x}}
  - {name: unable, workflow: other.yml}
`, "other.yml": "name: other\nsteps: [{id: a, agent: shell, config: {command: echo}}]\n"})
	var b strings.Builder
	if err := trial.JUnit(&b, root, run(t, root, trial.Options{}), time.Now()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestJUnit(t *testing.T) {
	report := junitReport(t)
	var got junit
	dec := xml.NewDecoder(strings.NewReader(report))
	dec.Strict = true
	if err := dec.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got.Suites) != 1 || len(got.Suites[0].Cases) != 4 {
		t.Fatalf("got %s", report)
	}
	cases := got.Suites[0].Cases
	for _, c := range cases {
		if len(c.Attrs) != 0 { // Jenkins rejects the report
			t.Errorf("%s has the attributes %v", c.Name, c.Attrs)
		}
	}
	if c := cases[0]; c.Name != "a <good> case & more" || c.Classname != "flow" || c.Failure != nil || c.Error != nil {
		t.Errorf("got %+v", c)
	}
	if c := cases[1]; c.Failure == nil || c.Failure.Message != "the output is not as expected" || c.Failure.Type == "" || !strings.Contains(c.Failure.Text, `a <b> & "c" ]]>`) {
		t.Errorf("got %+v", c.Failure)
	}
	if c := cases[2]; c.Error == nil || c.Failure != nil {
		t.Errorf("got %+v", c)
	}
	if c := cases[3]; c.Error == nil || c.Failure != nil || !strings.Contains(c.Error.Message, "a has no reply and no recording") {
		t.Errorf("got %+v", c)
	}
	if text := cases[1].Failure.Text; !strings.Contains(text, "--> .hocket/tests/flow.yml:5:") {
		t.Errorf("no position in %s", text)
	}
	attrs := map[string]string{}
	for _, a := range got.Suites[0].Attrs {
		attrs[a.Name.Local] = a.Value
	}
	for name, want := range map[string]string{"tests": "4", "failures": "1", "errors": "2", "skipped": "0", "hostname": "localhost", "file": ".hocket/tests/flow.yml"} {
		if attrs[name] != want {
			t.Errorf("%s=%q", name, attrs[name])
		}
	}
	if _, err := time.Parse("2006-01-02T15:04:05", attrs["timestamp"]); err != nil {
		t.Error(err)
	}
}

// readsJUnit prints what a program finds in a report with the library junitparser, a line for each case.
const readsJUnit = `
import sys
from junitparser import JUnitXml
for suite in JUnitXml.fromfile(sys.argv[1]):
    print(suite.name, suite.tests, suite.failures, suite.errors, suite.skipped)
    for case in suite:
        print(case.classname, case.name, *("%s: %s" % (type(r).__name__, r.message) for r in case.result), sep=" | ")
`

// A library of others finds the same in a report.
func TestJUnitIsReadByOthers(t *testing.T) {
	pythons := slices.DeleteFunc([]string{"python3", "/usr/bin/python3"}, func(python string) bool { // apt installs it for the second one
		return exec.Command(python, "-c", "import junitparser").Run() != nil
	})
	if len(pythons) == 0 {
		t.Skip("junitparser is not installed; apt-get install python3-junitparser")
	}
	file := filepath.Join(t.TempDir(), "report.xml")
	if err := os.WriteFile(file, []byte(junitReport(t)), 0o644); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command(pythons[0], "-c", readsJUnit, file).CombinedOutput()
	const want = `flow 4 1 2 0
flow | a <good> case & more
flow | bad | Failure: the output is not as expected
flow | invalid | Error: the case cannot run
flow | unable | Error: a has no reply and no recording: it is done by shell
`
	if err != nil || string(said) != want {
		t.Errorf("%v\n%s", err, said)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(fixTest)
	f.Add("workflow: w\ncases: [{name: a, files: {../x: y}, replies: ../r.yml, expect: {output: {matches: '('}}}]")
	f.Fuzz(func(t *testing.T, text string) {
		root := "/project"
		file, found := trial.Read(root, "/project/.hocket/tests/t.yml", []byte(text))
		if found.Errors() {
			return
		}
		for _, c := range file.Cases {
			if c.Name == "" || c.Workflow == "" {
				t.Errorf("accepts %q", text)
			}
			for path := range c.Files {
				if !filepath.IsLocal(path) {
					t.Errorf("accepts the path %q", path)
				}
			}
			if rel, err := filepath.Rel(root, c.Cassette); c.Cassette != "" && (err != nil || !filepath.IsLocal(rel)) {
				t.Errorf("accepts the cassette %q", c.Cassette)
			}
		}
	})
}

// An attempt that hands off work is refused at once: what the other agent does would wait for its turn for ever.
func TestHandoffsAreNotRecorded(t *testing.T) {
	root := project(t, map[string]string{
		"flow.yml":               "name: flow\nsteps: [{id: fix, agent: coder, prompt: Fix, timeout: 5s, handoffs: {to: [coder]}}]\n",
		".hocket/tests/flow.yml": "workflow: flow.yml\ncases: [{name: a, cassette: cassettes/flow.yml}]\n",
	})
	hands := ""
	exec := agent.New(agent.Traits{Prompted: true}, func(ctx context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
		if task.Node != "fix" || hands == "" {
			return agent.Result{Output: "ok" + hands}, nil
		}
		if hands != "tool" {
			return agent.Result{Output: hands}, nil
		}
		got, err := task.HandOff(ctx, agent.Handoff{To: "coder", Prompt: "Test it", Blocking: true})
		return agent.Result{Output: got.Output}, err
	})
	host := hocket.Options{Agents: map[string]agent.Executor{"coder": exec}}
	for _, text := range []string{"", "```xml\n<agent_request session_id=\"try\" target_agent=\"coder\">\n<mode>spawn</mode><original_intent>Fix</original_intent><current_task_summary>Test it</current_task_summary><workflow>none</workflow><task_details>Twice</task_details><deliverables><decision>Is it fixed?</decision></deliverables>\n</agent_request>\n```"} {
		hands = text // an agent that may hand off work is recorded, and what its answer asks for, too
		mustPass(t, run(t, root, trial.Options{Host: host, Mode: trial.Record}))
		mustPass(t, run(t, root, trial.Options{Host: host}))
	}
	tape := string(must(os.ReadFile(filepath.Join(root, ".hocket/tests/cassettes/flow.yml"))))
	if !strings.Contains(tape, "address: fix/handoff-1") {
		t.Error(tape)
	}
	hands = "tool"
	for _, mode := range []trial.Mode{trial.Record, trial.Live} {
		o := run(t, root, trial.Options{Host: host, Mode: mode})[0]
		if o.Passed() || o.Problems[0].Summary != "fix cannot be recorded: it hands off work with a tool, which recordings do not hold" {
			t.Errorf("%s: got %q", mode, failures(o))
		}
	}
}

// A landing that a test cannot make says so before an agent works, and one that nobody has approved says how to record it.
func TestLandingsThatCannotBeRecorded(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	for as, want := range map[string][2]string{
		"branch": {"a test cannot land the change of step ship as a branch: its directory is not a git repository", "add ship to `replies`, which stand in for the landing; only `land: patch` can be recorded"},
		"patch":  {"ship asks a person, and has no answer: Land this change", "run `hocket test flow --record` in a terminal and answer it there, or add ship to `replies`"},
	} {
		root := project(t, map[string]string{
			"flow.yml":               "name: flow\nsteps: [{id: work, agent: coder, prompt: Work, workspace: own}, {id: ship, land: " + as + "}]\n",
			".hocket/tests/flow.yml": "workflow: flow.yml\ncases: [{name: a, cassette: cassettes/flow.yml}]\n",
		})
		c := &coder{says: fixes}
		o := run(t, root, trial.Options{Host: c.host(), Mode: trial.Record})[0]
		if o.Passed() || !strings.HasPrefix(o.Problems[0].Summary, want[0]) || o.Problems[0].Detail != want[1] {
			t.Errorf("%s: got %+v", as, o.Problems)
		}
		if as == "branch" && c.calls.Load() > 0 {
			t.Error("an agent worked for nothing")
		}
	}
}

// An attempt that waits for its turn ends with its timeout, also when it is played.
func TestTurnsEndWithTheirAttempt(t *testing.T) {
	root := project(t, map[string]string{
		"flow.yml": `name: flow
execution: dag
steps:
  - {id: long, agent: coder, prompt: Work, timeout: 5s}
  - {id: ready, human: "Has it begun?"}
  - {id: short, agent: coder, prompt: Wait, timeout: 200ms, needs: [ready], error: over}
  - {id: over, human: "Is it over?"}
`,
		".hocket/tests/flow.yml": "workflow: flow.yml\ncases: [{name: a, cassette: cassettes/flow.yml, expect: {taken: [short -> over], outputs: {long: done}}}]\n",
	})
	began, over := make(chan struct{}), make(chan struct{})
	exec := agent.New(agent.Traits{Prompted: true}, func(ctx context.Context, _ *agent.Task, _ agent.Log) (agent.Result, error) {
		close(began)
		select {
		case <-over:
			return agent.Result{Output: "done"}, nil
		case <-ctx.Done():
			return agent.Result{}, agent.Interrupted(ctx)
		}
	})
	people := asker(func(q *engine.Question, answer func(engine.Answered) error) {
		if q.Node == "ready" {
			<-began
		} else {
			close(over)
		}
		answer(engine.Answered{Value: "approve", By: "someone", Via: "test"}) //nolint:errcheck // the run says so
	})
	host := hocket.Options{Agents: map[string]agent.Executor{"coder": exec}}
	mustPass(t, run(t, root, trial.Options{Host: host, Mode: trial.Record, People: people}))
	mustPass(t, run(t, root, trial.Options{Host: host}))
}

// asker answers every question in its own way.
type asker func(q *engine.Question, answer func(engine.Answered) error)

func (a asker) Ask(q *engine.Question, answer func(engine.Answered) error, _ func()) bool {
	go a(q, answer)
	return true
}

func (asker) Withdraw(string) {}

// resolver is a person who resolves conflicts in the directory of each question: with the next of some texts, after which the
// person gives up. An empty text means that the file becomes a link.
func resolver(t *testing.T, texts ...string) asker {
	return func(q *engine.Question, answer func(engine.Answered) error) {
		said := "give up"
		if len(texts) > 0 {
			said = "resolved"
			dir, _, _ := strings.Cut(q.Detail, "\n")
			if texts[0] == "" {
				if err := os.Symlink("shared.txt", filepath.Join(dir, "link")); err != nil {
					t.Error(err)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "shared.txt"), []byte(texts[0]), 0o600); err != nil {
				t.Error(err)
			}
			texts = texts[1:]
		}
		if err := answer(engine.Answered{Value: said, By: "someone", Via: "test"}); err != nil {
			t.Error(err)
		}
	}
}

// What a person changed to resolve conflicts is recorded with each answer, so that it is played.
func TestResolutionsOfPeopleAreRecorded(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	const flow = `name: flow
steps:
  - {id: one, agent: coder, workspace: own, parallel_group: all, prompt: Write}
  - {id: two, agent: coder, workspace: own, parallel_group: all, prompt: Write}
  - {id: three, agent: coder, workspace: own, parallel_group: all, prompt: Write}
  - {id: join, merge: {on_conflict: human}, error: sorry}
  - {id: look, agent: shell, workspace: own, config: {command: cat shared.txt}, next: end}
  - {id: sorry, agent: coder, prompt: Say sorry}
`
	const test = "workflow: flow.yml\ncases: [{name: a, files: {shared.txt: \"first\\nmiddle\\nlast\\n\"}, cassette: cassettes/fix.yml}]\n"
	c := &coder{says: func(task *agent.Task) (string, error) {
		if task.Node != "sorry" {
			write(t, task.Dir, "shared.txt", "first\n"+task.Node+"\nlast\n")
		}
		return "ok", nil
	}}
	host := c.host()
	marked := "first\n<<<<<<< one\none\n=======\nboth\n>>>>>>> two\nlast\n"
	for _, texts := range [][]string{{"both\n", "first\nall\n"}, {marked, "both\n", "all\n"}, {"both\n"}, {}} {
		root := project(t, map[string]string{"flow.yml": flow, ".hocket/tests/flow.yml": test})
		mustPass(t, run(t, root, trial.Options{Host: host, Mode: trial.Record, People: resolver(t, texts...)}))
		want := c.calls.Load()
		all := run(t, root, trial.Options{Host: host})
		mustPass(t, all)
		if c.calls.Load() != want {
			t.Error("an agent worked")
		}
		live := run(t, root, trial.Options{Host: host, Mode: trial.Live}) // nobody is asked again
		mustPass(t, live)
		if len(live[0].Drift) > 0 {
			t.Errorf("%q: drift %+v", texts, live[0].Drift)
		}
		if got, _ := all[0].Result.Output.(string); len(texts) > 1 && got+"\n" != texts[len(texts)-1] || len(texts) < 2 && got != "ok" {
			t.Errorf("%q: the output is %q", texts, got)
		}
	}
	root := project(t, map[string]string{"flow.yml": flow, ".hocket/tests/flow.yml": test})
	o := run(t, root, trial.Options{Host: host, Mode: trial.Record, People: resolver(t, "both\n", "")})[0]
	if got := failures(o); !strings.HasPrefix(got, "how the conflicts of join were resolved cannot be recorded: link is a link") || o.Written != "" {
		t.Errorf("got %s", got)
	}
}
