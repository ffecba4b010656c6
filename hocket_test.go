package hocket_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// open creates a project from files and opens it.
func open(t *testing.T, files map[string]string, o hocket.Options) *hocket.Project {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		writeFile(t, filepath.Join(dir, name), text)
	}
	return openDir(t, dir, o)
}

func openDir(t *testing.T, dir string, o hocket.Options) *hocket.Project {
	t.Helper()
	o.State = filepath.Join(dir, ".state")
	p, err := hocket.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func start(t *testing.T, p *hocket.Project, name string, inputs map[string]any, options ...hocket.StartOption) *hocket.Run {
	t.Helper()
	w, err := p.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	run, err := p.Start(context.Background(), w, inputs, options...)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func wait(t *testing.T, r *hocket.Run) engine.Result {
	t.Helper()
	res, err := r.Wait(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// agents maps names to executors.
type agents = map[string]agent.Executor

// An agent's retry and timeout, and the role of a lane, mean the same here as on the
// command line.
func TestDefinitionsCount(t *testing.T) {
	var calls atomic.Int32
	own := agents{
		"shaky": agent.Func(func(context.Context, *agent.Task, agent.Log) (agent.Result, error) {
			if calls.Add(1) < 3 {
				return agent.Result{}, agent.Errorf("not yet")
			}
			return agent.Result{Output: "at last"}, nil
		}),
		"sleeper": agent.Func(func(ctx context.Context, _ *agent.Task, _ agent.Log) (agent.Result, error) {
			<-ctx.Done()
			return agent.Result{}, agent.Interrupted(ctx)
		}),
	}
	p := open(t, map[string]string{
		".hocket/agents/flaky.yml":  "agent: shaky\nretry: {attempts: 3, delay: 1ms}\n",
		".hocket/agents/slow.yml":   "agent: sleeper\ntimeout: 20ms\n",
		".hocket/agents/helper.yml": "agent: shell\nrole: helper\nsettings: {command: [echo, helped]}\n",
		"retry.yml":                 "name: retry\nsteps:\n  - {id: a, agent: flaky, prompt: go}\n",
		"slow.yml":                  "name: slow\nsteps:\n  - {id: a, agent: slow, prompt: go}\n",
		"lane.yml":                  "name: lane\nagents:\n  - {name: bob, role: helper}\nsteps:\n  - {id: a, agent: bob}\n",
	}, hocket.Options{Agents: own})
	if res := wait(t, start(t, p, "retry.yml", nil)); res.Status != engine.Success || res.Steps[0].Attempts != 3 {
		t.Errorf("retry: %+v", res)
	}
	if res := wait(t, start(t, p, "slow.yml", nil)); res.Status != engine.Failed || res.Steps[0].Status != engine.TimedOut {
		t.Errorf("timeout: %+v", res)
	}
	if res := wait(t, start(t, p, "lane.yml", nil)); res.Output != "helped" {
		t.Errorf("lane: %+v", res)
	}
}

// A project file cannot take the name of an agent that the embedding program provides.
func TestOwnAgentsCannotBeShadowed(t *testing.T) {
	own := agents{"mine": agent.Func(func(context.Context, *agent.Task, agent.Log) (agent.Result, error) {
		return agent.Result{Output: "mine"}, nil
	})}
	for name, text := range map[string]string{
		".hocket/agents/mine.yml": "agent: shell\nsettings: {command: [echo, theirs]}\n",
		".hocket/clis/mine.yml":   "program: echo\nstdin: \"{prompt}\"\nargs: [theirs]\nreply: {format: text}\n",
	} {
		p := open(t, map[string]string{name: text, "w.yml": "name: w\nsteps:\n  - {id: a, agent: mine, prompt: x}\n"}, hocket.Options{Agents: own})
		if !p.Diagnostics().Errors() {
			t.Errorf("%s: nothing is wrong with it", name)
		}
		w, err := p.Load("w.yml")
		if err != nil {
			t.Fatal(err)
		}
		var invalid *hocket.InvalidError
		if _, err := p.Start(context.Background(), w, nil); !errors.As(err, &invalid) || !strings.Contains(err.Error(), "reserved") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The settings of an agent that the embedding program provides are checked like those of
// a built-in one.
func TestOwnAgentsSettingsAreChecked(t *testing.T) {
	schema := agent.NewSchema(map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{"times": map[string]any{"type": "integer"}}})
	own := agents{"repeat": agent.New(agent.Traits{Settings: schema}, func(context.Context, *agent.Task, agent.Log) (agent.Result, error) { return agent.Result{}, nil })}
	p := open(t, map[string]string{"w.yml": "name: w\nsteps:\n  - {id: a, agent: repeat, config: {tims: 3}}\n"}, hocket.Options{Agents: own})
	w, err := p.Load("w.yml")
	if err != nil {
		t.Fatal(err)
	}
	if found := w.Check(nil); !found.Errors() || !strings.Contains(found.String(), "tims") {
		t.Errorf("found: %v", found)
	}
}

// A run whose agent is missing waits instead of failing. It can be inspected, and
// continues where the agent exists.
func TestMissingAgentWaits(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "w.yml"), "name: w\nsteps:\n  - {id: ask, human: {question: 'Go?', options: ['yes']}}\n  - {id: a, agent: mine, prompt: x}\n")
	own := agents{"mine": agent.Func(func(context.Context, *agent.Task, agent.Log) (agent.Result, error) {
		return agent.Result{Output: "done"}, nil
	})}
	here := openDir(t, dir, hocket.Options{Agents: own})
	run := start(t, here, "w.yml", nil)
	if res := wait(t, run); res.Status != engine.Waiting {
		t.Fatalf("%+v", res)
	}
	ctx := context.Background()
	elsewhere := openDir(t, dir, hocket.Options{})
	other, err := elsewhere.Run(ctx, run.ID())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Answer(ctx, "ask", hocket.Answer{Value: "yes"}); err != nil {
		t.Fatal(err)
	}
	var missing *hocket.MissingAgentError
	if _, err := other.Drive(ctx, hocket.Front{}); !errors.As(err, &missing) {
		t.Errorf("without the agent: %v", err)
	}
	state, err := other.State(ctx)
	if err != nil || state.Status.Done() || state.Result.Steps[0].Status != engine.Success {
		t.Errorf("without the agent: %v, %v", state, err)
	}
	if err := run.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	if res := wait(t, run); res.Status != engine.Success || res.Output != "done" {
		t.Errorf("with the agent: %+v", res)
	}
}

// A step can name a CLI of the project. If its manifest is gone, the run waits, too.
func TestMissingCLIWaits(t *testing.T) {
	dir := t.TempDir()
	manifest := filepath.Join(dir, ".hocket/clis/mine.yml")
	restore := func() {
		writeFile(t, manifest, "program: cat\nargs: [\"-\"]\nstdin: \"{prompt}\"\nreply: {format: text}\n")
	}
	restore()
	writeFile(t, filepath.Join(dir, "w.yml"), "name: w\nsteps:\n  - {id: ask, human: {question: 'Go?', options: ['yes']}}\n  - {id: a, agent: mine, prompt: x}\n")
	trusting := hocket.Options{Trust: func(context.Context, *hocket.UntrustedError) (bool, error) { return true, nil }}
	first := start(t, openDir(t, dir, trusting), "w.yml", nil)
	if res := wait(t, first); res.Status != engine.Waiting {
		t.Fatalf("%+v", res)
	}
	ctx := context.Background()
	again := func() *hocket.Run {
		t.Helper()
		run, err := openDir(t, dir, trusting).Run(ctx, first.ID())
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	if err := os.Remove(manifest); err != nil {
		t.Fatal(err)
	}
	without := again()
	if _, err := without.Answer(ctx, "ask", hocket.Answer{Value: "yes"}); err != nil {
		t.Fatal(err)
	}
	var missing *hocket.MissingAgentError
	if _, err := without.Drive(ctx, hocket.Front{}); !errors.As(err, &missing) {
		t.Errorf("without the manifest: %v", err)
	}
	restore()
	if res, err := again().Drive(ctx, hocket.Front{}); err != nil || res.Status != engine.Success {
		t.Errorf("with the manifest: %+v, %v", res, err)
	}
}

func TestStartKey(t *testing.T) {
	p := open(t, map[string]string{"w.yml": "name: w\ninputs: {x: string}\nsteps:\n  - {id: a, agent: shell, config: {command: [echo, hi]}}\n"}, hocket.Options{})
	first := start(t, p, "w.yml", map[string]any{"x": "1"}, hocket.WithKey("order-7"))
	again := start(t, p, "w.yml", map[string]any{"x": "1"}, hocket.WithKey("order-7"))
	if first.ID() != again.ID() {
		t.Errorf("the same key gave %s and %s", first.ID(), again.ID())
	}
	w, err := p.Load("w.yml")
	if err != nil {
		t.Fatal(err)
	}
	var used *hocket.KeyError
	if _, err := p.Start(context.Background(), w, map[string]any{"x": "2"}, hocket.WithKey("order-7")); !errors.As(err, &used) || used.Run != first.ID() {
		t.Errorf("another request: %v", err)
	}
	wait(t, first)
	if res := wait(t, again); res.Status != engine.Success {
		t.Errorf("the second handle: %+v", res)
	}
}

// Events can be read starting at any id, even for a run that another process drives.
func TestEventsOfAnotherProcess(t *testing.T) {
	if os.Getenv("HOCKET_TEST_DRIVE") != "" {
		driveForTest(t)
		return
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "w.yml"), "name: w\nsteps:\n  - {id: a, agent: shell, config: {command: [echo, one]}}\n  - {id: b, agent: shell, config: {command: [echo, two]}}\n")
	p := openDir(t, dir, hocket.Options{})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	w, err := p.Load("w.yml")
	if err != nil {
		t.Fatal(err)
	}
	run, err := p.Record(ctx, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestEventsOfAnotherProcess$")
	cmd.Env = append(os.Environ(), "HOCKET_TEST_DRIVE="+dir, "HOCKET_TEST_RUN="+run.ID())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var all []hocket.Entry
	outputs := ""
	for e, err := range run.Events(ctx, hocket.EventID{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
		if e.Fact != nil && e.Fact.Kind == engine.StepEnded {
			outputs += workflow.FormatText(e.Fact.Output) + " "
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if outputs != "one two " {
		t.Errorf("the steps gave %q", outputs)
	}
	for i, e := range all {
		if i > 0 && (e.ID.Seq < all[i-1].ID.Seq || e.ID == all[i-1].ID) {
			t.Fatalf("%s comes after %s", e.ID, all[i-1].ID)
		}
	}
	after := all[len(all)/2].ID
	var rest []hocket.EventID
	for e, err := range run.History(ctx, after) {
		if err != nil {
			t.Fatal(err)
		}
		rest = append(rest, e.ID)
	}
	if len(rest) != len(all)-len(all)/2-1 || rest[0] != all[len(all)/2+1].ID {
		t.Errorf("after %s come %v", after, rest)
	}
}

// A step that an answer leads to, recorded while the run is not driven, starts once.
func TestStepsStartOnce(t *testing.T) {
	p := open(t, map[string]string{"w.yml": gated + "  - {id: a, agent: shell, config: {command: [echo, hi]}}\n"}, hocket.Options{})
	ctx := context.Background()
	run := start(t, p, "w.yml", nil)
	wait(t, run)
	if _, err := run.Answer(ctx, "ask", hocket.Answer{Value: "yes"}); err != nil {
		t.Fatal(err)
	}
	if err := run.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	wait(t, run)
	var got []string
	for e, err := range run.Events(ctx, hocket.EventID{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Fact != nil && e.Fact.Kind == engine.StepStarted {
			got = append(got, e.Fact.Address)
		}
	}
	if strings.Join(got, " ") != "ask a" {
		t.Errorf("started: %v", got)
	}
}

// driveForTest is the second process.
func driveForTest(t *testing.T) {
	p := openDir(t, os.Getenv("HOCKET_TEST_DRIVE"), hocket.Options{})
	run, err := p.Run(context.Background(), os.Getenv("HOCKET_TEST_RUN"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Drive(context.Background(), hocket.Front{}); err != nil {
		t.Fatal(err)
	}
}

func TestParseEventID(t *testing.T) {
	for _, id := range []hocket.EventID{{}, {Seq: 1}, {Seq: 12, Index: 3}} {
		if got, err := hocket.ParseEventID(id.String()); got != id || err != nil {
			t.Errorf("%s became %s, %v", id, got, err)
		}
	}
	for _, text := range []string{"", "1", "1.", ".1", "01.2", "-1.0", "1.2.3", "1.x", "99999999999999999999.0"} {
		if _, err := hocket.ParseEventID(text); err == nil {
			t.Errorf("%q is no id", text)
		}
	}
}

// Secrets are refused where they would be stored.
func TestSecretsAreRefused(t *testing.T) {
	t.Setenv("HOCKET_TEST_TOKEN", "very-secret-value")
	p := open(t, map[string]string{
		".hocket/config.yml": "secrets: {token: {env: HOCKET_TEST_TOKEN}}\n",
		"w.yml":              "name: w\ninputs: {x: string}\nsteps:\n  - {id: a, agent: shell, config: {command: [echo, hi]}}\n",
	}, hocket.Options{})
	w, err := p.Load("w.yml")
	if err != nil {
		t.Fatal(err)
	}
	var exposed *hocket.SecretError
	if _, err := p.Start(context.Background(), w, map[string]any{"x": "my very-secret-value"}); !errors.As(err, &exposed) {
		t.Errorf("an input: %v", err)
	}
	if _, err := p.AddMemory(context.Background(), "it is very-secret-value", nil, ""); !errors.As(err, &exposed) {
		t.Errorf("a memory: %v", err)
	}
}

// A start key refers to the run as it was recorded, even if the files have changed since.
// The next request with the key starts a run that was recorded but not started.
func TestStartKeyKeepsTheRun(t *testing.T) {
	dir := t.TempDir()
	called := filepath.Join(dir, "called.yml")
	writeFile(t, filepath.Join(dir, "w.yml"), "name: w\nsteps:\n  - {id: c, workflow: called}\n")
	writeFile(t, called, "name: called\nsteps:\n  - {id: a, agent: shell, config: {command: [echo, old]}}\n")
	ctx := context.Background()
	p := openDir(t, dir, hocket.Options{})
	w, err := p.Load("w.yml")
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := p.Record(ctx, w, nil, hocket.WithKey("k")) // and then its process exits
	if err != nil {
		t.Fatal(err)
	}
	run := start(t, p, "w.yml", nil, hocket.WithKey("k"))
	if res := wait(t, run); run.ID() != recorded.ID() || res.Output != "old" {
		t.Errorf("the same key: %+v", res)
	}
	writeFile(t, called, "name: called\nsteps:\n  - {id: a, agent: shell, config: {command: [echo, new]}}\n  - {id: b, agent: shell, config: {command: [echo, b]}}\n")
	again, err := openDir(t, dir, hocket.Options{}).Load("w.yml")
	if err != nil {
		t.Fatal(err)
	}
	var used *hocket.KeyError
	if _, err := p.Start(ctx, again, nil, hocket.WithKey("k")); !errors.As(err, &used) {
		t.Errorf("another called workflow: %v", err)
	}
}

// The limits of a workflow built by a program are checked like those in a file.
func TestModelsAreCheckedLikeFiles(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789")
	p := open(t, map[string]string{".hocket/agents/dear.yml": "agent: llm\nmodel: anthropic/claude-sonnet-4-5\nbudget: {max_cost_usd: 5}\n"}, hocket.Options{})
	model := workflow.Sequence("w", workflow.Agent("dear", "a"), workflow.Agent("dear", "b"))
	model.Limits.CostUSD = 1
	w, err := p.LoadModel(model)
	if err != nil {
		t.Fatal(err)
	}
	if found := w.Check(nil); !strings.Contains(found.String(), "budget-exceeded") {
		t.Errorf("found %v", found)
	}
}

// An error names what is wrong in terms of the API, and where.
func TestErrorsOfInputs(t *testing.T) {
	p := open(t, map[string]string{"w.yml": "name: w\ninputs: {who: string, n: integer}\nsteps:\n  - {id: a, agent: shell, config: {command: [echo]}}\n"}, hocket.Options{})
	w, err := p.Load("w.yml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Start(context.Background(), w, map[string]any{"n": "x"})
	want := `inputs: error[input-type]: input "n": expected type integer, found "x"; write an integer such as 3
inputs: error[input-missing]: missing input "who"; set it`
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
}

func TestClosed(t *testing.T) {
	p := open(t, nil, hocket.Options{})
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Runs(context.Background(), hocket.Filter{}); !errors.Is(err, hocket.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// Long outputs are complete wherever they are read.
func TestLongOutputs(t *testing.T) {
	long := strings.Repeat("long ", 20<<10)
	own := agents{"long": agent.Func(func(_ context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
		for _, r := range task.Received {
			if r.Output != long {
				return agent.Result{}, fmt.Errorf("received %.20q", r.Output)
			}
		}
		return agent.Result{Output: long}, nil
	})}
	p := open(t, map[string]string{"w.yml": "name: w\nsteps:\n  - {id: a, agent: long}\n  - {id: b, agent: long}\n"}, hocket.Options{Agents: own})
	run := start(t, p, "w.yml", nil)
	res := wait(t, run)
	state, err := run.State(t.Context())
	if err != nil || res.Output != long || state.Result.Output != long {
		t.Fatalf("%s: %s, %v", res.Status, res.Error, err)
	}
	for _, step := range append(res.Steps, state.Result.Steps...) {
		if value, err := step.Value(); err != nil || value != long || fmt.Sprint(step.Output) != long {
			t.Errorf("%s gave %.20q, %v", step.Address, value, err)
		}
	}
	events, facts := 0, 0
	for e, err := range run.History(t.Context(), hocket.EventID{}) {
		if err != nil {
			t.Fatal(err)
		}
		ended, ok := e.Event.(*engine.TaskEnded)
		if !ok {
			continue
		}
		if events++; ended.Output != long || ended.Stored != 0 {
			t.Errorf("event %d has the output %.20q", e.Seq, ended.Output)
		}
		if e.Fact != nil && e.Fact.Kind == engine.StepEnded {
			facts++
			if value, err := e.Fact.Value(); err != nil || value != long {
				t.Errorf("the fact %s has the output %.20q, %v", e.ID, value, err)
			}
		}
	}
	if events == 0 || facts != 2 {
		t.Errorf("%d events and %d facts", events, facts)
	}
}

// Concurrent readers of a run with long outputs do not block each other.
func TestReadersOfLongOutputs(t *testing.T) {
	long := strings.Repeat("long ", 20<<10)
	own := agents{"long": agent.Func(func(context.Context, *agent.Task, agent.Log) (agent.Result, error) {
		return agent.Result{Output: long}, nil
	})}
	p := open(t, map[string]string{"w.yml": "name: w\nsteps:\n  - {id: a, agent: long}\n  - {id: b, agent: long}\n"}, hocket.Options{Agents: own})
	run := start(t, p, "w.yml", nil)
	wait(t, run)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	errs := make(chan error)
	for range 16 {
		go func() {
			_, err := run.State(ctx)
			errs <- err
		}()
	}
	for range 16 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// Steps and attempts that do not exist are errors; those that printed nothing are not.
func TestReadersOfUnknownSteps(t *testing.T) {
	ctx := context.Background()
	p := open(t, map[string]string{"w.yml": "steps:\n  - {id: quiet, agent: shell, config: {command: [\"true\"]}}\n  - {id: stop, human: Go on}\n  - {id: later, agent: shell, config: {command: [\"true\"]}}\n"}, hocket.Options{})
	run := start(t, p, "w.yml", nil)
	wait(t, run)
	for _, c := range []struct {
		address string
		attempt int
		want    string
	}{
		{"quiet", 1, ""},
		{"stop", 1, ""},
		{"later", 1, ""},
		{"later#2", 1, ""}, // it may still come
		{"quiet", 2, `step "quiet" of run ID has no attempt 2; ` + "run `hocket show ID` to list the steps"},
		{"quiet", 0, `step "quiet" of run ID has no attempt 0; ` + "run `hocket show ID` to list the steps"},
		{"quite", 1, `run ID has no step "quite"; did you mean "quiet"?`},
		{"nothing-like-it", 1, `run ID has no step "nothing-like-it"; ` + "run `hocket show ID` to list the steps"},
	} {
		again, err := p.Run(ctx, run.ID()) // a handle without state
		if err != nil {
			t.Fatal(err)
		}
		_, kept := again.Kept(ctx, c.address, c.attempt)
		var read error
		for _, err := range again.Read(ctx, c.address, c.attempt, hocket.Output, 0, false) {
			read = err
		}
		for what, err := range map[string]error{"Kept": kept, "Read": read} {
			got := ""
			if err != nil {
				got = strings.ReplaceAll(err.Error(), run.ID(), "ID")
			}
			if got != c.want || err != nil && !errors.As(err, new(*hocket.UnknownStepError)) {
				t.Errorf("%s of %s, attempt %d: %q, want %q", what, c.address, c.attempt, got, c.want)
			}
		}
	}
}

// A run that can still continue is not deleted.
func TestDelete(t *testing.T) {
	p := open(t, map[string]string{"w.yml": "name: w\nsteps:\n  - {id: ask, human: {question: 'Go?', options: ['yes']}}\n"}, hocket.Options{})
	run := start(t, p, "w.yml", nil)
	wait(t, run)
	ctx := context.Background()
	var refused *hocket.RefusedError
	if err := run.Delete(ctx); !errors.As(err, &refused) {
		t.Errorf("a waiting run: %v", err)
	}
	if _, err := run.Cancel(ctx, ""); err != nil {
		t.Fatal(err)
	}
	if err := run.Delete(ctx); err != nil {
		t.Error(err)
	}
	var unknown *hocket.UnknownRunError
	if _, err := p.Run(ctx, run.ID()); !errors.As(err, &unknown) {
		t.Errorf("after Delete: %v", err)
	}
}

// writer is an executor that works from prompts and records them by step.
type writer struct{ prompts *sync.Map }

func (w writer) Traits() agent.Traits { return agent.Traits{Prompted: true} }

func (w writer) Run(_ context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
	w.prompts.Store(task.Address, task.Prompt)
	if task.Asks {
		return agent.Result{Output: `{"decision": "yes", "reason": "it has facts"}`}, nil
	}
	return agent.Result{Output: "by " + task.Address}, nil
}

// An agent whose prompt has no references to earlier steps receives the values of its
// incoming edges, and a question shows the value that reached it.
func TestEdgesBringValues(t *testing.T) {
	var prompts sync.Map
	p := open(t, map[string]string{
		"w.xml": `<workflow name="planned">
  <agent name="w" id="1"><task>Find three facts about owls</task></agent>
  <agent name="w" id="2" depends="1"><task>Summarize the results</task></agent>
  <choice id="good" depends="2" agent="w" ask="Good?"><route label="yes" to="3"/><route label="no" to="end"/></choice>
  <agent name="w" id="3"><task>Publish it</task></agent>
</workflow>`,
	}, hocket.Options{Agents: agents{"w": writer{&prompts}}})
	if res := wait(t, start(t, p, "w.xml", nil)); res.Output != "by 3" || res.Usage.Steps != 4 {
		t.Fatalf("%+v", res)
	}
	for address, wants := range map[string][]string{
		"2":    {"<hocket:context source=\"step:1\" trusted=\"false\">\nby 1\n</hocket:context>"},
		"good": {"<hocket:context source=\"step:2\" trusted=\"false\">\nby 2\n</hocket:context>", "<hocket:task>\nGood?\n</hocket:task>", "- yes\n- no"},
		"3":    {"<hocket:context source=\"decision:2\" trusted=\"false\">\nDecision: yes\n\nReason: it has facts\n</hocket:context>", "<hocket:context source=\"step:2\" trusted=\"false\">\nby 2\n</hocket:context>"},
	} {
		prompt, _ := prompts.Load(address)
		for _, want := range wants {
			if text, _ := prompt.(string); !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in\n%v", address, want, prompt)
			}
		}
	}
}

func writeFile(t testing.TB, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
