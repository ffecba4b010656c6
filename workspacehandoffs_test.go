package hocket_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
)

// The work that a step hands off without waiting is in its workspace, however late it ends.
func TestWorkspaceHasWhatIsHandedOff(t *testing.T) {
	returned := make(chan struct{})
	lead := agent.Func(func(ctx context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
		defer close(returned)
		h, err := task.HandOff(ctx, agent.Handoff{To: "helper", Prompt: "late"})
		if err == nil && !h.Running {
			err = agent.Permanentf("it waited for %s", h.ID)
		}
		return agent.Result{Output: "led"}, err
	})
	helper := agent.Func(func(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
		<-returned
		if task.Prompt == "late" {
			if _, err := task.HandOff(ctx, agent.Handoff{To: "helper", Prompt: "later"}); err != nil {
				return agent.Result{}, err
			}
		}
		task.Prompt = "echo x > " + task.Prompt + ".txt"
		return editor().Run(ctx, task, log)
	})
	p, _ := repository(t, map[string]string{"a.txt": "one\n", "w.yml": `
name: w
steps:
  - {id: lead, agent: lead, workspace: own, prompt: "x", handoffs: {to: [helper], depth: 2}}
  - {id: look, agent: editor, workspace: own, prompt: "ls | tr '\\n' ' '"}
`}, hocket.Options{Agents: agents{"editor": editor(), "lead": lead, "helper": helper}})
	res := wait(t, start(t, p, "w.yml", nil))
	if got := output(res, "look"); res.Status != engine.Success || got != "a.txt late.txt later.txt w.yml " {
		t.Errorf("%s: %s: %q", res.Status, res.Error, got)
	}
	ended := map[string]int64{}
	for _, s := range res.Steps {
		ended[s.Address] = s.Ended.UnixNano()
	}
	if ended["lead"] < ended["lead/handoff-1"] || ended["lead/handoff-1"] < ended["lead/handoff-1/handoff-1"] {
		t.Errorf("a step ended before what it had handed off: %v", ended)
	}
}

// A retry begins with a clean workspace, so what the attempt before it handed off is not done.
func TestRetryHandsOffAgain(t *testing.T) {
	attempts := 0
	lead := agent.Func(func(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
		attempts++
		if len(task.Handed) > 0 {
			return agent.Result{}, agent.Permanentf("attempt %d is told that %s is done", attempts, task.Handed[0].ID)
		}
		h, err := task.HandOff(ctx, agent.Handoff{To: "editor", Prompt: "echo x >> part.txt", Blocking: true})
		if err != nil || h.Error != "" {
			return agent.Result{}, agent.Permanentf("%v %s", err, h.Error)
		}
		if attempts == 1 {
			return agent.Result{}, agent.Errorf("flaky")
		}
		task.Prompt = "cat part.txt"
		return editor().Run(ctx, task, log)
	})
	p, _ := repository(t, map[string]string{"a.txt": "one\n", "w.yml": `
name: w
steps:
  - {id: lead, agent: lead, workspace: own, retry: 2, prompt: "x", handoffs: {to: [editor], max: 1}}
`}, hocket.Options{Agents: agents{"editor": editor(), "lead": lead}})
	res := wait(t, start(t, p, "w.yml", nil))
	if got := output(res, "lead"); res.Status != engine.Success || got != "x\n" && got != "x" {
		t.Errorf("%s: %s: %q", res.Status, res.Error, got)
	}
	if got := output(res, "lead/handoff-2"); strings.Contains(got, "no such step") {
		t.Errorf("the work was not handed off again: %+v", res.Steps)
	}
}

// What an attempt has handed off is in its workspace, so it has the ports of it.
func TestHandedOffWorkHasPorts(t *testing.T) {
	lead := agent.Func(func(ctx context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
		var got []string
		for i := range 2 {
			h, err := task.HandOff(ctx, agent.Handoff{To: "shell", Prompt: strconv.Itoa(i), Settings: map[string]any{"command": "echo $HOCKET_PORT"}, Blocking: true})
			if err != nil {
				return agent.Result{}, err
			}
			got = append(got, strings.TrimSpace(h.Output)+h.Error)
		}
		return agent.Result{Output: fmt.Sprint(got)}, nil
	})
	p, _ := repository(t, map[string]string{"w.yml": `
name: w
steps:
  - {id: lead, agent: lead, workspace: own, prompt: "x", handoffs: {to: [shell]}}
`}, hocket.Options{Agents: agents{"lead": lead}})
	res := wait(t, start(t, p, "w.yml", nil))
	var a, b int
	if _, err := fmt.Sscanf(output(res, "lead"), "[%d %d]", &a, &b); err != nil || a != b || a < 20000 || a > 29999 {
		t.Errorf("%s: the ports are %s", res.Error, output(res, "lead"))
	}
}
