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
	"github.com/hocket-dev/hocket/handoff"
)

// What an agent hands on inside a run has a directory too, and so has what that agent hands
// on.
func TestInside(t *testing.T) {
	o := newOffice(t, "")
	failed := false
	o.work = func(task *agent.Task) (string, error) {
		if task.Address == "lead/handoff-1" {
			failed = true
			return "", errors.New("boom")
		}
		if task.HandOn == nil || task.Address != "lead" {
			return "<agent_response><summary>Looked at it</summary><reports><report>It is up</report></reports></agent_response>", nil
		}
		for _, tool := range task.Tools {
			if tool.Name == "handoff" {
				for i := range 3 { // work that failed is done again; after that it is the same work
					if _, err := tool.Call(context.Background(), map[string]any{"to": "planner", "summary": "Look at the service", "details": "All of it."}, task, func([]byte) {}); (err != nil) != (i == 0) {
						return "", fmt.Errorf("call %d: %w", i, err)
					}
				}
				return "done:\n\n" + fenced(request(`target_agent="planner"`, "")), nil
			}
		}
		return "", fmt.Errorf("there is no tool")
	}
	w, err := o.p.LoadText("flow.yml", []byte("name: flow\nsteps:\n  - {id: lead, agent: worker, prompt: Lead, handoffs: {to: [planner]}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	run, err := o.p.Record(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	observer, end := o.Follow(t.Context(), run, nil)
	if _, err := run.Drive(t.Context(), hocket.Front{Observer: observer}); err != nil {
		t.Fatal(err)
	}
	end()
	inside, err := o.Inside(t.Context(), run)
	if err != nil || len(inside) != 3 || !failed {
		t.Fatalf("%d, %v", len(inside), err)
	}
	if first := inside[0]; first.Status != handoff.Failed || first.Error != "boom" || first.ID != inside[1].ID {
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
