package agent

import (
	"maps"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// Definition is an agent as a project defines it, in .hocket/agents/*.yml.
type Definition struct {
	Name         string
	ID           string // the file's name without its ending; "" for a built-in agent
	Description  string
	Role         string
	Capabilities []string
	Agent        string // the executor or CLI that does the work; "" none was named, and none could be chosen
	Chosen       string `json:",omitempty"` // why it is Agent; "" the definition says so itself
	Prompt       string // system prompt
	Model        string
	Tools        []string
	Servers      []string       `json:",omitempty"` // of tools over MCP, by their names in config.yml
	MaxTurns     int            `json:",omitempty"` // most answers of a model in one attempt; zero: the executor's own bound
	Inputs       map[string]any `json:",omitempty"` // what its tasks are given by name, with the default; nil: it has none
	Permissions  map[string]any
	Settings     map[string]any // of the executor; they hold no references
	Timeout      time.Duration
	MaxOutputKB  int
	Retry        workflow.Retry
	Budget       workflow.Budget // of one attempt
	Source       *Source         // where an imported agent comes from
	Builtin      bool            // not from a file
	Pos          workflow.Pos

	Keys map[string]workflow.Pos `json:"-"` // where its keys stand
}

// At is where a key of the definition stands; where it does not, its name.
func (d *Definition) At(key string) workflow.Pos {
	if pos, ok := d.Keys[key]; ok {
		return pos
	}
	return d.Pos
}

// With gives the settings of a task of this agent: the definition's, and the
// task's own on top, key by key.
func (d *Definition) With(settings map[string]any) map[string]any {
	if len(d.Settings) == 0 {
		return settings
	}
	all := maps.Clone(d.Settings)
	maps.Copy(all, settings)
	return all
}

// Source says where an imported agent comes from.
type Source struct {
	From       string
	File       string
	ImportedAt string
	// Digests of the file that was imported, and of the definition as it was
	// written: they tell what has changed since.
	Digest  string `json:",omitempty"`
	Written string `json:",omitempty"`
}

// OutputLimit is how many bytes an attempt may give: the task's own limit in KB,
// else the definition's, else the executor's.
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
