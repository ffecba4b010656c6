package hocket

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/tool"
	"github.com/hocket-dev/hocket/workflow"
)

// Tool is a tool that agents can call, as its manifest describes it.
type Tool = tool.Manifest

// ToolEnforcement reports whether the permissions of tools that are programs are enforced
// on this machine.
type ToolEnforcement = tool.Enforcement

// ToolFile is the name of a tool's manifest in its directory.
const ToolFile = tool.File

// Tools returns the tools of the project and the built-in ones, by name.
func (p *Project) Tools() []*Tool { return p.now().tools.Manifests() }

// ToolDiagnostics returns the mistakes in the files of tools.
func (p *Project) ToolDiagnostics() workflow.Diagnostics { return p.now().wrong }

// ToolEnforcement reports whether the permissions of tools that are programs are enforced.
func (p *Project) ToolEnforcement() ToolEnforcement { return p.now().tools.Enforcement() }

// Tool finds a tool by its name.
func (p *Project) Tool(name string) (*Tool, error) {
	if m, ok := p.now().tools.Manifest(name); ok {
		return m, nil
	}
	return nil, &tool.UnknownError{Name: name, Names: p.now().tools.Names()}
}

// CallTool calls a tool as an agent would: its inputs are checked, and its permissions
// enforced. It does not ask for approval.
func (p *Project) CallTool(ctx context.Context, name string, args map[string]any, log agent.Log) (string, error) {
	p = p.steady()
	m, err := p.Tool(name)
	if err != nil {
		return "", err
	}
	if err := p.CheckTool(m); err != nil {
		return "", err
	}
	if len(m.Permissions.Secrets) > 0 { // the user named the tool, but not its secrets
		if err := p.CheckTrust(ctx); err != nil {
			return "", err
		}
	}
	one, err := p.now().tools.Tool(name)
	if err != nil {
		return "", err
	}
	you := &agent.Definition{Name: "you", Permissions: map[string]any{"mode": "full"}}
	return one.Call(ctx, args, &agent.Task{Dir: p.Root(), Agent: you}, log)
}

// CheckTool returns an *[InvalidError] if the file of a tool has errors.
func (p *Project) CheckTool(t *Tool) error {
	found := slices.DeleteFunc(slices.Clone(p.now().wrong), func(d workflow.Diagnostic) bool {
		return t.Dir == "" || d.File != filepath.Join(t.Dir, tool.File)
	})
	if found.Errors() {
		return &InvalidError{found}
	}
	return nil
}

// ToolKinds returns the kinds of tools that [ToolSample] supports.
func ToolKinds() []string { return tool.Kinds() }

// ToolSample returns the files of an example tool of a kind.
func ToolSample(kind string) (map[string][]byte, error) { return tool.Sample(kind) }

// IsToolName reports whether a name is valid for a tool.
func IsToolName(name string) bool { return tool.IsName(name) }

// IsProgram reports whether a tool is a program, and not an HTTP request.
func IsProgram(t *Tool) bool {
	_, ok := t.Work.(*tool.Command)
	return ok
}
