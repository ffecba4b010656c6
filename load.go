package hocket

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/scripted"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// Workflow is a loaded workflow, with the workflows that it calls. It is safe for
// concurrent use.
type Workflow struct {
	p    *Project // at the time of loading
	l    *project.Loaded
	only *workflow.Task // the only step, if it was made by LoadTask; otherwise nil

	mu      sync.Mutex // resolving an agent may choose one
	checked *checked   // the last check, which Start does not repeat
}

type checked struct {
	replies *Replies
	found   workflow.Diagnostics
}

// UnknownWorkflowError reports that there is no workflow or file with a name.
type UnknownWorkflowError = project.UnknownError

// Load reads a workflow by its file or name, in any notation. The error is an
// *[UnknownWorkflowError], which is an [fs.ErrNotExist], or a system error.
// [Workflow.Check] finds the mistakes in the workflow.
func (p *Project) Load(nameOrFile string) (*Workflow, error) {
	p = p.steady()
	l, err := p.now().files.Load(nameOrFile)
	if err != nil {
		return nil, err
	}
	return &Workflow{p: p, l: l}, nil
}

// LoadNamed is Load for a name that comes from a client or a model. It finds workflows of the project,
// also those that models wrote, and nothing by a path.
func (p *Project) LoadNamed(name string) (*Workflow, error) {
	p = p.steady()
	l, err := p.now().files.LoadNamed(name)
	if err != nil {
		return nil, err
	}
	return &Workflow{p: p, l: l}, nil
}

// loadFile is Load for a path that comes from somebody else, with slashes and relative to the root. It reads only files that may
// be workflows of the project.
func (p *Project) loadFile(name string) (*Workflow, error) {
	l, err := p.now().files.LoadFile(name)
	if err != nil {
		return nil, err
	}
	return &Workflow{p: p, l: l}, nil
}

// LoadText parses a workflow that is not in a file. Diagnostics use name as its file name,
// and files that it calls are relative to that.
func (p *Project) LoadText(name string, text []byte) (*Workflow, error) {
	p = p.steady()
	l, err := p.now().files.LoadText(name, text)
	if err != nil {
		return nil, err
	}
	return &Workflow{p: p, l: l}, nil
}

// LoadModel loads a workflow that was built by a program, for instance with
// [workflow.Sequence].
func (p *Project) LoadModel(w *workflow.Workflow) (*Workflow, error) {
	if w == nil {
		return nil, errors.New("hocket: LoadModel: the workflow is nil")
	}
	p = p.steady()
	l, err := p.now().files.LoadModel(w)
	if err != nil {
		return nil, err
	}
	return &Workflow{p: p, l: l}, nil
}

// Model returns the workflow itself, nil if its file could not be parsed.
func (w *Workflow) Model() *workflow.Workflow { return w.l.Bundle.Root }

// Bundle returns the workflow with those that it calls.
func (w *Workflow) Bundle() *workflow.Bundle { return &w.l.Bundle }

// Limits returns the limits of a run: those of the workflow, otherwise of the project, otherwise the
// defaults.
func (w *Workflow) Limits() workflow.Limits { return w.l.Limits }

// WithLimits returns the workflow with other limits for checks, plans and runs. Zero fields
// do not change anything.
func (w *Workflow) WithLimits(l workflow.Limits) *Workflow {
	if l == (workflow.Limits{}) {
		return w // keeps the result of Check
	}
	bounded := *w.l
	bounded.Limits = check.Override(w.l.Limits, l)
	return &Workflow{p: w.p, l: &bounded, only: w.only}
}

// Diagnostics returns the mistakes that the parser found. Check finds more.
func (w *Workflow) Diagnostics() workflow.Diagnostics { return w.l.Diagnostics }

// Check finds the mistakes in the workflow, in those that it calls, and in the project's
// own files. A node with a reply needs no agent.
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
	w.checked = &checked{replies, append(w.l.Check(replied), withoutGit(&w.l.Bundle)...)}
	return w.checked.found
}

// CheckAlone finds the mistakes in the files alone, regardless of the project's agents.
func (w *Workflow) CheckAlone() workflow.Diagnostics {
	if w.l.Bundle.Root == nil {
		return w.l.Diagnostics
	}
	in := check.Input{Bundle: w.l.Bundle, Limits: w.l.Limits, Broken: missingCalls(w.l.Bundle)}
	return slices.Concat(w.l.Diagnostics, check.Run(in))
}

// CheckText finds the mistakes in the text of a file alone, regardless of its project.
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

// missingCalls returns the called workflows that were not found.
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

// Plan returns upper bounds on what a run could do, with replies if there are any. It is
// meaningful only for a workflow without errors.
func (w *Workflow) Plan(replies *Replies) check.Plan {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.l.Plan(replies.Bound)
}

// Required returns the inputs that a run requires.
func (w *Workflow) Required() []workflow.Param { return w.l.Required() }

// Inputs checks the inputs of a run and adds defaults. Pairs of the form name=value
// override given. The value of a pair is text if the input has the type string or none,
// else JSON.
func (w *Workflow) Inputs(given map[string]any, pairs []string) (map[string]any, workflow.Diagnostics) {
	return w.l.Inputs(given, pairs)
}

// Replies are the replies of agents and people from a file, to try a workflow without
// them.
type Replies = scripted.Replies

// ReadReplies reads a file of replies.
func ReadReplies(file string, text []byte) (*Replies, workflow.Diagnostics) {
	return scripted.Parse(file, text)
}

// CheckReplies checks replies against a workflow: answers that a question does not accept
// are errors, and unknown keys are warnings at file.
func CheckReplies(r *Replies, b *workflow.Bundle, file string) workflow.Diagnostics {
	var names []string
	replans := false
	for _, w := range check.Workflows(*b) {
		w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
			if n.Kind() == "human" {
				names = append(names, n.ID)
			}
			replans = replans || n.OnError == workflow.Replan
		})
		w.Body.WalkTasks(func(n *workflow.Node, _ *workflow.Task) { names = append(names, n.ID) })
	}
	found := r.Problems(b)
	for _, key := range r.Strangers(b) {
		if replans && (key == "replan" || strings.HasPrefix(key, "correct")) {
			continue // for the model that plans
		}
		found = append(found, workflow.Warningf(workflow.Pos{File: file}, "reply-unused", workflow.DidYouMean(key, names), "unknown step %q in the replies", key))
	}
	return found
}

// InvalidError reports that a workflow cannot run because it, its inputs or its replies
// have errors.
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
	Prompt string // verbatim: not a template
	// Agent is the name, role or capability of an agent. "" means that of the session,
	// else the project's default, otherwise the one that matches best.
	Agent string
	// Session is the id of the conversation that the task continues.
	Session string
	// Inputs are additional values for the agent, in order.
	Inputs []workflow.Binding
	// Settings are additional settings of the task, verbatim.
	Settings map[string]any
	// Name is the name of the workflow and of its step. "" means task.
	Name string
	// Attempts is how often the task is tried. Zero means as often as its agent says.
	Attempts int
}

const (
	// onlyTask is the default name of the workflow of a single task, and of its step.
	onlyTask = "task"
	// promptInput is the input that holds the prompt, so that it is not expanded as a
	// template.
	promptInput = "prompt"
	taskPrompt  = "${inputs." + promptInput + "}"
)

// isTask reports whether LoadTask made a workflow, in this process or in that which recorded its run.
func isTask(w *workflow.Workflow) bool {
	if w.Pos.File != "" || len(w.Body.Nodes) != 1 {
		return false
	}
	task := w.Body.Nodes[0].Task()
	return task != nil && task.Prompt.Text == taskPrompt
}

// LoadTask makes a workflow with a single step, and the inputs to run it with.
func (p *Project) LoadTask(t Task) (*Workflow, map[string]any, error) {
	title, _, _ := strings.Cut(strings.TrimSpace(t.Prompt), "\n")
	name := cmp.Or(t.Name, onlyTask)
	task := &workflow.Task{Agent: t.Agent, Prompt: workflow.Template{Text: taskPrompt}}
	if t.Session != "" {
		task.Settings = map[string]any{agent.SessionSetting: t.Session}
	}
	model := &workflow.Workflow{Name: name, Inputs: []workflow.Param{{Name: promptInput, Type: workflow.StringType, Required: true}}}
	inputs := map[string]any{promptInput: t.Prompt}
	verbatim := func(name string, value any) string {
		model.Inputs = append(model.Inputs, workflow.Param{Name: name, Required: true})
		inputs[name] = value
		return "${inputs[" + strconv.Quote(name) + "]}"
	}
	for _, in := range t.Inputs {
		task.Inputs = append(task.Inputs, workflow.Binding{Name: in.Name, Value: verbatim(in.Name, in.Value)})
	}
	for _, key := range sorted.Keys(t.Settings) {
		if task.Settings == nil {
			task.Settings = map[string]any{}
		}
		task.Settings[key] = verbatim(key, t.Settings[key])
	}
	model.Body.Nodes = []workflow.Node{{ID: name, Title: title, Step: task, Retry: workflow.Retry{Attempts: t.Attempts}}}
	p = p.steady()
	l, err := p.now().files.LoadTask(model)
	if err != nil {
		return nil, nil, err
	}
	return &Workflow{p: p, l: l, only: task}, inputs, nil
}
