package mcp

import (
	"context"
	"time"

	"github.com/hocket-dev/hocket/agent"
)

// MCP is the agent "mcp": it calls one tool of a server. It is safe for concurrent use.
//
// # Settings
//
//	server         the name of a server in .hocket/config.yml
//	tool           the name of a tool of that server
//	arguments      map; default: the inputs of the task
//	timeout        duration of the call; default: 5m
//	max_output_kb  most that the result may hold; default: that of the agent's
//	               definition, otherwise 1024
type MCP struct {
	servers func(names []string) ([]agent.Server, error)
	options Options
	schema  *agent.Schema
}

var _ agent.Executor = (*MCP)(nil)

// New returns the executor. Servers looks up the servers of the project by name when a task
// runs; nil means that there are none.
func New(servers func(names []string) ([]agent.Server, error), o Options) *MCP {
	return &MCP{servers: servers, options: o, schema: agent.NewSchema(schema())}
}

// Traits describes the executor.
func (m *MCP) Traits() agent.Traits {
	return agent.Traits{About: "Calls one tool of an MCP server", Settings: m.schema, Stays: true, Configured: true, Does: func(map[string]any) []agent.Power { return []agent.Power{agent.MayRun, agent.MayReach} }}
}

const defaultOutputKB = 1024

type settings struct {
	Server      string         `json:"server"`
	Tool        string         `json:"tool"`
	Arguments   map[string]any `json:"arguments"`
	Timeout     string         `json:"timeout"`
	MaxOutputKB int            `json:"max_output_kb"`
}

// schema describes the settings in the comment of MCP.
func schema() map[string]any {
	return map[string]any{
		"type":                 "object",
		"additionalProperties": false,
		"required":             []any{"server", "tool"},
		"properties": map[string]any{
			"server":        map[string]any{"description": "Name of an MCP server in config.yml.", "type": "string", "minLength": 1},
			"tool":          map[string]any{"description": "Name of a tool of that server.", "type": "string", "minLength": 1},
			"arguments":     map[string]any{"description": "Arguments of the tool. Default: the inputs of the task.", "type": "object"},
			"timeout":       map[string]any{"description": "Duration of the call, such as 30s. Default: 5m.", "type": "string", "pattern": `^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`},
			"max_output_kb": map[string]any{"description": "Maximum size of the result, in KiB. Default: 1024.", "type": "integer", "minimum": 1, "maximum": largest >> 10},
		},
	}
}

// Run calls the tool that the settings name.
func (m *MCP) Run(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
	var set settings
	if err := m.schema.Decode(task.Settings, &set); err != nil {
		return agent.Result{}, err
	}
	o := m.options
	o.Ask, o.Task = task.Ask, task
	if o.Dir == "" {
		o.Dir = task.Dir
	}
	if set.Timeout != "" {
		d, err := time.ParseDuration(set.Timeout)
		if err != nil || d <= 0 {
			return agent.Result{}, agent.Permanentf("timeout %q is not a duration", set.Timeout)
		}
		o.Call = d
	}
	server, err := m.server(set.Server)
	if err != nil {
		return agent.Result{}, err
	}
	s, err := Open(ctx, server, o)
	if err != nil {
		return agent.Result{}, err
	}
	defer s.Close()
	text, err := s.Call(ctx, set.Tool, arguments(task, set.Arguments), log)
	if limit := task.Agent.OutputLimit(set.MaxOutputKB, defaultOutputKB); err == nil && len(text) > limit {
		err = agent.Permanentf("the result exceeds %d KiB; ask for less, or raise max_output_kb", limit>>10)
	}
	if err != nil {
		return agent.Result{}, err
	}
	return agent.Result{Output: text}, nil
}

// arguments returns those of the settings, otherwise the inputs.
func arguments(task *agent.Task, set map[string]any) map[string]any {
	if set != nil {
		return set
	}
	all := map[string]any{}
	for _, in := range task.Inputs {
		all[in.Name] = in.Value
	}
	return all
}

func (m *MCP) server(name string) (agent.Server, error) {
	if m.servers != nil {
		found, err := m.servers([]string{name})
		if err != nil {
			return agent.Server{}, agent.Permanentf("%v", err)
		}
		for _, s := range found {
			if s.Name == name {
				return s, nil
			}
		}
	}
	return agent.Server{}, agent.Permanentf("unknown MCP server %q; add it under `mcp` in config.yml", name)
}
