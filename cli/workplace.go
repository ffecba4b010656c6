package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/mcp"
	"github.com/hocket-dev/hocket/agent/mcp/login"
	"github.com/hocket-dev/hocket/agent/secret"
	"github.com/hocket-dev/hocket/agent/staff"
	"github.com/hocket-dev/hocket/agent/tool"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/memory"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/session"
	"github.com/hocket-dev/hocket/workflow"
)

// secretsOf are the secrets of a project. The keys of its providers are among them
// before anybody asks for one: a command may print what it finds in its environment.
func secretsOf(root string, c project.Config) *secret.Store {
	places := map[string]secret.Place{}
	for name, place := range c.Secrets {
		places[name] = secret.Place(place)
	}
	var keys []secret.Place
	for _, p := range c.Providers {
		if p.Key != (project.Place{}) {
			keys = append(keys, secret.Place(p.Key))
		}
	}
	return secret.New(secret.Options{Places: places, Hidden: keys, Dir: root})
}

// serversOf are the MCP servers of a project, with the secrets that they are given.
func serversOf(c project.Config, secrets *secret.Store) ([]agent.Server, error) {
	var servers []agent.Server
	for _, s := range c.Servers {
		env, err := texts(s.Env, secrets)
		headers, wrong := texts(s.Headers, secrets)
		if err := errors.Join(err, wrong); err != nil {
			return nil, fmt.Errorf("MCP server %q: %w", s.Name, err)
		}
		servers = append(servers, agent.Server{Name: s.Name, Command: s.Command, Env: env, URL: s.URL, Headers: headers, Start: s.Start, Call: s.Call})
	}
	return servers, nil
}

// loginsOf are the user's logins at MCP servers.
func loginsOf(secrets *secret.Store) *login.Store {
	return login.Open(login.Options{Dir: filepath.Join(stateHome(), "hocket", "mcp"), Secret: secrets.Masker().Add})
}

// texts are values with the secrets that they name.
func texts(values map[string]project.Value, secrets *secret.Store) (map[string]string, error) {
	all := make(map[string]string, len(values))
	for name, v := range values {
		all[name] = v.Text
		if v.Secret != "" {
			value, err := secrets.Get(v.Secret)
			if err != nil {
				return nil, err
			}
			all[name] = v.Prefix + value
		}
	}
	return all, nil
}

// workplace is what the agents of a project work with while a run is driven.
type workplace struct {
	*staff.Staff
	journal *journal.Store // of the run that is driven
	closers []func() error
}

// newWorkplace puts it together. Whoever has it closes it.
func (a *app) newWorkplace(p *project.Project) *workplace {
	w, secrets, logins := &workplace{}, a.secrets, loginsOf(a.secrets)
	for _, s := range p.Config.Servers {
		logins.Hide(s.URL) // a command may print what it finds in their files
	}
	each := map[string]int{}
	for account, n := range p.Config.Parallel {
		if account != project.AllAccounts {
			each[account] = n
		}
	}
	w.Staff = staff.New(staff.Options{
		Instructions:  func() (string, error) { return instructions(p.Root) },
		Memories:      w.remember(p),
		Conversations: conversations{session.Open(p.State), &a.session, w},
		Tools:         a.toolsFor(p.Root, logins),
		Servers:       func(names []string) ([]agent.Server, error) { return namedServers(p.Config, secrets, names) },
		Accounts:      agent.NewAccounts(p.Config.Parallel[project.AllAccounts], each, filepath.Join(stateHome(), "hocket", "accounts.json")),
		Mask:          secrets.Masker(),
		MaxBytes:      p.Config.Context.MaxBytes,
	})
	return w
}

// namedServers are the servers that an agent's definition names.
func namedServers(c project.Config, secrets *secret.Store, names []string) ([]agent.Server, error) {
	c.Servers = slices.DeleteFunc(slices.Clone(c.Servers), func(s project.Server) bool { return !slices.Contains(names, s.Name) })
	return serversOf(c, secrets)
}

// conversations are sessions as the staff wants them.
type conversations struct {
	store *session.Store
	last  *atomic.Pointer[session.Session] // in which something was said
	place *workplace
}

// Open opens the session of an id. A name that is no id is one of the run's own: its
// steps that give the same name talk on.
func (c conversations) Open(task *agent.Task, name string) (staff.Conversation, error) {
	made := &conversation{conversations: c, task: task}
	if name == "" {
		return made, nil
	}
	var err error
	if session.IsID(name) {
		made.said, err = c.store.Load(name)
		return made, err
	}
	made.id = session.IDFor(task.Run + "\x00" + name)
	var unknown *session.UnknownError
	if made.said, err = c.store.Load(made.id); errors.As(err, &unknown) {
		return made, nil
	}
	return made, err
}

// conversation is one session. A new one is kept with its first answer.
type conversation struct {
	conversations
	task *agent.Task
	id   string           // that it will have; "": any
	said *session.Session // nil: it is new
}

func (c *conversation) ID() string {
	if c.said == nil {
		return ""
	}
	return c.said.ID
}

func (c *conversation) History() []agent.Message {
	if c.said == nil {
		return nil
	}
	return c.said.Messages
}

// Native is the executor's own conversation, unless another executor had it.
func (c *conversation) Native() *agent.Conversation {
	if c.said == nil {
		return nil
	}
	return c.said.Conversation(c.task.Agent.Agent)
}

func (c *conversation) Add(question string, res agent.Result) (err error) {
	if c.said == nil {
		if c.id != "" {
			c.said, err = c.store.Take(c.id, c.task.Agent.Name, c.task.Agent.Agent)
		} else {
			c.said, err = c.store.Create(c.task.Agent.Name, c.task.Agent.Agent)
		}
		if err != nil {
			return err
		}
	}
	messages := []agent.Message{{Role: agent.RoleUser, Content: question}, {Role: agent.RoleAssistant, Content: res.Output}}
	c.said, err = c.store.Append(c.said.ID, messages, func(s *session.Session) {
		s.Agent = c.task.Agent.Name // who spoke last goes on with it
		s.Remember(c.task.Agent.Agent, res.Usage, res.Conversation)
	})
	if err == nil {
		c.last.Store(c.said)
		c.place.noteSession(c.task, c.said.ID)
	}
	return err
}

// noteSession notes which conversation an attempt was part of.
func (w *workplace) noteSession(task *agent.Task, id string) {
	if w.journal != nil {
		_ = journal.WritePrivate(w.journal.SessionPath(task.Run, task.Address, task.Attempt), []byte(id+"\n")) // the conversation itself is kept
	}
}

// toolbox is the tools that one task may use.
type toolbox struct {
	tools []agent.Tool
	ends  []func()
}

func (b *toolbox) close() {
	for _, end := range b.ends {
		end()
	}
}

// toolsFor finds the tools that a definition names: the project's own and the
// built-in ones, and for executors that call tools all of its servers'. Others talk to
// the servers of their task by themselves, where need be through a relay.
func (a *app) toolsFor(root string, logins *login.Store) func(context.Context, *agent.Task, bool) ([]agent.Tool, func(), error) {
	return func(ctx context.Context, task *agent.Task, calls bool) ([]agent.Tool, func(), error) {
		b := &toolbox{}
		err := b.named(a.tools, a.toolMistakes, task.Agent.Tools, calls)
		switch o := (mcp.Options{Dir: root, Logins: logins, Ask: task.Ask}); {
		case err != nil:
		case calls:
			err = b.served(ctx, task.Servers, o)
		default:
			task.Servers, err = b.relayed(ctx, task.Servers, o)
		}
		if err != nil {
			b.close()
			return nil, nil, err
		}
		return tool.Distinct(b.tools), b.close, nil
	}
}

// named adds tools of the project. A name that it does not have is a mistake, or
// means a tool that the executor has itself.
func (b *toolbox) named(set *tool.Set, mistakes workflow.Diagnostics, names []string, strict bool) error {
	if len(names) > 0 && mistakes.Errors() {
		return agent.Permanentf("the tools of the project have mistakes; `hocket tools check` names them")
	}
	for _, name := range names {
		one, err := set.Tool(name)
		switch {
		case err == nil:
			b.tools = append(b.tools, one)
		case strict:
			return agent.Permanentf("%v", err)
		}
	}
	return nil
}

// served adds the tools of MCP servers.
func (b *toolbox) served(ctx context.Context, servers []agent.Server, o mcp.Options) error {
	for _, server := range servers {
		tools, end, err := mcp.Tools(ctx, server, o)
		if err != nil {
			return err
		}
		b.tools, b.ends = append(b.tools, tools...), append(b.ends, end)
	}
	return nil
}

// relayed are MCP servers as a program can talk to them that has no login.
func (b *toolbox) relayed(ctx context.Context, servers []agent.Server, o mcp.Options) ([]agent.Server, error) {
	all := make([]agent.Server, len(servers))
	for i, server := range servers {
		var end func()
		var err error
		if all[i], end, err = mcp.Relay(ctx, server, o); err != nil {
			return nil, err
		}
		b.ends = append(b.ends, end)
	}
	return all, nil
}

// remember finds memories that have to do with a task.
func (w *workplace) remember(p *project.Project) func(context.Context, string) ([]agent.Passage, error) {
	if p.Config.Context.Memories == 0 {
		return nil
	}
	open := sync.OnceValues(func() (*memory.Store, error) {
		store, err := memory.OpenExisting(p.State)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err == nil:
			w.closers = append(w.closers, store.Close)
		}
		return store, err
	})
	return func(ctx context.Context, task string) ([]agent.Passage, error) {
		store, err := open()
		if err != nil || store == nil {
			return nil, err
		}
		found, err := store.Search(ctx, task, p.Config.Context.Memories, nil)
		var passages []agent.Passage
		for _, m := range found {
			passages = append(passages, agent.Passage{Source: "memory:" + strconv.FormatInt(m.ID, 10), Text: m.Text})
		}
		return passages, err
	}
}

// close lets go of what was opened.
func (w *workplace) close() {
	for _, end := range w.closers {
		_ = end() // nothing is lost by it
	}
}

// equip gives a run that is taken up what its agents work with: the agents as they
// were when it started, with the configuration of today.
func (a *app) equip(d *drive) error {
	dir := d.pin.Dir
	if !isDir(dir) { // it may need nothing of it, and no other place may stand for it
		dir = d.store.Dir()
	}
	p, err := project.Open(dir, project.Options{State: d.store.Dir(), StateHome: stateHome(), Executors: a.executors})
	if err != nil {
		return err
	}
	d.place = a.newWorkplace(p)
	d.agents, err = agent.DecodeSet(d.pin.Agents, p.Executors())
	return err
}
