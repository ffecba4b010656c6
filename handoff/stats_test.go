package handoff_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff"
)

func TestStats(t *testing.T) {
	o := newOffice(t, "")
	o.work = func(task *agent.Task) (string, error) {
		if task.Run == "bad" || task.Run == "good" && task.Attempt == 1 {
			return "", errors.New("not now")
		}
		return "all is fine", nil
	}
	o.send(request(to("bad", `max_retries="1"`), ""))
	o.drive()
	o.send(request(to("good", `max_retries="1"`), ""), request(`session_id="other" target_agent="planner"`, ""))
	o.drive()
	o.refuse("already exists", request(to("bad"), ""))
	o.refuse("is not valid", request(to("new", `timeout="soon" max_retries="many"`), ""))
	if _, err := o.Send(t.Context(), handoff.Order{File: "prose.md", Text: []byte("Look at it"), Agent: "worker"}); err != nil {
		t.Fatal(err)
	}
	stats, err := o.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(stats.Errors) != 2 || stats.Errors[0].Count != 1 || stats.Errors[0].Code != "handoff-session" || stats.Errors[1].Code != "handoff-value" || stats.Errors[1].Count != 1 {
		t.Errorf("%+v", stats.Errors)
	}
	for i := range stats.Agents {
		a := &stats.Agents[i]
		if a.Median <= 0 || a.P95 < a.Median {
			t.Errorf("%s took %v, %v", a.Agent, a.Median, a.P95)
		}
		a.Median, a.P95 = 0, 0
	}
	stats.Errors = nil
	want := &handoff.Stats{
		Checks: 5, XML: 4, Refused: 2,
		Sessions: map[handoff.Status]int{handoff.Failed: 1, handoff.Completed: 2, handoff.Running: 1},
		Agents: []handoff.AgentStats{
			{Agent: "planner", Sessions: 1, Statuses: map[handoff.Status]int{handoff.Completed: 1}},
			{Agent: "worker", Sessions: 3, Statuses: map[handoff.Status]int{handoff.Completed: 1, handoff.Failed: 1, handoff.Running: 1}, Retries: 2},
		},
	}
	if diff := cmp.Diff(want, stats); diff != "" {
		t.Error(diff)
	}
}
