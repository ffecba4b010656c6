package drivertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// runID is the run of every scenario; each scenario has its own world.
const runID = "run-1"

// limits are the default limits. No scenario reaches them unless it sets its own.
var limits = workflow.Limits{Steps: 1000, Parallel: 10, Depth: 5, Runtime: time.Hour}

func task(id, prompt string) workflow.Node {
	return workflow.Node{ID: id, Step: &workflow.Task{Agent: "test", Prompt: workflow.Template{Text: prompt}}}
}

func gate(id string, options ...string) workflow.Node {
	h := &workflow.Human{Question: workflow.Template{Text: id + "?"}}
	for _, o := range options {
		h.Options = append(h.Options, workflow.Option{Value: o})
	}
	return workflow.Node{ID: id, Step: h}
}

// chain connects nodes with plain edges.
func chain(nodes ...workflow.Node) workflow.Graph {
	g := workflow.Graph{Nodes: nodes}
	for i := range nodes[1:] {
		g.Edges = append(g.Edges, workflow.Edge{From: nodes[i].ID, To: nodes[i+1].ID})
	}
	return g
}

func bundle(g workflow.Graph) *workflow.Bundle {
	return &workflow.Bundle{Root: &workflow.Workflow{Name: "demo", Body: g}}
}

func starting(b *workflow.Bundle) Start {
	return Start{Run: runID, Bundle: b, Limits: limits}
}

// echo answers with the task's prompt.
func echo(_ context.Context, t *engine.StartTask) Outcome { return Outcome{Output: t.Prompt} }

// calls counts attempts of one run, as "address@number".
type calls struct {
	mu   sync.Mutex
	keys []string
}

func (c *calls) note(t *engine.StartTask) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys = append(c.keys, fmt.Sprintf("%s@%d", t.Address, t.Attempt))
	return len(c.keys)
}

func (c *calls) count(key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, k := range c.keys {
		if k == key {
			n++
		}
	}
	return n
}

func (c *calls) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.keys)
}

// start starts a run and fails the test on an error.
func start(t *scene, d *process, s Start) engine.Result {
	t.Helper()
	res, err := d.Start(t.Context(), s)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	agree(t, d, s.Bundle, res)
	return res
}

func resume(t *scene, d *process, b *workflow.Bundle) engine.Result {
	t.Helper()
	res, err := d.Resume(t.Context(), runID)
	if err != nil {
		t.Fatalf("resume: %v", err)
	}
	agree(t, d, b, res)
	return res
}

// agree checks that replaying the events leads to the result.
func agree(t *scene, d *process, b *workflow.Bundle, got engine.Result) {
	t.Helper()
	r, err := engine.New(b)
	if err != nil {
		t.Fatal(err)
	}
	for i, ev := range events(t, d) {
		_, answer := ev.Event.(*engine.Answered) // has the time at which the answer was given
		if ev.Time.Before(r.Time()) && !answer {
			t.Errorf("recorded event %d (%T) happened %s before what came before it", i+1, ev.Event, r.Time().Sub(ev.Time))
		}
		if _, err := r.Step(ev); err != nil {
			t.Fatalf("recorded event %d (%T) does not fit: %v", i+1, ev.Event, err)
		}
	}
	got.Steps = slices.Clone(got.Steps)
	for i := range got.Steps {
		if got.Steps[i].Output, err = got.Steps[i].Value(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(r.Result(), got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("result (-as the events say +returned):\n%s", diff)
	}
}

func events(t *scene, d *process) []engine.Envelope {
	t.Helper()
	evs, err := d.Events(t.Context(), runID)
	if err != nil {
		t.Fatal(err)
	}
	return evs
}

// count counts the recorded events of a type.
func count[E engine.Event](t *scene, d *process) int {
	t.Helper()
	n := 0
	for _, ev := range events(t, d) {
		if _, ok := ev.Event.(E); ok {
			n++
		}
	}
	return n
}

// outline returns a short form of a result without times: status, output and steps.
func outline(res engine.Result) string {
	var b strings.Builder
	b.WriteString(string(res.Status) + " " + workflow.FormatJSON(res.Output))
	if res.Error != "" {
		b.WriteString(" (" + res.Error + ")")
	}
	for _, s := range res.Steps {
		fmt.Fprintf(&b, "\n%s %s %.200s", s.Address, s.Status, workflow.FormatJSON(s.Output))
		if s.Error != "" {
			b.WriteString(" (" + s.Error + ")")
		}
	}
	return b.String()
}

func want(t *scene, res engine.Result, lines ...string) {
	t.Helper()
	if diff := cmp.Diff(lines, strings.Split(outline(res), "\n")); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

// async is a call of Start or Resume in progress.
type async struct {
	done chan struct{}
	res  engine.Result
	err  error
}

func goStart(t *scene, d *process, s Start) *async {
	return goCall(func() (engine.Result, error) { return d.Start(t.Context(), s) })
}

func goCall(call func() (engine.Result, error)) *async {
	a := &async{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("the driver panicked: %v", p)
			}
		}()
		a.res, a.err = call()
	}()
	return a
}

func (a *async) wait(t *scene) (engine.Result, error) {
	t.Helper()
	await(t, "the driver to return", a.done)
	return a.res, a.err
}
