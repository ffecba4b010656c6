package handoff

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff/attempt"
	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// Requests become a workflow with a task for each. The request goes into the setting `handoff` of
// the task, so that the host treats the task as one that was handed off. What a node has a field
// for is stored only there: the agent, the retries, the timeout, and the dependencies as edges.
//
// A workflow becomes requests in the same way. A task without that setting becomes a request that
// says what the protocol can express, and carries the rest of its node in an element of another
// namespace. That element contains a YAML workflow with that one step.

// space is the namespace of the elements that carry what the protocol cannot express.
const space = "https://hocket.dev/handoff/step"

// The elements in that namespace.
const (
	taskElement = "task" // the request was made from a task, and says nothing else
	stepElement = "step" // the request was a setting of a task, and this is the rest of its node
)

// Workflow converts requests to a workflow. The workflow is nil if there are errors.
func Workflow(h *protocol.Handoffs) (*workflow.Workflow, workflow.Diagnostics) {
	c := &conversion{context: h.Context, w: &workflow.Workflow{Name: sessionName}}
	for _, q := range h.Requests {
		c.read(q)
	}
	for i := range c.parts {
		c.build(i)
	}
	c.identify()
	c.connect()
	if c.found.Errors() {
		return nil, c.found
	}
	return c.w, c.found
}

type conversion struct {
	context string
	w       *workflow.Workflow
	parts   []part
	found   workflow.Diagnostics
}

// part is a request and the node that it becomes.
type part struct {
	*protocol.Request // without the carried element
	kind              string
	node              workflow.Node
	next              []string // the numbers of the requests that follow, if the dependencies do not imply them
	unnamed           bool     // the id of the session is not part of the request
}

// read extracts the carried step from a request.
func (c *conversion) read(q *protocol.Request) {
	own := *q
	p := part{Request: &own, node: workflow.Node{Step: &workflow.Task{}}}
	own.Extensions = nil
	for _, e := range q.Extensions {
		if e.Space != space {
			own.Extensions = append(own.Extensions, e)
			continue
		}
		w, err := p.carried(e)
		if err != nil {
			c.found = append(c.found, workflow.Errorf(q.Pos, protocol.CodeElement, "restore the element, or remove it", "<%s> cannot be read: %v", e.Name, err))
			return
		}
		p.node = w.Body.Nodes[0]
		if len(c.parts) == 0 {
			header := *w
			header.Body = workflow.Graph{}
			c.w = &header
		}
	}
	c.parts = append(c.parts, p)
}

// carried reads a carried step: a workflow with one task.
func (p *part) carried(e protocol.Extension) (*workflow.Workflow, error) {
	var element struct {
		XMLName xml.Name
		Next    string `xml:"next,attr"`
		Unnamed bool   `xml:"unnamed,attr"`
		Text    string `xml:",chardata"`
	}
	if err := xml.Unmarshal([]byte(e.XML), &element); err != nil {
		return nil, err
	}
	p.kind, p.next, p.unnamed = element.XMLName.Local, strings.Fields(element.Next), element.Unnamed
	w, found := syntax.Parse("step.yml", []byte(element.Text))
	if found.Errors() {
		return nil, &hocket.InvalidError{Diagnostics: found}
	}
	if p.kind != taskElement && p.kind != stepElement || len(w.Body.Nodes) != 1 || w.Body.Nodes[0].Kind() != "task" {
		return nil, fmt.Errorf("it does not contain exactly one task")
	}
	return w, nil
}

// build returns the node for a request.
func (c *conversion) build(i int) {
	p := &c.parts[i]
	n, q := &p.node, p.Request
	task := n.Step.(*workflow.Task)
	task.Agent = cmp.Or(task.Agent, q.TargetAgent)
	n.Timeout = cmp.Or(n.Timeout, attempt.Limits(q).Runtime)
	if q.MaxRetries > 0 {
		n.Retry.Attempts = 1 + q.MaxRetries
	}
	if p.kind == taskElement {
		if task.Prompt.Text == "" && q.Details != noDetails {
			task.Prompt.Text = q.Details
		}
		if q.Summary != summaryOf(n) {
			n.Title = q.Summary
		}
		if same(c.request(n, q.SessionID), bare(q)) {
			return
		}
		task.Prompt.Text = "" // a task cannot express all of the request
	}
	if task.Prompt.Text == "" {
		task.Prompt.Text = expr.Literal(q.Summary)
	}
	if p.unnamed {
		unnamed := *q
		unnamed.SessionID = ""
		q = &unnamed
	}
	setting, err := settingOf(q, c.context, task.Settings[agent.HandoffSetting])
	if err != nil {
		c.found = append(c.found, workflow.Errorf(q.Pos, protocol.CodeElement, "", "%v", err))
		return
	}
	if task.Settings == nil {
		task.Settings = map[string]any{}
	}
	task.Settings[agent.HandoffSetting] = setting
}

// identify gives every node an id: the session id, or an id derived from the summary.
func (c *conversion) identify() {
	taken := map[string]bool{}
	for i := range c.parts {
		n := &c.parts[i].node
		if n.ID == "" {
			n.ID = c.parts[i].SessionID
		}
		taken[n.ID] = true
	}
	for i := range c.parts {
		n := &c.parts[i].node
		for try, id := 2, slug(c.parts[i].Summary); n.ID == ""; try++ {
			if !taken[id] {
				n.ID, taken[id] = id, true
			}
			id = fmt.Sprintf("%s-%d", slug(c.parts[i].Summary), try)
		}
		c.w.Body.Nodes = append(c.w.Body.Nodes, *n)
	}
}

// atEnd stands for the end of the workflow among the requests that follow.
const atEnd = "end"

// connect adds an edge for every dependency, ordered by the nodes where the edges start.
func (c *conversion) connect() {
	byID := map[string]*part{}
	for i := range c.parts {
		byID[c.parts[i].SessionID] = &c.parts[i]
	}
	delete(byID, "")
	for i := range c.parts {
		q := c.parts[i].Request
		for _, id := range q.DependsOn {
			if byID[id] == nil {
				c.found = append(c.found, workflow.Errorf(q.Pos, protocol.CodeSession, "convert both in one file, or remove the dependency", "the request depends on %s, which is not in this file; a workflow cannot wait for it", id))
			}
		}
	}
	for i := range c.parts {
		from := &c.parts[i]
		var edges []workflow.Edge
		for j := range c.parts {
			if to := &c.parts[j]; from.SessionID != "" && slices.Contains(to.DependsOn, from.SessionID) {
				edges = append(edges, workflow.Edge{From: from.node.ID, To: to.node.ID})
			}
		}
		if slices.Contains(from.next, atEnd) {
			edges = append(edges, workflow.Edge{From: from.node.ID, To: workflow.End})
		}
		place := func(e workflow.Edge) int {
			number := atEnd
			if at := slices.IndexFunc(c.parts, func(p part) bool { return p.node.ID == e.To }); at >= 0 {
				number = strconv.Itoa(at + 1)
			}
			return cmp.Or(slices.Index(from.next, number)+1, len(from.next)+1)
		}
		sort.SliceStable(edges, func(a, b int) bool { return place(edges[a]) < place(edges[b]) })
		c.w.Body.Edges = append(c.w.Body.Edges, edges...)
	}
}

// noDetails is used as task_details for a task without a prompt.
const noDetails = "The settings of the task say what to do."

// request returns a request for a task, without its dependencies.
func (c *conversion) request(n *workflow.Node, session string) *protocol.Request {
	q := &protocol.Request{
		Version: "1.1", SessionID: session, Priority: protocol.Medium, Mode: protocol.Spawn, Workflow: protocol.None,
		Intent: noIntent, Summary: summaryOf(n), Details: noDetails,
		Deliverables: []protocol.Deliverable{{Kind: protocol.Report, Required: true, Text: "What was done, and the result"}},
	}
	for _, text := range []string{c.w.Name, c.w.Description} {
		if protocol.IsText(text) {
			q.Intent = text
		}
	}
	if text := n.Step.(*workflow.Task).Prompt.Text; protocol.IsText(text) {
		q.Details = text
	}
	fields(n, q)
	return q
}

const noIntent = "Carry out the workflow"

// fields copies fields of a node to the attributes of a request, if these can express them.
func fields(n *workflow.Node, q *protocol.Request) {
	if name := n.Step.(*workflow.Task).Agent; name == strings.TrimSpace(name) && protocol.IsText(name) {
		q.TargetAgent = name
	}
	if again := n.Retry.Attempts - 1; again > 0 && again <= protocol.MaxRetries {
		q.MaxRetries = again
	}
	if boundless(q) && protocol.IsDuration(n.Timeout) {
		q.Timeout = n.Timeout
	}
}

// summaryOf describes a task in one line: its title, or the beginning of its prompt.
func summaryOf(n *workflow.Node) string {
	for _, text := range []string{n.Title, n.Step.(*workflow.Task).Prompt.Text} {
		line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		if line = short(line); protocol.IsText(line) {
			return line
		}
	}
	return "Carry out a step of the workflow"
}

// ofNode are the parts of a request for which a node has a field.
var ofNode = []string{"target_agent", "max_retries", "depends_on"}

// settingOf returns the setting `handoff` for the task of a request. rest has its other values.
func settingOf(q *protocol.Request, context string, rest any) (map[string]any, error) {
	data, err := json.Marshal(q)
	if err != nil {
		return nil, fmt.Errorf("handoff: %w", err)
	}
	value, err := workflow.ParseJSON(data)
	if err != nil {
		return nil, err
	}
	request := value.(map[string]any)
	for _, key := range ofNode {
		delete(request, key)
	}
	if boundless(q) {
		delete(request, "timeout")
	}
	setting := map[string]any{}
	if others, ok := rest.(map[string]any); ok {
		setting = others
	}
	setting["request"] = literals(request)
	if _, own := setting["context"]; !own {
		setting["context"] = expr.Literal(context)
	}
	if setting["context"] == "" {
		delete(setting, "context")
	}
	return setting, nil
}

// boundless reports whether no constraint limits how long the task takes. If one does, the timeout
// of the node differs from that of the request.
func boundless(q *protocol.Request) bool {
	own := *q
	own.Timeout = 0
	return attempt.Limits(&own).Runtime == 0
}

// literals turns all texts in a value into templates.
func literals(v any) any {
	switch v := v.(type) {
	case string:
		return expr.Literal(v)
	case []any:
		for i := range v {
			v[i] = literals(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = literals(v[k])
		}
	}
	return v
}

// verbatim is the inverse of literals; ok is false if a text contains a reference.
func verbatim(v any) (any, bool) {
	switch v := v.(type) {
	case string:
		return expr.LiteralOf(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			var ok bool
			if list[i], ok = verbatim(v[i]); !ok {
				return nil, false
			}
		}
		return list, true
	case map[string]any:
		object := map[string]any{}
		for k := range v {
			var ok bool
			if object[k], ok = verbatim(v[k]); !ok {
				return nil, false
			}
		}
		return object, true
	}
	return v, true
}

// bare returns a request without the parts that depend on its position in a batch.
func bare(q *protocol.Request) *protocol.Request {
	own := *q
	own.DependsOn = nil
	return &own
}

func same(a, b *protocol.Request) bool {
	x, err := json.Marshal(a)
	y, also := json.Marshal(b)
	return err == nil && also == nil && bytes.Equal(x, y)
}

// Fidelity says how a workflow represents requests. Everything that is not exact is in the setting
// `handoff`, from which Requests restores it.
func Fidelity(requests []*protocol.Request) (items []syntax.Item) {
	for _, q := range requests {
		node := cmp.Or(q.SessionID, slug(q.Summary))
		items = append(items, syntax.Item{Node: node, Construct: "request", How: syntax.Exact})
		limits := attempt.Limits(q)
		for _, part := range []struct {
			construct string
			ignored   bool
		}{
			{"mode", q.Mode == protocol.Conversation}, {"priority", q.Priority != protocol.Medium}, {"estimated_duration", q.Estimate > 0},
			{"notify_on_completion", len(q.Notify) > 0}, {"budget", limits.CostUSD > 0 || limits.Tokens > 0},
		} {
			if part.ignored {
				items = append(items, syntax.Item{Node: node, Construct: part.construct, How: syntax.Carried, Note: "in the setting handoff; a run ignores it"})
			}
		}
	}
	return items
}
