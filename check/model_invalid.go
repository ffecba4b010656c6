package check

import (
	"encoding/json"
	"slices"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// modelInvalid rejects models that no notation can express. Only a program can build them, and
// the engine relies on never seeing one.
var modelInvalid = rule{
	code:     "model-invalid",
	severity: workflow.Error,
	summary:  "the definition breaks a rule of the model",
	workflow: func(p *pass) {
		for _, in := range p.w.Inputs {
			if !slices.Contains(paramTypes, in.Type) {
				p.broken(in.Pos, "input %q has unknown type %q", in.Name, in.Type)
			}
			p.isValue(in.Pos, "the default of input", in.Name, in.Default)
		}
		for _, name := range sorted.Keys(p.w.State) {
			p.isValue(p.w.StatePos[name], "state", name, p.w.State[name])
		}
	},
	node: func(p *pass, n *node) {
		p.modelOfStep(n)
		if !slices.Contains(onErrors, n.OnError) {
			p.broken(n.Pos, "%q has unknown on_error %q", n.ID, n.OnError)
		}
		if !slices.Contains(backoffs, n.Retry.Backoff) {
			p.broken(n.Pos, "%q has unknown backoff %q", n.ID, n.Retry.Backoff)
		}
		if !slices.Contains(workspaces, n.Workspace) {
			p.broken(n.Pos, "%q has unknown workspace %q", n.ID, n.Workspace)
		}
		if !slices.Contains(outputModes, n.Output.Mode) {
			p.broken(n.Pos, "%q has unknown output mode %q", n.ID, n.Output.Mode)
		}
	},
	edge: func(p *pass, e *edge) {
		switch {
		case e.from == nil && e.Pos.Part != "": // reported by needsUnknown
		case e.from == nil:
			p.broken(e.Pos, "an edge leaves %q, which is not in its graph", e.From)
		case e.from.isLoop():
			p.broken(e.Pos, "an edge leaves the loop %q, not a node in it", e.From)
		case !slices.Contains(edgeKinds, e.On):
			p.broken(e.Pos, "an edge of %q has unknown kind %q", e.From, e.On)
		case (e.On == workflow.OnLabel) != (e.Label != ""):
			p.broken(e.Pos, "an edge of %q must have a label if, and only if, it is a label edge", e.From)
		case (e.On == workflow.OnWhen) != (e.When.Text != ""):
			p.broken(e.Pos, "an edge of %q must have a condition if, and only if, it is a when edge", e.From)
		}
	},
}

var (
	paramTypes  = []workflow.ParamType{workflow.AnyType, workflow.StringType, workflow.NumberType, workflow.IntegerType, workflow.BooleanType, workflow.ArrayType, workflow.ObjectType}
	onErrors    = []workflow.OnError{workflow.Stop, workflow.Continue, workflow.SkipDependents, workflow.Replan}
	backoffs    = []workflow.Backoff{workflow.Fixed, workflow.Linear, workflow.Exponential}
	outputModes = []workflow.OutputMode{workflow.Full, workflow.JSON, workflow.JSONPath, workflow.Regex, workflow.FirstLine}
	edgeKinds   = []workflow.On{workflow.OnSuccess, workflow.OnLabel, workflow.OnWhen, workflow.OnElse, workflow.OnFailure, workflow.OnTimeout}
	workspaces  = []workflow.Workspace{workflow.WorkspaceAround, workflow.WorkspaceProject, workflow.WorkspaceOwn}
	branches    = []workflow.Branches{workflow.OneBranch, workflow.MergeBranches, workflow.PickBranch}
	contexts    = []workflow.Context{workflow.AutoContext, workflow.PreviousContext, workflow.NoContext}
	strategies  = []workflow.Strategy{workflow.Concatenate, workflow.Merge, workflow.Array, workflow.First, workflow.Vote}
)

// isValue reports a Go value that a run cannot use, such as an int.
func (p *pass) isValue(pos workflow.Pos, what, name string, v any) {
	switch v := v.(type) {
	case nil, bool, string, json.Number:
	case []any:
		for _, item := range v {
			p.isValue(pos, what, name, item)
		}
	case map[string]any:
		for _, key := range sorted.Keys(v) {
			p.isValue(pos, what, name, v[key])
		}
	default:
		p.errorf(pos, "pass it through workflow.Normalize", "%s %q contains a Go %T", what, name, v)
	}
}

func (p *pass) broken(pos workflow.Pos, summary string, args ...any) {
	p.errorf(pos, "fix the program that made this definition", summary, args...)
}

func (p *pass) modelOfStep(n *node) {
	switch s := n.Step.(type) {
	case nil:
		p.broken(n.Pos, "node %q does nothing", n.ID)
	case *workflow.Call:
		if s.Workflow == "" {
			p.broken(n.Pos, "%q calls no workflow", n.ID)
		}
	case *workflow.Combine:
		if !slices.Contains(strategies, s.Strategy) {
			p.broken(n.Pos, "%q has unknown strategy %q", n.ID, s.Strategy)
		}
	case *workflow.Loop:
		if len(s.Body.Nodes) == 0 {
			p.broken(n.Pos, "loop %q has an empty body", n.ID)
		}
	case *workflow.Each:
		if len(s.Body.Nodes) == 0 {
			p.broken(n.Pos, "for_each %q has an empty body", n.ID)
		}
		if s.Items.Text == "" {
			p.broken(n.Pos, "for_each %q has no items", n.ID)
		}
	case *workflow.Choice:
		if s.On.Text != "" && s.Ask != nil {
			p.broken(n.Pos, "%q has both a condition and a question", n.ID)
		}
		if s.Ask != nil && (len(s.Ask.Inputs) > 0 || s.Ask.Context != workflow.AutoContext || s.Ask.Handoffs != nil || s.Ask.Branches != workflow.OneBranch) {
			p.broken(n.Pos, "the question of %q has inputs, a context, handoffs or branches", n.ID)
		}
	case *workflow.Task:
		if !slices.Contains(contexts, s.Context) {
			p.broken(n.Pos, "%q has unknown context %q", n.ID, s.Context)
		}
		if !slices.Contains(branches, s.Branches) {
			p.broken(n.Pos, "%q does something unknown with branches: %q", n.ID, s.Branches)
		}
		if s.Agent == workflow.MergeAgent && s.Branches == workflow.OneBranch {
			p.errorf(n.Pos, "write a step with `merge`", "%q is a task of the agent %q, but not a merge", n.ID, s.Agent)
		}
	case *workflow.Human:
	}
}
