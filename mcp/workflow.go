package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/workflow"
)

type workflowArgs struct {
	Name       string         `json:"name" about:"the workflow; hocket_workflows_list lists them"`
	Inputs     map[string]any `json:"inputs,omitempty" about:"its inputs, by name"`
	Background bool           `json:"background,omitempty" about:"return the id of the run at once"`
}

func (c *call) workflow(ctx context.Context, in *workflowArgs) (*sdk.CallToolResult, error) {
	w, err := c.p.LoadNamed(in.Name)
	if err != nil {
		return nil, err
	}
	return c.start(ctx, w, in.Inputs, in.Background, "")
}

type workflowsArgs struct {
	Cursor string `json:"cursor,omitempty" about:"next_cursor of the previous page"`
}

// workflowLine is a workflow in a list.
type workflowLine struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Inputs      map[string]any `json:"inputs,omitempty"` // their JSON schema
	Approved    bool           `json:"approved"`
	Problem     string         `json:"problem,omitempty"` // why it cannot run, and what to do
	params      []workflow.Param
}

func (c *call) workflows(_ context.Context, in *workflowsArgs) (*sdk.CallToolResult, error) {
	page := struct {
		Workflows []json.RawMessage `json:"workflows"`
		Next      string            `json:"next_cursor,omitempty"`
	}{Workflows: []json.RawMessage{}}
	size, last := 0, ""
	for _, name := range c.s.workflowNames() {
		if name <= in.Cursor {
			continue
		}
		data, err := json.Marshal(c.s.workflowLine(name))
		if err != nil {
			return nil, err
		}
		if size += len(data); size > maxOutput && last != "" {
			page.Next = last
			break
		}
		page.Workflows, last = append(page.Workflows, data), name
	}
	return result(page)
}

// workflowNames returns the names of all workflows that a client may name.
func (s *server) workflowNames() []string {
	return slices.Sorted(slices.Values(slices.Concat(s.p.Workflows(), s.p.GeneratedWorkflows())))
}

func (s *server) workflowLine(name string) workflowLine {
	line := workflowLine{Name: name}
	w, err := s.p.LoadNamed(name)
	if err == nil && w.Model() != nil {
		line.Description, line.params = w.Model().Description, inputsOf(w)
		line.Inputs = schema(line.params, map[string]any{})
	}
	if err == nil {
		err = unready(w, name)
	}
	if line.Approved = err == nil; err != nil {
		line.Problem = s.explain(err)
	}
	return line
}

// unready returns why a client cannot run a workflow, nil if it can.
func unready(w *hocket.Workflow, name string) error {
	state, err := w.State()
	switch {
	case err != nil || state == hocket.Approved:
		return err
	case state == hocket.Broken:
		return &hocket.InvalidError{Diagnostics: w.Check(nil)}
	}
	return &hocket.UnapprovedError{ID: name, Kind: hocket.WorkflowKind, State: state}
}

// inputsOf returns the inputs of a workflow. If it declares none, they are those that it uses.
func inputsOf(w *hocket.Workflow) []workflow.Param {
	if inputs := w.Model().Inputs; len(inputs) > 0 {
		return inputs
	}
	return w.Required()
}

// workflowTool is the prefix of the tools that are workflows.
const workflowTool = "workflow_"

// refreshWorkflows makes tools of the workflows that the project lists for that, with their inputs
// as arguments.
func (s *server) refreshWorkflows() {
	now := map[string]*sdk.Tool{}
	for _, name := range s.p.Config().MCP.Workflows {
		if w, err := s.p.LoadNamed(name); err == nil && w.Model() != nil {
			now[name] = &sdk.Tool{Name: workflowTool + name, Description: "Run the workflow " + name + ". " + w.Model().Description, Annotations: works, InputSchema: schema(withBackground(inputsOf(w)), map[string]any{})}
		}
	}
	s.workflows = exchange(s.workflows, now, func(name string) { s.sdk.RemoveTools(workflowTool + name) }, func(name string, tool *sdk.Tool) {
		s.sdk.AddTool(tool, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			c := s.call(ctx, req)
			return s.answered(ctx, c, func() (*sdk.CallToolResult, error) { return c.namedWorkflow(ctx, name) }), nil
		})
	})
}

// exchange removes and adds what is different, and returns what is there now. Clients are told about every
// change.
func exchange[T any](before, now map[string]*T, remove func(name string), add func(name string, one *T)) map[string]*T {
	for name := range before {
		if now[name] == nil {
			remove(name)
		}
	}
	for name, one := range now {
		if !reflect.DeepEqual(one, before[name]) {
			add(name, one)
		}
	}
	return now
}

// backgroundArg is the argument of workflow tools that is not an input.
const backgroundArg = "background"

func (c *call) namedWorkflow(ctx context.Context, name string) (*sdk.CallToolResult, error) {
	inputs := map[string]any{}
	if len(c.req.Params.Arguments) > 0 {
		v, err := workflow.ParseJSON(c.req.Params.Arguments)
		object, ok := v.(map[string]any)
		if err != nil || !ok {
			return nil, errors.New("the arguments must be a JSON object")
		}
		inputs = maps.Clone(object)
	}
	w, err := c.p.LoadNamed(name)
	if err != nil {
		return nil, err
	}
	if w.Model() == nil { // its file has changed since the list
		return nil, &hocket.InvalidError{Diagnostics: w.Diagnostics()}
	}
	background := false
	if !slices.ContainsFunc(w.Model().Inputs, isBackground) {
		background, _ = inputs[backgroundArg].(bool)
		delete(inputs, backgroundArg)
	}
	return c.start(ctx, w, inputs, background, "")
}

func withBackground(inputs []workflow.Param) []workflow.Param {
	if slices.ContainsFunc(inputs, isBackground) {
		return inputs
	}
	return append(slices.Clip(inputs), workflow.Param{Name: backgroundArg, Type: workflow.BooleanType, Description: "return the id of the run at once"})
}

func isBackground(p workflow.Param) bool { return p.Name == backgroundArg }
