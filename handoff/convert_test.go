package handoff_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/handoff"
	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// drawer generates random parts of requests and workflows.
type drawer struct{ *rapid.T }

func pick[E any](d drawer, from ...E) E { return rapid.SampledFrom(from).Draw(d.T, "pick") }

func (d drawer) n(most int) int { return rapid.IntRange(0, most).Draw(d.T, "n") }

// line returns text that is hard to quote.
func (d drawer) line() string {
	return pick(d, "Look at the service", "x", "{{topic}} and $${x}", "costs $5 ${inputs.topic}", "<b> & ]]> \"q\"", "Größe: 1 # no", "a\nb\n\n  c", "```\ncode\n```", "tab\tand\rreturn")
}

func (d drawer) batch() (requests []*protocol.Request) {
	for i := range 1 + d.n(3) {
		q := &protocol.Request{
			Version: pick(d, "1.0", "1.1"), TargetAgent: pick(d, "", "worker", "Code Reviewer"), ParentAgent: pick(d, "", "planner"),
			Mode: pick(d, protocol.Spawn, protocol.Blocking), Intent: d.line(), Summary: d.line(), Workflow: pick(d, protocol.TDD, protocol.Spike, protocol.None),
			Details: d.line(), Priority: pick(d, protocol.High, protocol.Medium), MaxRetries: d.n(3), Timeout: pick(d, 0, time.Minute, 90*time.Second),
			Estimate: pick(d, 0, time.Hour), Notes: pick(d, "", d.line()), Constraints: pick(d, nil, []string{"Maximum duration: 1 minutes", d.line()}),
			Deliverables: []protocol.Deliverable{{Kind: protocol.File, Path: "docs/{session-id}/a b.json", Text: d.line(), Required: pick(d, true, false)}, {Kind: protocol.Decision, Text: d.line(), Required: true}},
		}
		if d.n(2) > 0 {
			q.SessionID = fmt.Sprintf("s.%d", i)
			for _, before := range requests {
				if before.SessionID != "" && d.n(1) == 0 {
					q.DependsOn = append(q.DependsOn, before.SessionID)
				}
			}
		}
		if d.n(3) == 0 {
			q.Namespaces = map[string]string{"qa": "urn:qa"}
			q.Attributes, q.Extensions = []protocol.Attribute{{Name: "qa:level", Value: d.line()}}, []protocol.Extension{{Name: "qa:c", Space: "urn:qa", XML: "<qa:c>${x}</qa:c>"}}
		}
		requests = append(requests, q)
	}
	if d.n(1) == 0 { // a request may come before its dependencies
		slices.Reverse(requests)
	}
	return requests
}

func (d drawer) workflow() *workflow.Workflow {
	w := &workflow.Workflow{Name: pick(d, "flow", "a: b", "handoff"), Description: pick(d, "", d.line()), Output: workflow.Template{Text: pick(d, "", "${nodes.a.output}")}}
	if d.n(1) == 0 {
		w.Inputs, w.State = []workflow.Param{{Name: "topic", Type: workflow.StringType, Required: true}}, map[string]any{"x": "1"}
		w.Limits = workflow.Limits{Steps: 7}
	}
	ids := []string{"a", "größe", "b c", "b-c", "0x"}[:1+d.n(4)]
	for i, id := range ids {
		n := workflow.Node{ID: id, Title: pick(d, "", d.line()), Timeout: pick(d, 0, time.Minute, 1, 1500*time.Millisecond), Once: d.n(3) == 0, OnError: pick(d, workflow.Stop, workflow.Continue)}
		n.Retry = pick(d, workflow.Retry{}, workflow.Retry{Attempts: 3}, workflow.Retry{Attempts: 2, Delay: time.Second}, workflow.Retry{Attempts: 500})
		n.Output = pick(d, workflow.Output{}, workflow.Output{Var: "v", Mode: workflow.JSON}, workflow.Output{Schema: map[string]any{"type": "object"}})
		n.Group, n.Join = pick(d, "", "g"), pick(d, workflow.Join{}, workflow.Join{Need: 1})
		n.Labels = pick(d, nil, map[string]string{"team": "x y"})
		n.Step = &workflow.Task{
			Agent: pick(d, "", "worker", "Code Reviewer"), Context: pick(d, workflow.AutoContext, workflow.NoContext),
			Prompt:   workflow.Template{Text: pick(d, "", "Write about ${inputs.topic}, after ${nodes.a.output}", "  indented\n", "bell \a", "say $${x} {{y}}", d.plain())},
			Inputs:   pick(d, nil, []workflow.Binding{{Name: "in", Value: "${vars.x}"}}),
			Settings: pick(d, nil, map[string]any{"command": "echo ${inputs.topic}"}, map[string]any{"handoff": "${inputs.topic}"}, map[string]any{"handoff": map[string]any{"request": "none"}}),
			Handoffs: pick(d, nil, &workflow.Handoffs{To: []string{"worker"}, Max: 2}),
		}
		var targets []string
		for _, to := range ids[i+1:] {
			if d.n(1) == 0 {
				targets = append(targets, to)
			}
		}
		if d.n(1) == 0 {
			slices.Reverse(targets)
			if len(targets) > 0 && d.n(2) == 0 {
				targets = append(targets, workflow.End)
			}
		}
		for _, to := range targets {
			w.Body.Edges = append(w.Body.Edges, workflow.Edge{From: id, To: to})
		}
		w.Body.Nodes = append(w.Body.Nodes, n)
	}
	return w
}

// plain returns a canonical template without references.
func (d drawer) plain() string { return strings.ReplaceAll(d.line(), "${", "$${") }

// asJSON returns requests as JSON, ignoring the order of dependencies.
func asJSON(t *rapid.T, requests []*protocol.Request) string {
	for _, q := range requests {
		slices.Sort(q.DependsOn)
	}
	text, err := json.MarshalIndent(requests, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// written writes requests to a file and reads the file back.
func written(t *rapid.T, h *protocol.Handoffs) *protocol.Handoffs {
	text, err := protocol.Format(h.Context, h.Requests, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, asJSON(t, h.Requests))
	}
	again, err := protocol.Read("x.md", text, protocol.Options{})
	if err != nil || again.Found.Errors() {
		t.Fatal(err, again.Found)
	}
	return again
}

// parsed writes a workflow in a notation and reads it back.
func parsed(t *rapid.T, w *workflow.Workflow, notation string) *workflow.Workflow {
	text, err := syntax.Format(w, notation)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := syntax.Named(notation)
	again, found := n.Parse("x", text)
	if found.Errors() {
		t.Fatal(found)
	}
	return again
}

func TestRequestsSurviveAsWorkflow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawer{t}
		before := written(t, &protocol.Handoffs{Requests: d.batch(), Context: pick(d, "", "# Why\n\nBecause of ${x}.")})
		w, found := handoff.Workflow(before)
		if found.Errors() {
			t.Fatal(found)
		}
		w = parsed(t, w, pick(d, syntax.Notations()...))
		h, report := handoff.Requests(w)
		if h == nil {
			t.Fatal(report)
		}
		after := written(t, h)
		if diff := cmp.Diff(asJSON(t, before.Requests), asJSON(t, after.Requests)); diff != "" || before.Context != after.Context {
			t.Fatalf("%s\n%s\n%s", diff, before.Context, after.Context)
		}
		for _, item := range report {
			if item.How != syntax.Exact {
				t.Fatalf("%+v", item)
			}
		}
	})
}

func TestWorkflowSurvivesAsRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawer{t}
		w := d.workflow()
		if d.n(2) == 0 { // some of its tasks were handed off
			h := written(t, &protocol.Handoffs{Requests: d.batch(), Context: pick(d, "", "# Why")})
			more, _ := handoff.Workflow(h)
			for i, n := range more.Body.Nodes {
				n.ID = fmt.Sprint("more", i)
				if n.Once = d.n(1) == 0; d.n(1) == 0 {
					w.Body.Edges = append(w.Body.Edges, workflow.Edge{From: n.ID, To: w.Body.Nodes[0].ID})
				}
				w.Body.Nodes = append(w.Body.Nodes, n)
			}
		}
		w = parsed(t, w, "yaml")
		h, report := handoff.Requests(w)
		if h == nil {
			t.Fatal(report)
		}
		again, found := handoff.Workflow(written(t, h))
		if found.Errors() {
			t.Fatal(found)
		}
		if diff := cmp.Diff(workflow.Print(w), workflow.Print(again)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A workflow made from requests runs like any other, and the deliverables of each request are required.
func TestRunConverted(t *testing.T) {
	o := newOffice(t, "")
	first := strings.Replace(request(to("first", `max_retries="1"`), ""), "<report>what you found</report>", `<file path="docs/{session-id}.txt">notes</file>`, 1)
	spike := strings.Replace(request(to("second", `depends_on="first"`), "<constraint>Do not modify src/</constraint>"), "standard", "none", 1)
	h, err := handoff.Read(o.p, "work.md", []byte(fenced(first, spike)), false)
	if err != nil {
		t.Fatal(err)
	}
	model, found := handoff.Workflow(h)
	if found.Errors() {
		t.Fatal(found)
	}
	run := func() engine.Result {
		w, err := o.p.LoadModel(model)
		if err != nil {
			t.Fatal(err)
		}
		run, err := o.p.Start(t.Context(), w, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := run.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	if res := run(); res.Status != engine.Failed || len(o.prompts) != 2 || !strings.Contains(o.prompts[0], "# Work") {
		t.Errorf("%s after %q", res.Status, o.prompts)
	}
	o.prompts = nil
	o.work = func(task *agent.Task) (string, error) {
		if task.Node == "second" && (task.Writes == nil || len(task.Writes.Except) != 1) {
			return "", fmt.Errorf("it may write to %v", task.Writes)
		}
		file := filepath.Join(task.Dir, "docs", task.Run+"."+task.Node+".txt")
		return "all is fine", errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("fine"), 0o644))
	}
	if res := run(); res.Status != engine.Success || len(o.prompts) != 2 || !strings.Contains(o.prompts[1], "docs/.scratch/sessions/") {
		t.Errorf("%s after %q", res.Status, o.prompts)
	}
}

func TestRequestsRefused(t *testing.T) {
	w, found := syntax.Parse("flow.yml", []byte(`
name: flow
steps:
  - {id: write, agent: a, prompt: Write, route: {good: ask, bad: again}}
  - {id: again, agent: a, prompt: Again, for_each: "[1, 2]"}
  - {id: ask, human: "Publish?"}
  - {id: other, workflow: other}
`))
	if found.Errors() {
		t.Fatal(found)
	}
	h, report := handoff.Requests(w)
	var got []string
	for _, item := range report {
		got = append(got, item.Node+" "+item.Construct)
		if item.How != syntax.Rejected || item.Note == "" {
			t.Errorf("%+v", item)
		}
	}
	want := []string{"again each", "ask human", "other call", "write edge", "write edge"}
	if diff := cmp.Diff(want, got); diff != "" || h != nil {
		t.Error(diff)
	}
	if h, report := handoff.Requests(&workflow.Workflow{Name: "none"}); h != nil || len(report) != 1 {
		t.Error(report)
	}
}

// A person may edit the request that was made from a task.
func TestEditedRequest(t *testing.T) {
	w, found := syntax.Parse("flow.yml", []byte("name: flow\nsteps: [{id: one, agent: a, prompt: Look at the log of the shop, effect: once}]\n"))
	if found.Errors() {
		t.Fatal(found)
	}
	h, _ := handoff.Requests(w)
	text, err := protocol.Format(h.Context, h.Requests, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`target_agent="a"`, `target_agent="b" max_retries="2"`, "agent b|retry attempts=3|effect once"},
		{"<task_details>Look", "<task_details>Do not look", `prompt "Do not look at the log of the shop"|effect once`},
		{"none</workflow>", "TDD</workflow>", `setting handoff|"workflow":"TDD"|effect once`},
		{"<report>", "<file path=\"x\">the log</file><report>", `setting handoff|"path":"x"|effect once`},
	} {
		edited := strings.Replace(string(text), c.old, c.new, 1)
		again, err := protocol.Read("x.md", []byte(edited), protocol.Options{})
		if err != nil || again.Found.Errors() || edited == string(text) {
			t.Fatal(edited, again.Found)
		}
		got, found := handoff.Workflow(again)
		if found.Errors() {
			t.Fatal(found)
		}
		for _, part := range strings.Split(c.want, "|") {
			if !strings.Contains(workflow.Print(got), part) {
				t.Errorf("%s: no %s in\n%s", c.new, part, workflow.Print(got))
			}
		}
	}
}
