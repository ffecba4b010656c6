package handoff_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff"
	"github.com/hocket-dev/hocket/workflow"
)

func TestRefused(t *testing.T) {
	o := newOffice(t, "")
	o.send(request(to("s1"), ""))
	o.refuse("Session s1 already exists", request(to("s1"), ""))
	o.refuse("session s2 is also used in line 4", request(to("s2"), ""), request(to("s2"), ""))
	o.refuse("the session depends on itself", request(to("s3", `depends_on="s3"`), ""))
	o.refuse("sessions wait for each other: a → b → a", request(to("a", `depends_on="b"`), ""), request(to("b", `depends_on="a"`), ""))
	o.refuse(`depends_on names an unknown session "nobody"`, request(to("s4", `depends_on="nobody"`), ""))
	o.refuse("wrker", strings.Replace(request(to("s5"), ""), "worker", "wrker", 1))
	o.refuse("boom", strings.Replace(request(to("s6"), ""), "spawn", "boom", 1))
	o.refuse(`depends_on names an unknown session "s"`, request(to("s7", `depends_on="s"`), "")) // a prefix is not enough here
	talk := strings.Replace(request("", ""), "spawn", "conversation_only", 1)
	o.refuse("a conversation_only request needs a target_agent", request(to("s8"), ""), talk)
	o.refuse("it needs a model, and none is named", request(to("s9"), ""), strings.Replace(request(to("s10"), ""), "worker", "shell", 1))
	all, err := o.List(t.Context(), 0)
	if err != nil || len(all) != 1 {
		t.Errorf("%d sessions, %v", len(all), err)
	}
	checks, err := o.Checks()
	if err != nil || len(checks) != 11 || !checks[0].Passed || checks[1].Passed || !slices.Contains(checks[1].Codes, "handoff-session") {
		t.Errorf("%+v, %v", checks, err)
	}

	o.send(request(to("s"), "")) // s1 is a different session

	// A directory with only a prompt is waiting for its session; any other is in use.
	write(t, filepath.Join(o.Dir("own"), "prompt.md"), "x")
	o.send(request(to("own"), ""))
	write(t, filepath.Join(o.Dir("used"), "notes.md"), "x")
	o.refuse("Session used already exists in docs/.scratch/sessions/used", request(to("used"), ""))
}

// For several requests, there is one trust question and one digest.
func TestTrustOfABatch(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"one", "two"} {
		write(t, filepath.Join(dir, ".hocket/agents", name+".yml"), "description: d\nagent: shell\nsettings: {command: echo "+name+"}\n")
	}
	batch := []byte(fenced(request(`target_agent="one"`, ""), request(`target_agent="two"`, ""), request(`target_agent="two"`, "")))
	send := func(options hocket.Options) (int, error) {
		options.State = t.TempDir()
		p, err := hocket.Open(dir, options)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		s := handoff.Open(p, func(err error) { t.Error(err) })
		_, err = s.Send(t.Context(), handoff.Order{File: "work.md", Text: batch})
		all, broken := s.List(t.Context(), 0)
		if broken != nil {
			t.Error(broken)
		}
		return len(all), err
	}
	n, err := send(hocket.Options{})
	var untrusted *hocket.UntrustedError
	if !errors.As(err, &untrusted) || n != 0 || len(untrusted.Missing) != 2 {
		t.Fatalf("%d sessions, %v", n, err)
	}
	if n, err := send(hocket.Options{TrustDigest: untrusted.Digest}); n != 3 || err != nil {
		t.Errorf("with a digest: %d sessions, %v", n, err)
	}
	asked := 0
	if n, err := send(hocket.Options{Trust: func(context.Context, *hocket.UntrustedError) (bool, error) {
		asked++
		return true, nil
	}}); n != 3 || err != nil || asked != 1 {
		t.Errorf("with a person, who was asked %d times: %d sessions, %v", asked, n, err)
	}
}

// Everything that a session starts is approved before it is recorded, even if its agent is a
// command, and checked again before it starts.
func TestTrustOfACommand(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	write(t, filepath.Join(dir, ".hocket/agents/dev.yml"), "description: d\nagent: shell\nsettings: {command: sh w.sh}\n")
	write(t, filepath.Join(dir, "w.sh"), "echo fine")
	var missing []string // for each refusal
	open := func(yes bool) *handoff.Sessions {
		var p *hocket.Project
		p, err := hocket.Open(dir, hocket.Options{State: state, Trust: func(_ context.Context, e *hocket.UntrustedError) (bool, error) {
			if yes {
				return true, p.Trust(e.Powers)
			}
			for _, power := range e.Missing {
				missing = append(missing, power.What)
			}
			return false, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		return handoff.Open(p, func(err error) { t.Error(err) })
	}
	send := func(s *handoff.Sessions, id string) error {
		_, err := s.Send(t.Context(), handoff.Order{File: "work.md", Text: []byte(fenced(request(`target_agent="dev" session_id="`+id+`"`, "")))})
		return err
	}
	check := func() *hocket.UntrustedError {
		_, untrusted, err := open(true).Check(t.Context(), handoff.Order{File: "work.md", Text: []byte(fenced(request(`target_agent="dev"`, "")))})
		if err != nil {
			t.Fatal(err)
		}
		return untrusted
	}
	if untrusted := check(); untrusted == nil || len(untrusted.Missing) != 1 {
		t.Errorf("check: %v", untrusted)
	}
	if err := errors.Join(send(open(true), "s1"), send(open(false), "s2")); err != nil {
		t.Fatal(err)
	}
	if untrusted := check(); untrusted != nil {
		t.Errorf("check, after it was approved: %v", untrusted)
	}
	write(t, filepath.Join(dir, "w.sh"), "touch pwned")
	err := send(open(false), "s3")
	if err == nil || len(missing) != 1 || !strings.Contains(missing[0], "the agent dev passes whatever") {
		t.Errorf("a changed program: %q, %v", missing, err)
	}
	if err := open(false).Drive(t.Context()); err == nil || !strings.Contains(err.Error(), "session s2 cannot be driven") {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
		t.Error("a session that was recorded before has started the changed program")
	}
	write(t, filepath.Join(dir, "w.sh"), "echo fine")
	write(t, filepath.Join(dir, ".hocket/config.yml"), "handoff: {test: touch pwned}\n")
	missing = nil
	err = send(open(false), "s4")
	if err == nil || len(missing) != 1 || !strings.Contains(missing[0], "with the command touch pwned") {
		t.Errorf("a new test command: %q, %v", missing, err)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestDirectoryProblems(t *testing.T) {
	o := newOffice(t, "")
	write(t, filepath.Join(o.p.Root(), "docs/.scratch/sessions"), "a file is in the way")
	o.send(request(to("s1"), ""))
	if len(o.problems) != 1 || !strings.Contains(o.problems[0], "the directory of session s1 is not up to date") {
		t.Errorf("%q", o.problems)
	}
	if err := os.Remove(filepath.Join(o.p.Root(), "docs/.scratch/sessions")); err != nil {
		t.Fatal(err)
	}
	o.work = func(*agent.Task) (string, error) {
		return "fine", os.RemoveAll(filepath.Join(o.p.Root(), "docs")) // while it works
	}
	o.drive()
	if one := o.find("s1"); one.Status != handoff.Completed {
		t.Errorf("%+v", one.State)
	}
	wantValid(t, "handoff-state", o.read("s1", "state.json"))
}

func TestRaisedLimitsAreLogged(t *testing.T) {
	o := newOffice(t, "")
	one := o.send(request(to("s1"), "<constraint>Maximum cost: $1</constraint>"))[0]
	if _, err := one.Run().Raise(t.Context(), workflow.Limits{CostUSD: 2}); err != nil {
		t.Fatal(err)
	}
	o.Show(t.Context(), "s1")
	if log := o.read("s1", "session.log"); !strings.Contains(log, "Limits raised by") {
		t.Error(log)
	}
}

// The state of a session says that no process drives it any more.
func TestInterrupted(t *testing.T) {
	o := newOffice(t, "")
	ctx, stop := context.WithCancel(t.Context())
	o.exec = func(ctx context.Context, _ *agent.Task) (string, error) {
		if one := o.find("s1"); one.Interrupted {
			t.Errorf("%+v", one.State)
		}
		stop()
		<-ctx.Done()
		return "", ctx.Err()
	}
	run := o.send(request(to("s1"), ""))[0].Run()
	observer, end := o.Follow(ctx, run, nil)
	if _, err := run.Drive(ctx, hocket.Front{Observer: observer}); err == nil {
		t.Fatal("it was not interrupted")
	}
	end()
	o.Interrupted("s1")
	if one := o.find("s1"); !one.Interrupted || one.Phase != handoff.Working || one.Waits != "" {
		t.Errorf("%+v", one.State)
	}
	if listed, err := o.List(t.Context(), 0); err != nil || len(listed) != 1 || !listed[0].Interrupted {
		t.Errorf("%+v, %v", listed, err)
	}
	state := o.read("s1", "state.json")
	wantValid(t, "handoff-state", state)
	if !strings.Contains(state, `"interrupted": true`) {
		t.Error(state)
	}
}

func TestUndeliverable(t *testing.T) {
	o := newOffice(t, "")
	q := strings.Replace(request(to("s1"), "<constraint>Read-only</constraint>"), "<report>what you found</report>",
		`<file path="src/a.go">it</file><file path="docs/.scratch/sessions/{session-id}/a.md">it</file>`, 1)
	h, err := handoff.Check(o.p, "a.md", []byte(fenced(q)), false)
	if err != nil || len(h.Found) != 1 || h.Found[0].Severity != workflow.Warning || !strings.Contains(h.Found[0].Summary, "src/a.go cannot be delivered") {
		t.Errorf("%v, %v", h.Found, err)
	}
	// Nothing is enforced for a conversation.
	h, err = handoff.Check(o.p, "a.md", []byte(fenced(strings.Replace(q, "<mode>spawn</mode>", "<mode>conversation_only</mode>", 1))), false)
	if err != nil || len(h.Found) != 0 {
		t.Errorf("%v, %v", h.Found, err)
	}
}

// While a batch is being sent, another process may already drive sessions. It never skips a session
// because its dependency is not recorded yet.
func TestSendWhileDriven(t *testing.T) {
	o := newOffice(t, "")
	busy, done := make(chan struct{}), make(chan struct{})
	o.work = func(task *agent.Task) (string, error) {
		if task.Run == "busy" {
			close(busy)
			<-done
		}
		return "all is fine", nil
	}
	o.send(request(to("busy"), ""))
	ended := make(chan error)
	go func() { ended <- o.Drive(context.WithoutCancel(t.Context())) }()
	<-busy
	var chain []string
	for i := range 20 {
		chain = append(chain, request(to(fmt.Sprintf("s%d", i), fmt.Sprintf(`depends_on="s%d"`, i+1)), ""))
	}
	o.send(append(chain, request(to("s20"), ""))...)
	close(done)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for i := range 21 {
		if one := o.find(fmt.Sprintf("s%d", i)); one.Status != handoff.Completed {
			t.Errorf("%s: %s %s", one.ID, one.Status, one.Error)
		}
	}
}

// A write limit that cannot be enforced is refused before the work begins.
func TestLimitToAFile(t *testing.T) {
	o := newOffice(t, "")
	if err := errors.Join(os.WriteFile(filepath.Join(o.p.Root(), "Makefile"), nil, 0o644), os.Symlink("docs", filepath.Join(o.p.Root(), "lnk"))); err != nil {
		t.Fatal(err)
	}
	for name, constraint := range map[string]string{"Makefile": "<constraint>Only modify `Makefile`</constraint>", "lnk": "<constraint>Only modify lnk/</constraint>"} {
		want := "the write limits cannot be enforced: " + name + " is not a folder"
		o.refuse(want, request(to("one"), constraint))
		o.exec = func(ctx context.Context, task *agent.Task) (string, error) {
			_, err := use(ctx, task, map[string]any{"request": request(`target_agent="planner"`, constraint)})
			return fmt.Sprint(err), nil
		}
		if res := o.driveRun(o.record("{to: [planner]}")); res.Output != want {
			t.Errorf("%v", res.Output)
		}
	}
}
