package planner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/planner"
	"github.com/hocket-dev/hocket/workflow"
)

// An answer that is too long is stopped, and asked for again.
func TestAnswerThatIsTooLong(t *testing.T) {
	for name, stream := range map[string]bool{"at once": false, "endless": true} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			p := model(t, func(ctx context.Context, _ *agent.Task, log agent.Log) (agent.Result, error) {
				if asked++; asked > 1 {
					return agent.Result{Output: small}, nil
				}
				if !stream {
					return agent.Result{Output: strings.Repeat("and then ", 5<<20/9)}, nil
				}
				for ctx.Err() == nil {
					log([]byte(strings.Repeat("and then ", 1000)))
					time.Sleep(time.Millisecond)
				}
				return agent.Result{}, agent.Interrupted(ctx)
			})
			plan, err := planner.New(p, planner.Options{MaxBytes: 256 << 10}).Generate(context.Background(), "Data", nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(plan.Rounds) != 2 || !strings.Contains(plan.Rounds[0].Wrong[0].Summary, "too long") {
				t.Errorf("rounds: %+v", plan.Rounds)
			}
			checkEnded(t, p)
		})
	}
}

// Nobody answers the questions of a run in which a model plans, such as whether it may cost more. It does
// not wait for that.
func TestRunThatAsks(t *testing.T) {
	p := model(t, func(context.Context, *agent.Task, agent.Log) (agent.Result, error) {
		return agent.Result{Usage: agent.Usage{CostUSD: 1}}, agent.Errorf("try again")
	})
	put(t, p.Root(), "config.yml", "agent: boss\nworkflows: {budgets: {max_cost_usd: 0.5}}\n")
	put(t, p.Root(), "agents/boss.yml", "agent: model\nretry: {attempts: 2}\n")
	if err := p.Reload(); err != nil {
		t.Fatal(err)
	}
	_, err := planner.New(p, planner.Options{}).Generate(context.Background(), "Data", nil)
	var failed *planner.FailedError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "nobody answers its question") {
		t.Errorf("got %v", err)
	}
	checkEnded(t, p)
}

// checkEnded checks that no run is left that could be resumed.
func checkEnded(t *testing.T, p *hocket.Project) {
	t.Helper()
	runs, err := p.Runs(context.Background(), hocket.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		if !r.Status.Done() {
			t.Errorf("the run %s is %s", r.ID, r.Status)
		}
	}
}

func TestAnswerThatNeverComes(t *testing.T) {
	p := model(t, func(ctx context.Context, _ *agent.Task, _ agent.Log) (agent.Result, error) {
		<-ctx.Done()
		return agent.Result{}, agent.Interrupted(ctx)
	})
	_, err := planner.New(p, planner.Options{Timeout: 20 * time.Millisecond}).Generate(context.Background(), "Data", nil)
	var failed *planner.Error
	if !errors.As(err, &failed) || len(failed.Rounds) != 4 || !strings.Contains(err.Error(), "takes too long") || !strings.Contains(failed.Hint(), failed.Rounds[3].Run) {
		t.Errorf("got %v", err)
	}
	checkEnded(t, p)
}

// stuck is a driver whose runs lack a worker.
type stuck struct{ driver.Driver }

func (d stuck) Drive(ctx context.Context, run string, _ driver.Work) (engine.Result, error) {
	<-ctx.Done()
	return engine.Result{}, &driver.InterruptedError{Run: run}
}

func (d stuck) Info(ctx context.Context, run string) (driver.Info, error) {
	info, err := d.Driver.Info(ctx, run)
	info.Stalled = "no worker takes step a"
	return info, err
}

// A question that no worker puts to the model is not asked again, and the error says why.
func TestNoWorkerAsks(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	put(t, dir, "config.yml", "driver: stuck\nagent: model\n")
	p, err := hocket.Open(dir, hocket.Options{
		Agents: map[string]agent.Executor{"model": agent.New(agent.Traits{Prompted: true}, func(context.Context, *agent.Task, agent.Log) (agent.Result, error) { return agent.Result{}, nil })},
		Drivers: map[string]hocket.OpenDriver{"stuck": func(s hocket.DriverSetup) (driver.Driver, error) {
			d, err := local.Open(s.State, local.Options{})
			return stuck{d}, err
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, err = planner.New(p, planner.Options{Timeout: 20 * time.Millisecond}).Generate(t.Context(), "Data", nil)
	if failed := (*planner.FailedError)(nil); !errors.As(err, &failed) || failed.Why != "no worker takes step a" {
		t.Errorf("got %v", err)
	}
	checkEnded(t, p)
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	p := model(t, func(ctx context.Context, _ *agent.Task, _ agent.Log) (agent.Result, error) {
		cancel()
		<-ctx.Done()
		return agent.Result{}, agent.Interrupted(ctx)
	})
	if _, err := planner.New(p, planner.Options{}).Generate(ctx, "Data", nil); err == nil || ctx.Err() == nil {
		t.Errorf("got %v", err)
	}
	checkEnded(t, p)
}

func TestModelThatFails(t *testing.T) {
	asked := 0
	p := model(t, func(context.Context, *agent.Task, agent.Log) (agent.Result, error) {
		asked++
		return agent.Result{}, agent.Permanentf("out of credit")
	})
	_, err := planner.New(p, planner.Options{}).Generate(context.Background(), "Data", nil)
	var failed *planner.FailedError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "out of credit") || asked != 1 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

// A connection that is lost before the model has written anything is tried again, but not for ever.
func TestConnectionThatIsLost(t *testing.T) {
	asked, until := 0, 2
	p := model(t, func(context.Context, *agent.Task, agent.Log) (agent.Result, error) {
		if asked++; asked < until {
			return agent.Result{}, agent.Errorf("connection reset")
		}
		return agent.Result{Output: small}, nil
	})
	plan, err := planner.New(p, planner.Options{}).Generate(t.Context(), "Data", nil)
	if err != nil || asked != 2 || len(plan.Rounds) != 1 {
		t.Errorf("asked %d times: %v", asked, err)
	}
	asked, until = 0, 100
	_, err = planner.New(p, planner.Options{}).Generate(t.Context(), "Data", nil)
	if !errors.As(err, new(*planner.FailedError)) || asked != 3 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

// An agent that does the same whatever it is asked cannot plan. A command can read the prompt.
func TestAgentThatIgnoresItsPrompt(t *testing.T) {
	p := model(t, nil)
	put(t, p.Root(), "agents/lister.yml", "agent: shell\nsettings: {command: echo files}\n")
	put(t, p.Root(), "agents/fixed.yml", "agent: shell\nsettings: {command: cat, stdin: hello}\n")
	put(t, p.Root(), "agents/getter.yml", "agent: http\nsettings: {url: \"http://127.0.0.1:1/\"}\n")
	put(t, p.Root(), "agents/script.yml", "agent: shell\nsettings: {command: \"grep -q 'Count the owls' && cat plan.xml\"}\n")
	put(t, p.Root(), "../plan.xml", small)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	p, err := hocket.Open(p.Root(), hocket.Options{
		State: t.TempDir(), Agents: map[string]agent.Executor{"model": agent.New(agent.Traits{Prompted: true}, nil)},
		Trust: func(context.Context, *hocket.UntrustedError) (bool, error) { return true, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for name, runs := range map[string]int{"lister": 2, "fixed": 0, "getter": 0} {
		before, err := p.Runs(t.Context(), hocket.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = planner.New(p, planner.Options{Agent: name}).Generate(t.Context(), "Count the owls", nil)
		after, wrong := p.Runs(t.Context(), hocket.Filter{})
		var none *planner.NoModelError
		if !errors.As(err, &none) || none.Agent != name || !strings.Contains(none.Hint(), "--agent") || !strings.Contains(none.Hint(), "standard input") || wrong != nil || len(after)-len(before) != runs {
			t.Errorf("%s: %v after %d runs", name, err, len(after)-len(before))
		}
	}
	if _, err := planner.New(p, planner.Options{Agent: "script"}).Generate(t.Context(), "Count the owls", nil); err != nil {
		t.Error(err)
	}
}

// What was wrong with an answer is reported even if the model cannot be asked again.
func TestModelThatFailsLater(t *testing.T) {
	asked := 0
	p := model(t, func(context.Context, *agent.Task, agent.Log) (agent.Result, error) {
		if asked++; asked > 1 {
			return agent.Result{}, agent.Permanentf("out of credit")
		}
		return agent.Result{Output: "Well."}, nil
	})
	_, err := planner.New(p, planner.Options{}).Generate(context.Background(), "Data", nil)
	var failed *planner.FailedError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "no valid workflow in 1 answer; the last one: there is no workflow") {
		t.Errorf("got %v", err)
	}
}

func TestNoModel(t *testing.T) {
	t.Setenv("PATH", "")
	for _, key := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"} {
		t.Setenv(key, "")
	}
	p, err := hocket.Open(t.TempDir(), hocket.Options{State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, err = planner.New(p, planner.Options{}).Generate(context.Background(), "Data", nil)
	var none *planner.NoModelError
	if !errors.As(err, &none) || !strings.Contains(none.Hint(), "hocket doctor") {
		t.Errorf("got %v", err)
	}
}

// A plan of 500 steps is more than a model may write.
func TestPlanThatIsTooLarge(t *testing.T) {
	var b strings.Builder
	b.WriteString(`<workflow name="many">`)
	for i := range 500 {
		fmt.Fprintf(&b, `<agent name="writer" id="s%d"><task>Write part %d</task></agent>`, i, i)
	}
	b.WriteString(`</workflow>`)
	plan, err := planner.New(office(t), planner.Options{Replies: scripted(t, b.String(), small)}).Generate(context.Background(), "Data", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Rounds) != 2 || !strings.Contains(plan.Rounds[0].Wrong.String(), "500") {
		t.Errorf("rounds: %+v", plan.Rounds)
	}
}

// An answer that breaks off is asked for again; people are not told what only the model can do about it.
func TestAnswerThatBreaksOff(t *testing.T) {
	asked := 0
	p := model(t, func(_ context.Context, _ *agent.Task, log agent.Log) (agent.Result, error) {
		if asked++; asked == 2 {
			return agent.Result{Output: small}, nil
		}
		log([]byte(small[:len(small)/2]))
		return agent.Result{}, agent.Errorf("the answer was cut off; accept incomplete answers with partial: true")
	})
	plan, err := planner.New(p, planner.Options{}).Generate(context.Background(), "Data", nil)
	if err != nil || len(plan.Rounds) != 2 || plan.Rounds[0].Wrong[0].Summary != "the answer was cut off" {
		t.Errorf("%+v, %v", plan, err)
	}
	_, err = planner.New(p, planner.Options{}).Generate(context.Background(), "Data", nil)
	if err == nil || err.Error() != "no valid workflow in 4 answers; the last one: the answer was cut off" {
		t.Errorf("got %v", err)
	}
}

// All answers together keep to a budget.
func TestBudget(t *testing.T) {
	p := model(t, nil)
	p.Close()
	asked := 0
	dir := p.Root()
	p, err := hocket.Open(dir, hocket.Options{State: t.TempDir(), Agents: map[string]agent.Executor{"model": agent.New(agent.Traits{
		Prompted: true, Supports: agent.Keys("budget"), Unbounded: func(*agent.Task, workflow.Budget) string { return "" },
	}, func(context.Context, *agent.Task, agent.Log) (agent.Result, error) {
		asked++
		return agent.Result{Output: "Well.", Usage: agent.Usage{CostUSD: 0.3}}, nil
	})}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, err = planner.New(p, planner.Options{Budget: workflow.Limits{CostUSD: 0.5}}).Generate(context.Background(), "Data", nil)
	var spent *planner.SpentError
	if !errors.As(err, &spent) || asked != 2 || !strings.Contains(spent.Hint(), "--max-cost") {
		t.Errorf("asked %d times: %v", asked, err)
	}
}
