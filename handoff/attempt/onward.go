package attempt

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
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
	handed map[string]agent.Handed // by id
	names  map[string]string       // the ids by session_id, and by the id of a detached session
}

// ToolName is the name of the tool with which an agent hands work on.
const ToolName = "handoff"

var (
	//go:embed onward.md
	toolText string
	//go:embed detach.md
	detachText string
)

// equip gives a task the tool, and tells the agent what was handed on before.
func (w *wrapped) equip(task *agent.Task) *onward {
	on := &onward{o: &w.o, handed: map[string]agent.Handed{}, names: map[string]string{}}
	for _, h := range task.Handed {
		on.note(h)
		task.Received = append(task.Received, agent.Received{Step: "handoff " + h.ID + " to " + h.To, Output: recalled(h)})
	}
	if w.traits.FromPrompt(task) {
		text := toolText
		if task.Handoffs.Detach {
			text += "\n" + detachText
		}
		task.Tools = append(slices.Clip(task.Tools), agent.Tool{Name: ToolName, Description: text, Input: toolInput(task.Handoffs), Resumes: true, Call: on.call})
	}
	return on
}

// note remembers work that was handed on.
func (on *onward) note(h agent.Handed) {
	on.mu.Lock()
	defer on.mu.Unlock()
	on.handed[h.ID] = h
	of, _ := Of(h.Settings)
	if of == nil {
		return // a program handed it on without the protocol
	}
	if name := of.Request.SessionID; name != "" {
		on.names[name] = h.ID
	}
	if of.Detach {
		on.names[of.Session] = h.ID
	}
}

// known returns work that was handed on before, by its id or name.
func (on *onward) known(id string) (agent.Handed, error) {
	on.mu.Lock()
	defer on.mu.Unlock()
	h, ok := on.handed[cmp.Or(on.names[id], id)]
	if !ok {
		known := slices.Sorted(maps.Keys(on.handed))
		return h, fmt.Errorf("there is no work with the id %q; known ids: %s", id, cmp.Or(strings.Join(known, ", "), "none"))
	}
	return h, nil
}

// isDetached reports whether work that was handed on is a session of its own.
func isDetached(h agent.Handed) bool {
	of, _ := Of(h.Settings)
	return of != nil && of.Detach
}

// recalled says what became of work that an earlier attempt has handed on.
func recalled(h agent.Handed) string {
	text := "An earlier attempt at your task handed this on: " + h.Prompt + "\n\n"
	switch {
	case h.Running:
		return text + "It is still in progress."
	case h.Error != "":
		return text + "It failed: " + h.Error
	case isDetached(h):
		return text + "It works as the separate session " + h.Output + "."
	}
	return text + "The result:\n" + h.Output
}

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
		"id":       text("Only this: the id or session_id of work that was handed on before. The result is its answer."),
	}
	if may.Detach {
		properties["detach"] = map[string]any{"type": "boolean", "description": "Whether the work is a separate session, which continues after your own work. Default: false."}
	}
	return map[string]any{"type": "object", "properties": properties}
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
	Detach   bool   `json:"detach"`
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
			h, err = on.handOn(ctx, task, q, around, true)
		}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "The work is still in progress. To continue to wait for it, call this tool again with the same arguments.", nil
	case err != nil:
		return "", err
	}
	return told(h, a.ID)
}

// told says what became of work: asked is the id by which the agent asked for it, "" if it has just
// handed it on.
func told(h agent.Handed, asked string) (string, error) {
	of, _ := Of(h.Settings)
	switch {
	case h.Running:
		return fmt.Sprintf("Handed on to %s with the id %s. It is in progress.", h.To, cmp.Or(asked, h.ID)), nil
	case h.Error != "":
		return "", fmt.Errorf("%s could not do the work %s: %s", h.To, cmp.Or(asked, h.ID), h.Error)
	case asked == "" && of != nil && of.Detach:
		return fmt.Sprintf("%s works on it in the separate session %s, which continues after your own work. To look at it, call this tool with this id.", h.To, h.Output), nil
	case of != nil && of.Leave:
		return fmt.Sprintf("The next task of %s gets it.", h.To), nil
	}
	return fmt.Sprintf("%s has done the work %s. Its answer:\n\n%s", h.To, cmp.Or(asked, h.ID), h.Output), nil
}

// result returns the result of work that was handed on before, and waits for it. A detached session
// is not waited for.
func (on *onward) result(ctx context.Context, task *agent.Task, id string) (agent.Handed, error) {
	before, err := on.known(id)
	if err != nil {
		return agent.Handed{}, err
	}
	got, err := task.HandOn(ctx, agent.Handoff{ID: before.ID, Blocking: true})
	if err != nil {
		return agent.Handed{}, err
	}
	got.Handoff = before.Handoff
	if got.Error == "" && isDetached(got) {
		if on.o.Detached == nil {
			return agent.Handed{}, errDetached
		}
		state, err := on.o.Detached(ctx, got.Output)
		state.Handoff = before.Handoff
		return state, err
	}
	return got, nil
}

// read returns the request of a call, and the text around it.
func (a *arguments) read(task *agent.Task) (q *protocol.Request, around string, err error) {
	text := a.Request
	if text == "" {
		if q, err = a.build(task.Agent.Name); err != nil {
			return nil, "", err
		}
		text = q.Format() // so that it is checked like any other
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
		q.Attributes = append(q.Attributes, protocol.Attribute{Name: detachAttribute, Value: "true"})
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

// handOn hands a request on. called means that the agent waits for what becomes of it.
func (on *onward) handOn(ctx context.Context, task *agent.Task, q *protocol.Request, around string, called bool) (agent.Handed, error) {
	if q.TargetAgent == "" && len(task.Handoffs.To) == 1 {
		q.TargetAgent = task.Handoffs.To[0]
	}
	q.ParentAgent = cmp.Or(q.ParentAgent, task.Agent.Name)
	detach, err := takeDetach(q)
	if err != nil {
		return agent.Handed{}, err
	}
	if err := on.await(ctx, task, q, detach); err != nil {
		return agent.Handed{}, err
	}
	h := on.o.handoff(q, task, detach)
	h.Context = around
	work, err := h.work(ctx, task.Dir)
	if err != nil {
		return agent.Handed{}, err
	}
	if before, err := on.known(q.SessionID); q.SessionID != "" && err == nil && before.Key != work.Key {
		return agent.Handed{}, fmt.Errorf("the session_id %q is that of other work, %s; choose another one", q.SessionID, before.ID)
	}
	work.Blocking = work.Blocking || called && h.apart() // that takes no time
	handed, err := task.HandOn(ctx, work)
	if err == nil {
		on.note(handed)
	}
	return handed, err
}

// await waits until everything has ended that a request depends on: work that the same task handed
// on. A detached session can also wait for other sessions, and does so itself.
func (on *onward) await(ctx context.Context, task *agent.Task, q *protocol.Request, detach bool) error {
	var left []string
	for _, id := range q.DependsOn {
		before, err := on.known(id)
		switch {
		case err != nil && detach:
			left = append(left, id) // starting the session says whether there is one
			continue
		case err != nil:
			return fmt.Errorf("depends_on: %w", err)
		case isDetached(before) && !detach:
			return fmt.Errorf("depends_on: %q is a session of its own; only work that is detached too can wait for it", id)
		}
		got, err := task.HandOn(ctx, agent.Handoff{ID: before.ID, Blocking: true})
		switch {
		case err != nil:
			return err
		case got.Error != "":
			return fmt.Errorf("skipped: it depends on %s, which failed: %s", id, got.Error)
		case isDetached(before):
			left = append(left, got.Output)
		}
	}
	if detach {
		q.DependsOn = left
	}
	return nil
}

// handoff returns the handoff of a request. Its session is the same for the same request of the
// same task, in every attempt.
func (o *Options) handoff(q *protocol.Request, task *agent.Task, detach bool) *Handoff {
	h := o.Handoff
	h.Request, h.Detach, h.Leave = q, detach, q.Mode == protocol.Conversation
	h.Session = task.Run + "-" + digestOf(task.Address + "\x00" + workflow.FormatJSON(q))[:digits]
	if detach {
		h.Session = cmp.Or(q.SessionID, h.Session)
	}
	h.Dir = path.Join(o.Handoff.Dir, h.Session)
	return &h
}

// handedOn is how the engine names tasks that were handed on, with a number.
const handedOn = "handoff-"

// digits is how many digits follow the id of the run in that of a session.
const digits = 12

// In returns the handoff as part of a run. If it comes from a run that this one was forked from, its
// session gets an id and a directory of its own.
func (h *Handoff) In(run string) *Handoff {
	if strings.HasPrefix(h.Session, run+"-") || h.Session == h.Request.SessionID {
		return h
	}
	own := *h
	own.Session = run + "-" + h.Session[max(0, len(h.Session)-digits):]
	own.Dir = path.Join(path.Dir(h.Dir), own.Session)
	return &own
}

// work returns the handoff as work for its agent.
func (h *Handoff) work(ctx context.Context, dir string) (agent.Handoff, error) {
	q := h.Request
	same := &Handoff{Request: q, Context: h.Context, Detach: h.Detach, Leave: h.Leave} // without what a fork or a new configuration changes
	key, err := same.Setting()
	if err != nil {
		return agent.Handoff{}, err
	}
	if h.Before, err = h.Measure(ctx, dir); err != nil {
		return agent.Handoff{}, err
	}
	setting, err := h.Setting()
	if err != nil {
		return agent.Handoff{}, err
	}
	work := agent.Handoff{
		To: q.TargetAgent, Prompt: q.Summary, Settings: map[string]any{agent.HandoffSetting: setting}, Attempts: 1 + q.MaxRetries,
		Limits: Limits(q), Blocking: q.Mode == protocol.Blocking, Key: digestOf(workflow.FormatJSON(key)), Detach: h.Detach,
	}
	if h.apart() {
		may := workflow.Free
		if h.Detach {
			may = work.Limits.Budget()
		}
		work.Attempts, work.Limits, work.May = 1, workflow.Limits{}, &may
	}
	return work, nil
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// answered hands on the requests in the answer of an attempt, and returns what could not be handed
// on: that does not make the work worse that was done.
func (on *onward) answered(ctx context.Context, task *agent.Task, output string) (refused []string) {
	answer := protocol.ReadResponse(output)
	requests, around := answer.Next, ""
	if left := explained(answer.Found); left != "" && answer.Form != protocol.ProseForm {
		refused = append(refused, "left out: "+left)
	}
	if answer.Form == protocol.ProseForm || answer.Form == protocol.JSONForm && len(requests) == 0 {
		found, err := protocol.Read("answer.md", []byte(output), protocol.Options{Lenient: true})
		if err != nil || found.Blocks == 0 {
			return refused
		}
		if found.Found.Errors() {
			return append(refused, "not handed on: "+explained(found.Found))
		}
		requests, around = found.Requests, found.Context
	}
	// Those that depend on others come last.
	slices.SortStableFunc(requests, func(a, b *protocol.Request) int { return min(len(a.DependsOn), 1) - min(len(b.DependsOn), 1) })
	for len(requests) > 0 {
		next := slices.IndexFunc(requests, func(q *protocol.Request) bool { return !dependsOnAny(q, requests) })
		next = max(next, 0) // if they depend on each other, handing one on says so
		q := requests[next]
		requests = slices.Delete(requests, next, next+1)
		if q.Mode == protocol.Blocking {
			q.Mode = protocol.Spawn // the attempt has ended
		}
		if _, err := on.handOn(ctx, task, q, around, false); err != nil {
			refused = append(refused, fmt.Sprintf("not handed on: %q: %v", q.Summary, err))
		}
	}
	return refused
}

// dependsOnAny reports whether a request depends on one of the requests.
func dependsOnAny(q *protocol.Request, requests []*protocol.Request) bool {
	return slices.ContainsFunc(requests, func(other *protocol.Request) bool {
		return other.SessionID != "" && slices.Contains(q.DependsOn, other.SessionID)
	})
}
