package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/mcp/login"
)

// failure says in plain words why a server could not do its part: to begin, or to call a
// tool. The words of the library are for those who write servers.
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
		late := fmt.Sprintf("gave no answer within %s", s.options.Connect)
		if tool != "" {
			late = fmt.Sprintf("did not answer the call of %s within %s", tool, s.options.Call)
		}
		return &agent.Error{Kind: agent.TimedOut, Message: fmt.Sprintf("MCP server %q %s%s", s.server.Name, late, l.peer.said())}
	}
	if answer := refused(err); answer != nil {
		return s.refusal(tool, answer)
	}
	if strings.Contains(err.Error(), "unsupported protocol version") {
		return agent.Permanentf("MCP server %q speaks a version of the protocol that Hocket does not know (%s); update the server, or Hocket", s.server.Name, shown(login.Cause(err).Error()))
	}
	if known = l.peer.trouble(err, tool != ""); known != nil {
		return known
	}
	return agent.Errorf("MCP server %q: %s%s", s.server.Name, shown(login.Cause(err).Error()), l.peer.said())
}

// refusal is what a server that is well said no with.
func (s *Session) refusal(tool string, answer *jsonrpc.Error) error {
	said := shown(answer.Message)
	if said == "" {
		said = fmt.Sprintf("error %d", answer.Code)
	}
	switch {
	case tool == "":
		return agent.Permanentf("MCP server %q does not begin: %s", s.server.Name, said)
	case answer.Code == jsonrpc.CodeInvalidParams:
		return agent.Errorf("MCP server %q does not take the arguments of %s: %s", s.server.Name, tool, said)
	}
	return agent.Errorf("MCP server %q: %s failed: %s", s.server.Name, tool, said)
}

// refused is the error that a server answered; nil: the error is none.
func refused(err error) *jsonrpc.Error {
	var answer *jsonrpc.Error
	if !errors.As(err, &answer) {
		return nil
	}
	switch answer.Code {
	case -32003, -32004, -32005: // of the library itself: it ends, the server ends, nothing was sent
		return nil
	}
	return answer
}

// shown is what somebody else said, in one line that can be read.
func shown(text string) string { return agent.OneLine(strings.ToValidUTF8(text, "\uFFFD"), 500) }
