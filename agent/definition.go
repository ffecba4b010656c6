package agent

import (
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// Definition is an agent as a project defines it, in .hocket/agents/*.yml.
type Definition struct {
	Name         string
	Description  string
	Role         string
	Capabilities []string
	Agent        string // the executor or CLI that does the work; "" chosen by the project
	Prompt       string // system prompt
	Model        string
	Tools        []string
	Permissions  map[string]any
	Settings     map[string]any
	Timeout      time.Duration
	MaxOutputKB  int
	Retry        workflow.Retry
	Budget       Budget
	Source       *Source // where an imported agent comes from
	Builtin      bool    // not from a file
	Pos          workflow.Pos
}

// Budget bounds one attempt of an agent.
type Budget struct {
	MaxCostUSD float64
	MaxTokens  int64
}

// Source says where an imported agent comes from.
type Source struct {
	From       string
	File       string
	ImportedAt string
}
