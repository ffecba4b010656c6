// Package mcp connects to tool servers over the Model Context Protocol: programs that it
// starts and talks to over their standard streams, and addresses that use streamable HTTP,
// or the older HTTP with server-sent events.
//
// [Tools] provides the tools of a server to agents with a model. [MCP] is the built-in
// agent "mcp", which calls one tool as its settings say, without any model. [Relay] is for
// programs that connect to servers themselves and have no login.
//
// A server that is a program has the environment of tools, see package tool, and what its
// own definition names; it ends with its session, along with everything that it started. If
// it exits earlier, it is restarted for the next call.
//
// A server may ask a person something while it works, see elicit.go. It learns nothing
// about the project and cannot use a model: what it may do is in its own settings.
package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/mcp/login"
)

// Options configure the connection to servers. The zero value is the default.
type Options struct {
	Dir     string        // where programs run; "": the current directory
	Env     []string      // source of harmless variables for programs; nil: this process's environment
	Connect time.Duration // limit for the first response; zero: the server's own, otherwise 30 s
	Call    time.Duration // limit for a call; zero: the server's own, otherwise 5 min
	Logins  *login.Store  // of people, for servers that require a login; nil: none
	Task    *agent.Task   // that programs are started for, with its key and its limit; nil: none
	Ask     agent.Ask     // asks a person what a server wants to know; nil: nobody is asked
}

const (
	defaultConnect = 30 * time.Second
	defaultCall    = 5 * time.Minute
	// largest is the size limit for a message of a server.
	largest = 16 << 20
)

// Session is a connection to a server. It is safe for concurrent use.
type Session struct {
	server   agent.Server
	options  Options
	ctx      context.Context // until which it lasts
	asking   atomic.Int32    // questions that a person has not answered yet,
	answered atomic.Int32    // and those answered before
	progress progress

	mu  sync.Mutex // held while a link is created
	way way        // that worked
	now *link
}

// link is a connection with a server.
type link struct {
	client *sdk.ClientSession
	peer   peer
	tools  []*sdk.Tool
	end    context.CancelFunc
	lost   atomic.Bool // it can no longer be used
}

// peer is the other side of a link: a program or an address.
type peer interface {
	transport(w way) sdk.Transport
	// close cleans up after the link is closed.
	close()
	// gone reports whether the other side no longer exists.
	gone() bool
	// trouble explains an error, as far as the peer can; otherwise nil. begun means that it
	// has worked before.
	trouble(err error, begun bool) *agent.Error
	// said returns what the peer printed besides messages, as the end of a sentence.
	said() string
}

// way is how a link is started.
type way int

// Most servers must be initialized, and some respond to nothing else; new ones may have
// dropped that, and very old ones use another transport.
const (
	byInitialize way = iota
	byDiscovery
	byEvents
)

// handshake is the newest version of the protocol that begins with initialize.
const handshake = "2025-11-25"

// Open starts a session with a server and requests its tools. It ends when ctx is done or
// it is closed.
func Open(ctx context.Context, server agent.Server, o Options) (*Session, error) {
	o.Connect = cmp.Or(o.Connect, server.Start, defaultConnect)
	o.Call = cmp.Or(o.Call, server.Call, defaultCall)
	s := &Session{server: server, options: o, ctx: ctx}
	var err error
	if s.now, err = s.connect(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// link returns the connection for a call: a new one if the old one was lost.
func (s *Session) link(ctx context.Context) (*link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.now.lost.Load() && !s.now.peer.gone() {
		return s.now, nil
	}
	next, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	s.now.close()
	s.now = next
	return next, nil
}

// connect creates a link, in the way that worked before or the first that does.
func (s *Session) connect(ctx context.Context) (*link, error) {
	within, cancel := context.WithTimeout(ctx, s.options.Connect)
	defer cancel()
	first := s.way
	l, err := s.begin(within)
	if next := s.way.after(err, s.server.URL != ""); next != s.way && within.Err() == nil {
		s.way = next
		other, wrong := s.begin(within)
		if wrong == nil {
			l.close()
			return other, nil
		}
		if other != nil {
			other.close()
		}
		s.way = first // and its message is more specific
	}
	if err == nil {
		return l, nil
	}
	err = s.failure(ctx, within, l, "", err)
	if l != nil {
		l.close()
	}
	return nil, err
}

// after returns the next way to try after one that failed; the same if there is none.
func (w way) after(err error, web bool) way {
	var answer *jsonrpc.Error
	var status *statusError
	switch {
	case w == byInitialize && errors.As(err, &answer) && slices.Contains([]int64{jsonrpc.CodeMethodNotFound, sdk.CodeUnsupportedProtocolVersion}, answer.Code):
		return byDiscovery
	case w == byInitialize && web && errors.As(err, &status) && slices.Contains([]int{400, 404, 405}, status.code):
		return byEvents
	}
	return w
}

// begin connects to the server, negotiates the protocol and requests its tools. If the
// server was reached, it returns a link even if there is an error.
func (s *Session) begin(ctx context.Context) (*link, error) {
	life, end := context.WithCancel(s.ctx)
	peer, err := s.reach(life)
	if err != nil {
		end()
		return nil, err
	}
	l := &link{peer: peer, end: end}
	stop := context.AfterFunc(ctx, end) // what outlives ctx is needed only if it starts successfully
	defer stop()
	return l, l.begin(ctx, life, s.client(), s.way)
}

// reach starts the program, or prepares the connection to the address.
func (s *Session) reach(ctx context.Context) (peer, error) {
	switch {
	case len(s.server.Command) > 0 && s.server.URL != "":
		return nil, agent.Permanentf("MCP server %q has both a command and a url; remove one of them", s.server.Name)
	case len(s.server.Command) > 0:
		return start(ctx, s.server, s.options)
	case s.server.URL != "":
		return dial(s.server, s.options.Logins)
	}
	return nil, agent.Permanentf("MCP server %q has neither a command nor a url", s.server.Name)
}

// client returns the MCP client for a server.
func (s *Session) client() *sdk.Client {
	o := &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}, ProgressNotificationHandler: s.progress.notify}
	if s.options.Ask != nil {
		o.ElicitationHandler = s.elicit
	}
	return sdk.NewClient(&sdk.Implementation{Name: "hocket", Version: "1"}, o)
}

func (l *link) begin(ctx, life context.Context, client *sdk.Client, w way) error {
	o := &sdk.ClientSessionOptions{ProtocolVersion: handshake}
	if w == byDiscovery {
		o = nil
	}
	var err error
	if l.client, err = client.Connect(ctx, lasting{l.peer.transport(w), life}, o); err != nil {
		return err
	}
	for t, err := range l.client.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		if l.tools = append(l.tools, t); len(l.tools) > maxTools {
			return fmt.Errorf("it has more than %d tools", maxTools)
		}
	}
	return nil
}

// lasting is a transport whose connection lasts as long as its link, and not only until it
// is established.
type lasting struct {
	sdk.Transport
	life context.Context
}

func (l lasting) Connect(context.Context) (sdk.Connection, error) {
	return l.Transport.Connect(l.life)
}

// maxTools limits a list that a server never ends.
const maxTools = 2000

// Close ends the session, and the program if the server is one.
func (s *Session) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.close()
}

func (l *link) close() {
	if l.client != nil {
		_ = l.client.Close() // it is over in any case
	}
	l.peer.close()
	l.end()
}
