package attempt

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/workflow"
)

// onward hands on work of one attempt: with the tool that the agent is given, and with the
// requests in its answer.
type onward struct {
	o      *Options
	mu     sync.Mutex
	handed map[string]agent.Handoff // by id
}

// ToolName is the name of the tool with which an agent hands work on.
const ToolName = "handoff"

//go:embed onward.md
var toolText string

// equip gives a task the tool, and tells the agent what was handed on before.
func (w *wrapped) equip(task *agent.Task) *onward {
	on := &onward{o: &w.o, handed: map[string]agent.Handoff{}}
	for _, h := range task.Handed {
		on.handed[h.ID] = h.Handoff
		task.Received = append(task.Received, agent.Received{Step: "handoff " + h.ID + " to " + h.To, Output: recalled(h)})
	}
	if w.traits.FromPrompt(task) {
		task.Tools = append(slices.Clip(task.Tools), agent.Tool{Name: ToolName, Description: toolText, Input: toolInput(task.Handoffs.To), Resumes: true, Call: on.call})
	}
	return on
}

// recalled says what became of work that an earlier attempt has handed on.
func recalled(h agent.Handed) string {
	text := "An earlier attempt at your task handed this on: " + h.Prompt + "\n\n"
	switch {
	case h.Running:
		return text + "It is still in progress."
	case h.Error != "":
		return text + "It failed: " + h.Error
	}
	return text + "The result:\n" + h.Output
}

func toolInput(receivers []string) map[string]any {
	text := func(description string) map[string]any {
		return map[string]any{"type": "string", "description": description}
	}
	to := text("The agent that does the work.")
	names := make([]any, len(receivers))
	for i, name := range receivers {
		names[i] = name
	}
	to["enum"] = names
	return map[string]any{"type": "object", "properties": map[string]any{
		"to":          to,
		"summary":     text("The work in one sentence."),
		"details":     text("Everything that the agent needs to know: what to do, where to look, what is known already."),
		"constraints": map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "description": "What it must observe, such as \"Do not modify src/\"."},
		"deliverables": map[string]any{
			"type": "array", "description": "What it has to hand in. By default a report.",
			"items": map[string]any{"type": "object", "required": []any{"kind", "text"}, "properties": map[string]any{
				"kind": map[string]any{"enum": []any{string(protocol.File), string(protocol.Decision), string(protocol.Report)}},
				"path": text("The path of a file, relative to the project."),
				"text": text("What it contains."),
			}},
		},
		"blocking": map[string]any{"type": "boolean", "description": "Whether to wait for the answer. Default: true."},
		"request":  text("Instead of all of the above, a complete <agent_request> in XML."),
		"id":       text("Only this: the id of work that was handed on before. The result is its answer."),
	}}
}

// arguments are those of the tool.
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
	Request  string `json:"request"`
	ID       string `json:"id"`
}

// call hands work on. The task is that of the executor, which hides secrets in what is handed on.
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
			h, err = on.handOn(ctx, task, q, around)
		}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "The work is still in progress. To continue to wait for it, call this tool again with the same arguments.", nil
	case err != nil:
		return "", err
	case h.Running:
		return fmt.Sprintf("Handed on to %s with the id %s. It is in progress.", h.To, h.ID), nil
	case h.Error != "":
		return "", fmt.Errorf("%s could not do the work %s: %s", h.To, h.ID, h.Error)
	}
	return fmt.Sprintf("%s has done the work %s. Its answer:\n\n%s", h.To, h.ID, h.Output), nil
}

// result waits for work that was handed on before.
func (on *onward) result(ctx context.Context, task *agent.Task, id string) (agent.Handed, error) {
	on.mu.Lock()
	h, ok := on.handed[id]
	known := slices.Sorted(maps.Keys(on.handed))
	on.mu.Unlock()
	if !ok {
		return agent.Handed{}, fmt.Errorf("there is no work with the id %q; known ids: %s", id, cmp.Or(strings.Join(known, ", "), "none"))
	}
	h.Blocking = true
	return task.HandOn(ctx, h)
}

// read returns the request of a call, and the text around it.
func (a *arguments) read(task *agent.Task) (q *protocol.Request, around string, err error) {
	text := []byte(a.Request)
	if a.Request == "" {
		if text, err = a.xml(task.Agent.Name); err != nil {
			return nil, "", err
		}
	}
	found, err := protocol.Read("request", text, protocol.Options{Lenient: true})
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
	return q, found.Context, nil
}

// explained returns the errors among diagnostics, one on each line.
func explained(found workflow.Diagnostics) string {
	var lines []string
	for _, d := range found {
		if d.Severity == workflow.Error {
			lines = append(lines, strings.TrimSuffix(d.Summary+"; "+d.Detail, "; "))
		}
	}
	return strings.Join(lines, "\n")
}

type xmlItem struct {
	XMLName xml.Name
	Path    string `xml:"path,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// xml returns the request as a document, so that it is checked like any other.
func (a *arguments) xml(parent string) ([]byte, error) {
	q := struct {
		XMLName      xml.Name  `xml:"agent_request"`
		Version      string    `xml:"version,attr"`
		Parent       string    `xml:"parent_agent,attr"`
		Target       string    `xml:"target_agent,attr,omitempty"`
		Mode         string    `xml:"mode"`
		Intent       string    `xml:"original_intent"`
		Summary      string    `xml:"current_task_summary"`
		Workflow     string    `xml:"workflow"`
		Details      string    `xml:"task_details"`
		Constraints  []string  `xml:"constraints>constraint"`
		Deliverables []xmlItem `xml:"deliverables>item"`
	}{
		Version: "1.0", Parent: parent, Target: a.To, Mode: string(protocol.Blocking), Intent: a.Summary, Summary: a.Summary,
		Workflow: string(protocol.Standard), Details: cmp.Or(a.Details, a.Summary), Constraints: a.Constraints,
	}
	for _, d := range a.Deliverables {
		q.Deliverables = append(q.Deliverables, xmlItem{XMLName: xml.Name{Local: string(d.Kind)}, Path: d.Path, Text: d.Text})
	}
	if len(q.Deliverables) == 0 {
		q.Deliverables = []xmlItem{{XMLName: xml.Name{Local: string(protocol.Report)}, Text: "What you did, and what you found"}}
	}
	return xml.Marshal(q)
}

// handOn hands a request on.
func (on *onward) handOn(ctx context.Context, task *agent.Task, q *protocol.Request, around string) (agent.Handed, error) {
	if q.Mode == protocol.Conversation {
		return agent.Handed{}, fmt.Errorf("the mode %s hands no work on; write %s or %s", q.Mode, protocol.Spawn, protocol.Blocking)
	}
	if q.TargetAgent == "" && len(task.Handoffs.To) == 1 {
		q.TargetAgent = task.Handoffs.To[0]
	}
	q.ParentAgent = cmp.Or(q.ParentAgent, task.Agent.Name)
	h := on.o.handoff(q, task)
	h.Context = around
	key, err := h.Setting() // before anything is added that may change
	if err != nil {
		return agent.Handed{}, err
	}
	if h.Before, err = h.Measure(ctx, task.Dir); err != nil {
		return agent.Handed{}, err
	}
	setting, err := h.Setting()
	if err != nil {
		return agent.Handed{}, err
	}
	handed, err := task.HandOn(ctx, agent.Handoff{
		To: q.TargetAgent, Prompt: q.Summary, Settings: map[string]any{agent.HandoffSetting: setting}, Attempts: 1 + q.MaxRetries,
		Limits: Limits(q), Blocking: q.Mode == protocol.Blocking, Key: digestOf(workflow.FormatJSON(key)),
	})
	if err == nil {
		on.mu.Lock()
		on.handed[handed.ID] = handed.Handoff
		on.mu.Unlock()
	}
	return handed, err
}

// handoff returns the handoff of a request. Its session is the same for the same request of the
// same task, in every attempt.
func (o *Options) handoff(q *protocol.Request, task *agent.Task) *Handoff {
	h := o.Handoff
	h.Request = q
	h.Session = task.Run + "-" + digestOf(task.Address + "\x00" + workflow.FormatJSON(q))[:12]
	h.Dir = path.Join(o.Handoff.Dir, h.Session)
	return &h
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// answered hands on the requests in the answer of an attempt. That one of them cannot be handed on
// does not make the work worse that was done.
func (on *onward) answered(ctx context.Context, task *agent.Task, output string, log agent.Log) {
	answer := protocol.ReadResponse(output)
	requests, around := answer.Next, ""
	if left := explained(answer.Found); left != "" && answer.Form != protocol.ProseForm {
		log([]byte("[left out] " + left + "\n"))
	}
	if answer.Form == protocol.ProseForm || answer.Form == protocol.JSONForm && len(requests) == 0 {
		found, err := protocol.Read("answer.md", []byte(output), protocol.Options{Lenient: true})
		if err != nil || found.Blocks == 0 {
			return
		}
		if found.Found.Errors() {
			log([]byte("[not handed on] " + explained(found.Found) + "\n"))
			return
		}
		requests, around = found.Requests, found.Context
	}
	for _, q := range requests {
		if q.Mode == protocol.Blocking {
			q.Mode = protocol.Spawn // the attempt has ended
		}
		if _, err := on.handOn(ctx, task, q, around); err != nil {
			log([]byte("[not handed on] " + err.Error() + "\n"))
		}
	}
}
