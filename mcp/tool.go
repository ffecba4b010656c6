package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/handoff"
	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// What a tool does, for clients that ask their users before calls.
var (
	reads    = &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(bool)}
	proposes = &sdk.ToolAnnotations{DestructiveHint: new(bool), OpenWorldHint: new(bool)}
	works    = &sdk.ToolAnnotations{}
)

// addTools adds the tools that every project has.
func (s *server) addTools() {
	add(s, "hocket_task", works, "Give one task to one agent and wait for its answer. Without an agent, the best one is chosen; hocket_agents_list lists them.", (*call).task)
	add(s, "hocket_workflow", works, "Run a workflow of the project and wait for its output. A person must have approved the workflow.", (*call).workflow)
	add(s, "hocket_workflows_list", reads, "List the workflows of the project, with their inputs, and whether they are approved and can run.", (*call).workflows)
	add(s, "hocket_run", works, "Look at a run (status), wait for it to end (wait), or cancel one that a client started (cancel). Questions of a run are answered by people, not here.", (*call).run)
	add(s, "hocket_runs", reads, "List the runs of the project, newest first.", (*call).runs)
	add(s, "hocket_agents_list", reads, "List the agents that can be given tasks.", (*call).agents)
	add(s, "hocket_workflow_create", proposes, "Propose a workflow. It can run after a person has approved it. Steps can only use agents and tools that the project has.", (*call).createWorkflow)
	add(s, "hocket_agent_create", proposes, "Propose an agent. It can work after a person has approved it.", (*call).createAgent)
	add(s, "hocket_tool_create", proposes, "Propose a tool for agents. It can be called after a person has approved it.", (*call).createTool)
	add(s, "hocket_tool", works, "Call a tool of the project, as an agent would.", (*call).tool)
	add(s, "hocket_handoff", works, "Hand work over to an agent with an agent_request in XML or Markdown, and wait for its answer.", (*call).handoff)
	add(s, "hocket_memory_search", reads, "Search what is remembered about the project.", (*call).searchMemory)
	add(s, "hocket_memory_add", proposes, "Remember a fact about the project for later tasks.", (*call).addMemory)
	add(s, "hocket_check", reads, "Find the mistakes in a workflow: one of the project by name, or a text.", (*call).check)
	add(s, "hocket_convert", reads, "Convert a workflow to another notation: one of the project by name, or a text.", (*call).convert)
}

// add adds a tool whose arguments are the fields of a struct, also under its old name.
func add[In any](s *server, name string, hints *sdk.ToolAnnotations, about string, do func(*call, context.Context, *In) (*sdk.CallToolResult, error)) {
	s.add(name, hints, about, reflect.TypeFor[In](), func(c *call, ctx context.Context, in any) (*sdk.CallToolResult, error) { return do(c, ctx, in.(*In)) })
}

func (s *server) add(name string, hints *sdk.ToolAnnotations, about string, args reflect.Type, do func(*call, context.Context, any) (*sdk.CallToolResult, error)) {
	params := paramsOf(args)
	offer := func(name string, named []workflow.Param, old []rename) {
		s.sdk.AddTool(&sdk.Tool{Name: name, Description: about, Annotations: hints, InputSchema: schema(named, map[string]any{"type": "string"})}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			c := s.call(ctx, req)
			return s.answered(ctx, c, func() (*sdk.CallToolResult, error) {
				in := reflect.New(args).Interface()
				if err := decode(req.Params.Arguments, params, old, in); err != nil {
					return nil, err
				}
				return do(c, ctx, in)
			}), nil
		})
	}
	offer(name, params, nil)
	if old, ok := aliases[name]; ok {
		offer(oldName(name), oldParams(params, old), old)
	}
}

// answered makes a call, or continues one that was repeated with answers.
func (s *server) answered(ctx context.Context, c *call, do func() (*sdk.CallToolResult, error)) *sdk.CallToolResult {
	if c.req.Params.RequestState != "" {
		do = func() (*sdk.CallToolResult, error) { return c.proceed(ctx) }
	}
	res, err := do()
	if err != nil {
		return s.failure(err)
	}
	return res
}

// result returns an object as JSON. Gemini refuses a result whose text is another JSON value.
func result(v any) (*sdk.CallToolResult, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(data)}}}, nil
}

type taskArgs struct {
	Prompt      string `json:"prompt" about:"the complete task"`
	Description string `json:"description,omitempty" about:"the task in 3 to 5 words, for lists"`
	Agent       string `json:"agent,omitempty" about:"name, role or capability of the agent"`
	Session     string `json:"session,omitempty" about:"id of the conversation to continue"`
	Background  bool   `json:"background,omitempty" about:"return the id of the run at once"`
}

func (c *call) task(ctx context.Context, in *taskArgs) (*sdk.CallToolResult, error) {
	if strings.TrimSpace(in.Prompt) == "" {
		return nil, errors.New("the prompt is empty")
	}
	t := hocket.Task{Prompt: in.Prompt, Agent: in.Agent}
	if in.Session != "" {
		said, err := c.p.Session(ctx, in.Session)
		if err != nil {
			return nil, err
		}
		t.Session = said.ID
		if t.Agent == "" {
			t.Agent = said.Agent
		}
	}
	w, inputs, err := c.p.LoadTask(t)
	if err != nil {
		return nil, err
	}
	return c.start(ctx, w, inputs, in.Background, in.Description)
}

type runArgs struct {
	Run    string `json:"run" about:"id of the run"`
	Action string `json:"action,omitempty" about:"status (the default), wait or cancel"`
}

func (c *call) run(ctx context.Context, in *runArgs) (*sdk.CallToolResult, error) {
	switch in.Action {
	case "", "status", "wait":
		run, err := c.p.Run(ctx, in.Run)
		if err != nil {
			return nil, err
		}
		if in.Action == "wait" {
			return c.follow(ctx, run, false)
		}
		return c.s.report(ctx, run)
	case "cancel":
		run, err := c.s.ownRun(ctx, c.p, in.Run, c.s.notCancelled(in.Run))
		if err != nil {
			return nil, err
		}
		if _, err := run.Cancel(ctx, "a client asked for it"); err != nil {
			return nil, err
		}
		return c.follow(ctx, run, false)
	}
	return nil, unknown("action", in.Action, []string{"status", "wait", "cancel"})
}

type runsArgs struct {
	Workflow string `json:"workflow,omitempty" about:"only runs of this workflow"`
	Status   string `json:"status,omitempty" about:"only runs with this status: running, waiting, success, partial, error, timeout or cancelled"`
	Limit    int    `json:"limit,omitempty" about:"how many, at most 100; 20 by default"`
	Cursor   string `json:"cursor,omitempty" about:"next_cursor of the previous page"`
}

// statuses are what a run can be filtered by.
var statuses = []string{"running", "waiting", "success", "partial", "error", "timeout", "cancelled"}

type runLine struct {
	Run      string `json:"run"`
	Workflow string `json:"workflow"`
	Status   string `json:"status"`
	Started  string `json:"started"`
	Via      string `json:"via"`
	Title    string `json:"title,omitempty"`
	Open     int    `json:"open_questions,omitempty"`
}

func (c *call) runs(ctx context.Context, in *runsArgs) (*sdk.CallToolResult, error) {
	if in.Limit < 0 {
		return nil, fmt.Errorf("invalid limit %d: expected 1 to 100", in.Limit)
	}
	in.Limit = cmp.Or(in.Limit, 20)
	if in.Status != "" && !slices.Contains(statuses, in.Status) {
		return nil, unknown("status", in.Status, statuses)
	}
	f := hocket.Filter{Limit: min(in.Limit, 100) + 1, Workflow: in.Workflow, Before: in.Cursor, Without: hocket.HelperLabel}
	if in.Status != "" {
		f.Status = []engine.Status{engine.Status(in.Status)}
	}
	all, err := c.p.Runs(ctx, f)
	if err != nil {
		return nil, err
	}
	page := struct {
		Runs []runLine `json:"runs"`
		Next string    `json:"next_cursor,omitempty"`
	}{Runs: []runLine{}}
	for i, r := range all {
		if i == f.Limit-1 {
			page.Next = all[i-1].ID
			break
		}
		page.Runs = append(page.Runs, runLine{r.ID, r.Workflow, string(r.Shown()), r.Created.UTC().Format("2006-01-02T15:04:05Z"), r.Owner.Via, r.Owner.Labels[titleLabel], r.Open})
	}
	return result(page)
}

type agentsArgs struct{}

type agentLine struct {
	Name         string   `json:"name"`
	Source       string   `json:"source"`
	Description  string   `json:"description,omitempty"`
	Role         string   `json:"role,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
	Missing      string   `json:"missing,omitempty"` // why it cannot work here
}

func (c *call) agents(context.Context, *agentsArgs) (*sdk.CallToolResult, error) {
	set := c.p.Agents()
	lines := []agentLine{}
	for _, d := range set.Definitions() {
		if !set.Traits(d.Agent).Prompted {
			continue
		}
		l := agentLine{Name: d.Name, Source: "native", Description: d.Description, Role: d.Role, Capabilities: d.Capabilities}
		switch {
		case d.Builtin:
			l.Source = "built-in"
		case d.Source != nil && d.Source.From != "":
			l.Source = d.Source.From
		}
		if failed := set.Missing(d); failed != nil {
			l.Missing = failed.Advice()
		}
		lines = append(lines, l)
	}
	return result(map[string]any{"agents": lines})
}

type toolArgs struct {
	Name   string         `json:"name" about:"the tool"`
	Inputs map[string]any `json:"inputs,omitempty" about:"its inputs, by name"`
}

func (c *call) tool(ctx context.Context, in *toolArgs) (*sdk.CallToolResult, error) {
	t, err := c.p.Tool(in.Name)
	if err != nil {
		return nil, cmp.Or(c.unapproved(in.Name), err)
	}
	if t.Approval {
		return nil, fmt.Errorf("a person has to approve each call of %s: the user can call it with %s", t.Name, c.s.command("tools", "run", t.Name))
	}
	if err := c.p.CheckTrust(ctx); err != nil { // a model has named the tool, and may have written it
		return nil, err
	}
	output, err := c.p.CallTool(ctx, in.Name, in.Inputs, func([]byte) {})
	if err != nil {
		return nil, err
	}
	output = cut(c.p.Mask(output), "the user gets all of it with "+c.s.command("tools", "run", t.Name))
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: output}}}, nil
}

// unapproved returns an error if a tool has been proposed, and cannot be used yet.
func (c *call) unapproved(name string) error {
	drafts, err := c.p.Generated()
	for _, g := range drafts {
		if g.Kind == hocket.ToolKind && g.ID == name && g.State != hocket.Approved {
			return &hocket.UnapprovedError{ID: g.ID, Kind: g.Kind, Digest: g.Digest, State: g.State}
		}
	}
	return err
}

type handoffArgs struct {
	Request    string `json:"request" about:"a text with one agent_request"`
	Agent      string `json:"agent,omitempty" about:"overrides the agent of the request"`
	Background bool   `json:"background,omitempty" about:"return the id of the run at once"`
}

func (c *call) handoff(ctx context.Context, in *handoffArgs) (*sdk.CallToolResult, error) {
	s := c.s.sessions(c.p)
	background := in.Background || c.handle != nil
	order := handoff.Order{File: "request.md", Text: []byte(in.Request), Agent: in.Agent, Mode: protocol.Blocking, Spawn: background}
	h, _, err := s.Check(ctx, order)
	if err != nil {
		return nil, err
	}
	if n := len(h.Requests); n != 1 {
		return nil, fmt.Errorf("expected one request, found %d; call hocket_handoff for each", n)
	}
	if !background {
		c.s.startGuard()
	}
	sent, err := s.Send(ctx, order)
	if err != nil {
		return nil, err
	}
	if len(sent.Sessions) == 0 {
		return result(map[string]any{"left_for": sent.Messaged})
	}
	run := sent.Sessions[0].Run()
	if !background {
		return c.carryOut(ctx, run, false)
	}
	if s.Background != nil {
		if err := s.Background(); err != nil {
			return nil, err
		}
	}
	if c.handle != nil {
		c.handle.run = run
	}
	return c.s.report(ctx, run)
}

type searchArgs struct {
	Query string   `json:"query" about:"words to search for"`
	Limit int      `json:"limit,omitempty" about:"how many, at most 50; 5 by default"`
	Tags  []string `json:"tags,omitempty" about:"only memories with all of these"`
}

type memoryLine struct {
	ID     int64    `json:"id"`
	Text   string   `json:"text"`
	Tags   []string `json:"tags,omitempty"`
	Source string   `json:"source,omitempty"`
}

func (c *call) searchMemory(ctx context.Context, in *searchArgs) (*sdk.CallToolResult, error) {
	if in.Limit <= 0 {
		in.Limit = 5
	}
	found, err := c.p.SearchMemories(ctx, in.Query, min(in.Limit, 50), in.Tags)
	if err != nil {
		return nil, err
	}
	lines := []memoryLine{}
	for _, m := range found {
		lines = append(lines, memoryLine{m.ID, m.Text, m.Tags, m.Source})
	}
	return result(map[string]any{"memories": lines})
}

type memoryArgs struct {
	Text string   `json:"text" about:"the fact, in one or two sentences"`
	Tags []string `json:"tags,omitempty"`
}

func (c *call) addMemory(ctx context.Context, in *memoryArgs) (*sdk.CallToolResult, error) {
	m, err := c.p.AddMemory(ctx, in.Text, in.Tags, c.s.nameOf(c.req.ClientInfo()))
	if err != nil {
		return nil, err
	}
	return result(memoryLine{m.ID, m.Text, m.Tags, m.Source})
}

type checkArgs struct {
	Name     string `json:"name,omitempty" about:"a workflow of the project"`
	Text     string `json:"text,omitempty" about:"or a text"`
	Notation string `json:"notation,omitempty" about:"of the text: yaml (the default), xml, mermaid, plantuml or json"`
}

func (c *call) check(_ context.Context, in *checkArgs) (*sdk.CallToolResult, error) {
	w, err := c.given(in)
	if err != nil {
		return nil, err
	}
	found := w.Check(nil)
	res := struct {
		Valid    bool     `json:"valid"`
		Digest   string   `json:"digest,omitempty"`
		Findings []string `json:"findings,omitempty"`
		More     string   `json:"more,omitempty"` // what was left out
	}{Valid: !found.Errors() && w.Model() != nil}
	if w.Model() != nil {
		res.Digest = workflow.Digest(w.Model())
	}
	size := 0
	for i, d := range found {
		text := c.s.forModel(d.String())
		if size += len(text); size > maxOutput {
			res.More = fmt.Sprintf("%d more findings; fix these and check again, or the user gets all of them with %s", len(found)-i, c.s.command("check", cmp.Or(in.Name, "FILE")))
			break
		}
		res.Findings = append(res.Findings, text)
	}
	return result(res)
}

// given loads the workflow that the arguments name or contain.
func (c *call) given(in *checkArgs) (*hocket.Workflow, error) {
	if (in.Name == "") == (in.Text == "") {
		return nil, errors.New("expected either name or text")
	}
	if in.Name != "" {
		return c.p.LoadNamed(in.Name)
	}
	file, err := fileIn(in.Notation)
	if err != nil {
		return nil, err
	}
	return c.p.LoadText(file, []byte(in.Text))
}

// fileIn returns a name for a text in a notation. The notation of a file depends on its name.
func fileIn(notation string) (string, error) {
	if notation == "" {
		notation = "yaml"
	}
	n, ok := syntax.Named(notation)
	if !ok {
		return "", unknown("notation", notation, syntax.Notations())
	}
	return "text" + n.Endings[0], nil
}

type convertArgs struct {
	checkArgs
	To string `json:"to" about:"yaml, xml, mermaid, plantuml or json"`
}

func (c *call) convert(_ context.Context, in *convertArgs) (*sdk.CallToolResult, error) {
	w, err := c.given(&in.checkArgs)
	if err != nil {
		return nil, err
	}
	notation, ok := syntax.Named(in.To)
	if !ok {
		return nil, unknown("notation", in.To, syntax.Notations())
	}
	if w.Model() == nil || w.Diagnostics().Errors() {
		return nil, &hocket.InvalidError{Diagnostics: w.Diagnostics()}
	}
	text, err := notation.Format(w.Model())
	if err != nil {
		return nil, err
	}
	all := cut(string(text), "the user gets all of it with "+c.s.command("convert", cmp.Or(in.Name, "FILE"), "--to", notation.Name))
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: all}}}, nil
}
