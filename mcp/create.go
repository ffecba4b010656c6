package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

type createArgs struct {
	Name       string         `json:"name" about:"lower-case letters, digits, - and _"`
	Definition map[string]any `json:"definition,omitempty" about:"the definition as an object, with the keys of its YAML file"`
	Text       string         `json:"text,omitempty" about:"or the definition as text"`
	Goal       string         `json:"goal,omitempty" about:"what it is for, for the person who approves it"`
}

type createWorkflowArgs struct {
	createArgs
	Notation string `json:"notation,omitempty" about:"of the text: yaml (the default), xml, mermaid, plantuml or json"`
}

type createToolArgs struct {
	createArgs
	Files map[string]string `json:"files,omitempty" about:"its other files, such as a script, by name"`
}

func (c *call) createWorkflow(ctx context.Context, in *createWorkflowArgs) (*sdk.CallToolResult, error) {
	file, err := fileIn(in.Notation)
	if err != nil {
		return nil, err
	}
	return c.propose(ctx, hocket.WorkflowKind, &in.createArgs, file, nil)
}

func (c *call) createAgent(ctx context.Context, in *createArgs) (*sdk.CallToolResult, error) {
	return c.propose(ctx, hocket.AgentKind, in, "agent.yml", nil)
}

func (c *call) createTool(ctx context.Context, in *createToolArgs) (*sdk.CallToolResult, error) {
	if _, twice := in.Files[hocket.ToolFile]; twice {
		return nil, fmt.Errorf("%s is the definition itself; remove it from the files", hocket.ToolFile)
	}
	return c.propose(ctx, hocket.ToolKind, &in.createArgs, hocket.ToolFile, in.Files)
}

// usualKeys is the order of keys in the files of definitions. Others follow by name.
var usualKeys = []string{
	"name", "id", "description", "kind", "role", "capabilities", "inputs", "limits", "budget",
	"type", "default", "required", "needs", "when", "agent", "model", "tools", "mcp", "permissions", "settings", "config", "prompt",
	"steps", "output",
}

// text returns the definition. An object is written as YAML, as people write it, because a person will
// read it. It may leave out the name, which the call has already.
func (in *createArgs) text() ([]byte, error) {
	switch {
	case (in.Text == "") == (in.Definition == nil):
		return nil, errors.New("expected either definition or text")
	case in.Text != "":
		return []byte(in.Text), nil
	}
	object := maps.Clone(in.Definition)
	if object["name"] == nil {
		object["name"] = in.Name
	}
	return strictyaml.Write(object, usualKeys), nil
}

// propose stores a draft, which a person has to approve: a file with the definition, and others.
func (c *call) propose(ctx context.Context, kind hocket.Kind, in *createArgs, file string, others map[string]string) (*sdk.CallToolResult, error) {
	text, err := in.text()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{file: text}
	for name, text := range others {
		files[name] = []byte(text)
	}
	for name, text := range files {
		if err := c.p.CheckSecret("the file "+name, string(text)); err != nil {
			return nil, err
		}
	}
	g, err := c.p.Propose(ctx, hocket.Draft{Kind: kind, Name: in.Name, Files: files, Origin: hocket.Origin{By: c.s.nameOf(c.req.ClientInfo()), Goal: agent.OneLine(in.Goal, 500)}})
	if err != nil {
		return nil, in.located(err)
	}
	return result(map[string]any{
		"id": g.ID, "kind": g.Kind, "state": g.State, "digest": g.Digest,
		"next": "nothing can use it yet; tell the user to review and approve it with: " + c.s.command("approve", g.ID),
	})
}

// located returns an error whose positions are in what the client sent. The file that they name was
// not written, and of a definition that is an object, the client does not know the lines.
func (in *createArgs) located(err error) error {
	var invalid *hocket.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	found := slices.Clone(invalid.Diagnostics)
	for i := range found {
		if found[i].Pos.File == "" {
			continue
		}
		found[i].Pos.File = "text"
		if in.Text == "" {
			found[i].Pos = workflow.Pos{File: "definition"}
		}
	}
	return &hocket.InvalidError{Diagnostics: found}
}
