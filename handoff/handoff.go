// Package handoff implements handoffs for a project: it checks them against the project's agents
// and schemas, carries them out as sessions, presents the sessions as directories, and converts
// between handoffs and workflows. Package protocol reads and writes the requests, and package
// attempt runs the attempts to carry them out.
package handoff

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff/attempt"
	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/workflow"
)

// schemaFolders are the folders in which a project may have its own schemas. The first folder that
// contains a file wins.
var schemaFolders = []string{".hocket/schemas", ".claude/schemas"}

// Check reads the requests in a text that has not been sent yet, and checks them against the
// project. [Sessions.Check] also checks whether they can be sent now.
func Check(p *hocket.Project, file string, text []byte, lenient bool) (*protocol.Handoffs, error) {
	return check(p, Order{File: file, Text: text, Lenient: lenient})
}

func check(p *hocket.Project, o Order) (*protocol.Handoffs, error) {
	h, err := Read(p, o.File, o.Text, o.Lenient)
	if err != nil {
		return nil, err
	}
	if o.Agent != "" {
		h.Found = append(h.Found, checkAgent(p, o, o.Agent, workflow.Pos{File: o.File, Line: 1, Column: 1})...)
	} else {
		for _, q := range h.Requests {
			if q.TargetAgent != "" {
				h.Found = append(h.Found, checkAgent(p, o, q.TargetAgent, q.AttributePos("target_agent"))...)
			}
		}
	}
	for _, q := range h.Requests {
		h.Found = append(h.Found, undeliverable(p, q)...)
		h.Found = append(h.Found, unnotified(p, q)...)
	}
	h.Found = h.Found.Sort()
	return h, nil
}

// undeliverable warns about required files that the agent cannot write, or that would not be
// accepted.
func undeliverable(p *hocket.Project, q *protocol.Request) (found workflow.Diagnostics) {
	c := p.Config().Handoff
	if q.Mode == protocol.Conversation { // its limits are advisory, and another task delivers
		for _, d := range filesOf(q) {
			if c.SessionOnly {
				found = append(found, workflow.Errorf(d.Pos, protocol.CodePath, "ask for a report, or use the mode "+string(protocol.Spawn),
					"%s cannot be delivered: the project accepts only files in a session directory, and a conversation has none", d.Path))
			}
		}
		return found
	}
	h := &attempt.Handoff{Session: cmp.Or(q.SessionID, "{session-id}"), Request: q, SessionOnly: c.SessionOnly}
	h.Dir = path.Join(c.Dir, h.Session)
	h.LookUp(p.Root())
	for i, file := range h.Files() {
		_, err := os.Lstat(filepath.Join(p.Root(), filepath.FromSlash(file)))
		why, advice := h.Undeliverable(file, err == nil)
		if d := filesOf(q)[i]; d.Required && why != "" {
			found = append(found, workflow.Warningf(d.Pos, protocol.CodePath, advice, "%s cannot be delivered: %s", d.Path, why))
		}
	}
	return found
}

// unnotified warns about agents that should be notified but cannot be.
func unnotified(p *hocket.Project, q *protocol.Request) (found workflow.Diagnostics) {
	for _, name := range q.Notify {
		_, _, err := p.Agents().Resolve(name)
		var failed *agent.ResolveError
		switch {
		case errors.As(err, &failed) && missing(err):
			found = append(found, workflow.Warningf(q.AttributePos("notify_on_completion"), codeAgent, failed.Advice(), "%s will not be notified: %s", name, failed.Summary()))
		case !takesPrompt(p, name):
			found = append(found, workflow.Warningf(q.AttributePos("notify_on_completion"), protocol.CodeAttribute, "", "%s will not be notified: it does not work from a prompt", name))
		}
	}
	return found
}

// missing reports whether an agent could not be resolved because it does not exist.
func missing(err error) bool {
	var failed *agent.ResolveError
	return errors.As(err, &failed) && failed.Why != agent.NoExecutor
}

// takesPrompt reports whether an agent can receive messages: it works from a prompt, and its
// settings do not already define everything it does.
func takesPrompt(p *hocket.Project, name string) bool {
	d, _, err := p.Agents().Resolve(name)
	if err != nil {
		return true // reported elsewhere
	}
	return p.Agents().Traits(d.Agent).FromPrompt(&agent.Task{Agent: d, Settings: d.Settings})
}

func filesOf(q *protocol.Request) (files []protocol.Deliverable) {
	for _, d := range q.Deliverables {
		if d.Kind == protocol.File {
			files = append(files, d)
		}
	}
	return files
}

// checkAgent checks that an agent can run. If there is a reply for it, it need not even exist.
func checkAgent(p *hocket.Project, o Order, name string, pos workflow.Pos) workflow.Diagnostics {
	_, _, err := p.Agents().Resolve(name)
	var failed *agent.ResolveError
	if !errors.As(err, &failed) {
		return nil
	}
	d := workflow.Errorf(pos, codeAgent, failed.Advice(), "%s", failed.Summary())
	scripted := o.Replies != nil && o.Replies.CoversTask(sessionName)
	switch {
	case failed.Why == agent.NoExecutor && scripted:
		return nil
	case failed.Why == agent.NoExecutor:
		d.Code = codeExecutor
	case scripted:
		d.Severity = workflow.Warning
	}
	return workflow.Diagnostics{d}
}

// Read reads the requests in a text. It does not check that their agents exist.
func Read(p *hocket.Project, file string, text []byte, lenient bool) (*protocol.Handoffs, error) {
	return protocol.Read(file, text, protocol.Options{Lenient: lenient, Schemas: schemas(p)})
}

// Write writes requests as a Markdown file.
func Write(p *hocket.Project, h *protocol.Handoffs) ([]byte, error) {
	return protocol.Format(h.Context, h.Requests, schemas(p))
}

// Constraint is a constraint of a request, and how it is enforced.
type Constraint struct {
	Text string `json:"text"`
	// EnforcedBy says what enforces it. "" means that it is advisory: only the agent is told.
	EnforcedBy string `json:"enforced_by,omitempty"`
}

// Constraints says for each constraint of a request whether it is enforced. A SPIKE has an
// additional one. For a conversation, none is enforced, because another task with its own limits
// does the work.
func Constraints(p *hocket.Project, q *protocol.Request) []Constraint {
	unenforced := agent.WriteLimits()
	h := &attempt.Handoff{Request: q}
	h.LookUp(p.Root())
	var all []Constraint
	add := func(text string, r attempt.Rule) {
		if q.Mode == protocol.Conversation {
			r = attempt.Rule{}
		}
		all = append(all, Constraint{text, r.EnforcedBy(unenforced)})
	}
	if q.Workflow == protocol.Spike {
		add("SPIKE: nothing outside the session directory may change", attempt.Rule{Kind: attempt.ReadOnly})
	}
	for _, c := range q.Constraints {
		add(c, h.Rule(c))
	}
	return all
}

// These codes are also used for the steps of a workflow.
const (
	codeAgent    = "agent-unknown"
	codeExecutor = "agent-no-executor"
)

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
