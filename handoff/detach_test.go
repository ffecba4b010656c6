package handoff_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/handoff"
	"github.com/hocket-dev/hocket/handoff/attempt"
	"github.com/hocket-dev/hocket/workflow"
)

// use calls the tool that agents use to hand off work.
func use(ctx context.Context, task *agent.Task, args map[string]any) (string, error) {
	for _, tool := range task.Tools {
		if tool.Name == attempt.ToolName {
			return tool.Call(ctx, args, task, func([]byte) {})
		}
	}
	return "", errors.New("there is no tool")
}

var audit = map[string]any{"to": "planner", "summary": "Audit everything", "detach": true, "constraints": []any{"Maximum cost: $2"}}

// detaching makes the first agent detach an audit.
func (o *office) detaching() {
	o.exec = func(ctx context.Context, task *agent.Task) (string, error) {
		if task.Address == "lead" {
			return use(ctx, task, audit)
		}
		return "all is fine", nil
	}
}

// limits returns the limits that a run was started with.
func limits(t *testing.T, run *hocket.Run) workflow.Limits {
	t.Helper()
	for e, err := range run.Recorded(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		return e.Event.(*engine.Started).Limits
	}
	t.Fatal("no events")
	return workflow.Limits{}
}

// Detached work is a session with its own run and ledger. The amount reserved for it counts as
// spent in the original run.
func TestDetach(t *testing.T) {
	o := newOffice(t, "")
	begun := 0
	o.Background = func() error { begun++; return nil }
	o.detaching()
	run := o.record("{to: [planner], detach: true}")
	res := o.driveRun(run)
	all, err := o.HandedOff(t.Context(), run)
	if err != nil || len(all) != 1 || res.Status != engine.Success || res.Usage.CostUSD != 2 || begun != 1 {
		t.Fatalf("%s %v, used %+v, begun %d; %+v, %v", res.Status, res.Output, res.Usage, begun, all, err)
	}
	id := all[0].ID
	if !strings.HasPrefix(id, run.ID()+"-") || !strings.Contains(res.Output.(string), "the separate session "+id) {
		t.Errorf("%s: %s", id, res.Output)
	}
	one := o.find(id)
	if one.Phase != handoff.Pending || one.Step != "" || one.From != run.ID()+"/lead/handoff-1" || one.Run().ID() != id || limits(t, one.Run()).CostUSD != 2 {
		t.Errorf("%+v", one.State)
	}
	wantValid(t, "handoff-state", o.read(id, "state.json"))
	if got, err := o.Detached(t.Context(), id); err != nil || !got.Running {
		t.Errorf("%+v, %v", got, err)
	}
	o.drive()
	if got, err := o.Detached(t.Context(), id); err != nil || got.Running || got.Output != "all is fine" {
		t.Errorf("%+v, %v", got, err)
	}
	if inside, err := o.Inside(t.Context(), run); err != nil || len(inside) != 0 {
		t.Errorf("it is part of the run: %v, %v", inside, err)
	}
	all, err = o.HandedOff(t.Context(), run)
	if err != nil || len(all) != 1 || all[0].ID != id || all[0].Status != handoff.Completed {
		t.Errorf("%+v, %v", all, err)
	}
	if prompt := o.read(id, "prompt.md"); !strings.Contains(prompt, "Audit everything") || strings.Contains(prompt, "detach") {
		t.Error(prompt)
	}

	// A fork keeps the session, and does not start another one.
	again, err := run.Fork(t.Context(), "lead", new(string))
	if err != nil {
		t.Fatal(err)
	}
	o.driveRun(again)
	if sessions, err := o.List(t.Context(), 0); err != nil || len(sessions) != 1 {
		t.Errorf("%+v, %v", sessions, err)
	}

	// A fork from the step that starts it starts another one.
	if again, err = run.Fork(t.Context(), "lead/handoff-1", nil); err != nil {
		t.Fatal(err)
	}
	o.driveRun(again)
	if sessions, err := o.List(t.Context(), 0); err != nil || len(sessions) != 2 || !strings.HasPrefix(sessions[0].ID, again.ID()+"-") {
		t.Errorf("%+v, %v", sessions, err)
	}
	if all, err = o.HandedOff(t.Context(), again); err != nil || len(all) != 1 || all[0].From != again.ID()+"/lead/handoff-1" {
		t.Errorf("%+v, %v", all, err)
	}
	if len(o.problems) > 0 {
		t.Error(o.problems)
	}
}

// Cancelling a run does not affect work that was detached from it, and the agent can check on it.
func TestDetachedSurvivesTheRun(t *testing.T) {
	o := newOffice(t, "")
	var seen string
	o.exec = func(ctx context.Context, task *agent.Task) (string, error) {
		if task.Address != "lead" {
			return "all is fine", nil
		}
		named := map[string]any{"request": strings.Replace(request(`target_agent="planner" session_id="own" detach="true"`, "<constraint>Maximum tokens: 5k</constraint>"), "spawn", "blocking", 1)}
		if _, err := use(ctx, task, named); err != nil {
			t.Error(err)
		}
		seen, _ = use(ctx, task, map[string]any{"id": "own"})
		run, err := o.p.Run(ctx, task.Run)
		if err == nil {
			_, err = run.Cancel(ctx, "enough")
		}
		if err != nil {
			t.Error(err)
		}
		<-ctx.Done()
		return "", ctx.Err()
	}
	run := o.record("{to: [planner], detach: true}")
	if res := o.driveRun(run); res.Status != engine.Cancelled || res.Usage.TokensOut != 5000 || seen != "Handed off to planner with the id own. It is in progress." {
		t.Errorf("%s, %+v, %q", res.Status, res.Usage, seen)
	}
	o.drive()
	if one := o.find("own"); one.Status != handoff.Completed || one.Output != "all is fine" {
		t.Errorf("%+v", one.State)
	}
}

// Work that is detached with the id of another session does not start, and does not change that
// session.
func TestDetachToATakenID(t *testing.T) {
	o := newOffice(t, "")
	o.send(strings.Replace(request(to("own"), ""), "spawn", "blocking", 1))
	o.Interrupted("own")
	o.exec = func(ctx context.Context, task *agent.Task) (string, error) {
		_, err := use(ctx, task, map[string]any{"request": request(`target_agent="planner" session_id="own" detach="true"`, "")})
		return fmt.Sprint(err), nil
	}
	run := o.record("{to: [planner], detach: true}")
	if res := o.driveRun(run); !strings.Contains(fmt.Sprint(res.Output), "session own already exists in the list of runs: choose another session_id") {
		t.Errorf("%s %v", res.Status, res.Output)
	}
	if got := o.Obstacle("own"); got != "it was interrupted" {
		t.Errorf("the session is no longer left to the person who stopped it: %q", got)
	}
	all, err := o.HandedOff(t.Context(), run)
	if err != nil || len(all) != 1 || all[0].Status != handoff.Failed || all[0].Step != "lead/handoff-1" || all[0].ID != run.ID()+"-own" {
		t.Fatalf("%+v, %v", all, err)
	}
	if one := o.find(all[0].ID); one.Status != handoff.Failed || !strings.Contains(one.Error, "session own already exists") {
		t.Errorf("%+v", one.State)
	}
}

// With a scripted reply, no session is started, whatever the reply says.
func TestDetachScripted(t *testing.T) {
	o := newOffice(t, "")
	o.send(request(to("ok"), ""))
	replies, wrong := hocket.ReadReplies("replies.yml", []byte("lead: |\n  "+strings.ReplaceAll(fenced(request(`target_agent="planner" session_id="own" detach="true"`, "")), "\n", "\n  ")+"\n\"*\": ok\n"))
	w, err := o.p.LoadText("flow.yml", []byte("name: flow\nsteps:\n  - {id: lead, agent: worker, prompt: Lead, handoffs: {to: [planner], detach: true}}\n"))
	if err != nil || wrong != nil {
		t.Fatal(err, wrong)
	}
	run, err := o.p.Record(t.Context(), w, nil, hocket.WithReplies(replies))
	if err != nil {
		t.Fatal(err)
	}
	o.driveRun(run)
	all, err := o.HandedOff(t.Context(), run)
	if err != nil || len(all) != 1 || all[0].ID != run.ID()+"-own" || all[0].Step != "lead/handoff-1" || all[0].Status != handoff.Completed {
		t.Errorf("%+v, %v", all, err)
	}
}

// No session gets an id or a directory that something else has or could get.
func TestReservedIDs(t *testing.T) {
	o := newOffice(t, "")
	o.lead(func() (string, error) { return "all is fine", nil }, request(`target_agent="planner" session_id="part"`, ""))
	other := o.record("{to: [planner]}")
	o.driveRun(other)
	inside, err := o.Inside(t.Context(), other)
	if err != nil || len(inside) != 1 {
		t.Fatalf("%+v, %v", inside, err)
	}
	if err := os.RemoveAll(o.Dir(inside[0].ID)); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(o.Dir("mine"), "result.json")
	if err := errors.Join(os.MkdirAll(o.Dir("mine"), 0o755), os.WriteFile(mine, []byte("{}"), 0o644)); err != nil {
		t.Fatal(err)
	}
	for id, why := range map[string]string{
		other.ID():                   "in the list of runs",
		inside[0].ID:                 "as an id of work in run " + other.ID(),
		other.ID() + "-0123456789ab": "as an id of work in run " + other.ID(),
		other.ID() + "-part":         "as work in run " + other.ID(),
		"mine":                       "in docs/.scratch/sessions/mine",
	} {
		o.exec = nil
		o.refuse("Session "+id+" already exists "+why, request(to(id), ""))
		o.exec = func(ctx context.Context, task *agent.Task) (string, error) {
			_, err := use(ctx, task, map[string]any{"request": request(`target_agent="planner" session_id="`+id+`" detach="true"`, "")})
			return fmt.Sprint(err), nil
		}
		if res := o.driveRun(o.record("{to: [planner], detach: true}")); !strings.Contains(fmt.Sprint(res.Output), "session "+id+" already exists "+why) {
			t.Errorf("%s: %v", id, res.Output)
		}
	}
	if sessions, err := o.List(t.Context(), 0); err != nil || len(sessions) > 0 {
		t.Errorf("%+v, %v", sessions, err)
	}
	if marks, _ := os.ReadDir(filepath.Join(o.p.State(), "handoff-open")); len(marks) > 0 {
		t.Errorf("%v", marks)
	}
	if text, err := os.ReadFile(mine); err != nil || string(text) != "{}" {
		t.Errorf("%s, %v", text, err)
	}
	o.send(request(to(other.ID()+"-other"), ""))
}

// A session that is being started while its run is cancelled still counts in the run.
func TestDetachWhileCancelled(t *testing.T) {
	o := newOffice(t, "")
	o.detaching()
	run := o.record("{to: [planner], detach: true}")
	o.p.SetDetaching(cancelling{o.Sessions, run})
	res := o.driveRun(run)
	if sessions, err := o.List(t.Context(), 0); err != nil || len(sessions) != 1 || res.Status != engine.Cancelled || res.Usage.CostUSD != 2 {
		t.Errorf("%+v, %v; the run is %s and used %+v", sessions, err, res.Status, res.Usage)
	}
}

// cancelling cancels a run while it starts a session.
type cancelling struct {
	*handoff.Sessions
	run *hocket.Run
}

func (c cancelling) Detach(ctx context.Context, h *attempt.Handoff, run, step string, within hocket.StartOption) error {
	if _, err := c.run.Cancel(ctx, "enough"); err != nil {
		return err
	}
	<-ctx.Done()
	return c.Sessions.Detach(ctx, h, run, step, within)
}

// If an attempt is lost after it has started a session, the session is not started again, and
// nothing is counted twice.
func TestDetachAfterACrash(t *testing.T) {
	o := newOffice(t, "")
	o.detaching()
	run := o.record("{to: [planner], detach: true}")
	lost, die := context.WithCancel(t.Context())
	o.p.SetDetaching(dying{o.Sessions, die})
	if res, err := run.Drive(lost, hocket.Front{}); err == nil {
		t.Fatalf("a run that was interrupted is %s", res.Status)
	}
	if sessions, err := o.List(t.Context(), 0); err != nil || len(sessions) != 1 {
		t.Fatalf("%+v, %v", sessions, err)
	}
	// It does not matter that the project has changed since.
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	if err := errors.Join(os.WriteFile(filepath.Join(o.p.Root(), ".hocket/config.yml"), []byte("mcp: {files: {command: [one]}}\n"), 0o644), o.p.Reload()); err != nil {
		t.Fatal(err)
	}
	o.p.SetDetaching(o.Sessions)
	res := o.driveRun(run)
	if sessions, err := o.List(t.Context(), 0); err != nil || len(sessions) != 1 || res.Status != engine.Success || res.Usage.CostUSD != 2 {
		t.Errorf("%+v, %v; the run is %s and used %+v", sessions, err, res.Status, res.Usage)
	}
}

// dying starts a session, and then kills the process before the start is recorded.
type dying struct {
	*handoff.Sessions
	die func()
}

func (d dying) Detach(ctx context.Context, h *attempt.Handoff, run, step string, within hocket.StartOption) error {
	if err := d.Sessions.Detach(ctx, h, run, step, within); err != nil {
		return err
	}
	d.die()
	<-ctx.Done()
	return ctx.Err()
}

// Work that may not be detached is refused, with advice.
func TestDetachRefused(t *testing.T) {
	o := newOffice(t, "")
	for _, c := range []struct {
		flow, want string
		args       map[string]any
	}{
		{"steps: [{id: lead, agent: worker, prompt: Lead, handoffs: {to: [planner]}}]", "add `detach: true` to the handoffs of \"lead\"", audit},
		{"limits: {max_cost_usd: 9}\nsteps: [{id: lead, agent: cheap, prompt: Lead, handoffs: {to: [planner], detach: true}}]", `add a constraint such as "Maximum cost: $2"`, map[string]any{"to": "planner", "summary": "Audit everything", "detach": true}},
		{"limits: {max_tokens: 900}\nsteps: [{id: lead, agent: cheap, prompt: Lead, handoffs: {to: [planner], detach: true}}]", `add a constraint such as "Maximum tokens: 50k"`, audit},
	} {
		o.exec = func(ctx context.Context, task *agent.Task) (string, error) {
			_, err := use(ctx, task, c.args)
			return fmt.Sprint(err), nil
		}
		if err := errors.Join(os.MkdirAll(filepath.Join(o.p.Root(), ".hocket/agents"), 0o755), os.WriteFile(filepath.Join(o.p.Root(), ".hocket/agents/cheap.yml"), []byte("agent: worker\nbudget: {max_cost_usd: 1, max_tokens: 100}\n"), 0o644), o.p.Reload()); err != nil {
			t.Fatal(err)
		}
		w, err := o.p.LoadText("flow.yml", []byte("name: flow\n"+c.flow))
		if err != nil {
			t.Fatal(err)
		}
		run, err := o.p.Record(t.Context(), w, nil)
		if err != nil {
			t.Fatal(err)
		}
		if res := o.driveRun(run); res.Status != engine.Success || !strings.Contains(res.Output.(string), c.want) {
			t.Errorf("%s: %s %v", c.flow, res.Status, res.Output)
		}
	}
	o.p.SetDetaching(nil)
	o.detaching()
	if res := o.driveRun(o.record("{to: [planner], detach: true}")); res.Status == engine.Success || !strings.Contains(res.Error, "this program does not run sessions") {
		t.Errorf("%s %s", res.Status, res.Error)
	}
	if sessions, err := o.List(t.Context(), 0); err != nil || len(sessions) != 0 {
		t.Errorf("%+v, %v", sessions, err)
	}
}

// A message for an agent is left only once, even if the attempt that leaves it is repeated, and
// counts as a handoff. If something cannot be handed off, the run gets a warning.
func TestLeftInARun(t *testing.T) {
	o := newOffice(t, "")
	talk := strings.NewReplacer("<mode>spawn</mode>", "<mode>conversation_only</mode>", "Look at it.", "There are three ways.").Replace(request(`target_agent="planner"`, ""))
	tries := 0
	o.exec = func(ctx context.Context, task *agent.Task) (string, error) {
		if task.Address != "lead" { // it also answers the message
			return `{"reports": ["all is fine", "so it is"]}`, nil
		}
		tries++
		if text, err := use(ctx, task, map[string]any{"request": talk}); err != nil || text != "The next task of planner will get the message." {
			t.Errorf("%q, %v", text, err)
		}
		if tries == 1 {
			return "", errors.New("try again")
		}
		return fenced(request(`target_agent="planner"`, ""), request(`target_agent="boss"`, ""), strings.Replace(talk, "three ways", "four ways", 1)), nil
	}
	w, err := o.p.LoadText("flow.yml", []byte("name: flow\nsteps: [{id: lead, agent: worker, prompt: Lead, retry: 2, handoffs: {to: [planner], max: 2}}]"))
	if err != nil {
		t.Fatal(err)
	}
	run, err := o.p.Record(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	res := o.driveRun(run)
	warnings := strings.Join(res.Warnings, "\n")
	if res.Status != engine.Success || tries != 2 || !strings.Contains(warnings, `lead: not handed off: "Look at the service": "lead" may not hand work off to "boss", only to planner`) || !strings.Contains(warnings, `handoffs of "lead" are limited to 2`) {
		t.Errorf("%s after %d tries: %s\n%s", res.Status, tries, res.Error, warnings)
	}
	if inside, err := o.Inside(t.Context(), run); err != nil || len(inside) != 1 {
		t.Errorf("%d sessions, %v", len(inside), err)
	}
	with := 0
	for _, p := range o.prompts {
		with += strings.Count(p, "There are three ways.")
	}
	if with != 1 {
		t.Errorf("the message arrived %d times", with)
	}
}

// An agent that does not exist is not notified.
func TestNotifyNobody(t *testing.T) {
	o := newOffice(t, "")
	o.send(request(to("one", `notify_on_completion="planner,nobody"`), ""))
	o.drive()
	if inboxes, err := os.ReadDir(filepath.Join(o.p.State(), "inbox")); err != nil || len(inboxes) != 1 {
		t.Errorf("%v, %v", inboxes, err)
	}
}

// An agent can be notified when work in a run has ended.
func TestNotifiedInARun(t *testing.T) {
	o := newOffice(t, "")
	o.lead(func() (string, error) { return "all is fine", nil }, request(`target_agent="planner" notify_on_completion="worker"`, ""))
	run := o.record("{to: [planner, worker]}")
	o.driveRun(run)
	o.send(request(to("next"), ""), request(to("after"), ""))
	o.drive()
	told := 0
	for _, p := range o.prompts {
		if strings.Contains(p, "The session "+run.ID()+"-") && strings.Contains(p, "has ended: COMPLETED") && strings.Contains(p, "all is fine") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("told %d times:\n%s", told, strings.Join(o.prompts, "\n---\n"))
	}
}

// A detached session may not do more than the original run, and nobody is asked.
func TestDetachIsTrusted(t *testing.T) {
	asked := 0
	o := newOffice(t, "", func(o *hocket.Options) {
		o.Trust = func(context.Context, *hocket.UntrustedError) (bool, error) { asked++; return true, nil }
	})
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	config := filepath.Join(o.p.Root(), ".hocket/config.yml")
	server := func(command string) {
		if err := errors.Join(os.WriteFile(config, []byte("mcp: {files: {command: ["+command+"]}}\n"), 0o644), o.p.Reload()); err != nil {
			t.Fatal(err)
		}
	}
	server("one")
	o.detaching()
	if res := o.driveRun(o.record("{to: [planner], detach: true}")); res.Status != engine.Success || asked != 1 || !strings.Contains(res.Output.(string), "the separate session") {
		t.Errorf("%s %v %s, asked %d times", res.Status, res.Output, res.Error, asked)
	}
	if sessions, err := o.List(t.Context(), 0); err != nil || len(sessions) != 1 {
		t.Errorf("%+v, %v", sessions, err)
	}
	run := o.record("{to: [planner], detach: true}")
	o.exec = func(ctx context.Context, task *agent.Task) (string, error) {
		server("another")
		_, err := use(ctx, task, audit)
		return fmt.Sprint(err), nil
	}
	if res := o.driveRun(run); asked != 2 || !strings.Contains(fmt.Sprint(res.Output), "is not trusted") {
		t.Errorf("%s %v %s, asked %d times", res.Status, res.Output, res.Error, asked)
	}
	if sessions, err := o.List(t.Context(), 0); err != nil || len(sessions) != 1 {
		t.Errorf("%+v, %v", sessions, err)
	}
}
