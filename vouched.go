package hocket

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// vouched makes only attempts that accepted workflows describe. Whoever can write to the server can forge the state of
// a run, which then asks for others.
type vouched struct {
	driver.Agents
	bundle *workflow.Bundle
}

func (v vouched) Run(ctx context.Context, run string, task *engine.StartTask, at driver.Attempt) driver.Outcome {
	if err := v.check(task); err != nil {
		text := fmt.Sprintf("step %s is not as workflow %s describes it: %v", task.Address, v.bundle.Root.Name, err)
		return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: text, Permanent: true}}
	}
	return v.Agents.Run(ctx, run, task, at)
}

// check says what the workflows do not describe about a task. The values that their references stand for can be
// anything.
func (v vouched) check(task *engine.StartTask) error {
	wrong, found := v.handed(task), false
	for _, w := range check.Workflows(*v.bundle) {
		w.Body.WalkTasks(func(n *workflow.Node, t *workflow.Task) {
			if w.Name == task.Workflow && n.ID == task.Node && t.Agent == task.Agent && (!found || wrong != nil) {
				wrong, found = describes(w, n, t, task), true
			}
		})
	}
	return wrong
}

// describes says what differs between a task and what its step says.
func describes(w *workflow.Workflow, n *workflow.Node, t *workflow.Task, task *engine.StartTask) error {
	for _, key := range slices.Sorted(maps.Keys(t.Settings)) {
		if value, ok := task.Settings[key]; !ok || !canBe(t.Settings[key], value) {
			return fmt.Errorf("the setting %q differs", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(task.Settings)) {
		if _, ok := t.Settings[key]; !ok {
			return fmt.Errorf("it has no setting %q", key)
		}
	}
	if workflow.FormatJSON(task.Written) != workflow.FormatJSON(t.Settings) {
		return errors.New("its settings were written in another way")
	}
	if !canBe(t.Prompt.Text, task.Prompt) {
		return errors.New("the prompt differs; to tell a step more, add a comment, and to give it another prompt, change the workflow")
	}
	return describesInputs(w, n, t, task.Inputs)
}

// describesInputs says what differs between the inputs of a task and those of its step. Their names count, because they
// become variables of programs. The question of a choice also has the inputs of the workflow, and the item of a for_each.
func describesInputs(w *workflow.Workflow, n *workflow.Node, t *workflow.Task, given []engine.Input) error {
	for i, b := range t.Inputs {
		if i >= len(given) || given[i].Name != b.Name || !canBe(b.Value, given[i].Value) {
			return fmt.Errorf("the input %q differs", b.Name)
		}
	}
	_, asks := n.Step.(*workflow.Choice)
	for _, in := range given[len(t.Inputs):] {
		declared := len(w.Inputs) == 0 || in.Name == "item" || slices.ContainsFunc(w.Inputs, func(p workflow.Param) bool { return p.Name == in.Name })
		if !asks || !declared {
			return fmt.Errorf("it has no input %q", in.Name)
		}
	}
	return nil
}

// handed says why a task cannot be work that was handed off. What to do is up to the agent that hands it off, but not
// to whom it may, and the work has neither settings nor inputs of its own.
func (v vouched) handed(task *engine.StartTask) error {
	may := false
	for _, w := range check.Workflows(*v.bundle) {
		w.Body.WalkTasks(func(_ *workflow.Node, t *workflow.Task) {
			may = may || t.Handoffs != nil && slices.Contains(t.Handoffs.To, task.Agent)
		})
	}
	if !may {
		return fmt.Errorf("there is no such step of the agent %q, and no step may hand work off to it", task.Agent)
	}
	for _, given := range []map[string]any{task.Settings, task.Written} {
		for key := range given {
			if key != agent.HandoffSetting {
				return fmt.Errorf("work that is handed off has no setting %q", key)
			}
		}
	}
	if len(task.Inputs) > 0 {
		return fmt.Errorf("work that is handed off has no input %q", task.Inputs[0].Name)
	}
	return nil
}

// canBe reports whether what is written in a workflow can become a value.
func canBe(written, value any) bool {
	v, err := expr.ParseValue(written, expr.Canonical)
	return err == nil && v.CanBe(value)
}
