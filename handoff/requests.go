package handoff

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff/attempt"
	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// Requests converts every task of a workflow to a request. The report says how each part was
// converted. If a part is rejected, there are no requests.
func Requests(w *workflow.Workflow) (h *protocol.Handoffs, report []syntax.Item) {
	r := &requests{conversion: conversion{w: w}}
	if report = r.rejected(); report != nil {
		return nil, report
	}
	for i := range w.Body.Nodes {
		r.take(w.Body.Nodes[i])
	}
	if !slices.ContainsFunc(r.parts, isStep) {
		r.context = strings.TrimSpace("# " + strings.Join(strings.Fields(w.Name), " "))
	}
	r.name()
	for i := range r.parts {
		r.express(&r.parts[i])
	}
	bare, _ := Workflow(r.handoffs())
	for i := range r.parts {
		r.carry(i, bare)
	}
	h = r.handoffs()
	if again, found := Workflow(h); found.Errors() || workflow.Digest(again) != workflow.Digest(w) {
		return nil, append(r.report, syntax.Item{Construct: "workflow", How: syntax.Rejected, Note: "converting the requests back would give a different workflow"})
	}
	return h, r.report
}

// requests is a workflow that is being converted.
type requests struct {
	conversion
	sessions map[string]string // by the id of the node
	report   []syntax.Item
}

func isStep(p part) bool { return p.kind == stepElement }

func (r *requests) handoffs() *protocol.Handoffs {
	h := &protocol.Handoffs{Context: r.context, Blocks: len(r.parts)}
	for i := range r.parts {
		h.Requests = append(h.Requests, r.parts[i].Request)
	}
	return h
}

// rejected returns what cannot be written as requests.
func (r *requests) rejected() (items []syntax.Item) {
	reject := func(node, construct, why string) {
		items = append(items, syntax.Item{Node: node, Construct: construct, How: syntax.Rejected, Note: why})
	}
	if len(r.w.Body.Nodes) == 0 {
		reject("", "workflow", "it has no tasks")
	}
	r.w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		if why := notTask[n.Kind()]; why != "" {
			reject(n.ID, n.Kind(), why)
		}
	})
	for _, e := range r.w.Body.Edges {
		if e.On != workflow.OnSuccess {
			reject(e.From, "edge", "the edge to "+e.To+" has a condition, but sessions cannot depend on how others end")
		}
	}
	return items
}

// notTask says why nodes other than tasks cannot become requests.
var notTask = map[string]string{
	"human": "requests are for agents, not for people", "call": "a request cannot start a workflow", "choice": "sessions do not branch",
	"combine": "no agent carries it out", "loop": "sessions do not repeat", "each": "sessions do not repeat",
}

// take copies a node, and extracts the request if the node has one.
func (r *requests) take(n workflow.Node) {
	task := *n.Step.(*workflow.Task)
	task.Settings = maps.Clone(task.Settings)
	n.Step = &task
	p := part{node: n, kind: taskElement}
	if q, rest, ok := requestIn(task.Settings[agent.HandoffSetting]); ok {
		p.Request, p.kind = q, stepElement
		context, _ := rest["context"].(string)
		if !slices.ContainsFunc(r.parts, isStep) {
			r.context = strings.TrimSpace(context)
		}
		if rest["context"] = context; context == r.context {
			delete(rest, "context")
		}
		if task.Settings[agent.HandoffSetting] = literals(rest); len(rest) == 0 {
			delete(task.Settings, agent.HandoffSetting)
		}
	}
	r.parts = append(r.parts, p)
}

// requestIn returns the request in a setting, and the rest of the setting.
func requestIn(value any) (q *protocol.Request, rest map[string]any, ok bool) {
	plain, _ := verbatim(value)
	rest, _ = plain.(map[string]any)
	q = &protocol.Request{}
	if rest["request"] == nil || json.Unmarshal([]byte(workflow.FormatJSON(rest["request"])), q) != nil {
		return nil, nil, false
	}
	again, err := settingOf(q, "", nil)
	if err != nil || workflow.FormatJSON(again["request"]) != workflow.FormatJSON(literals(rest["request"])) {
		return nil, nil, false // part of it would be lost
	}
	delete(rest, "request")
	return q, rest, true
}

var notSession = lazy.Regexp(`[^A-Za-z0-9._-]+`)

// name gives every task the id of a session. A request without one gets one only if others
// depend on it.
func (r *requests) name() {
	r.sessions = map[string]string{}
	taken := map[string]bool{"": true}
	for _, p := range r.parts {
		if isStep(p) {
			r.sessions[p.node.ID], taken[p.SessionID] = p.SessionID, true
		}
	}
	for i := range r.parts {
		p := &r.parts[i]
		leads := slices.ContainsFunc(r.w.Body.Edges, func(e workflow.Edge) bool { return e.From == p.node.ID && e.To != workflow.End })
		if isStep(*p) && (p.SessionID != "" || !leads) {
			continue
		}
		p.unnamed = isStep(*p)
		word := strings.TrimLeft(notSession().ReplaceAllString(p.node.ID, "-"), "._-")
		word = cmp.Or(word[:min(len(word), 90)], "step")
		id := word
		for n := 2; taken[id]; n++ {
			id = fmt.Sprintf("%s-%d", word, n)
		}
		r.sessions[p.node.ID], taken[id] = id, true
	}
}

// express moves what the protocol can express from the node of a task to its request.
func (r *requests) express(p *part) {
	n := &p.node
	task := n.Step.(*workflow.Task)
	if !isStep(*p) {
		p.Request = r.request(n, "")
	}
	q := p.Request
	q.SessionID = r.sessions[n.ID]
	for _, e := range r.w.Body.Edges {
		if e.To == n.ID {
			q.DependsOn = append(q.DependsOn, r.sessions[e.From])
		}
	}
	fields(n, q)
	if task.Agent == q.TargetAgent {
		task.Agent = ""
	}
	if n.Retry == (workflow.Retry{Attempts: 1 + q.MaxRetries}) {
		n.Retry = workflow.Retry{}
	}
	if n.Timeout == attempt.Limits(q).Runtime {
		n.Timeout = 0
	}
	if !isStep(*p) && task.Prompt.Text == q.Details || isStep(*p) && task.Prompt.Text == expr.Literal(q.Summary) {
		task.Prompt.Text = ""
	}
}

// carry adds the rest of its node to a request, if that is needed to convert it back. bare is the
// workflow that the requests would become without it.
func (r *requests) carry(i int, bare *workflow.Workflow) {
	p, n := &r.parts[i], &r.w.Body.Nodes[i]
	header := &workflow.Workflow{Name: r.w.Name}
	if i == 0 {
		*header = *r.w
	}
	header.Body = workflow.Graph{}
	plainHeader := i > 0 || workflow.Digest(header) == workflow.Digest(&workflow.Workflow{Name: sessionName})
	r.next(p, n)
	if isStep(*p) && plainHeader && p.next == nil && !p.unnamed && alike(n, &bare.Body.Nodes[i]) {
		r.add(n.ID, "handoff", syntax.Exact, "")
		return
	}
	header.Body.Nodes = []workflow.Node{p.node}
	text, err := syntax.Format(header, "yaml")
	if err != nil {
		r.add(n.ID, "task", syntax.Rejected, err.Error())
		return
	}
	r.describe(p, n.ID, i == 0 && !plainHeader)
	var attributes []protocol.Attribute
	if p.next != nil {
		attributes = append(attributes, protocol.Attribute{Name: "next", Value: strings.Join(p.next, " ")})
	}
	if p.unnamed {
		attributes = append(attributes, protocol.Attribute{Name: "unnamed", Value: "true"})
	}
	p.Extensions = append(slices.Clone(p.Extensions), protocol.NewExtension("hocket", p.kind, space, "\n"+string(text), attributes...))
}

// next returns the requests that follow a task if the dependencies do not imply them, because the
// order differs or the workflow can end there.
func (r *requests) next(p *part, n *workflow.Node) {
	var next []string
	sorted, last := true, -1
	for _, e := range r.w.Body.Edges {
		if e.From != n.ID {
			continue
		}
		at := slices.IndexFunc(r.w.Body.Nodes, func(n workflow.Node) bool { return n.ID == e.To })
		if sorted, last = sorted && at > last, at; at < 0 {
			next = append(next, atEnd)
		} else {
			next = append(next, strconv.Itoa(at+1))
		}
	}
	if !sorted {
		p.next = next
	}
}

// alike reports whether two nodes mean the same.
func alike(a, b *workflow.Node) bool {
	one := func(n *workflow.Node) string {
		return workflow.Print(&workflow.Workflow{Body: workflow.Graph{Nodes: []workflow.Node{*n}}})
	}
	return one(a) == one(b)
}

func (r *requests) add(node, construct string, how syntax.How, note string) {
	r.report = append(r.report, syntax.Item{Node: node, Construct: construct, How: how, Note: note})
}

// describe adds to the report how a task was converted.
func (r *requests) describe(p *part, id string, header bool) {
	where := "in <hocket:" + p.kind + ">"
	if header {
		r.add("", "workflow", syntax.Carried, where+" of the first request")
	}
	r.add(id, "task", syntax.Exact, "")
	task := p.node.Step.(*workflow.Task)
	rest := workflow.Node{ID: p.node.ID, Step: &workflow.Task{}}
	for _, part := range []struct {
		construct string
		left      bool
	}{
		{"agent", task.Agent != ""}, {"prompt", task.Prompt.Text != ""}, {"inputs", len(task.Inputs) > 0}, {"context", task.Context != ""},
		{"settings", len(task.Settings) > 0}, {"handoffs", task.Handoffs != nil}, {"title", p.node.Title != ""}, {"join", p.node.Join != rest.Join},
		{"group", p.node.Group != ""}, {"output", !isZeroOutput(p.node.Output)}, {"retry", p.node.Retry != rest.Retry}, {"timeout", p.node.Timeout != 0},
		{"on_error", p.node.OnError != ""}, {"effect", p.node.Once}, {"labels", len(p.node.Labels) > 0}, {"order of edges", p.next != nil},
	} {
		if part.left {
			r.add(id, part.construct, syntax.Carried, where)
		}
	}
	if t, err := expr.ParseTemplate(p.Details, expr.Canonical); !isStep(*p) && err == nil && len(t.Refs()) > 0 {
		r.add(id, "reference", syntax.Carried, "as plain text; sessions do not resolve references")
	}
}

func isZeroOutput(o workflow.Output) bool {
	return o.Var == "" && o.Mode == "" && o.Pattern == "" && o.Schema == nil
}
