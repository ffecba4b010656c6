package agent

import (
	"context"
	"slices"

	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// Traits describe an executor to the rest of the program. Plain values hold for all tasks;
// functions are called for one task, and a nil function gives the result that its comment
// names.
//
// The zero value describes the simplest executor: it does what the settings of a task
// say, takes any settings, works on every machine, and costs nothing.
type Traits struct {
	// About says what the executor does, in a few words, such as "Runs commands".
	About string
	// Settings is the schema of [Task.Settings]; nil: any settings are valid.
	Settings *Schema
	// Supports reports whether a key of a definition has an effect on its tasks:
	// prompt, model, tools, mcp, permissions or max_turns. A key without effect is an
	// error of the definition, because its author relies on it. Nil: none has.
	Supports func(d *Definition, key string) bool
	// Unfollowed reports the settings of a task that say how a model should work, such as
	// its temperature, and that the executor cannot follow. They cause a note and not an
	// error, because nothing depends on them. Nil: there are none.
	Unfollowed func(d *Definition, settings map[string]any) []string
	// Permissions reports which permissions of a definition the executor cannot
	// enforce, and what to write instead. Nil: it enforces all that [ReadPermissions]
	// understands.
	Permissions func(written map[string]any) []Problem
	// Missing reports what the executor needs and this machine lacks, and how to get it; ""
	// means nothing. It is called often, so it checks only what is quick to check: the
	// path, the environment. Nil: nothing is missing.
	Missing func() string
	// Version reports the version of the program that does the work; "" means that it has
	// none. An error together with a version is a warning about it. Nil: there is no such
	// program.
	Version func(ctx context.Context) (string, error)

	// Stays is true of an executor that uses files or programs of the machine, so that tasks
	// of a run which share them must be done on the same one.
	Stays bool

	// Powers reports for what the settings of a task or a definition need the user's trust,
	// in the project at root: a program, a variable that is sent somewhere. Strings in them
	// may still be templates. Nil: nothing.
	Powers func(root string, settings map[string]any) trust.Powers
	// Fixed are settings that say how a program starts. A step gives them without
	// references: a person approves them before the run, when no values exist yet.
	Fixed []string
	// Configured is true of an executor whose exact work uses what the configuration of a
	// project names, such as a server or a program. Work from a prompt may always use it.
	Configured bool
	// Does reports the side effects of a task whose settings describe all of its work, see
	// Exact. Nil: none.
	Does func(settings map[string]any) []Power

	// Prompted is true of an executor that works from a prompt: a model, or a program
	// with one inside. Its tasks arrive with a complete [Task.Prompt], which includes
	// context, inputs, feedback and how to answer, and they may cost money.
	Prompted bool
	// Exact reports whether the settings of a task describe all of its work. Such a task
	// uses no prompt and is free. Nil: false for a Prompted executor, true for any other.
	Exact func(task *Task) bool
	// Tools returns the tools with which a model can do the executor's work from a
	// prompt. The caller calls done after the attempt; it is not nil unless there is
	// an error. Nil: there are no such tools.
	Tools func(task *Task) (tools []Tool, done func(), err error)

	// The rest matters for a Prompted executor only.

	// Specialist is true of an executor for one kind of work, such as files or web
	// pages. It is never chosen for a task that does not name an agent.
	Specialist bool
	// CallsTools is true of an executor that calls [Task.Tools]. Others have tools of
	// their own, and connect to [Task.Servers] themselves.
	CallsTools bool
	// Incomplete reports what a task is missing, such as its model, and, after a semicolon,
	// what to do; "" means nothing. Strings in the task's settings may still be templates.
	// Nil: a prompt is enough.
	Incomplete func(task *Task) string
	// Resumes reports whether the executor itself keeps the conversation that the task
	// continues. Otherwise the prompt includes its history. Nil: it does not.
	Resumes func(task *Task) bool
	// Account names the account whose quota the task uses, such as "anthropic", as
	// [Accounts] know it. Tasks of the same account share its quota. Nil: "".
	Account func(task *Task) string
	// Unbounded reports why a task may exceed a budget, as the end of a sentence; "" means that the
	// executor enforces it, to within one request. Nil: it enforces none.
	Unbounded func(task *Task, most workflow.Budget) string
}

// FromPrompt reports whether a task is done from its prompt.
func (t Traits) FromPrompt(task *Task) bool {
	return t.Prompted && (t.Exact == nil || !t.Exact(task))
}

func (t Traits) missing() string {
	if t.Missing == nil {
		return ""
	}
	return t.Missing()
}

func (t Traits) supports(d *Definition, key string) bool {
	return t.Supports != nil && t.Supports(d, key)
}

// incomplete reports what a task of a definition is missing to be done from its prompt.
func (t Traits) incomplete(d *Definition, settings map[string]any) string {
	task := &Task{Agent: d, Settings: settings}
	if t.Incomplete == nil || !t.FromPrompt(task) {
		return ""
	}
	return t.Incomplete(task)
}

// Keys is a [Traits.Supports] for an executor that supports the same keys in every
// definition.
func Keys(keys ...string) func(*Definition, string) bool {
	return func(_ *Definition, key string) bool { return slices.Contains(keys, key) }
}

// Func is an [Executor] with zero [Traits]. Use [New] to set traits.
type Func func(ctx context.Context, task *Task, log Log) (Result, error)

// Run calls f.
func (f Func) Run(ctx context.Context, task *Task, log Log) (Result, error) {
	return f(ctx, task, log)
}

// Traits returns the zero value.
func (Func) Traits() Traits { return Traits{} }

// New returns an executor for a function and its traits.
func New(traits Traits, run Func) Executor { return described{run, traits} }

type described struct {
	Func
	traits Traits
}

func (d described) Traits() Traits { return d.traits }
