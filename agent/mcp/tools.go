package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/tool"
	"github.com/hocket-dev/hocket/workflow"
)

// Tools begins a session with a server and gives its tools. They can be called until
// ctx is done or the function is called that comes with them, which must be.
func Tools(ctx context.Context, server agent.Server, o Options) ([]agent.Tool, func(), error) {
	s, err := Open(ctx, server, o)
	if err != nil {
		return nil, nil, err
	}
	return s.Tools(), s.Close, nil
}

// maxResult is the most that a model is told of a result.
const maxResult = 256 << 10

// Tools are the tools of the server, under names that models take: SERVER_TOOL.
func (s *Session) Tools() []agent.Tool {
	list := make([]agent.Tool, len(s.tools))
	for i, t := range s.tools {
		list[i] = agent.Tool{
			Name: s.server.Name + "_" + t.Name, Description: describe(t), Input: inputOf(t), Approval: destroys(t),
			Call: func(ctx context.Context, args map[string]any, _ *agent.Task, _ agent.Log) (string, error) {
				text, err := s.Call(ctx, t.Name, args)
				return cut(text), err
			},
		}
	}
	return tool.Distinct(list)
}

func describe(t *sdk.Tool) string {
	if t.Description != "" {
		return t.Description
	}
	return t.Title
}

// inputOf is the schema of a tool's arguments, which models want to be an object.
func inputOf(t *sdk.Tool) map[string]any {
	input, _ := t.InputSchema.(map[string]any)
	if input == nil || input["type"] != "object" {
		return map[string]any{"type": "object", "properties": map[string]any{}}
	}
	return input
}

// destroys says whether a tool says of itself that it destroys something. A server
// that keeps quiet about it is believed: it was written into the settings.
func destroys(t *sdk.Tool) bool {
	a := t.Annotations
	return a != nil && !a.ReadOnlyHint && a.DestructiveHint != nil && *a.DestructiveHint
}

// cut shortens what a model would choke on, and says so.
func cut(text string) string {
	if len(text) <= maxResult {
		return text
	}
	return strings.ToValidUTF8(text[:maxResult], "") + fmt.Sprintf("\n[cut off here: the result has %d KiB, and these are the first %d]", len(text)>>10, maxResult>>10)
}

// Call calls a tool of the server by its own name, and gives its result as text. A
// result that the tool itself calls an error is one.
func (s *Session) Call(ctx context.Context, name string, args map[string]any) (string, error) {
	if err := s.knows(name); err != nil {
		return "", err
	}
	if args == nil {
		args = map[string]any{}
	}
	within, cancel := context.WithTimeout(ctx, s.options.Call)
	defer cancel()
	result, err := s.client.CallTool(within, &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return "", s.failure(ctx, within, fmt.Sprintf("did not answer the call of %s within %s", name, s.options.Call), fmt.Errorf("%s: %w", name, err))
	}
	text := textOf(result)
	if result.IsError {
		return "", agent.Errorf("MCP server %q: %s failed: %s", s.server.Name, name, cut(text))
	}
	return text, nil
}

func (s *Session) knows(name string) error {
	names := make([]string, len(s.tools))
	for i, t := range s.tools {
		if names[i] = t.Name; t.Name == name {
			return nil
		}
	}
	hint := workflow.DidYouMean(name, names)
	switch {
	case hint == "" && len(names) == 0:
		hint = "it has none"
	case hint == "":
		hint = "it has " + strings.Join(names, ", ")
	}
	return agent.Permanentf("MCP server %q has no tool %q; %s", s.server.Name, name, hint)
}

// textOf is a result as text: its texts, and for what is none a line that says what it
// was.
func textOf(result *sdk.CallToolResult) string {
	var parts []string
	for _, c := range result.Content {
		parts = append(parts, contentText(c))
	}
	if len(parts) == 0 && result.StructuredContent != nil {
		if v, err := workflow.Normalize(result.StructuredContent); err == nil {
			return workflow.FormatJSON(v)
		}
	}
	return strings.ToValidUTF8(strings.Join(parts, "\n"), "\uFFFD")
}

func contentText(c sdk.Content) string {
	switch c := c.(type) {
	case *sdk.TextContent:
		return c.Text
	case *sdk.ImageContent:
		return fmt.Sprintf("[image, %s, %d bytes]", c.MIMEType, len(c.Data))
	case *sdk.AudioContent:
		return fmt.Sprintf("[audio, %s, %d bytes]", c.MIMEType, len(c.Data))
	case *sdk.ResourceLink:
		return fmt.Sprintf("[resource %s: %s]", c.Name, c.URI)
	case *sdk.EmbeddedResource:
		if c.Resource == nil {
			return ""
		}
		if c.Resource.Text != "" || len(c.Resource.Blob) == 0 {
			return c.Resource.Text
		}
		return fmt.Sprintf("[resource %s, %s, %d bytes]", c.Resource.URI, c.Resource.MIMEType, len(c.Resource.Blob))
	}
	return ""
}
