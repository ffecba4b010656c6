package handoff_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/handoff"
)

// Work that an agent hands off inside a run has a directory too, at every depth.
func TestInside(t *testing.T) {
	o := newOffice(t, "")
	failed := false
	o.work = func(task *agent.Task) (string, error) {
		if task.Address == "lead/handoff-1" {
			failed = true
			return "", errors.New("boom")
		}
		if task.HandOff == nil || task.Address != "lead" {
			return "<agent_response><summary>Looked at it</summary><reports><report>It is up</report></reports></agent_response>", nil
		}
		for _, tool := range task.Tools {
			if tool.Name == "handoff" {
				for i := range 3 { // failed work is repeated; after that it is the same work
					if _, err := tool.Call(context.Background(), map[string]any{"to": "planner", "summary": "Look at the service", "details": "All of it."}, task, func([]byte) {}); (err != nil) != (i == 0) {
						return "", fmt.Errorf("call %d: %w", i, err)
					}
				}
				return "done:\n\n" + fenced(request(`target_agent="planner"`, "")), nil
			}
		}
		return "", fmt.Errorf("there is no tool")
	}
	run := o.record("{to: [planner]}")
	o.driveRun(run)
	inside, err := o.Inside(t.Context(), run)
	if err != nil || len(inside) != 3 || !failed {
		t.Fatalf("%d, %v", len(inside), err)
	}
	if first := inside[0]; first.Status != handoff.Failed || first.Error != "boom" || first.ID == inside[1].ID {
		t.Errorf("%+v", first.State)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(o.Dir("x")), ".gitignore")); err != nil {
		t.Error(err)
	}
	for i, one := range inside[1:] {
		if one.Status != handoff.Completed || one.Agent != "planner" || one.Run().ID() != run.ID() || one.Answer.Summary != "Looked at it" {
			t.Errorf("%d: %+v", i, one.State)
		}
		if !strings.HasPrefix(one.ID, run.ID()+"-") {
			t.Errorf("id %s", one.ID)
		}
		wantValid(t, "handoff-state", o.read(one.ID, "state.json"))
		wantValid(t, "handoff-result", o.read(one.ID, "result.json"))
		if log := o.read(one.ID, "session.log"); !strings.Contains(log, "Session ended: COMPLETED") {
			t.Errorf("session.log: %s", log)
		}
	}
	if len(o.problems) > 0 {
		t.Error(o.problems)
	}
}

// Work that failed and is repeated gets another session. The directory of the first session is not
// mistaken for an answer of the second.
func TestInsideAgain(t *testing.T) {
	o := newOffice(t, "")
	o.exec = func(ctx context.Context, task *agent.Task) (string, error) {
		switch task.Address {
		case "lead":
			again := map[string]any{"request": request(`target_agent="planner" session_id="one"`, ""), "blocking": true}
			if _, err := use(ctx, task, again); err == nil {
				t.Error("it did not fail")
			}
			return use(ctx, task, again)
		case "lead/handoff-1":
			return "", errors.New("boom")
		}
		for range 100 { // the failure is shown soon
			if found, _ := filepath.Glob(o.Dir("*/result.json")); len(found) > 0 {
				return "the second answer", nil
			}
			time.Sleep(50 * time.Millisecond)
		}
		return "", errors.New("nothing was shown")
	}
	run := o.record("{to: [planner]}")
	if res := o.driveRun(run); !strings.HasSuffix(fmt.Sprint(res.Output), "the second answer") {
		t.Errorf("%s: %v", res.Status, res.Output)
	}
	if one := o.find(run.ID() + "-one"); one.Step != "lead/handoff-2" || one.Status != handoff.Completed {
		t.Errorf("of work that was done again, the last time counts: %+v", one.State)
	}
}

// record records a run whose only step may hand work off.
func (o *office) record(handoffs string) *hocket.Run {
	o.Helper()
	w, err := o.p.LoadText("flow.yml", []byte("name: flow\nsteps:\n  - {id: lead, agent: worker, prompt: Lead, handoffs: "+handoffs+"}\n"))
	if err != nil {
		o.Fatal(err)
	}
	run, err := o.p.Record(o.Context(), w, nil)
	if err != nil {
		o.Fatal(err)
	}
	return run
}

func (o *office) driveRun(run *hocket.Run) engine.Result {
	o.Helper()
	observer, end := o.Follow(o.Context(), run, nil)
	res, err := run.Drive(o.Context(), hocket.Front{Observer: observer})
	if err != nil {
		o.Fatal(err)
	}
	end()
	return res
}

// Nothing was handed off in a run that has only started, so its definition is not read again.
func TestFollowNewRun(t *testing.T) {
	o := newOffice(t, "")
	const steps = 1000
	text := "name: flow\nlimits: {max_steps: 1000}\nsteps:\n" + strings.Repeat("  - {agent: worker, prompt: Work}\n", steps)
	w, err := o.p.LoadText("flow.yml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	run, err := o.p.Record(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	allocations := testing.AllocsPerRun(1, func() {
		_, end := o.Follow(t.Context(), run, nil)
		end()
	})
	if allocations >= steps {
		t.Errorf("%v allocations", allocations)
	}
}

// lead makes the first agent answer with requests, and the other one work.
func (o *office) lead(work func() (string, error), requests ...string) {
	o.work = func(task *agent.Task) (string, error) {
		if task.Address == "lead" {
			return fenced(requests...), nil
		}
		return work()
	}
}

// Work that was handed off in a run is found by its id, a prefix of the id, and its session_id.
func TestFindInside(t *testing.T) {
	o := newOffice(t, "")
	o.lead(func() (string, error) { return "all is fine", nil }, request(`target_agent="planner" session_id="one"`, ""), request(`target_agent="planner" session_id="two"`, "<constraint>Be quick</constraint>"))
	run := o.record("{to: [planner]}")
	o.driveRun(run)
	inside, err := o.Inside(t.Context(), run)
	if err != nil || len(inside) != 2 {
		t.Fatalf("%d, %v", len(inside), err)
	}
	for i, name := range []string{"one", "two"} {
		want := inside[i]
		for _, id := range []string{want.ID, want.ID[:len(want.ID)-3], run.ID() + "-" + name} {
			if one := o.find(id); one.ID != want.ID || one.Step != fmt.Sprintf("lead/handoff-%d", i+1) || one.State.Run != run.ID() || one.Attempts != 1 || one.Status != handoff.Completed {
				t.Errorf("%s: %+v", id, one.State)
			}
		}
	}
	for id, message := range map[string]string{
		run.ID() + "-three": `there is no session "` + run.ID() + `-three" in run ` + run.ID(),
		run.ID() + "-":      "is ambiguous: it matches ",
		run.ID():            "run " + run.ID() + " is not a session",
		"no-such-thing":     `there is no session "no-such-thing"`,
	} {
		if _, err := o.Find(t.Context(), id); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v", id, err)
		}
	}
	first := inside[0]
	if err := os.RemoveAll(o.Dir(first.ID)); err != nil {
		t.Fatal(err)
	}
	if one := o.Show(t.Context(), first.ID); one == nil || !strings.Contains(o.read(first.ID, "result.json"), "all is fine") {
		t.Errorf("%+v", one)
	}
	var waited []string
	if err := o.Wait(t.Context(), []string{first.ID}, nil, func(one *handoff.Session) error { waited = append(waited, one.ID); return nil }); err != nil || len(waited) != 1 {
		t.Errorf("%v, %v", waited, err)
	}
	o.refuse("which is part of run "+run.ID(), request(`target_agent="planner" depends_on="`+first.ID+`"`, ""))

	// In a fork, they are different sessions, with their own directories.
	fork, err := run.Fork(t.Context(), "lead/handoff-2", nil)
	if err != nil {
		t.Fatal(err)
	}
	o.lead(func() (string, error) { return "all is different", nil })
	o.driveRun(fork)
	for i, want := range []string{"all is fine", "all is different"} {
		one := o.find(strings.Replace(inside[i].ID, run.ID(), fork.ID(), 1))
		if one.State.Run != fork.ID() || one.Output != want || !strings.Contains(o.read(one.ID, "result.json"), want) || !strings.Contains(o.read(inside[i].ID, "result.json"), "all is fine") {
			t.Errorf("%+v", one.State)
		}
	}
	if len(o.problems) > 0 {
		t.Error(o.problems)
	}
}

// After a kill, the directories of earlier handoffs are written when the run continues, and agents
// that asked for it are notified.
func TestInsideAfterACrash(t *testing.T) {
	o := newOffice(t, "")
	lost, die := context.WithCancel(t.Context())
	o.exec = func(ctx context.Context, task *agent.Task) (string, error) {
		if task.Address != "lead" {
			return "all is fine", nil
		}
		if lost.Err() == nil {
			if _, err := use(ctx, task, map[string]any{"request": request(`target_agent="planner" notify_on_completion="worker"`, ""), "blocking": true}); err != nil {
				t.Error(err)
			}
			die()
			<-ctx.Done()
		}
		return "done", ctx.Err()
	}
	run := o.record("{to: [planner, worker]}")
	if res, err := run.Drive(lost, hocket.Front{}); err == nil {
		t.Fatalf("a run that was interrupted is %s", res.Status)
	}
	o.driveRun(run)
	inside, err := o.Inside(t.Context(), run)
	if err != nil || len(inside) != 1 {
		t.Fatalf("%+v, %v", inside, err)
	}
	if state := o.read(inside[0].ID, "state.json"); !strings.Contains(state, `"COMPLETED"`) {
		t.Error(state)
	}
	o.exec = nil
	o.send(request(to("next"), ""))
	o.drive()
	if last := o.prompts[len(o.prompts)-1]; !strings.Contains(last, "The session "+inside[0].ID) {
		t.Error(last)
	}
}

// A session inside a run has a timeout and an estimate like any other, can be waited for while the
// run continues, and cannot be cancelled on its own.
func TestInsideTakesLong(t *testing.T) {
	o := newOffice(t, "")
	waited := make(chan handoff.State, 1)
	o.exec = func(ctx context.Context, task *agent.Task) (string, error) {
		if task.Address == "lead" {
			return fenced(request(`target_agent="planner" session_id="slow" timeout="2s" estimated_duration="1ms" max_retries="1"`, "")), nil
		}
		id := task.Run + "-slow"
		time.Sleep(2 * time.Millisecond) // longer than estimated
		if one := o.find(id); !one.Overdue || one.Phase != handoff.Working {
			t.Errorf("%+v", one.State)
		}
		_, err := o.Cancel(ctx, id, "")
		var part *handoff.PartError
		if !errors.As(err, &part) || part.Run != task.Run {
			t.Errorf("cancel: %v", err)
		}
		go func() {
			_ = o.Wait(t.Context(), []string{id}, nil, func(one *handoff.Session) error { waited <- one.State; return nil })
		}()
		<-ctx.Done()
		return "", ctx.Err()
	}
	res := o.driveRun(o.record("{to: [planner]}"))
	if got := <-waited; res.Status != engine.Partial || got.Status != handoff.TimedOut || got.Error != "the session ran longer than 2s, its timeout" || !got.Overdue {
		t.Errorf("the run is %s, the session %+v", res.Status, got)
	}
}
