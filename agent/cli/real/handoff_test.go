package realtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/cli"
	"github.com/hocket-dev/hocket/agent/cli/acp"
	"github.com/hocket-dev/hocket/agent/staff"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	handed "github.com/hocket-dev/hocket/handoff/attempt"
	"github.com/hocket-dev/hocket/internal/fakemodel"
	"github.com/hocket-dev/hocket/workflow"
)

// crew runs the attempts of a run with real CLIs and with functions.
type crew struct {
	mode   string // of permissions
	dir    string
	execs  map[string]agent.Executor
	models map[string]*fakemodel.Server
	mu     sync.Mutex
	log    strings.Builder
}

func newCrew(t *testing.T, names ...string) *crew {
	c := &crew{mode: "full", execs: map[string]agent.Executor{}, models: map[string]*fakemodel.Server{}}
	for _, name := range names {
		f := newFixture(t, name, "dummy")
		c.dir, c.models[name] = f.project, f.server
		c.execs[name] = cli.New(cli.Options{Builtin: name, Env: f.env, Dir: f.files, Grace: 2 * time.Second, Converse: acp.Converse})
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log:\n%s", c.log.String())
		}
	})
	return c
}

func (c *crew) Run(ctx context.Context, run string, task *engine.StartTask, at driver.Attempt) driver.Outcome {
	write := at.Log
	at.Log = func(piece []byte) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.log.Write(piece)
		write(piece)
	}
	def := &agent.Definition{Name: task.Agent, Model: models[task.Agent], Permissions: map[string]any{"mode": c.mode}}
	at.Ask = func(_ context.Context, q agent.Question) (string, error) { return q.Options[0], nil }
	exec := handed.Wrap(staff.New(staff.Options{}).Employ(c.execs[task.Agent]), &handed.Options{Handoff: handed.Handoff{Dir: "sessions"}})
	return driver.Execute(ctx, exec, def, c.dir, run, task, at)
}

// handing returns a run of one task whose agent may hand work off. Only one attempt runs at a time.
func handing(t *testing.T, lead string, to ...string) driver.Spec {
	task := &workflow.Task{
		Agent: lead, Handoffs: &workflow.Handoffs{To: to, Max: 3},
		Prompt: workflow.Template{Text: "${inputs.prompt}"},
	}
	w := &workflow.Workflow{Name: "demo", Body: workflow.Graph{Nodes: []workflow.Node{{ID: "lead", Step: task}}}}
	run := fmt.Sprintf("%s-%d", strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name())), os.Getpid()) // its programs are found by it
	return driver.Spec{Run: run, Pin: &driver.Pin{Bundle: &workflow.Bundle{Root: w}}, Limits: workflow.Limits{Steps: 10, Parallel: 1}}
}

func drive(t *testing.T, d driver.Driver, run string, c *crew) (engine.Result, error) {
	t.Helper()
	ctx, stop := context.WithTimeoutCause(t.Context(), 2*patience+handoffWait(), errors.New("the case timed out"))
	defer stop()
	return d.Drive(ctx, run, driver.Work{Agents: c})
}

// handOff returns a step in which the model hands work off.
func handOff(to, details string, blocking bool) fakemodel.Step {
	return fakemodel.Step{Tool: "$handoff", Args: map[string]any{"to": to, "summary": "A part of the work", "details": details, "blocking": blocking}}
}

// One CLI hands work off to another and waits for it; that one hands work off in turn, without
// waiting. The process ends in between. Afterwards the first one learns what it has handed off, and
// gets the answer.
func TestHandoffBetweenCLIs(t *testing.T) {
	c := newCrew(t, "claude", "codex")
	d, err := local.Open(t.TempDir(), local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ctx, crash := context.WithCancel(t.Context())
	codex, begun := c.execs["codex"], 0
	c.execs["codex"] = agent.New(codex.Traits(), func(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
		if begun++; begun == 1 {
			crash()
			<-ctx.Done()
		}
		return codex.Run(ctx, task, log)
	})
	c.models["codex"].Reply(func(r *fakemodel.Request) fakemodel.Step {
		if r.Turns == 0 {
			return handOff("claude", "And you?", false)
		}
		return say("codex has done it")
	})
	c.models["claude"].Reply(func(*fakemodel.Request) fakemodel.Step { return say("claude again") })
	spec := handing(t, "claude", "codex", "claude")
	spec.Inputs = map[string]any{"prompt": fakemodel.Prompt(handOff("codex", "Do it.", true), say("claude has the answer"))}
	if _, err := d.Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if res, err := d.Drive(ctx, spec.Run, driver.Work{Agents: c}); !errors.As(err, new(*driver.InterruptedError)) {
		t.Fatalf("%+v, %v", res, err)
	}
	res, err := drive(t, d, spec.Run, c)
	if err != nil || res.Status != engine.Success || res.Output != "claude has the answer" {
		t.Fatalf("%+v, %v", res, err)
	}
	var steps []string
	var used engine.Usage
	for _, s := range res.Steps {
		output, _ := s.Value()
		steps = append(steps, s.Address+" "+s.Agent+" "+workflow.FormatText(output))
		if used = used.Plus(s.Usage); s.Usage.Tokens() == 0 {
			t.Errorf("%s used nothing: %+v", s.Address, s.Usage)
		}
	}
	if got, want := strings.Join(steps, "\n"), "lead claude claude has the answer\nlead/handoff-1 codex codex has done it\nlead/handoff-1/handoff-1 claude claude again"; got != want {
		t.Errorf("the steps are\n%s\nwant\n%s", got, want)
	}
	if res.Usage.Tokens() != used.Tokens() || res.Usage.Steps != 3 {
		t.Errorf("the run used %+v, its steps %+v", res.Usage, used)
	}
	if kept := prompt(t, d, spec.Run); !strings.Contains(kept, "An earlier attempt at your task handed this off: A part of the work") {
		t.Errorf("after the interruption, claude is told only\n%s", kept)
	}
}

// prompt returns the prompt of the first agent.
func prompt(t *testing.T, d driver.Driver, run string) string {
	t.Helper()
	var all strings.Builder
	for piece, err := range d.Read(t.Context(), driver.AttemptID{Run: run, Address: "lead", Attempt: 1}, driver.Prompt, 0, false) {
		if err != nil {
			t.Fatal(err)
		}
		all.Write(piece.Text)
	}
	return all.String()
}

// handoffWait is how long the receiver of a handoff takes. Set HOCKET_HANDOFF_WAIT, for example to
// 20m, to exceed the timeouts of all clients.
func handoffWait() time.Duration {
	d, err := time.ParseDuration(os.Getenv("HOCKET_HANDOFF_WAIT"))
	if err != nil {
		return time.Second
	}
	return d
}

// Every CLI waits for the work it handed off.
func TestHandoffTakesLong(t *testing.T) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) { takesLong(t, name, "full", handOff("slow", "Take your time.", true)) })
		t.Run("conversation with "+name, func(t *testing.T) {
			talkProgram(t, name)
			call := handOff("slow", "Take your time.", true)
			if name == "qwen" { // its model has to find such a tool, and call it through another one
				call = fakemodel.Step{Tool: "tool_call", Args: map[string]any{"name": "mcp__hocket__handoff", "arguments": call.Args}}
			}
			takesLong(t, name, "ask", call)
		})
	}
}

// takesLong lets a CLI hand off work that takes a long time.
func takesLong(t *testing.T, name, mode string, call fakemodel.Step) {
	t.Parallel()
	c := newCrew(t, name)
	c.mode = mode
	c.execs["slow"] = agent.Func(func(ctx context.Context, _ *agent.Task, _ agent.Log) (agent.Result, error) {
		select {
		case <-time.After(handoffWait()):
			return agent.Result{Output: "at last"}, nil
		case <-ctx.Done():
			return agent.Result{}, agent.Interrupted(ctx)
		}
	})
	d, err := local.Open(t.TempDir(), local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	calls := []fakemodel.Step{call}
	if mode == "ask" { // in a conversation, a long call must be repeated; the last ones get the result at once
		calls = slices.Repeat(calls, 1+int(handoffWait()/(4*time.Minute)))
	}
	spec := handing(t, name, "slow")
	spec.Inputs = map[string]any{"prompt": fakemodel.Prompt(append(calls, say("done"))...)}
	if _, err := d.Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	res, err := drive(t, d, spec.Run, c)
	if err != nil || res.Status != engine.Success || len(res.Steps) != 2 || res.Steps[1].Status != engine.Success {
		t.Errorf("%+v, %v", res, err)
	}
	if !slices.ContainsFunc(c.models[name].Requests(), func(r *fakemodel.Request) bool { return bytes.Contains(r.Body, []byte("at last")) }) {
		t.Error("it did not wait for the result")
	}
}
