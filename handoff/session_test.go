package handoff_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff"
	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/schema"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/extract"
)

// office is a project with an agent named worker.
type office struct {
	*testing.T
	*handoff.Sessions
	p        *hocket.Project
	mu       sync.Mutex
	prompts  []string // one per attempt, in order
	problems []string
	work     func(task *agent.Task) (string, error)
	exec     func(ctx context.Context, task *agent.Task) (string, error) // instead of work, if not nil
}

func newOffice(t *testing.T, config string, set ...func(*hocket.Options)) *office {
	t.Helper()
	o := &office{T: t, work: func(*agent.Task) (string, error) { return "all is fine", nil }}
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, ".hocket"), 0o755), os.WriteFile(filepath.Join(dir, ".hocket/config.yml"), []byte(config), 0o644)); err != nil {
		t.Fatal(err)
	}
	exec := agent.New(agent.Traits{Prompted: true, Unbounded: func(*agent.Task, workflow.Budget) string { return "" }}, func(ctx context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
		o.mu.Lock()
		o.prompts = append(o.prompts, task.Prompt)
		work, exec := o.work, o.exec
		o.mu.Unlock()
		if exec != nil {
			work = func(task *agent.Task) (string, error) { return exec(ctx, task) }
		}
		out, err := work(task)
		return agent.Result{Output: out}, err
	})
	options := hocket.Options{State: t.TempDir(), Agents: map[string]agent.Executor{"worker": exec, "planner": exec}}
	for _, f := range set {
		f(&options)
	}
	var err error
	o.p, err = hocket.Open(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.p.Close() })
	o.Sessions = handoff.Open(o.p, func(err error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.problems = append(o.problems, err.Error())
	})
	return o
}

func fenced(requests ...string) string {
	return "# Work\n\n```xml\n" + strings.Join(requests, "\n```\n\n```xml\n") + "\n```\n"
}

// send sends requests, and fails the test if they are invalid.
func (o *office) send(requests ...string) []*handoff.Session {
	o.Helper()
	sent, err := o.Send(o.Context(), handoff.Order{File: "work.md", Text: []byte(fenced(requests...))})
	if err != nil {
		o.Fatal(err)
	}
	return sent.Sessions
}

// refuse sends requests that must be refused with a message.
func (o *office) refuse(want string, requests ...string) {
	o.Helper()
	sent, err := o.Send(o.Context(), handoff.Order{File: "work.md", Text: []byte(fenced(requests...))})
	if err == nil || !strings.Contains(err.Error(), want) || len(sent.Sessions) > 0 {
		o.Errorf("%v, want %s", err, want)
	}
}

func (o *office) drive() {
	o.Helper()
	if err := o.Drive(o.Context()); err != nil {
		o.Fatal(err)
	}
}

func (o *office) find(id string) *handoff.Session {
	o.Helper()
	one, err := o.Find(o.Context(), id)
	if err != nil {
		o.Fatal(err)
	}
	return one
}

// read reads a file of a session.
func (o *office) read(id, name string) string {
	o.Helper()
	text, err := os.ReadFile(filepath.Join(o.Dir(id), name))
	if err != nil {
		o.Error(err)
	}
	return string(text)
}

func to(id string, more ...string) string {
	return fmt.Sprintf(`session_id="%s" target_agent="worker" %s`, id, strings.Join(more, " "))
}

func TestSession(t *testing.T) {
	o := newOffice(t, "")
	o.work = func(*agent.Task) (string, error) {
		return "<agent_response version=\"1.0\" status=\"COMPLETED\"><summary>Fine</summary><reports><report>It is up</report></reports></agent_response>", nil
	}
	one := o.send(request(to("s1", `priority="high" estimated_duration="10m"`), ""))[0]
	if one.ID != "s1" || one.Status != handoff.Running || one.Phase != handoff.Pending {
		t.Errorf("%+v", one.State)
	}
	before := o.read("s1", "state.json")
	o.drive()
	done := o.find("s1")
	if done.Status != handoff.Completed || done.Phase != "" || done.Attempts != 1 || done.Answer.Summary != "Fine" {
		t.Errorf("%+v", done.State)
	}
	if prompt := o.read("s1", "prompt.md"); !strings.Contains(prompt, "<agent_request") {
		t.Errorf("prompt.md: %s", prompt)
	}
	for _, line := range []string{"Session created: Look at the service", "XML handoff validation: PASSED", "Attempt 1 started with worker", "Session ended: COMPLETED"} {
		if log := o.read("s1", "session.log"); !strings.Contains(log, line) {
			t.Errorf("session.log lacks %q:\n%s", line, log)
		}
	}
	if ignored, err := os.ReadFile(filepath.Join(filepath.Dir(o.Dir("s1")), ".gitignore")); err != nil || string(ignored) != "*\n" {
		t.Errorf(".gitignore: %q, %v", ignored, err)
	}
	for _, text := range []string{before, o.read("s1", "state.json")} {
		wantValid(t, "handoff-state", text)
	}
	wantValid(t, "handoff-result", o.read("s1", "result.json"))

	// The directory is a projection: it can be recreated at any time.
	kept := map[string]string{}
	for _, name := range []string{"state.json", "prompt.md", "result.json", "output.log", "session.log"} {
		kept[name] = o.read("s1", name)
	}
	if err := os.RemoveAll(filepath.Dir(o.Dir("s1"))); err != nil {
		t.Fatal(err)
	}
	o.Show(t.Context(), "s1")
	for name, text := range kept {
		if again := o.read("s1", name); again != text {
			t.Errorf("%s (-before +again):\n%s", name, cmp.Diff(text, again))
		}
	}
	if len(o.problems) > 0 {
		t.Error(o.problems)
	}
}

// wantValid validates a text against a published schema.
func wantValid(t *testing.T, name, text string) {
	t.Helper()
	source, err := schema.JSON(name)
	if err != nil {
		t.Fatal(err)
	}
	var s any
	if err := json.Unmarshal(source, &s); err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	compiled, err := extract.Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	if wrong := compiled.Mistakes(value); len(wrong) > 0 {
		t.Errorf("%s is not valid: %q\n%s", name, wrong, text)
	}
}

func TestRetryIsToldWhatIsMissing(t *testing.T) {
	o := newOffice(t, "")
	q := strings.Replace(request(to("s1", `max_retries="1"`), ""), "<report>what you found</report>", `<file path="out.txt" required="true">it</file>`, 1)
	var feedback []string
	o.work = func(task *agent.Task) (string, error) {
		feedback = append(feedback, task.Feedback)
		if task.Attempt == 2 {
			return "done", os.WriteFile(filepath.Join(task.Dir, "out.txt"), []byte("x"), 0o644)
		}
		return "done", nil
	}
	o.send(q)
	o.drive()
	if one := o.find("s1"); one.Status != handoff.Completed || one.Attempts != 2 || one.Error != "" {
		t.Errorf("%+v", one.State)
	}
	if len(feedback) != 2 || feedback[0] != "" || !strings.Contains(feedback[1], "out.txt does not exist") {
		t.Errorf("%q", feedback)
	}
	// Without max_retries there is one attempt, and the result says why it failed.
	o.work = func(*agent.Task) (string, error) { return "done", nil }
	o.send(strings.ReplaceAll(strings.ReplaceAll(q, "s1", "s2"), ` max_retries="1"`, ""))
	o.drive()
	if one := o.find("s2"); one.Status != handoff.Failed || one.Attempts != 1 || !strings.Contains(one.Error, "out.txt has not changed") {
		t.Errorf("%+v", one.State)
	}
	wantValid(t, "handoff-result", o.read("s2", "result.json"))
}

func TestDependencies(t *testing.T) {
	o := newOffice(t, "handoff: {parallel: 1}")
	var order []string
	o.work = func(task *agent.Task) (string, error) {
		order = append(order, task.Run)
		if task.Run == "bad" {
			return "", errors.New("boom")
		}
		return "fine", nil
	}
	o.send(
		request(to("last", `depends_on="mid, first"`), ""),
		request(to("mid", `depends_on="first"`), ""),
		request(to("low", `priority="low"`), ""),
		request(to("first"), ""),
		request(to("high", `priority="high"`), ""),
		request(to("bad", `priority="high"`), ""),
		request(to("skipped", `depends_on="bad"`), ""),
		request(to("too", `depends_on="skipped"`), ""),
	)
	o.drive()
	if diff := cmp.Diff([]string{"high", "bad", "first", "mid", "last", "low"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	for id, want := range map[string]string{"last": "COMPLETED", "bad": "FAILED boom", "skipped": "CANCELLED skipped: it depends on session bad, which is FAILED",
		"too": "CANCELLED skipped: it depends on session skipped, which is CANCELLED"} {
		one := o.find(id)
		if got := strings.TrimSpace(string(one.Status) + " " + one.Error); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
		wantValid(t, "handoff-result", o.read(id, "result.json"))
		wantValid(t, "handoff-state", o.read(id, "state.json"))
	}
}

// If a session fails, all sessions that depend on it end, however long the chain is.
func TestChainIsSkipped(t *testing.T) {
	o := newOffice(t, "")
	o.work = func(*agent.Task) (string, error) { return "", errors.New("boom") }
	chain := []string{request(to("s0"), "")}
	for i := 1; i < 20; i++ {
		chain = append(chain, request(to(fmt.Sprintf("s%d", i), fmt.Sprintf(`depends_on="s%d"`, i-1)), ""))
	}
	o.send(chain...)
	o.drive()
	if one := o.find("s19"); one.Status != handoff.Cancelled {
		t.Errorf("%+v", one.State)
	}
}

// Sessions without an id get one from the time and the task, and a number if there are several in
// the same second.
func TestIDs(t *testing.T) {
	o := newOffice(t, "")
	same := request(`target_agent="worker"`, "")
	sent := o.send(same, same, same)
	seen := map[string]bool{}
	if len(sent) != 3 {
		t.Errorf("%d sessions", len(sent))
	}
	for _, one := range sent {
		if seen[one.ID] || !strings.Contains(one.ID, "-look-at-the-service") {
			t.Errorf("id %s", one.ID)
		}
		seen[one.ID] = true
	}
}

func TestProse(t *testing.T) {
	o := newOffice(t, "")
	order := handoff.Order{File: "task.md", Text: []byte("# Count the files\n\nAll of them.\n"), Agent: "worker"}
	sent, err := o.Send(t.Context(), order)
	if err != nil || len(sent.Sessions) != 1 || sent.Sessions[0].Summary != "Count the files" {
		t.Fatalf("%+v, %v", sent, err)
	}
	o.drive()
	if len(o.prompts) != 1 || !strings.Contains(o.prompts[0], "All of them.") {
		t.Errorf("%q", o.prompts)
	}
	strict := newOffice(t, "handoff: {required: true}")
	if _, err := strict.Send(t.Context(), order); err == nil || !strings.Contains(err.Error(), "requires a request in XML") {
		t.Error(err)
	}
	order.Spike = true
	if _, err := strict.Send(t.Context(), order); err != nil {
		t.Error(err)
	}
}

// The context of a conversation_only request goes to the agent's next task, once, and all
// attempts of that task get it. Notifications work in the same way.
func TestInbox(t *testing.T) {
	o := newOffice(t, "")
	talk := strings.Replace(request(to("talk"), ""), "<mode>spawn</mode>", "<mode>conversation_only</mode>", 1)
	talk = strings.Replace(talk, "Look at it.", "There are three ways.", 1)
	if sent := o.send(talk); len(sent) != 0 {
		t.Errorf("%d sessions", len(sent))
	}
	o.work = func(task *agent.Task) (string, error) {
		if task.Attempt == 1 && task.Run == "next" {
			return "", errors.New("try again")
		}
		return "<agent_response><summary>s</summary><reports><report>it</report><report>that</report></reports></agent_response>", nil
	}
	o.send(request(to("next", `max_retries="1" notify_on_completion="planner"`), ""))
	o.drive()
	o.send(request(to("after"), ""), strings.Replace(request(to("told"), ""), "worker", "planner", 1))
	o.drive()
	var with []bool
	for _, p := range o.prompts {
		with = append(with, strings.Contains(p, "There are three ways."))
	}
	if len(with) != 4 || !with[0] || !with[1] || with[2] || with[3] {
		t.Errorf("%v", with)
	}
	if n := strings.Count(o.prompts[0], "# Your folder"); n != 1 { // a conversation has none
		t.Errorf("%d folders in:\n%s", n, o.prompts[0])
	}
	told := 0
	for _, p := range o.prompts {
		if strings.Contains(p, "The session next (Look at the service) has ended: COMPLETED") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("%d tasks were told that the session ended", told)
	}
	messages, err := filepath.Glob(filepath.Join(o.p.State(), "inbox/*/*.json@*"))
	if err != nil || len(messages) != 2 {
		t.Errorf("%q, %v", messages, err)
	}
	for _, file := range messages {
		if text, err := os.ReadFile(file); err != nil || len(text) > 0 {
			t.Errorf("a message is stored after its task has ended: %s, %v", text, err)
		}
	}
}

// A message is delivered once. If it is sent again, it is not delivered again; if the agent could
// not read it, the next task gets it; and if the agent cannot receive messages, it is refused.
func TestMessageOnce(t *testing.T) {
	o := newOffice(t, "", func(options *hocket.Options) {
		options.Agents["command"] = agent.Func(func(context.Context, *agent.Task, agent.Log) (agent.Result, error) { return agent.Result{}, nil })
	})
	talk := strings.Replace(strings.Replace(request(to("talk"), ""), "<mode>spawn</mode>", "<mode>conversation_only</mode>", 1), "Look at it.", "There are three ways.", 1)
	anonymous := strings.Replace(talk, `session_id="talk"`, "", 1)
	o.refuse("command cannot receive a conversation_only request", strings.Replace(talk, "worker", "command", 1))
	h, _, err := o.Check(t.Context(), handoff.Order{File: "work.md", Text: []byte(fenced(strings.Replace(talk, "worker", "command", 1)))})
	if err != nil || protocol.Refusal(h.Found).Title != "The handoff cannot be carried out" { // its XML is fine
		t.Errorf("%v, %v", h, err)
	}
	for i, text := range []string{talk, talk, anonymous, anonymous} {
		sent, err := o.Send(t.Context(), handoff.Order{File: "work.md", Text: []byte(fenced(text))})
		if err != nil || len(sent.Messaged) != 1-i%2 || i%2 == 1 && !strings.Contains(sent.Found.String(), "will not get it again") {
			t.Errorf("%d: %+v, %v", i, sent, err)
		}
	}
	o.work = func(*agent.Task) (string, error) { return "", errors.New("the model is away") }
	o.send(request(to("s1"), ""))
	o.drive()
	o.work = func(*agent.Task) (string, error) {
		return "<agent_response><summary>s</summary><reports><report>1</report><report>2</report><report>3</report></reports></agent_response>", nil
	}
	o.send(request(to("s2"), ""))
	o.drive()
	if one := o.find("s2"); one.Status != handoff.Completed || len(o.prompts) != 2 {
		t.Fatalf("%+v, %q", one.State, o.prompts)
	}
	for i, p := range o.prompts {
		if n := strings.Count(p, "There are three ways."); n != 2 {
			t.Errorf("prompt %d has it %d times:\n%s", i, n, p)
		}
	}
}

// A session that takes longer than estimated is marked as overdue, and its log says since when.
func TestOverdue(t *testing.T) {
	o := newOffice(t, "")
	working, done := make(chan struct{}), make(chan struct{})
	o.work = func(*agent.Task) (string, error) {
		close(working)
		<-done
		return "all is fine", nil
	}
	o.send(request(to("s1", `estimated_duration="1ms"`), ""))
	ended := make(chan error)
	go func() { ended <- o.Drive(context.WithoutCancel(t.Context())) }()
	<-working
	time.Sleep(2 * time.Millisecond) // at least as long as estimated
	all, err := o.List(t.Context(), 0)
	close(done)
	if err != nil || len(all) != 1 || !all[0].Overdue || all[0].Phase != handoff.Working || all[0].Attempts != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if log := o.read("s1", "session.log"); !strings.Contains(log, "The session has exceeded its estimated duration of 1ms") {
		t.Error(log)
	}
}

// A session may have ended before its sender writes the directory. The directory still shows the
// end.
func TestSenderIsSlowerThanTheDriver(t *testing.T) {
	o := newOffice(t, "")
	other := handoff.Open(o.p, nil)
	driven := false
	o.SetNow(func() time.Time {
		if _, err := o.p.Run(t.Context(), "s1"); err == nil && !driven {
			driven = true
			if err := other.Drive(t.Context()); err != nil {
				t.Error(err)
			}
		}
		return time.Now()
	})
	o.send(request(to("s1"), ""))
	if state := o.read("s1", "state.json"); !driven || !strings.Contains(state, "COMPLETED") {
		t.Errorf("driven: %v, %s", driven, state)
	}
}

// The folder of all sessions is hidden from Git, unless it is used for other things too.
func TestGitIgnores(t *testing.T) {
	for name, c := range map[string]struct {
		before string
		want   bool
	}{"new": {"", true}, "with a prompt": {"s1/prompt.md", true}, "with notes": {"s0/notes.md", false}, "with a file": {"README.md", false}} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, "")
			all := filepath.Dir(o.Dir("s1"))
			if c.before != "" {
				write(t, filepath.Join(all, c.before), "x")
			}
			o.send(request(to("s1"), ""))
			if text, err := os.ReadFile(filepath.Join(all, ".gitignore")); c.want != (err == nil) || c.want && string(text) != "*\n" {
				t.Errorf("%q, %v", text, err)
			}
			if len(o.problems) > 0 {
				t.Error(o.problems)
			}
		})
	}
}

// If a session was stopped, its state says which limit it exceeded, or who cancelled it.
func TestHowASessionEnded(t *testing.T) {
	o := newOffice(t, "")
	o.exec = func(ctx context.Context, _ *agent.Task) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}
	o.send(request(to("s1", `timeout="50ms"`), ""), request(to("s2", `timeout="1h"`), "<constraint>Maximum duration: 0.05 seconds</constraint>"), request(to("s3", `depends_on="s1"`), ""))
	o.drive()
	for id, want := range map[string]string{
		"s1": "TIMEOUT the session ran longer than 50ms, its timeout",
		"s2": `TIMEOUT the session ran longer than 50ms, the limit of the constraint "Maximum duration: 0.05 seconds"`,
		"s3": "CANCELLED skipped: it depends on session s1, which is TIMEOUT",
	} {
		if one := o.find(id); string(one.Status)+" "+one.Error != want {
			t.Errorf("%s: %s %s", id, one.Status, one.Error)
		}
	}
	if log := o.read("s3", "session.log"); strings.Contains(log, "ancelled by") {
		t.Error(log)
	}
	one := o.send(request(to("s4"), ""))[0]
	if _, err := one.Run().Cancel(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if one := o.find("s4"); one.Status != handoff.Cancelled || !strings.HasPrefix(one.Error, "cancelled by ") {
		t.Errorf("%+v", one.State)
	}
}

// A project may accept only files in the directory of the session, and the agent is told so.
func TestDeliverablesOfTheSession(t *testing.T) {
	o := newOffice(t, "handoff: {deliverables: session}")
	q := strings.Replace(request(to("s1"), ""), "<report>what you found</report>", `<file path="a.md">it</file><file path="docs/.scratch/sessions/s1/b.md">it</file>`, 1)
	h, err := handoff.Check(o.p, "a.md", []byte(fenced(q)), false)
	if err != nil || len(h.Found) != 1 || !strings.Contains(h.Found[0].Summary, "a.md cannot be delivered: the project accepts only files in the directory of the session") {
		t.Errorf("%v, %v", h.Found, err)
	}
	o.send(q)
	o.drive()
	if len(o.prompts) != 1 || !strings.Contains(o.prompts[0], "Only files in `docs/.scratch/sessions/s1` are accepted.") {
		t.Errorf("%q", o.prompts)
	}
}

// Waiting for a session that cannot be driven returns, with the reason.
func TestWaitForObstacle(t *testing.T) {
	o := newOffice(t, "")
	o.send(request(to("s1"), ""))
	without, err := hocket.Open(o.p.Root(), hocket.Options{State: o.p.State()}) // without its agents
	if err != nil {
		t.Fatal(err)
	}
	defer without.Close()
	failed := handoff.Open(without, nil).Drive(t.Context())
	if failed == nil || !strings.Contains(failed.Error(), "session s1 cannot be driven") {
		t.Fatal(failed)
	}
	err = o.Wait(t.Context(), []string{"s1"}, nil, func(one *handoff.Session) error {
		if one.Final() || !strings.Contains(one.Waits, "worker") {
			t.Errorf("%+v", one.State)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	o.drive() // with its agents
	if one := o.find("s1"); one.Status != handoff.Completed || o.Obstacle("s1") != "" {
		t.Errorf("%+v, %q", one.State, o.Obstacle("s1"))
	}
}

// A retry or fork of a session is a session too, with its own id and directory.
func TestSessionAgain(t *testing.T) {
	o := newOffice(t, "")
	o.work = func(*agent.Task) (string, error) { return "", errors.New("boom") }
	o.send(request(to("one", `depends_on="zero"`), ""), request(to("zero"), "")) // both end
	o.send(request(to("two"), ""))
	o.drive()
	before := o.read("two", "result.json")
	o.work = func(task *agent.Task) (string, error) {
		return "fine now", os.WriteFile(filepath.Join(task.Dir, "docs/.scratch/sessions", task.Run, "notes.md"), nil, 0o644)
	}
	for _, id := range []string{"one", "two"} {
		old := o.find(id)
		info, err := old.Run().Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		run, err := old.Run().Fork(t.Context(), "handoff", nil, o.Again(info))
		if err != nil {
			t.Fatal(err)
		}
		o.Hold(run.ID())
		o.drive()
		if one := o.find(run.ID()); one.Phase != handoff.Pending {
			t.Errorf("it was not to be started: %+v", one.State)
		}
		o.driveRun(run)
		one := o.find(run.ID())
		if one.Status != handoff.Completed || one.ID != run.ID() || one.Agent != "worker" || len(one.DependsOn) > 0 || !strings.Contains(o.read(one.ID, "state.json"), `"COMPLETED"`) {
			t.Errorf("%+v", one.State)
		}
		if !strings.Contains(o.read(one.ID, "result.json"), "fine now") {
			t.Error(o.read(one.ID, "result.json"))
		}
	}
	if after := o.read("two", "result.json"); after != before {
		t.Errorf("the session that failed has changed: %s", after)
	}
	if all, err := o.List(t.Context(), 0); err != nil || len(all) != 5 || len(o.problems) > 0 {
		t.Errorf("%+v, %v, %v", all, err, o.problems)
	}
	if marks, _ := os.ReadDir(filepath.Join(o.p.State(), "handoff-open")); len(marks) > 0 {
		t.Errorf("%v", marks)
	}
}
