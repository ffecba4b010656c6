package hocket

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// vouched makes only attempts that accepted workflows describe. Whoever can write to the server can forge the state of
// a run, which then asks for others.
type vouched struct {
	driver.Agents
	bundle *workflow.Bundle
	// handoff is what the project says about work that is handed off.
	handoff project.Handoff
	// reads reports whether the agent of a task works from a prompt. Otherwise a comment would be part of what a program reads.
	reads func(task *engine.StartTask) bool
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
	if task.Comment != "" && !v.reads(task) {
		return errors.New("it has a comment, which its program would read as its own input")
	}
	wrong, found := v.handed(task), false
	v.walk(func(w *workflow.Workflow, n *workflow.Node, t *workflow.Task, own bool) {
		if w.Name == task.Workflow && n.ID == task.Node && t.Agent == task.Agent && (!found || wrong != nil) {
			wrong, found = describes(w, n, t, own, task), true
		}
	})
	return wrong
}

// walk visits the tasks of the workflows, and says whether they work in workspaces of their own. Those of a workflow that is
// called both inside and outside of a workspace are visited twice.
func (v vouched) walk(visit func(w *workflow.Workflow, n *workflow.Node, t *workflow.Task, own bool)) {
	type called struct {
		w   *workflow.Workflow
		own bool
	}
	list := []called{{v.bundle.Root, false}}
	for i := 0; i < len(list); i++ {
		var look func(g *workflow.Graph, around bool)
		look = func(g *workflow.Graph, around bool) {
			for k, t := range g.Tasks() {
				n, own := &g.Nodes[k], around
				if n.Workspace != workflow.WorkspaceAround {
					own = n.Workspace == workflow.WorkspaceOwn
				}
				if t != nil {
					visit(list[i].w, n, t, own)
				}
				if call, ok := n.Step.(*workflow.Call); ok {
					if c := (called{v.bundle.Called[call.Workflow], own}); c.w != nil && !slices.Contains(list, c) {
						list = append(list, c)
					}
				}
				if body := n.Body(); body != nil {
					look(body, own)
				}
			}
		}
		look(&list[i].w.Body, list[i].own)
	}
}

// describes says what differs between a task and what its step says, which works in a workspace of its own or not.
func describes(w *workflow.Workflow, n *workflow.Node, t *workflow.Task, own bool, task *engine.StartTask) error {
	for _, key := range sorted.Keys(t.Settings) {
		if value, ok := task.Settings[key]; !ok || !canBe(t.Settings[key], value) {
			return fmt.Errorf("the setting %q differs", key)
		}
	}
	for _, key := range sorted.Keys(task.Settings) {
		if _, ok := t.Settings[key]; !ok {
			return fmt.Errorf("it has no setting %q", key)
		}
	}
	if workflow.FormatJSON(task.Written) != workflow.FormatJSON(t.Settings) {
		return errors.New("its settings were written in another way")
	}
	switch {
	case task.Place.Branches != t.Branches:
		return errors.New("it does something else with workspaces")
	case task.Within != "", own != (task.Workspace != "") && t.Branches == workflow.OneBranch:
		return errors.New("it works somewhere else")
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
		declared := in.Name == "item" || slices.ContainsFunc(w.Inputs, func(p workflow.Param) bool { return p.Name == in.Name })
		if !asks || !declared && (len(w.Inputs) > 0 || !refersTo(w, in.Name)) {
			return fmt.Errorf("it has no input %q", in.Name)
		}
	}
	return nil
}

// reads returns vouched.reads.
func reads(b *workflow.Bundle, agents *agent.Set) func(task *engine.StartTask) bool {
	return func(task *engine.StartTask) bool {
		role := ""
		for _, w := range check.Workflows(*b) {
			if w.Name == task.Workflow {
				role = w.RoleOf(task.Agent)
			}
		}
		d, _, err := agents.ResolveLane(task.Agent, role)
		return err == nil && agents.Traits(d.Agent).FromPrompt(&agent.Task{Agent: d, Settings: d.With(task.Settings)})
	}
}

// refersTo reports whether a workflow that declares no inputs uses one.
func refersTo(w *workflow.Workflow, input string) bool {
	text := workflow.FormatJSON(w)
	uses, err := regexp.MatchString(`\binputs\.`+regexp.QuoteMeta(input)+`\b`, text)
	return err == nil && uses && input != ""
}

// handed says why a task cannot be work that was handed off. What to do is up to the agent that hands it off, but not
// to whom it may, and the work has neither settings nor inputs nor a workspace of its own: it is done where that agent works.
func (v vouched) handed(task *engine.StartTask) error {
	inside, outside := false, false // of workspaces
	v.walk(func(_ *workflow.Workflow, _ *workflow.Node, t *workflow.Task, own bool) {
		if t.Handoffs != nil && slices.Contains(t.Handoffs.To, task.Agent) {
			own = own || t.Branches != workflow.OneBranch
			inside, outside = inside || own, outside || !own
		}
	})
	switch {
	case !inside && !outside:
		return fmt.Errorf("there is no such step of the agent %q, and no step may hand work off to it", task.Agent)
	case task.Workspace != "" || len(task.Trees) > 0 || task.Place.Branches != workflow.OneBranch:
		return errors.New("work that is handed off has no workspace of its own")
	case task.Within == "" && !outside:
		return errors.New("it would be done in the project, but the steps that may hand it off work in workspaces")
	case task.Within != "" && !inside:
		return errors.New("it would be done in a workspace, but the steps that may hand it off work in the project")
	}
	for _, given := range []map[string]any{task.Settings, task.Written} {
		for key, value := range given {
			if key != agent.HandoffSetting {
				return fmt.Errorf("work that is handed off has no setting %q", key)
			}
			if err := v.handedAs(value); err != nil {
				return err
			}
		}
	}
	if len(task.Inputs) > 0 {
		return fmt.Errorf("work that is handed off has no input %q", task.Inputs[0].Name)
	}
	return nil
}

// handedAs says what of a handoff is not up to those who hand work off: the command that tests it, where it is done, and
// whether it is checked.
func (v vouched) handedAs(setting any) error {
	given, _ := setting.(map[string]any)
	is := func(key string) bool { set, _ := given[key].(bool); return set }
	text := func(key string) string { s, _ := given[key].(string); return s }
	switch dir := text("directory"); {
	case text("test") != "" && text("test") != v.handoff.Test:
		return errors.New("another command would test what is handed off")
	case dir != "" && !filepath.IsLocal(filepath.FromSlash(dir)):
		return errors.New("what is handed off would be done outside of the project")
	case is("detach") || is("leave"):
		return errors.New("it would leave the run")
	case is("tell_only") && !v.handoff.Advisory:
		return errors.New("its limits on writing would not be enforced")
	}
	return nil
}

// canBe reports whether what is written in a workflow can become a value.
func canBe(written, value any) bool {
	v, err := expr.ParseValue(written, expr.Canonical)
	return err == nil && v.CanBe(value)
}
