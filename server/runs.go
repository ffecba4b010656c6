package server

import (
	"container/list"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// RunLine is a run in a list.
type RunLine struct {
	Project   string            `json:"project"`
	ID        string            `json:"run_id"`
	Workflow  string            `json:"workflow"`
	Digest    string            `json:"digest"`
	Status    string            `json:"status" enum:"running,waiting,success,partial,error,timeout,cancelled,pending,interrupted,damaged"`
	Driven    bool              `json:"driven" doc:"A process drives it now"`
	Started   time.Time         `json:"started"`
	Changed   time.Time         `json:"changed" doc:"When its status changed last"`
	Questions int               `json:"questions" doc:"How many wait for an answer"`
	Due       *time.Time        `json:"due,omitempty" doc:"When it goes on by itself"`
	Steps     int               `json:"steps" doc:"How many tasks have started"`
	CostUSD   *float64          `json:"cost_usd" doc:"null: partly unknown"`
	TokensIn  int64             `json:"tokens_in"`
	TokensOut int64             `json:"tokens_out"`
	Planning  *Planning         `json:"planning,omitempty" doc:"The part of that with which models changed its plan, in runs of their own"`
	By        string            `json:"by,omitempty" doc:"Who started it"`
	Via       string            `json:"via,omitempty"`
	Origin    string            `json:"origin,omitempty" doc:"The run that it was forked from"`
	Labels    map[string]string `json:"labels,omitempty"`
	Problem   string            `json:"problem,omitempty" doc:"Why it cannot continue, a defect of the program"`
	Stalled   string            `json:"stalled,omitempty" doc:"What it lacks to go on by itself, such as a worker; not in lists"`
}

// Planning is what models used to change the plan of a run.
type Planning struct {
	CostUSD *float64 `json:"cost_usd" doc:"null: partly unknown"`
	Tokens  int64    `json:"tokens"`
}

// Run is a run with its steps.
type Run struct {
	RunLine
	Inputs   map[string]any `json:"inputs" doc:"Those that it was started with"`
	Output   any            `json:"output" doc:"null if the run has not ended"`
	Error    string         `json:"error,omitempty"`
	Limits   Limits         `json:"limits"`
	Steps    []Step         `json:"step_list" doc:"In the order in which they started"`
	Open     []Question     `json:"open_questions"`
	Later    []Later        `json:"later" doc:"Steps that will be tried again"`
	Warnings []string       `json:"warnings"`
	Last     string         `json:"last_event" doc:"The newest event that this includes, to follow the run from here"`
}

// Step is a step of a run.
type Step struct {
	Address    string     `json:"address"`
	Node       string     `json:"node"`
	Agent      string     `json:"agent,omitempty"`
	Status     string     `json:"status"`
	Output     any        `json:"output" doc:"null if it has none, or if it is long"`
	Long       bool       `json:"long,omitempty" doc:"The output is long: get it on its own"`
	Error      string     `json:"error,omitempty"`
	Started    *time.Time `json:"started,omitempty"`
	Ended      *time.Time `json:"ended,omitempty"`
	DurationMS int64      `json:"duration_ms"`
	Attempts   int        `json:"attempts"`
	Iteration  int        `json:"iteration"`
	CostUSD    *float64   `json:"cost_usd" doc:"null: partly unknown"`
	TokensIn   int64      `json:"tokens_in"`
	TokensOut  int64      `json:"tokens_out"`
}

// Later is a step that will be tried again at a time.
type Later struct {
	Address string    `json:"address"`
	Why     string    `json:"why"`
	Until   time.Time `json:"until"`
}

type InRun struct {
	InProject
	Run string `path:"run" doc:"The id of the run" maxLength:"200"`
}

// ListRuns selects runs of a project.
type ListRuns struct {
	InProject
	Paged
	Status   string `query:"status" enum:"running,waiting,success,partial,error,timeout,cancelled,"`
	Workflow string `query:"workflow" maxLength:"200"`
	Origin   string `query:"origin" doc:"Only forks of this run" maxLength:"200"`
}

// Runs returns runs of a project, newest first.
func (s *Server) Runs(ctx context.Context, in *ListRuns) (page[RunLine], error) {
	out := page[RunLine]{Items: []RunLine{}}
	p, err := s.project(ctx, in.Project)
	if err != nil {
		return out, err
	}
	last, err := in.after(1)
	if err != nil {
		return out, err
	}
	f := hocket.Filter{Limit: in.Limit + 1, Workflow: in.Workflow, Origin: in.Origin, Before: strings.Join(last, "")}
	if in.Status != "" {
		f.Status = []engine.Status{engine.Status(in.Status)}
	}
	found, err := p.Runs(ctx, f)
	if err != nil {
		return out, cursorError(err, last)
	}
	for _, i := range found {
		out.Items = append(out.Items, lineOf(p.name, i))
	}
	return trim(&in.Paged, out.Items, func(l RunLine) []string { return []string{l.ID} }), nil
}

// Run returns a run, and its state for the API.
func (s *Server) Run(ctx context.Context, in *InRun) (*hocket.Run, *hocket.State, *Run, error) {
	p, r, err := s.run(ctx, in)
	if err != nil {
		return nil, nil, nil, err
	}
	info, err := r.Info(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	if info.Status == engine.Running && !info.Driven && p.drives.drivesNow(r.ID()) { // it has begun, and nothing has happened yet
		info.Driven, info.Pending = true, false
	}
	key := p.name + "/" + r.ID()
	if state, shown := s.shown.get(key, info); state != nil {
		return r, state, shown, nil
	}
	state, err := r.State(ctx)
	if state == nil {
		return nil, nil, nil, err
	}
	if err != nil { // a damaged run is shown as far as it can be read
		state.Problem = err.Error()
	}
	if state.Status == engine.Running && info.Driven {
		state.Driven, state.Pending = true, false
	}
	shown := describeRun(p.name, state)
	if err == nil {
		s.shown.put(key, state, shown)
	}
	return r, state, shown, nil
}

// GoesOn reports whether a run goes on by itself after an answer: a process drives it, or this server will.
func (s *Server) GoesOn(ctx context.Context, in *InRun) (bool, error) {
	p, r, err := s.run(ctx, in)
	if err != nil {
		return false, err
	}
	info, err := r.Info(ctx)
	return p.drives.goesOn(info), err
}

// shownRuns are the runs that pages showed last. A page asks for the parts of a run separately, and a long run takes
// a while to replay.
type shownRuns struct {
	mu   sync.Mutex
	last []shownRun // the newest last
}

type shownRun struct {
	key   string
	state *hocket.State
	shown *Run
}

const maxShown = 4

func (c *shownRuns) get(key string, now hocket.Info) (*hocket.State, *Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.last {
		was := one.state.Info
		if one.key == key && was.Seq == now.Seq && was.Driven == now.Driven && was.Pending == now.Pending && was.Status == now.Status && was.Open == now.Open && was.Problem == now.Problem && was.Created.Equal(now.Created) {
			return one.state, one.shown
		}
	}
	return nil, nil
}

func (c *shownRuns) put(key string, state *hocket.State, shown *Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = slices.DeleteFunc(c.last, func(one shownRun) bool { return one.key == key })
	if c.last = append(c.last, shownRun{key, state, shown}); len(c.last) > maxShown {
		c.last = slices.Delete(c.last, 0, 1)
	}
}

func (a *api) addRuns() {
	const tag = "Runs"
	add(a, op{id: "list-runs", method: http.MethodGet, path: "/projects/{project}/runs", scope: Read, tag: tag, summary: "List runs, newest first", errors: []int{404}},
		func(ctx context.Context, in *ListRuns) (*reply[page[RunLine]], error) {
			out, err := a.Runs(ctx, in)
			return say(out), err
		})
	add(a, op{id: "show-run", method: http.MethodGet, path: "/projects/{project}/runs/{run}", scope: Read, tag: tag, summary: "Show a run with its steps", returns: reflect.TypeFor[Run](), errors: []int{404}},
		func(ctx context.Context, in *InRun) (*rawBody, error) {
			p, r, err := a.run(ctx, in)
			if err != nil {
				return nil, err
			}
			data, err := a.states.of(ctx, p, r)
			return &rawBody{"application/json", data}, err
		})
	add(a, op{id: "show-output", method: http.MethodGet, path: "/projects/{project}/runs/{run}/steps/{address}/output", scope: Read, tag: tag, summary: "Show the output of a step", detail: "A text is returned as it is, everything else as JSON.", errors: []int{404}},
		func(ctx context.Context, in *InStep) (*rawBody, error) {
			_, r, err := a.run(ctx, &in.InRun)
			if err != nil {
				return nil, err
			}
			s, err := r.State(ctx)
			if s == nil {
				return nil, err
			}
			if err := s.CheckStep(in.Address); err != nil {
				return nil, err
			}
			for _, step := range s.Result.Steps {
				if step.Address == in.Address {
					value, err := step.Value()
					return rawOf(value), err
				}
			}
			return rawOf(nil), nil
		})
	add(a, op{id: "show-source", method: http.MethodGet, path: "/projects/{project}/runs/{run}/source", scope: Read, tag: tag, summary: "Show the workflow of a run in a notation", errors: []int{404}},
		func(ctx context.Context, in *struct {
			InRun
			As string `query:"as" enum:"yaml,xml,mermaid,plantuml" default:"yaml"`
		}) (*rawBody, error) {
			_, r, err := a.run(ctx, &in.InRun)
			if err != nil {
				return nil, err
			}
			b, err := r.Bundle(ctx)
			if err != nil {
				return nil, err
			}
			text, err := syntax.Format(b.Root, in.As)
			return &rawBody{"text/plain; charset=utf-8", text}, err
		})
	add(a, op{id: "draw-run", method: http.MethodGet, path: "/projects/{project}/runs/{run}/graph", scope: Read, tag: tag, summary: "Draw the workflow of a run", errors: []int{404}},
		func(ctx context.Context, in *struct {
			InRun
			AsDrawing
		}) (*rawBody, error) {
			_, r, err := a.run(ctx, &in.InRun)
			if err != nil {
				return nil, err
			}
			b, err := r.Bundle(ctx)
			if err != nil {
				return nil, err
			}
			return in.draw(ctx, b.Root)
		})
}

type InStep struct {
	InRun
	Address string `path:"address" doc:"The address of the step; escape each slash in it as %2F" maxLength:"1000"`
}

// run finds a run by its complete id.
func (s *Server) run(ctx context.Context, in *InRun) (served, *hocket.Run, error) {
	p, err := s.project(ctx, in.Project)
	if err != nil {
		return p, nil, err
	}
	r, err := p.Run(ctx, in.Run)
	if err == nil && r.ID() != in.Run {
		err = newProblem(http.StatusNotFound, "unknown-run", "there is no run "+quote(in.Run))
	}
	return p, r, err
}

func lineOf(project string, i hocket.Info) RunLine {
	l := RunLine{
		Project: project, ID: i.ID, Workflow: i.Workflow, Digest: i.Digest, Status: string(i.Shown()), Driven: i.Driven, Started: i.Created, Changed: i.Changed,
		Questions: i.Open, Steps: i.Usage.Steps, CostUSD: costOf(i.Usage.Usage), TokensIn: i.Usage.TokensIn, TokensOut: i.Usage.TokensOut,
		By: i.Owner.By, Via: i.Owner.Via, Origin: i.Origin, Labels: i.Owner.Labels, Problem: i.Problem, Stalled: i.Stalled,
	}
	if !i.Due.IsZero() {
		l.Due = &i.Due
	}
	if u := i.Usage.Planning; u != (engine.Usage{}) {
		l.Planning = &Planning{costOf(u), u.Tokens()}
	}
	return l
}

func costOf(u engine.Usage) *float64 {
	if u.CostUnknown {
		return nil
	}
	return &u.CostUSD
}

func limitsOf(l workflow.Limits) Limits {
	return Limits{l.Steps, l.Parallel, l.Depth, l.Runtime.Seconds(), l.CostUSD, l.Tokens, l.Replans}
}

func (l *Limits) model() workflow.Limits {
	if l == nil {
		return workflow.Limits{}
	}
	return workflow.Limits{Steps: l.Steps, Parallel: l.Parallel, Depth: l.Depth, Runtime: time.Duration(l.Seconds * float64(time.Second)), CostUSD: l.CostUSD, Tokens: l.Tokens, Replans: l.Replans}
}

// maxInline is the longest output of a step that is part of the run.
const maxInline = 16 << 10

func describeRun(project string, s *hocket.State) *Run {
	info := s.Info
	info.Status, info.Open, info.Usage = s.Result.Status, len(s.Questions), s.Result.Usage
	out := &Run{
		RunLine: lineOf(project, info), Inputs: maps.Clone(s.Inputs), Output: s.Result.Output, Error: s.Result.Error, Limits: limitsOf(s.Result.Limits),
		Steps: make([]Step, 0, len(s.Result.Steps)), Open: []Question{}, Later: []Later{}, Warnings: append([]string{}, s.Result.Warnings...),
		Last: hocket.EventID{Seq: s.Seq, Index: wholeEvent}.String(),
	}
	if out.Inputs == nil {
		out.Inputs = map[string]any{}
	}
	for _, r := range s.Result.Steps {
		out.Steps = append(out.Steps, stepOf(r))
	}
	for _, q := range s.Questions {
		out.Open = append(out.Open, questionOf(project, q))
	}
	for _, l := range s.Later {
		out.Later = append(out.Later, Later{l.Address, l.Why, l.Until})
	}
	return out
}

// wholeEvent is an index after all facts of an event.
const wholeEvent = 1 << 30

func stepOf(r engine.StepResult) Step {
	s := Step{
		Address: r.Address, Node: r.Node, Agent: r.Agent, Status: string(r.Status), Error: r.Error, DurationMS: r.DurationMS,
		Attempts: r.Attempts, Iteration: r.Iteration, CostUSD: costOf(r.Usage), TokensIn: r.Usage.TokensIn, TokensOut: r.Usage.TokensOut,
	}
	s.Output, s.Long = inline(r.Output)
	if !r.Started.IsZero() {
		s.Started = &r.Started
	}
	if !r.Ended.IsZero() {
		s.Ended = &r.Ended
	}
	return s
}

// inline returns an output if it is short.
func inline(v any) (out any, long bool) {
	switch v := v.(type) {
	case *engine.Long:
		return nil, true
	case string:
		if len(v) > maxInline {
			return nil, true
		}
	case nil, bool, float64, int:
	default:
		if data, err := json.Marshal(v); err != nil || len(data) > maxInline {
			return nil, true
		}
	}
	return v, false
}

// rawOf returns a value as a body of its own.
func rawOf(v any) *rawBody {
	if text, ok := v.(string); ok {
		return &rawBody{"text/plain; charset=utf-8", []byte(text)}
	}
	return &rawBody{"application/json", []byte(workflow.FormatJSON(v))}
}

// states are runs as they were sent last. A run is replayed only if it has changed since.
type states struct {
	mu    sync.Mutex
	known map[string]*list.Element
	order list.List // of *sent, those used last first
	size  int
}

type sent struct {
	key  string
	line RunLine
	seq  int
	data []byte
}

const maxStates = 32 << 20 // bytes

// of returns a run as JSON.
func (c *states) of(ctx context.Context, p served, r *hocket.Run) ([]byte, error) {
	info, err := r.Info(ctx)
	if err != nil {
		return nil, err
	}
	key := p.name + "/" + r.ID()
	if data := c.get(key, info); data != nil {
		return data, nil
	}
	s, err := r.State(ctx)
	if s == nil {
		return nil, err
	}
	if err != nil { // a damaged run is shown as far as it can be read
		s.Problem = err.Error()
	}
	data, wrong := json.Marshal(describeRun(p.name, s))
	if wrong == nil && err == nil {
		c.put(&sent{key, lineOf(p.name, s.Info), s.Seq, data})
	}
	return data, wrong
}

func (c *states) get(key string, now hocket.Info) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.known[key]
	if e == nil {
		return nil
	}
	was := e.Value.(*sent)
	if was.seq != now.Seq || was.line.Driven != now.Driven || was.line.Questions != now.Open || was.line.Problem != now.Problem || was.line.Started != now.Created {
		return nil
	}
	c.order.MoveToFront(e)
	return was.data
}

func (c *states) put(s *sent) {
	if len(s.data) > maxStates/8 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[string]*list.Element{}
	}
	if e := c.known[s.key]; e != nil {
		c.drop(e)
	}
	c.known[s.key] = c.order.PushFront(s)
	for c.size += len(s.data); c.size > maxStates; {
		c.drop(c.order.Back())
	}
}

func (c *states) drop(e *list.Element) {
	s := c.order.Remove(e).(*sent)
	delete(c.known, s.key)
	c.size -= len(s.data)
}
