// Package handoff checks handoffs against a project. Package protocol reads them; this
// package knows the project: its agents, and schemas of its own.
package handoff

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff/attempt"
	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/workflow"
)

// schemaFolders are the folders in which a project may have schemas of its own. The first
// one that has a file wins.
var schemaFolders = []string{".hocket/schemas", ".claude/schemas"}

// Check reads the requests in a text, and checks them against the project.
func Check(p *hocket.Project, file string, text []byte, lenient bool) (*protocol.Handoffs, error) {
	h, err := protocol.Read(file, text, protocol.Options{Lenient: lenient, Schemas: schemas(p)})
	if err != nil {
		return nil, err
	}
	for _, q := range h.Requests {
		if q.TargetAgent == "" {
			continue
		}
		if _, _, err := p.Agents().Resolve(q.TargetAgent); err != nil {
			h.Found = append(h.Found, workflow.Errorf(q.TargetPos(), codeAgent,
				"`hocket agents` lists the agents of the project; without target_agent, one is chosen", "%s", strings.TrimPrefix(err.Error(), "agent: ")))
		}
	}
	h.Found = h.Found.Sort()
	return h, nil
}

// Constraint is a constraint of a request, and what is done about it.
type Constraint struct {
	Text string `json:"text"`
	// Means is by what it is enforced. "" means that it is only passed on to the agent.
	Means string `json:"enforced_by,omitempty"`
}

// Constraints says for each constraint of a request whether it is enforced. A SPIKE has one
// more.
func Constraints(q *protocol.Request) []Constraint {
	unenforced := agent.WriteLimits()
	var all []Constraint
	if q.Workflow == protocol.Spike {
		all = append(all, Constraint{"SPIKE: nothing outside the session directory changes", attempt.Rule{Kind: attempt.ReadOnly}.Means(unenforced)})
	}
	for _, c := range q.Constraints {
		all = append(all, Constraint{c, attempt.Understand(c).Means(unenforced)})
	}
	return all
}

// codeAgent is also that of a step of a workflow.
const codeAgent = "agent-unknown"

// schemas finds the schemas of a project.
func schemas(p *hocket.Project) protocol.Schemas {
	return func(file string) ([]byte, error) {
		if file != filepath.Base(file) {
			return nil, fs.ErrNotExist
		}
		for _, folder := range schemaFolders {
			text, err := p.ReadFile(filepath.Join(p.Root(), folder, file))
			if !errors.Is(err, fs.ErrNotExist) {
				return text, err
			}
		}
		return nil, fs.ErrNotExist
	}
}
