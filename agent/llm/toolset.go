package llm

import (
	"context"
	"maps"
	"slices"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// toolset is an executor that also works from a prompt, with a model that uses its tools.
type toolset struct {
	agent.Executor
	own   agent.Traits // of the executor
	model *Executor
}

// Toolset combines an executor that has [agent.Traits.Tools] with a model: the executor
// alone does tasks whose settings say exactly what to do, and the model does all others
// with these tools and those of the task.
func Toolset(exec agent.Executor, model *Executor) agent.Executor {
	t := &toolset{exec, exec.Traits(), model}
	return agent.New(t.traits(), t.run)
}

// traits combines the traits of the executor with those of the model.
func (t *toolset) traits() agent.Traits {
	traits := t.own // Missing too: some tasks need no model, and others report it themselves
	traits.About += ", exactly or with a model"
	traits.Settings = t.settings()
	traits.Prompted, traits.Specialist, traits.CallsTools = true, true, true
	traits.Supports = func(d *agent.Definition, key string) bool {
		alone := t.own.Exact(&agent.Task{Agent: d, Settings: d.Settings})
		return !alone || t.own.Supports != nil && t.own.Supports(d, key)
	}
	traits.Incomplete = t.incomplete
	traits.Account = func(task *agent.Task) string { return t.model.account(t.forModel(task)) }
	traits.Unbounded = func(task *agent.Task, most workflow.Budget) string { return t.model.unbounded(t.forModel(task), most) }
	return traits
}

// settings accepts those of both. What the executor requires applies only if it works
// alone, and it checks that itself.
func (t *toolset) settings() *agent.Schema {
	all := maps.Clone(t.model.schema.Properties())
	maps.Copy(all, t.own.Settings.Properties())
	return agent.NewSchema(map[string]any{"type": "object", "additionalProperties": false, "properties": all})
}

// run does the task in one of the two ways.
func (t *toolset) run(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
	if t.own.Exact(task) {
		return t.Run(ctx, t.forExecutor(task), log)
	}
	own := t.forModel(task)
	if t.modelless(own) {
		return agent.Result{}, agent.Permanentf("%s", modelless)
	}
	tools, done, err := t.own.Tools(task)
	if err != nil {
		return agent.Result{}, err
	}
	defer done()
	own.Tools = slices.Concat(tools, task.Tools)
	return t.model.Run(ctx, own, log)
}

// incomplete reports what the model needs.
func (t *toolset) incomplete(task *agent.Task) string {
	own := t.forModel(task)
	if t.modelless(own) {
		return modelless
	}
	return t.model.incomplete(own)
}

const modelless = "the settings of this task do not say what to do, so it needs a model, and none is named; describe the work under config, or set model on the agent or in .hocket/config.yml"

// modelless reports whether no model is named for a task, neither by the task nor by
// default.
func (t *toolset) modelless(task *agent.Task) bool {
	named, _ := task.Settings["model"].(string)
	return named == "" && (task.Agent == nil || task.Agent.Model == "") && t.model.fallback == ""
}

// forModel returns the task without settings that the model does not support.
func (t *toolset) forModel(task *agent.Task) *agent.Task {
	known := t.model.schema.Properties()
	return without(task, func(name string, _ any) bool { return known[name] == nil })
}

// forExecutor returns the task without settings that only the model supports, such as those
// of the agent for all of its tasks.
func (t *toolset) forExecutor(task *agent.Task) *agent.Task {
	model, own := t.model.schema.Properties(), t.own.Settings.Properties()
	return without(task, func(name string, _ any) bool { return model[name] != nil && own[name] == nil })
}

func without(task *agent.Task, del func(name string, value any) bool) *agent.Task {
	own := *task
	own.Settings = maps.Clone(task.Settings)
	maps.DeleteFunc(own.Settings, del)
	return &own
}
