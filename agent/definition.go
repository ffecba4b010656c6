package agent

import (
	"maps"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// Definition is an agent as a project defines it, in .hocket/agents/*.yml.
type Definition struct {
	Name         string
	ID           string // the file name without its extension; "" for a built-in agent
	Description  string
	Role         string
	Capabilities []string
	Agent        string // the executor or CLI that does the work; "": none named, and none could be chosen
	Chosen       string `json:",omitempty"` // why Agent was chosen; "": the definition names it
	Prompt       string // system prompt
	Model        string
	Tools        []string
	Servers      []string       `json:",omitempty"` // names of MCP servers in config.yml
	MaxTurns     int            `json:",omitempty"` // limit for model responses per attempt; zero: the executor's own limit
	Inputs       map[string]any `json:",omitempty"` // named inputs of its tasks, with defaults; nil: none
	Permissions  map[string]any
	Settings     map[string]any // for the executor; without references
	Timeout      time.Duration
	MaxOutputKB  int
	Retry        workflow.Retry
	Budget       workflow.Budget // of one attempt
	Queue        string          `json:",omitempty"` // the workers that may do its tasks, by label; "": any
	Anywhere     bool            `json:",omitempty"` // its tasks need not be done where others of the run are
	Source       *Source         // origin of an imported agent
	Builtin      bool            // not read from a file
	// Generated means that a model wrote it, and a person approved it. Only its name refers to it,
	// so that it never takes the place of another agent.
	Generated bool `json:",omitempty"`
	Pos       workflow.Pos

	Keys map[string]workflow.Pos `json:"-"` // positions of its keys
}

// At returns the position of a key of the definition, or that of its name if the key is
// missing.
func (d *Definition) At(key string) workflow.Pos {
	if pos, ok := d.Keys[key]; ok {
		return pos
	}
	return d.Pos
}

// With returns the settings of a task of this agent: those of the definition, overridden
// key by key by the task's own.
func (d *Definition) With(settings map[string]any) map[string]any {
	if len(d.Settings) == 0 {
		return settings
	}
	all := maps.Clone(d.Settings)
	maps.Copy(all, settings)
	return all
}

// Source describes the origin of an imported agent.
type Source struct {
	From       string
	File       string
	ImportedAt string
	// Digests of the imported file, and of the definition as it was written: they show what
	// has changed since.
	Digest  string `json:",omitempty"`
	Written string `json:",omitempty"`
}

// OutputLimit returns how many bytes an attempt may return: the limit of the task in KB,
// otherwise that of the definition, otherwise that of the executor.
func (d *Definition) OutputLimit(task, executor int) int {
	kb := executor
	if d != nil && d.MaxOutputKB > 0 {
		kb = d.MaxOutputKB
	}
	if task > 0 {
		kb = task
	}
	return kb << 10
}
