package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/tool"
	"github.com/hocket-dev/hocket/workflow"
)

// Tools starts a session with a server and returns its tools. They can be called until ctx
// is done or the returned function is called, which the caller must do.
func Tools(ctx context.Context, server agent.Server, o Options) ([]agent.Tool, func(), error) {
	s, err := Open(ctx, server, o)
	if err != nil {
		return nil, nil, err
	}
	return s.Tools(), s.Close, nil
}

// maxResult limits what a model sees of a result.
const maxResult = 256 << 10

// Tools returns the tools of the server, under names that models accept: SERVER_TOOL.
func (s *Session) Tools() []agent.Tool {
	list := s.List()
	for i := range list {
		list[i].Name = s.server.Name + "_" + list[i].Name
	}
	return tool.Distinct(list)
}

// List returns the tools of the server under their own names.
func (s *Session) List() []agent.Tool {
	s.mu.Lock()
	tools := s.now.tools
	s.mu.Unlock()
	list := make([]agent.Tool, len(tools))
	for i, t := range tools {
		list[i] = agent.Tool{
			Name: t.Name, Description: describe(t), Input: inputOf(t), Approval: destroys(t),
			Call: func(ctx context.Context, args map[string]any, _ *agent.Task, log agent.Log) (string, error) {
				text, err := s.Call(ctx, t.Name, args, log)
				return cut(text), err
			},
		}
	}
	return list
}

// A tool's description goes into every request to a model, so it has a limit.
const (
	maxDescription = 8 << 10
	maxInput       = 64 << 10
)

// describe returns the server's description of a tool. Only a model reads it.
func describe(t *sdk.Tool) string {
	text := t.Description
	if text == "" {
		text = t.Title
	}
	if len(text) > maxDescription {
		text = text[:maxDescription] + " [cut off here]"
	}
	return strings.ToValidUTF8(text, "")
}

// inputOf returns the schema of a tool's arguments, which must be an object for models.
func inputOf(t *sdk.Tool) map[string]any {
	input, _ := t.InputSchema.(map[string]any)
	if input == nil || input["type"] != "object" || len(workflow.FormatJSON(input)) > maxInput {
		return map[string]any{"type": "object", "properties": map[string]any{}}
	}
	return input
}

// destroys reports whether a tool declares itself destructive. A server that does not
// declare anything is trusted, because a person configured it.
func destroys(t *sdk.Tool) bool {
	a := t.Annotations
	return a != nil && !a.ReadOnlyHint && a.DestructiveHint != nil && *a.DestructiveHint
}

// cut shortens a result that is too long for a model, and marks the cut.
func cut(text string) string {
	if len(text) <= maxResult {
		return text
	}
	return strings.ToValidUTF8(text[:maxResult], "") + fmt.Sprintf("\n[cut off here: the result is %d KiB long, and these are the first %d]", len(text)>>10, maxResult>>10)
}

// Call calls a tool of the server by its own name, and returns its result as text. A result
// that the tool marks as an error is an error. What the server reports meanwhile goes to
// log, which may be nil.
func (s *Session) Call(ctx context.Context, name string, args map[string]any, log agent.Log) (string, error) {
	if args == nil {
		args = map[string]any{}
	}
	result, err := s.call(ctx, name, args, log)
	if errors.Is(err, sdk.ErrSessionMissing) { // the server has lost the session, and done nothing
		result, err = s.call(ctx, name, args, log)
	}
	if err != nil {
		return "", err
	}
	text := textOf(result)
	if result.IsError {
		return "", agent.Errorf("MCP server %q: %s failed: %s", s.server.Name, name, cut(text))
	}
	return text, nil
}

// call calls a tool once. Errors are explained, except [sdk.ErrSessionMissing].
func (s *Session) call(ctx context.Context, name string, args map[string]any, log agent.Log) (*sdk.CallToolResult, error) {
	l, err := s.link(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.knows(l, name); err != nil {
		return nil, err
	}
	within, cancel := s.patient(ctx)
	defer cancel()
	token, end := s.progress.watch(name, log)
	defer end()
	params := &sdk.CallToolParams{Name: name, Arguments: args}
	params.SetProgressToken(token)
	result, err := l.client.CallTool(within, params)
	if err == nil {
		return result, nil
	}
	forgotten := errors.Is(err, sdk.ErrSessionMissing)
	if forgotten || errors.Is(err, sdk.ErrConnectionClosed) {
		l.lost.Store(true)
	}
	if forgotten {
		return nil, fmt.Errorf("MCP server %q: %w", s.server.Name, sdk.ErrSessionMissing)
	}
	return nil, s.failure(ctx, within, l, name, err)
}

// patient returns the context of a call, which ends when the call has taken too long. The
// time during which a person is asked does not count.
func (s *Session) patient(ctx context.Context) (context.Context, func()) {
	within, cancel := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(s.options.Call)
		defer tick.Stop()
		for answered := s.answered.Load(); ; answered = s.answered.Load() {
			select {
			case <-within.Done():
				return
			case <-tick.C:
				if s.asking.Load() == 0 && s.answered.Load() == answered {
					cancel(context.DeadlineExceeded)
				}
			}
		}
	}()
	return within, func() { cancel(nil) }
}

// knows checks whether the server has a tool.
func (s *Session) knows(l *link, name string) error {
	names := make([]string, len(l.tools))
	for i, t := range l.tools {
		if names[i] = t.Name; t.Name == name {
			return nil
		}
	}
	const most = 30 // number of names listed
	hint := workflow.DidYouMean(name, names)
	switch {
	case hint == "" && len(names) == 0:
		hint = "it has no tools"
	case hint == "" && len(names) > most:
		hint = fmt.Sprintf("it has %s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	case hint == "":
		hint = "it has " + strings.Join(names, ", ")
	}
	return agent.Permanentf("MCP server %q has no tool %q; %s", s.server.Name, name, hint)
}

// textOf returns a result as text: its texts, and a line for each part that is not text.
// Structured data is included too, unless one of the texts is the same, as it should be.
func textOf(result *sdk.CallToolResult) string {
	var parts []string
	told := false
	for _, c := range result.Content {
		text := contentText(c)
		parts, told = append(parts, text), told || strings.HasPrefix(strings.TrimSpace(text), "{") && json.Valid([]byte(text))
	}
	if v, err := workflow.Normalize(result.StructuredContent); err == nil && v != nil && !told {
		parts = append(parts, workflow.FormatJSON(v))
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
