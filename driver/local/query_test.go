package local_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
)

// asking is an agent that asks a person, and gives what it was told.
type asking struct{ questions []agent.Question }

func (a asking) Run(ctx context.Context, _ string, _ *engine.StartTask, at local.Attempt) local.Outcome {
	out := make([]string, len(a.questions))
	var all sync.WaitGroup
	for i, q := range a.questions {
		all.Go(func() {
			value, err := at.Ask(ctx, q)
			if err != nil {
				value = "error: " + err.Error()
			}
			out[i] = value
		})
	}
	all.Wait()
	text := ""
	for _, o := range out {
		text += o + ";"
	}
	return local.Outcome{Output: text}
}

// clerk answers every question that it is shown with the same words, first with
// one that is not offered.
type clerk struct {
	mu      sync.Mutex
	say     string
	shown   []string
	refused []error
	gone    int
}

func (c *clerk) Ask(q *engine.AskHuman, answer func(value, by string) error, leave func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shown = append(c.shown, q.Address+": "+q.Question)
	go func() {
		if c.say == "" {
			leave()
			return
		}
		err := answer("nonsense", "ann")
		c.mu.Lock()
		c.refused = append(c.refused, err)
		c.mu.Unlock()
		_ = answer(c.say, "ann")
	}()
	return true
}

func (c *clerk) Withdraw(string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone++
}

var mayI = agent.Question{Text: "May it run this?", Detail: "rm -r build", Options: []string{"allow", "deny"}}

func TestAttemptAsksAPerson(t *testing.T) {
	c := &clerk{say: "deny"}
	res := start(t, openStore(t), chain(task("a", "x")), local.Options{Agents: asking{[]agent.Question{mayI, mayI}}, Asker: c})
	if res.Output != "deny;deny;" {
		t.Errorf("the attempt was told %q", res.Output)
	}
	if len(c.shown) != 2 || c.shown[0] != "a: May it run this?\n\nrm -r build" || c.gone < 2 {
		t.Errorf("shown: %q, %d taken back", c.shown, c.gone)
	}
	if len(c.refused) == 0 || c.refused[0] == nil {
		t.Error("an answer that is not offered was taken")
	}
}

func TestAttemptAsksWhereNobodyIs(t *testing.T) {
	for name, asker := range map[string]local.Asker{"nobody": nil, "somebody who leaves": &clerk{}} {
		res := start(t, openStore(t), chain(task("a", "x")), local.Options{Agents: asking{[]agent.Question{mayI}}, Asker: asker})
		if res.Output != "error: "+agent.ErrNobody.Error()+";" {
			t.Errorf("%s: the attempt was told %q", name, res.Output)
		}
	}
}

// A question of an attempt is answered as that of a human node is: by anybody who
// can reach the run.
func TestAttemptIsAnsweredFromElsewhere(t *testing.T) {
	s := openStore(t)
	asked := make(chan struct{})
	var once sync.Once
	agents := agentWith(func(ctx context.Context, at local.Attempt) local.Outcome {
		once.Do(func() { close(asked) })
		return asking{[]agent.Question{mayI}}.Run(ctx, "", nil, at)
	})
	done := make(chan engine.Result, 1)
	go func() { done <- start(t, s, chain(task("a", "x")), local.Options{Agents: agents, Elsewhere: true}) }()
	<-asked
	var refused *local.RefusedError
	for {
		_, err := local.Answer(t.Context(), s, "demo-1", "a", "allow", "ann")
		if err == nil {
			break
		}
		if !errors.As(err, &refused) { // the question may not have come yet
			t.Fatal(err)
		}
	}
	if res := <-done; res.Output != "allow;" {
		t.Errorf("the attempt was told %q", res.Output)
	}
}

type agentWith func(ctx context.Context, at local.Attempt) local.Outcome

func (f agentWith) Run(ctx context.Context, _ string, _ *engine.StartTask, at local.Attempt) local.Outcome {
	return f(ctx, at)
}

func TestPromptsAreKept(t *testing.T) {
	s := openStore(t)
	start(t, s, chain(task("a", "x")), local.Options{Agents: agentWith(func(_ context.Context, at local.Attempt) local.Outcome {
		at.Prompt("all of it")
		return local.Outcome{}
	})})
	got, err := os.ReadFile(s.PromptPath("demo-1", "a", 1))
	if err != nil || string(got) != "all of it" {
		t.Errorf("kept %q, %v", got, err)
	}
}
