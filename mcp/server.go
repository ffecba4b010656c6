package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff"
)

// Options configure [Serve].
type Options struct {
	// Version is that of the program.
	Version string
	// Wait is how long a call waits for its run before it returns the id of the run. Zero means
	// as long as clients are known to wait.
	Wait time.Duration
	// Aliases lists the tools under their old names, too. They can always be called.
	Aliases bool
	// Detach starts a process that drives a run after this one has ended.
	Detach func(run string) error
	// Guard starts a process that survives this one, reads lines from it, and cancels the runs
	// that are left when they end, see [Guard]. Some clients kill a server without a warning.
	Guard func() (io.WriteCloser, error)
	// Sessions opens the sessions of a project, for handoffs.
	Sessions func(p *hocket.Project) *handoff.Sessions
	// Command returns the command line that does something in the same project, for people.
	Command func(words ...string) string

	served bool // over HTTP, see [Handler]
}

// The longest silence that clients are known to bear is that of opencode, a minute. Those that ask
// for progress wait longer as long as they get some; the strictest of them ends a call after five
// minutes nevertheless.
const (
	quietWait    = 50 * time.Second
	progressWait = 4 * time.Minute
	heartbeat    = 5 * time.Second // between notifications of progress
	lastWords    = 5 * time.Second // for a client that has gone to read what is left
)

// Serve serves one client until it disconnects or ctx is done. Then it cancels the runs whose calls
// have not returned, and interrupts the others that it drives: `hocket resume` continues them.
func Serve(ctx context.Context, p *hocket.Project, t sdk.Transport, o Options) error {
	work, end := context.WithCancel(context.WithoutCancel(ctx))
	s := newServer(work, p, o)
	defer s.unguard()
	defer s.driving.Wait()
	defer end()
	session, err := s.sdk.Connect(work, t, nil)
	if err != nil {
		return err
	}
	gone := make(chan error, 1)
	go func() { gone <- session.Wait() }() // and for calls, which end when the client has gone
	select {
	case err = <-gone:
	case <-ctx.Done():
		s.leave()
		go func() { _ = session.Close() }()
		select {
		case <-gone:
		case <-time.After(lastWords): // the client does not read
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}

// server serves one client.
type server struct {
	ctx context.Context // of the runs that are driven here; done after the last call
	p   *hocket.Project
	o   Options
	sdk *sdk.Server
	key []byte // signs states of requests

	token string // the name of the token of the client; "": it needs none

	leaving chan struct{} // closed when calls must end
	driving sync.WaitGroup

	mu     sync.Mutex
	guard  guard
	drives map[string]*drive // of runs that are driven here
	forms  map[string]shown  // what became of forms, see [seen]

	refreshing sync.Mutex           // separate, because reading files takes long
	workflows  map[string]*sdk.Tool // those that are tools now
	prompts    map[string]*sdk.Prompt
}

func newServer(ctx context.Context, p *hocket.Project, o Options) *server {
	s := &server{ctx: ctx, p: p, o: o, key: make([]byte, 32), leaving: make(chan struct{}), drives: map[string]*drive{}, forms: map[string]shown{}}
	_, _ = rand.Read(s.key) // never fails
	capable := &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: true}, Prompts: &sdk.PromptCapabilities{ListChanged: true}, Resources: &sdk.ResourceCapabilities{}}
	capable.AddExtension(tasksExtension, nil)
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "hocket", Title: "Hocket", Version: o.Version}, &sdk.ServerOptions{
		Instructions: instructions, Capabilities: capable, Logger: slog.New(slog.DiscardHandler),
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { *c = private },
	})
	s.addTools()
	s.addResources()
	s.addTasks()
	s.refreshWorkflows() // before the client is there, which would be told about changes
	s.refreshPrompts()
	s.sdk.AddReceivingMiddleware(s.fresh, s.asTask, s.unlisted)
	return s
}

// leave ends the calls.
func (s *server) leave() { close(s.leaving) }

// private means that nobody but the client may keep a result, and not without asking again.
var private = sdk.Cacheable{CacheScope: "private"}

const instructions = `Hocket runs durable workflows of agents, tools and people in this project. ` +
	`hocket_task gives one task to one agent, hocket_workflow runs a workflow of hocket_workflows_list. ` +
	`A long call returns {run, status}: then call hocket_run with action "wait". ` +
	`What you create has to be approved by a person before it runs; tell the user the command that the result names. ` +
	`You cannot answer the questions of a run: tell the user what it asks and how to answer.`

// fresh reads the project's files again before what depends on them: people and models edit them
// while the server runs.
func (s *server) fresh(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		switch method {
		case "tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/read":
			s.refresh()
		}
		return next(ctx, method, req)
	}
}

// refresh reads the project's files again. If they have mistakes, the old ones stay in use.
func (s *server) refresh() {
	s.refreshing.Lock()
	defer s.refreshing.Unlock()
	_ = s.p.Reload()
	s.refreshWorkflows()
	s.refreshPrompts()
}

// call is a call of a tool.
type call struct {
	s   *server
	req *sdk.CallToolRequest
	p   *hocket.Project // for the client

	began  time.Time
	handle *handle // where to leave the run if it becomes a task, otherwise nil
}

func (s *server) call(ctx context.Context, req *sdk.CallToolRequest) *call {
	h, _ := ctx.Value(handleKey{}).(*handle)
	return &call{s, req, s.p.As(s.nameOf(req.ClientInfo()), "mcp"), time.Now(), h}
}

// nameOf returns the name of a client for the records: over HTTP with that of its token, which it did not choose.
func (s *server) nameOf(info *sdk.Implementation) string {
	if s.token != "" {
		return s.token + " (" + clientName(info) + ")"
	}
	return clientName(info)
}

// clientName returns the name of a client for the records. The client chooses it, so it is
// harmless for a terminal, and says that it is that of a client.
func clientName(info *sdk.Implementation) string {
	if info == nil {
		return "an MCP client"
	}
	var name []rune
	for _, r := range info.Name {
		if unicode.IsGraphic(r) && len(name) < 40 {
			name = append(name, r)
		}
	}
	if text := strings.TrimSpace(string(name)); text != "" {
		return "MCP client " + text
	}
	return "an MCP client"
}

// patience is how long a call waits for a run.
func (c *call) patience() time.Duration {
	switch {
	case c.s.o.Wait > 0:
		return c.s.o.Wait
	case c.req.Params.GetProgressToken() != nil:
		return progressWait
	}
	return quietWait
}

// command returns what a person can type in a terminal.
func (s *server) command(words ...string) string {
	if s.o.Command == nil {
		return "hocket " + strings.Join(words, " ")
	}
	return s.o.Command(words...)
}

// failure returns a result that explains an error to a model: what is wrong, and what to do.
func (s *server) failure(err error) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s.explain(err)}}, IsError: true}
}

// explain returns the text of an error for a model.
func (s *server) explain(err error) string {
	text := err.Error()
	var hinted interface{ Hint() string }
	var untrusted *hocket.UntrustedError
	var unapproved *hocket.UnapprovedError
	switch {
	case errors.As(err, &untrusted): // a model must not learn the digest with which it could trust
		command := untrusted.Approve
		if command == nil {
			command = []string{"trust"}
		}
		text = untrusted.Reason() + "; the user can review and trust it with " + s.command(command...)
	case errors.As(err, &unapproved) && !unapproved.Gone:
		text += "; the user can review it with " + s.command("approve", unapproved.ID)
	case errors.As(err, &hinted):
		if hint := hinted.Hint(); !strings.Contains(text, hint) {
			text += "; " + hint
		}
	}
	text = strings.TrimPrefix(text, "hocket: ") // which names the package, for Go programs
	const longest = 8 << 10                     // it may repeat what the client sent
	if text = s.forModel(text); len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

// forModel removes secrets from a text, and advice that only people can follow.
func (s *server) forModel(text string) string {
	return s.p.Mask(strings.ReplaceAll(text, agent.ReplyAdvice, ""))
}

// unknown reports that a name that a client used does not exist, and what exists.
func unknown(kind, name string, names []string) error {
	return fmt.Errorf("unknown %s %q; expected one of: %s", kind, name, strings.Join(names, ", "))
}
