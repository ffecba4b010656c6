package attempt

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/workflow"
)

// ToolName is the name of the tool that agents use to hand off work.
const ToolName = "handoff"

var (
	//go:embed tool.md
	toolText string
	//go:embed detach.md
	detachText string
)

func toolInput(may *workflow.Handoffs) map[string]any {
	text := func(description string) map[string]any {
		return map[string]any{"type": "string", "description": description}
	}
	to := text("The agent that does the work.")
	names := make([]any, len(may.To))
	for i, name := range may.To {
		names[i] = name
	}
	to["enum"] = names
	properties := map[string]any{
		"to":          to,
		"summary":     text("The work in one sentence."),
		"details":     text("Everything that the agent needs to know: what to do, where to look, what is known already."),
		"constraints": map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "description": "Rules that it must follow, such as \"Do not modify src/\"."},
		"deliverables": map[string]any{
			"type": "array", "description": "What it has to deliver. Default: a report.",
			"items": map[string]any{"type": "object", "required": []any{"kind", "text"}, "properties": map[string]any{
				"kind": map[string]any{"enum": []any{string(protocol.File), string(protocol.Decision), string(protocol.Report)}},
				"path": text("The path of a file, relative to the project."),
				"text": text("What it contains."),
			}},
		},
		"blocking": map[string]any{"type": "boolean", "description": "Whether to wait for the answer. Default: true."},
		"request":  text("Instead of all of the above, a complete <agent_request> in XML."),
		"id":       text("The id or session_id of work that was handed off before, to get its answer. Use it without other arguments."),
	}
	if may.Detach {
		properties["detach"] = map[string]any{"type": "boolean", "description": "Whether the work is a separate session, which continues after your own work. Default: false."}
	}
	return map[string]any{"type": "object", "properties": properties}
}

// arguments are the arguments of the tool.
type arguments struct {
	To           string   `json:"to"`
	Summary      string   `json:"summary"`
	Details      string   `json:"details"`
	Constraints  []string `json:"constraints"`
	Deliverables []struct {
		Kind protocol.Kind `json:"kind"`
		Path string        `json:"path"`
		Text string        `json:"text"`
	} `json:"deliverables"`
	Blocking *bool  `json:"blocking"`
	Detach   bool   `json:"detach"`
	Request  string `json:"request"`
	ID       string `json:"id"`
}

// call hands off work. The task is the one that the executor got, so secrets in the work are masked.
func (on *onward) call(ctx context.Context, args map[string]any, task *agent.Task, _ agent.Log) (string, error) {
	var a arguments
	if err := json.Unmarshal([]byte(workflow.FormatJSON(args)), &a); err != nil {
		return "", fmt.Errorf("invalid arguments: %w", err)
	}
	var h agent.Handed
	var err error
	if a.ID != "" {
		h, err = on.result(ctx, task, a.ID)
	} else {
		var q *protocol.Request
		var around string
		if q, around, err = a.read(task); err == nil {
			h, err = on.handOff(ctx, task, q, around, true)
		}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "The work is still in progress. To keep waiting for it, call this tool again with the same arguments.", nil
	case err != nil:
		return "", err
	}
	return describe(h, a.ID)
}

// describe tells the agent the state of work. asked is the id that the agent used to ask for it, or ""
// if it has just handed it off.
func describe(h agent.Handed, asked string) (string, error) {
	of, _ := Of(h.Settings)
	switch {
	case h.Running:
		return fmt.Sprintf("Handed off to %s with the id %s. It is in progress.", h.To, cmp.Or(asked, h.ID)), nil
	case h.Error != "":
		return "", fmt.Errorf("%s could not do the work %s: %s", h.To, cmp.Or(asked, h.ID), h.Error)
	case asked == "" && of != nil && of.Detach:
		return fmt.Sprintf("%s is working on it in the separate session %s, which continues after your own work. To check on it, call this tool with this id.", h.To, h.Output), nil
	case of != nil && of.MessageOnly:
		return fmt.Sprintf("The next task of %s will get the message.", h.To), nil
	}
	return fmt.Sprintf("%s has done the work %s. Its answer:\n\n%s", h.To, cmp.Or(asked, h.ID), h.Output), nil
}

// read returns the request of a call, and the text around it.
func (a *arguments) read(task *agent.Task) (q *protocol.Request, around string, err error) {
	text := a.Request
	switch {
	case text == "" && a.Summary == "":
		return nil, "", errors.New("missing argument summary: call this tool with to, summary and details, with a complete request, or with the id of work that was handed off before")
	case text == "":
		if q, err = a.build(task.Agent.Name); err != nil {
			return nil, "", err
		}
		text = q.Format() // so that it is checked like any other request
	}
	found, err := protocol.Read("request", []byte(text), protocol.Options{Lenient: true})
	switch {
	case err != nil:
		return nil, "", err
	case found.Found.Errors():
		return nil, "", errors.New(explained(found.Found))
	case len(found.Requests) != 1:
		return nil, "", fmt.Errorf("expected one <agent_request>, found %d", len(found.Requests))
	}
	q = found.Requests[0]
	q.TargetAgent = cmp.Or(a.To, q.TargetAgent)
	if a.Blocking != nil && *a.Blocking {
		q.Mode = protocol.Blocking
	} else if a.Blocking != nil {
		q.Mode = protocol.Spawn
	}
	if a.Detach && a.Request != "" {
		q.Attributes = slices.DeleteFunc(q.Attributes, func(a protocol.Attribute) bool { return a.Name == detachAttribute })
		q.Attributes = append(q.Attributes, protocol.Attribute{Name: detachAttribute, Value: "true"})
	}
	return q, found.Context, nil
}

// explained returns the errors among diagnostics, one per line.
func explained(found workflow.Diagnostics) string {
	var lines []string
	for _, d := range found {
		if d.Severity == workflow.Error {
			lines = append(lines, strings.TrimSuffix(d.Summary+"; "+d.Detail, "; "))
		}
	}
	return strings.Join(lines, "\n")
}

// build returns the request that the arguments describe.
func (a *arguments) build(parent string) (*protocol.Request, error) {
	q := &protocol.Request{
		Version: "1.0", ParentAgent: parent, TargetAgent: a.To, Mode: protocol.Blocking, Intent: a.Summary, Summary: a.Summary, Priority: protocol.Medium,
		Workflow: protocol.Standard, Details: cmp.Or(a.Details, a.Summary), Constraints: a.Constraints,
	}
	for _, d := range a.Deliverables {
		switch d.Kind {
		case protocol.File, protocol.Decision, protocol.Report:
		default:
			return nil, fmt.Errorf("unknown kind of deliverable %q: write file, decision or report", d.Kind)
		}
		q.Deliverables = append(q.Deliverables, protocol.Deliverable{Kind: d.Kind, Path: d.Path, Required: true, Text: d.Text})
	}
	if len(q.Deliverables) == 0 {
		q.Deliverables = []protocol.Deliverable{{Kind: protocol.Report, Required: true, Text: "What you did, and what you found"}}
	}
	if a.Detach {
		q.Attributes = []protocol.Attribute{{Name: detachAttribute, Value: "true"}}
	}
	return q, nil
}
