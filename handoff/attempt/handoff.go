package attempt

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/workflow"
)

// SessionName is the name of the workflow of a session, and of its only step.
const SessionName = "handoff"

// Handoff is the setting of a task that was handed off. It contains everything that an attempt
// depends on, so that all attempts are the same, no matter which process runs them.
type Handoff struct {
	Session string            `json:"session"`   // its id
	Dir     string            `json:"directory"` // of the session, with slashes, relative to the project
	Request *protocol.Request `json:"request"`
	Context string            `json:"context,omitempty"` // the text around the request
	// Source is the text that was sent, for people. Prose means that the text has no request.
	Source string `json:"source,omitempty"`
	Prose  bool   `json:"prose,omitempty"`
	// Before has the hash of each deliverable when the work was handed off, or "" if it did not exist.
	// Nil means that the hashes are unknown: then it is enough that the files exist.
	Before map[string]string `json:"before,omitempty"`
	// Known are the paths in constraints that existed when the work was handed off. Nil means that
	// this was not checked: see [Handoff.LookUp].
	Known []string `json:"known,omitzero"`
	// SessionOnly means that all deliverables must be in the directory of the session.
	SessionOnly bool `json:"session_only,omitempty"`
	// Advisory means that write limits are only mentioned in the prompt if this machine cannot enforce
	// them.
	Advisory bool `json:"tell_only,omitempty"`
	// Detach means that the work is a separate session, which the attempt only starts, and MessageOnly
	// that it is a message for the agent. Both are only for work that was handed off in a run.
	Detach      bool `json:"detach,omitempty"`
	MessageOnly bool `json:"leave,omitempty"`
	// Test is the command that must succeed before the work of a TDD handoff is accepted.
	Test string `json:"test,omitempty"`

	inherited []string // the messages that the last deliverables come from, see inherit
}

// Setting returns the value of the setting.
func (h *Handoff) Setting() (any, error) {
	data, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("handoff: %w", err)
	}
	return workflow.ParseJSON(data)
}

// Of returns the handoff of a task, or nil if it was not handed off.
func Of(settings map[string]any) (*Handoff, error) {
	value, ok := settings[agent.HandoffSetting]
	if !ok {
		return nil, nil
	}
	h := &Handoff{}
	if err := json.Unmarshal([]byte(workflow.FormatJSON(value)), h); err != nil {
		return nil, fmt.Errorf("invalid setting %q: %w", agent.HandoffSetting, err)
	}
	if h.Request == nil {
		return nil, fmt.Errorf("the setting %q has no request", agent.HandoffSetting)
	}
	return h, nil
}

// path returns the path of a deliverable, relative to the project.
func (h *Handoff) path(d protocol.Deliverable) string {
	return path.Clean(d.PathIn(h.Session))
}

// Files returns the paths of the deliverables that are files.
func (h *Handoff) Files() []string {
	var files []string
	for _, d := range h.Request.Deliverables {
		if d.Kind == protocol.File {
			files = append(files, h.path(d))
		}
	}
	return files
}

// resultFile is the file with the result of the session. Hocket writes it from the answer if the
// agent does not write it.
func (h *Handoff) resultFile() string { return path.Join(h.Dir, "result.json") }

// LookUp records which paths in constraints exist in a project, so that a constraint means the same
// for all attempts.
func (h *Handoff) LookUp(root string) {
	h.Known = []string{}
	r, err := os.OpenRoot(root)
	if err != nil {
		return
	}
	defer r.Close()
	for _, c := range h.Request.Constraints {
		ParseConstraint(c, func(path string) bool {
			_, err := r.Lstat(path)
			if err == nil {
				h.Known = append(h.Known, path)
			}
			return err == nil
		})
	}
}

func (h *Handoff) knows(path string) bool { return slices.Contains(h.Known, path) }

// Rule returns the rule that Hocket reads from a constraint.
func (h *Handoff) Rule(constraint string) Rule { return ParseConstraint(constraint, h.knows) }

// Limit returns where the agent may write: nil means anywhere.
func (h *Handoff) Limit() *agent.WriteLimit {
	limit := &agent.WriteLimit{Advisory: h.Advisory}
	closed := h.Request.Workflow == protocol.Spike
	for _, c := range h.Request.Constraints {
		switch r := h.Rule(c); r.Kind {
		case ReadOnly:
			closed = true
		case Except:
			limit.Except = append(limit.Except, r.Paths...)
		case Only:
			for _, dir := range r.Paths {
				limit.Only = append(limit.Only, dir+"/")
			}
		}
	}
	if closed {
		limit.Only = nil
	}
	if closed || len(limit.Only) > 0 {
		limit.Only = append(limit.Only, h.Dir+"/")
	}
	if limit.Only == nil && limit.Except == nil {
		return nil
	}
	return limit
}

// NotFolder returns a path that a constraint limits writing to and that is not a folder, or "". Such a
// limit cannot be enforced, and every attempt would fail.
func (h *Handoff) NotFolder(root string) string {
	limit := h.Limit()
	if limit == nil {
		return ""
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return "" // the attempt will report it
	}
	defer r.Close()
	for _, only := range limit.Only {
		name := path.Clean(only)
		if info, err := r.Lstat(name); err == nil && !info.IsDir() {
			return name
		}
	}
	return ""
}
