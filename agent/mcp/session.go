// Package mcp talks to servers of tools over the Model Context Protocol: programs that
// are started and talked with over their standard streams, and addresses that speak
// streamable HTTP.
//
// [Tools] gives the tools of a server to agents with a model. [MCP] is the built-in
// agent "mcp", which calls one tool as its settings say, without any model.
//
// A server that is a program has the environment that tools have, see package tool,
// and what its own definition names; it ends with its session, and all that it started
// with it.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket/agent"
)

// Options say how servers are talked with. The zero value is the default.
type Options struct {
	Dir     string        // where programs run; "": the current directory
	Env     []string      // from which programs are given harmless variables; nil: this process's
	Connect time.Duration // longest time until a server has answered for the first time; zero: 30 s
	Call    time.Duration // longest time of a call; zero: 5 min
}

const (
	defaultConnect = 30 * time.Second
	defaultCall    = 5 * time.Minute
	// largest is the most that a server may send in one message.
	largest = 16 << 20
)

// Session is a server that is talked with. It is safe for concurrent use.
type Session struct {
	server  agent.Server
	options Options
	client  *sdk.ClientSession
	peer    peer
	tools   []*sdk.Tool
}

// peer is the other side of a session: a program or an address.
type peer interface {
	transport() sdk.Transport
	// close ends what is left once the session is closed.
	close()
	// explain says what the peer knows of a failure; "" nothing.
	explain() string
}

// Open begins a session with a server and asks for its tools. It ends when ctx is done
// or it is closed.
func Open(ctx context.Context, server agent.Server, o Options) (*Session, error) {
	if o.Connect == 0 {
		o.Connect = defaultConnect
	}
	if o.Call == 0 {
		o.Call = defaultCall
	}
	s := &Session{server: server, options: o}
	var err error
	if s.peer, err = s.reach(ctx); err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, o.Connect)
	defer cancel()
	if err := s.begin(within); err != nil {
		s.Close()
		return nil, s.failure(ctx, within, fmt.Sprintf("gave no answer within %s", o.Connect), err)
	}
	return s, nil
}

// reach starts the program, or prepares to talk to the address.
func (s *Session) reach(ctx context.Context) (peer, error) {
	switch {
	case len(s.server.Command) > 0 && s.server.URL != "":
		return nil, agent.Permanentf("MCP server %q has a command and an address; keep one of them", s.server.Name)
	case len(s.server.Command) > 0:
		return start(ctx, s.server, s.options)
	case s.server.URL != "":
		return dial(s.server)
	}
	return nil, agent.Permanentf("MCP server %q has neither a command nor an address", s.server.Name)
}

// begin agrees on the protocol and asks for the tools.
func (s *Session) begin(ctx context.Context) error {
	client := sdk.NewClient(&sdk.Implementation{Name: "hocket", Version: "1"}, &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}})
	var err error
	if s.client, err = client.Connect(ctx, s.peer.transport(), nil); err != nil {
		return err
	}
	for t, err := range s.client.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		if s.tools = append(s.tools, t); len(s.tools) > maxTools {
			return fmt.Errorf("it has more than %d tools", maxTools)
		}
	}
	return nil
}

// maxTools ends a list that a server never ends.
const maxTools = 2000

// Close ends the session, and the program if the server is one.
func (s *Session) Close() {
	if s.client != nil {
		_ = s.client.Close() // the session is over in any case
	}
	s.peer.close()
}

// failure says why a server could not do its part.
func (s *Session) failure(ctx, within context.Context, late string, err error) error {
	switch {
	case ctx.Err() != nil:
		return agent.Interrupted(ctx)
	case within.Err() != nil || errors.Is(err, context.DeadlineExceeded):
		return &agent.Error{Kind: agent.TimedOut, Message: fmt.Sprintf("MCP server %q %s%s", s.server.Name, late, s.peer.explain())}
	}
	var refused *jsonrpc.Error
	if errors.As(err, &refused) { // by a server that is well
		return agent.Errorf("MCP server %q: %v", s.server.Name, err)
	}
	return agent.Errorf("MCP server %q: %v%s", s.server.Name, err, s.peer.explain())
}
