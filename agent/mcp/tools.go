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
	list := s.List()
	for i := range list {
		list[i].Name = s.server.Name + "_" + list[i].Name
	}
	return tool.Distinct(list)
}

// List are the tools of the server, under the names that it gives them.
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

// What a server says about a tool goes into every request to a model, so it has a limit.
const (
	maxDescription = 8 << 10
	maxInput       = 64 << 10
)

// describe says what a tool does, in the words of its server. A model reads them; nobody
// else does.
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

// inputOf is the schema of a tool's arguments, which models want to be an object.
func inputOf(t *sdk.Tool) map[string]any {
	input, _ := t.InputSchema.(map[string]any)
	if input == nil || input["type"] != "object" || len(workflow.FormatJSON(input)) > maxInput {
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
// result that the tool itself calls an error is one. What the server says meanwhile goes
// to log, which may be nil.
func (s *Session) Call(ctx context.Context, name string, args map[string]any, log agent.Log) (string, error) {
	if args == nil {
		args = map[string]any{}
	}
	result, err := s.call(ctx, name, args, log)
	if errors.Is(err, sdk.ErrSessionMissing) { // the server has forgotten us, and done nothing
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

// call calls a tool once. The error is in plain words, but for [sdk.ErrSessionMissing].
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

// patient is the context of a call: it is over when the call has taken too long. While a
// person is asked something, nobody is in a hurry.
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

// knows says whether the server has a tool.
func (s *Session) knows(l *link, name string) error {
	names := make([]string, len(l.tools))
	for i, t := range l.tools {
		if names[i] = t.Name; t.Name == name {
			return nil
		}
	}
	const most = 30 // of the names are told
	hint := workflow.DidYouMean(name, names)
	switch {
	case hint == "" && len(names) == 0:
		hint = "it has none"
	case hint == "" && len(names) > most:
		hint = fmt.Sprintf("it has %s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	case hint == "":
		hint = "it has " + strings.Join(names, ", ")
	}
	return agent.Permanentf("MCP server %q has no tool %q; %s", s.server.Name, name, hint)
}

// textOf is a result as text: its texts, and for what is none a line that says what it
// was. Data beside it are told too, unless one of the texts is them, as it should be.
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
