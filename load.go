package hocket

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/scripted"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// Workflow is a workflow that was read, with everything that it calls. It is safe for
// concurrent use.
type Workflow struct {
	p    *Project // as it was then
	l    *project.Loaded
	only *workflow.Task // the workflow is this task alone; nil: it is not

	mu      sync.Mutex // whatever asks about its agents may choose one
	checked *checked   // the newest check, which Start need not repeat
}

type checked struct {
	replies *Replies
	found   workflow.Diagnostics
}

// UnknownWorkflowError says that there is no workflow of a name, and no such file.
type UnknownWorkflowError = project.UnknownError

// Load reads a workflow, given by its file or its name, in any notation. The error is
// an *[UnknownWorkflowError], which is an [fs.ErrNotExist], or one of the machine;
// mistakes of the author are found by [Workflow.Check].
func (p *Project) Load(nameOrFile string) (*Workflow, error) {
	p = p.steady()
	l, err := p.now().files.Load(nameOrFile)
	if err != nil {
		return nil, err
	}
	return &Workflow{p: p, l: l}, nil
}

// LoadText reads a workflow that is in no file. name says how diagnostics call it,
// and what it calls is looked for beside that name.
func (p *Project) LoadText(name string, text []byte) (*Workflow, error) {
	p = p.steady()
	l, err := p.now().files.LoadText(name, text)
	if err != nil {
		return nil, err
	}
	return &Workflow{p: p, l: l}, nil
}

// LoadModel takes a workflow that a program made, for instance with
// [workflow.Sequence].
func (p *Project) LoadModel(w *workflow.Workflow) (*Workflow, error) {
	if w == nil {
		return nil, errors.New("hocket: LoadModel needs a workflow")
	}
	p = p.steady()
	l, err := p.now().files.LoadModel(w)
	if err != nil {
		return nil, err
	}
	return &Workflow{p: p, l: l}, nil
}

// Model is the workflow itself; nil if its file cannot be read as one.
func (w *Workflow) Model() *workflow.Workflow { return w.l.Bundle.Root }

// Bundle is the workflow with those that it calls.
func (w *Workflow) Bundle() *workflow.Bundle { return &w.l.Bundle }

// Limits are those of a run: the workflow's own over the project's over the
// defaults.
func (w *Workflow) Limits() workflow.Limits { return w.l.Limits }

// WithLimits is the workflow with limits set over its own and the project's, for
// checks, plans and runs. Zero fields stay as they are.
func (w *Workflow) WithLimits(l workflow.Limits) *Workflow {
	if l == (workflow.Limits{}) {
		return w // with what was checked
	}
	bounded := *w.l
	bounded.Limits = check.Override(w.l.Limits, l)
	return &Workflow{p: w.p, l: &bounded, only: w.only}
}

// Diagnostics are the mistakes that the reader found. Check finds more.
func (w *Workflow) Diagnostics() workflow.Diagnostics { return w.l.Diagnostics }

// Check finds everything that is wrong with the workflow, with what it calls and
// with the project's own files. A node that has a reply needs no agent.
func (w *Workflow) Check(replies *Replies) workflow.Diagnostics {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.checked != nil && w.checked.replies == replies {
		return w.checked.found
	}
	var replied func(*workflow.Node) bool
	if replies != nil {
		replied = replies.Covers
	}
	w.checked = &checked{replies, w.l.Check(replied)}
	return w.checked.found
}

// CheckAlone finds what is wrong with the files alone, whatever agents the
// project has.
func (w *Workflow) CheckAlone() workflow.Diagnostics {
	if w.l.Bundle.Root == nil {
		return w.l.Diagnostics
	}
	in := check.Input{Bundle: w.l.Bundle, Limits: w.l.Limits, Broken: missingCalls(w.l.Bundle)}
	return slices.Concat(w.l.Diagnostics, check.Run(in))
}

// CheckText finds what is wrong with the text of a file alone, whatever project it
// is in.
func CheckText(file string, text []byte) workflow.Diagnostics {
	w, found := syntax.Parse(file, text)
	if w == nil {
		return found
	}
	bundle := workflow.Bundle{Root: w}
	inside := check.Run(check.Input{Bundle: bundle, Broken: missingCalls(bundle)})
	inside.Place(file, text)
	return append(found, inside...)
}

// missingCalls are the workflows that are called and were not found.
func missingCalls(b workflow.Bundle) []string {
	var names []string
	for _, w := range check.Workflows(b) {
		w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
			if call, ok := n.Step.(*workflow.Call); ok && b.Called[call.Workflow] == nil {
				names = append(names, call.Workflow)
			}
		})
	}
	return names
}

// Plan bounds what a run would do. It is meaningful for a workflow without
// errors.
func (w *Workflow) Plan() check.Plan {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.l.Plan()
}

// Required are the inputs that a run must be given.
func (w *Workflow) Required() []workflow.Param { return w.l.Required() }

// Inputs checks what a run is given: values, with pairs of the form name=value on
// top, and the defaults of the workflow below. A pair's value is text where text
// or anything is asked for, else JSON.
func (w *Workflow) Inputs(given map[string]any, pairs []string) (map[string]any, workflow.Diagnostics) {
	return w.l.Inputs(given, pairs)
}

// Replies are answers of agents and people from a file, so that a workflow can be
// tried without any of them.
type Replies = scripted.Replies

// ReadReplies reads a file of replies.
func ReadReplies(file string, text []byte) (*Replies, workflow.Diagnostics) {
	return scripted.Parse(file, text)
}

// CheckReplies finds what is wrong with replies for a workflow: answers that no
// question takes are errors, keys that fit nothing are warnings at file.
func CheckReplies(r *Replies, b *workflow.Bundle, file string) workflow.Diagnostics {
	var names []string
	for _, w := range check.Workflows(*b) {
		w.Body.Walk(func(g *workflow.Graph, n *workflow.Node) {
			if g.TaskOf(n) != nil || n.Kind() == "human" {
				names = append(names, n.ID)
			}
		})
	}
	found := r.Problems(b)
	for _, key := range r.Strangers(b) {
		found = append(found, workflow.Warningf(workflow.Pos{File: file}, "reply-unused", workflow.DidYouMean(key, names), "no task and no question is called %q", key))
	}
	return found
}

// InvalidError says that a workflow, its inputs or its replies have errors, so
// that it cannot run.
type InvalidError struct{ Diagnostics workflow.Diagnostics }

func (e *InvalidError) Error() string {
	var lines []string
	for _, d := range e.Diagnostics {
		if d.Severity == workflow.Error {
			lines = append(lines, d.String())
		}
	}
	return strings.Join(lines, "\n")
}

// Task is one task for one agent.
type Task struct {
	Prompt string // as it is: no part of it is taken for a reference
	// Agent is the name of an agent, its role or what it can do. "": that of the
	// session, else the project's default, else the one that fits.
	Agent string
	// Session is the id of the conversation that the task continues.
	Session string
	// Inputs are further values for the agent, in order.
	Inputs []workflow.Binding
}

const (
	// onlyTask is the name of the workflow of a single task, and of its step.
	onlyTask = "task"
	// promptInput is the input that holds the prompt: what somebody types is no
	// template.
	promptInput = "prompt"
)

// LoadTask makes a workflow of a single step, and the inputs that it runs with.
func (p *Project) LoadTask(t Task) (*Workflow, map[string]any, error) {
	title, _, _ := strings.Cut(strings.TrimSpace(t.Prompt), "\n")
	task := &workflow.Task{Agent: t.Agent, Prompt: workflow.Template{Text: "${inputs." + promptInput + "}"}}
	if t.Session != "" {
		task.Settings = map[string]any{agent.SessionSetting: t.Session}
	}
	model := &workflow.Workflow{Name: onlyTask, Inputs: []workflow.Param{{Name: promptInput, Type: workflow.StringType, Required: true}}}
	inputs := map[string]any{promptInput: t.Prompt}
	for _, in := range t.Inputs {
		model.Inputs = append(model.Inputs, workflow.Param{Name: in.Name, Required: true})
		task.Inputs = append(task.Inputs, workflow.Binding{Name: in.Name, Value: "${inputs[" + strconv.Quote(in.Name) + "]}"})
		inputs[in.Name] = in.Value
	}
	model.Body.Nodes = []workflow.Node{{ID: onlyTask, Title: title, Step: task}}
	p = p.steady()
	l, err := p.now().files.LoadTask(model)
	if err != nil {
		return nil, nil, err
	}
	return &Workflow{p: p, l: l, only: task}, inputs, nil
}
