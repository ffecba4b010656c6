package hocket

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/mcp"
	"github.com/hocket-dev/hocket/agent/mcp/login"
	"github.com/hocket-dev/hocket/agent/secret"
	"github.com/hocket-dev/hocket/agent/staff"
	"github.com/hocket-dev/hocket/agent/tool"
	"github.com/hocket-dev/hocket/handoff/attempt"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/session"
	"github.com/hocket-dev/hocket/workflow"
)

// secretsOf returns the secrets of a project, including the keys of its providers: a
// command may print its environment before any of them is used.
func secretsOf(root string, c project.Config, mayRead func(file string) bool) *secret.Store {
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
	return secret.New(secret.Options{Places: places, Hidden: keys, Dir: root, May: mayRead})
}

// serversOf returns the MCP servers of a project, with their secrets filled in.
func serversOf(root string, c project.Config, secrets *secret.Store) ([]agent.Server, error) {
	var servers []agent.Server
	for _, s := range c.Servers {
		env, err := texts(s.Env, secrets)
		headers, wrong := texts(s.Headers, secrets)
		if err := errors.Join(err, wrong); err != nil {
			return nil, fmt.Errorf("MCP server %q: %w", s.Name, err)
		}
		command := slices.Clone(s.Command)
		if len(command) > 0 {
			command[0] = project.Program(root, command[0])
		}
		servers = append(servers, agent.Server{Name: s.Name, Command: command, Env: env, URL: s.URL, Headers: headers, Start: s.Start, Call: s.Call})
	}
	return servers, nil
}

// logins returns the user's logins to MCP servers.
func (s *snapshot) logins() *login.Store {
	return login.Open(login.Options{Dir: filepath.Join(stateHome(), "hocket", "mcp"), Secret: s.secrets.Masker().Add})
}

// texts returns values with their secrets filled in.
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

// workplace provides what the agents of a project need while a run is driven.
type workplace struct {
	*staff.Staff
	memories memories
	handoffs func(employ func(agent.Executor) agent.Executor) *attempt.Options
}

// newWorkplace returns a workplace in a directory. The caller must close it.
func (s *snapshot) newWorkplace(root string, trial *Trial) *workplace {
	c, secrets, logins := s.files.Config, s.secrets, s.logins()
	for _, server := range c.Servers {
		logins.Hide(server.URL) // a command may print the files of logins
	}
	each := map[string]int{}
	for account, n := range c.Parallel {
		if account != project.AllAccounts {
			each[account] = n
		}
	}
	w := &workplace{memories: memories{state: s.files.State, most: c.Context.Memories}, handoffs: s.handoffs}
	o := staff.Options{
		Instructions:  func() (string, error) { return instructions(root) },
		Conversations: conversations{session.Open(s.files.State)},
		Tools:         s.toolsFor(root, logins),
		Servers:       func(names []string) ([]agent.Server, error) { return namedServers(root, c, secrets, names) },
		Accounts:      agent.NewAccounts(c.Parallel[project.AllAccounts], each, filepath.Join(stateHome(), "hocket", "accounts.json")),
		Mask:          secrets.Masker(),
		MaxBytes:      c.Context.MaxBytes,
	}
	if w.memories.most > 0 {
		o.Memories = w.memories.about
	}
	if trial != nil { // its quotas are not those of the user's accounts
		o.Accounts = nil
	}
	if trial.replays() {
		o.Servers, o.Tools = nil, s.ownTools
	}
	w.Staff = staff.New(o)
	return w
}

func (w *workplace) close() { w.memories.close() }

// namedServers returns the servers that an agent's definition lists.
func namedServers(root string, c project.Config, secrets *secret.Store, names []string) ([]agent.Server, error) {
	c.Servers = slices.DeleteFunc(slices.Clone(c.Servers), func(s project.Server) bool { return !slices.Contains(names, s.Name) })
	return serversOf(root, c, secrets)
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

// toolsFor finds the tools that a definition lists: the project's own, the built-in ones,
// and, for executors that call tools, all tools of its servers. Other executors connect to
// the servers of their task themselves, through a relay if necessary.
func (s *snapshot) toolsFor(root string, logins *login.Store) func(context.Context, *agent.Task, bool) ([]agent.Tool, func(), error) {
	return func(ctx context.Context, task *agent.Task, calls bool) ([]agent.Tool, func(), error) {
		b := &toolbox{}
		err := b.named(s.tools, s.wrongTools(), task.Agent.Tools, calls)
		switch o := (mcp.Options{Dir: root, Logins: logins, Task: task, Ask: task.Ask}); {
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
		own := len(task.Tools) // keep their names
		return tool.Distinct(slices.Concat(task.Tools, b.tools))[own:], b.close, nil
	}
}

// ownTools finds the tools of the project that a definition lists, and starts no server.
func (s *snapshot) ownTools(_ context.Context, task *agent.Task, calls bool) ([]agent.Tool, func(), error) {
	b := &toolbox{}
	if err := b.named(s.tools, s.wrongTools(), task.Agent.Tools, calls); err != nil {
		return nil, nil, err
	}
	own := len(task.Tools)
	return tool.Distinct(slices.Concat(task.Tools, b.tools))[own:], b.close, nil
}

// named adds tools of the project. If strict, an unknown name is an error; otherwise it
// may be a tool of the executor itself.
func (b *toolbox) named(set *tool.Set, mistakes workflow.Diagnostics, names []string, strict bool) error {
	if len(names) > 0 && mistakes.Errors() {
		return agent.Permanentf("the tools of the project have errors; run `hocket tools check` to see them")
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

// relayed returns MCP servers to which a program without the login can connect.
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
