package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/mcp/login"
	"github.com/hocket-dev/hocket/workflow"
)

// failure explains why a server could not start or call a tool. The library's own messages
// are for authors of servers.
func (s *Session) failure(ctx, within context.Context, l *link, tool string, err error) error {
	var known *agent.Error
	if ctx.Err() != nil {
		return agent.Interrupted(ctx)
	}
	if errors.As(err, &known) {
		return known
	}
	if l == nil {
		return agent.Errorf("MCP server %q: %s", s.server.Name, shown(login.Cause(err).Error()))
	}
	if within.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
		late := fmt.Sprintf("did not respond within %s", workflow.FormatDuration(s.options.Connect))
		if tool != "" {
			late = fmt.Sprintf("did not respond to the call of %s within %s", tool, workflow.FormatDuration(s.options.Call))
		}
		return &agent.Error{Kind: agent.TimedOut, Message: fmt.Sprintf("MCP server %q %s%s", s.server.Name, late, l.peer.said())}
	}
	if answer := refused(err); answer != nil {
		return s.refusal(tool, answer)
	}
	if strings.Contains(err.Error(), "unsupported protocol version") {
		return agent.Permanentf("MCP server %q uses an unsupported version of the protocol (%s); update the server or Hocket", s.server.Name, shown(login.Cause(err).Error()))
	}
	if known = l.peer.trouble(err, tool != ""); known != nil {
		return known
	}
	return agent.Errorf("MCP server %q: %s%s", s.server.Name, shown(login.Cause(err).Error()), l.peer.said())
}

// refusal describes an error that a working server returned.
func (s *Session) refusal(tool string, answer *jsonrpc.Error) error {
	said := shown(answer.Message)
	if said == "" {
		said = fmt.Sprintf("error %d", answer.Code)
	}
	switch {
	case tool == "":
		return agent.Permanentf("MCP server %q failed to start: %s", s.server.Name, said)
	case answer.Code == jsonrpc.CodeInvalidParams:
		return agent.Errorf("MCP server %q rejected the arguments of %s: %s", s.server.Name, tool, said)
	}
	return agent.Errorf("MCP server %q: %s failed: %s", s.server.Name, tool, said)
}

// refused returns the error that a server returned; nil if it is another error.
func refused(err error) *jsonrpc.Error {
	var answer *jsonrpc.Error
	if !errors.As(err, &answer) {
		return nil
	}
	switch answer.Code {
	case -32003, -32004, -32005: // errors of the library itself: it stopped, the server stopped, nothing was sent
		return nil
	}
	return answer
}

// shown returns foreign text as one readable line.
func shown(text string) string { return agent.OneLine(strings.ToValidUTF8(text, "\uFFFD"), 500) }
