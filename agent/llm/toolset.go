package llm

import (
	"context"
	"maps"
	"slices"

	"github.com/hocket-dev/hocket/agent"
)

// toolset is an executor that also works from words, by a model with its tools.
type toolset struct {
	agent.Equipped
	model *Executor
	words map[string]any // the properties of the model's settings
}

// Toolset makes an agent of an executor and a model: a task whose settings say
// exactly what to do is done by the executor alone, every other one by the model
// with the tools, besides those that the task has itself.
func Toolset(exec agent.Equipped, model *Executor) agent.Conversant {
	return &toolset{Equipped: exec, model: model, words: properties(model.Settings())}
}

// Settings are those of both. What the executor requires holds only where it works
// alone, and it says so itself then.
func (t *toolset) Settings() map[string]any {
	all := maps.Clone(t.words)
	maps.Copy(all, properties(t.Equipped.Settings()))
	return map[string]any{"type": "object", "additionalProperties": false, "properties": all}
}

func properties(schema map[string]any) map[string]any {
	p, _ := schema["properties"].(map[string]any)
	return p
}

// Thinks is true where the settings leave open what to do.
func (t *toolset) Thinks(task *agent.Task) bool { return !t.Exact(task) }

// Heeds is true of all keys where a model works. What the executor alone takes notice
// of, it says itself.
func (t *toolset) Heeds(d *agent.Definition, key string) bool {
	if t.Thinks(&agent.Task{Agent: d, Settings: d.Settings}) {
		return true
	}
	h, ok := t.Equipped.(agent.Heeding)
	return ok && h.Heeds(d, key)
}

// Absence is what the executor misses: the model is missed only by some tasks, and
// says so itself.
func (t *toolset) Absence() string {
	if a, ok := t.Equipped.(agent.Absent); ok {
		return a.Absence()
	}
	return ""
}

// Narrow keeps it from being chosen for a task that names no agent.
func (t *toolset) Narrow() {}

// CallsTools is what the model does.
func (t *toolset) CallsTools() {}

// Resumes is the model's.
func (t *toolset) Resumes(task *agent.Task) bool { return t.Thinks(task) && t.model.Resumes(task) }

// Account is the model's, where there is one at work.
func (t *toolset) Account(task *agent.Task) string {
	if !t.Thinks(task) {
		return ""
	}
	return t.model.Account(t.forModel(task))
}

// Run does the task in one of the two ways.
func (t *toolset) Run(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
	if !t.Thinks(task) {
		return t.Equipped.Run(ctx, t.forExecutor(task), log)
	}
	own := t.forModel(task)
	if t.modelless(own) {
		return agent.Result{}, agent.Permanentf("%s", modelless)
	}
	tools, done, err := t.Tools(task)
	if err != nil {
		return agent.Result{}, err
	}
	defer done()
	own.Tools = slices.Concat(tools, task.Tools)
	return t.model.Run(ctx, own, log)
}

// Lacks is what the model lacks.
func (t *toolset) Lacks(task *agent.Task) string {
	own := t.forModel(task)
	if t.modelless(own) {
		return modelless
	}
	return t.model.Lacks(own)
}

const modelless = "the settings of this task do not say what to do, so it takes a model, and none is named; say it exactly under config, or set model on the agent or in .hocket/config.yml"

// modelless says that no model is named for a task, neither by it nor for all.
func (t *toolset) modelless(task *agent.Task) bool {
	named, _ := task.Settings["model"].(string)
	return named == "" && (task.Agent == nil || task.Agent.Model == "") && t.model.fallback == ""
}

// forModel is the task as the model takes it: without settings that it does not know.
func (t *toolset) forModel(task *agent.Task) *agent.Task {
	own := *task
	own.Settings = maps.Clone(task.Settings)
	maps.DeleteFunc(own.Settings, func(name string, _ any) bool { return t.words[name] == nil })
	return &own
}

// forExecutor is the task without settings that only the model knows, such as those
// of the agent for all of its tasks.
func (t *toolset) forExecutor(task *agent.Task) *agent.Task {
	own := *task
	mine := properties(t.Equipped.Settings())
	own.Settings = maps.Clone(task.Settings)
	maps.DeleteFunc(own.Settings, func(name string, _ any) bool { return t.words[name] != nil && mine[name] == nil })
	return &own
}

// About says what the executor does.
func (t *toolset) About() string {
	if a, ok := t.Equipped.(interface{ About() string }); ok {
		return a.About() + ", exactly or with a model"
	}
	return ""
}
