package local_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/workflow"
)

// asking is an agent that asks a person and returns the answers.
type asking struct{ questions []agent.Question }

func (a asking) Run(ctx context.Context, _ string, _ *engine.StartTask, at driver.Attempt) driver.Outcome {
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
	return driver.Outcome{Output: text}
}

// clerk answers every question with the same words, after a first answer that is not
// offered.
type clerk struct {
	mu      sync.Mutex
	say     string // "" if the person leaves
	silent  bool   // never answers
	shown   []string
	refused []error
	gone    []string
}

func (c *clerk) Ask(q *engine.Question, answer func(engine.Answered) error, leave func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shown = append(c.shown, q.ID+": "+q.Text+"; "+q.Detail)
	if c.silent {
		return true
	}
	go func() {
		if c.say == "" {
			leave()
			return
		}
		err := answer(engine.Answered{Value: "nonsense", By: "ann"})
		c.mu.Lock()
		c.refused = append(c.refused, err)
		c.mu.Unlock()
		_ = answer(engine.Answered{Value: c.say, By: "ann"})
	}()
	return true
}

func (c *clerk) Withdraw(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = append(c.gone, name)
}

var mayI = agent.Question{Text: "May it run this?", Detail: "rm -r build", Options: []string{"allow", "deny"}}

func TestAttemptAsksAPerson(t *testing.T) {
	c := &clerk{say: "deny"}
	res := start(t, openStore(t), chain(task("a", "x")), work{Agents: asking{[]agent.Question{mayI, mayI}}, Asker: c})
	if res.Output != "deny;deny;" {
		t.Errorf("the attempt was told %q", res.Output)
	}
	if len(c.shown) != 2 || c.shown[0] != "a@1: May it run this?; rm -r build" || c.shown[1] != "a@2: May it run this?; rm -r build" ||
		len(c.gone) != 2 || c.gone[0] == c.gone[1] {
		t.Errorf("shown: %q, %q taken back", c.shown, c.gone)
	}
	if len(c.refused) == 0 || c.refused[0] == nil {
		t.Error("an answer that is not offered was taken")
	}
}

// driven is a run that another goroutine drives.
type driven struct {
	t     *testing.T
	store *journal.Store
	done  chan engine.Result
}

// askFrom starts a run whose questions are answered from elsewhere.
func askFrom(t *testing.T, agents driver.Agents, b *workflow.Bundle) *driven {
	d := &driven{t, openStore(t), make(chan engine.Result, 1)}
	go func() {
		res, err := startRun(context.Background(), d.store, spec(b), work{Agents: agents, Elsewhere: true, Poll: time.Millisecond})
		if err != nil {
			t.Error(err)
		}
		d.done <- res
	}()
	return d
}

// until waits until the open questions have these names.
func (d *driven) until(names ...string) []driver.Question {
	d.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		open, err := d.store.Open(context.Background(), driver.QuestionFilter{Run: "demo-1"})
		if err != nil {
			d.t.Fatal(err)
		}
		var got []string
		for _, q := range open {
			got = append(got, q.ID)
		}
		if slices.Equal(got, names) {
			return open
		}
		if time.Now().After(deadline) {
			d.t.Fatalf("open are %q, want %q", got, names)
		}
		time.Sleep(time.Millisecond)
	}
}

func (d *driven) answer(name, value string) {
	d.t.Helper()
	receipt, err := answerRun(context.Background(), d.store, "demo-1", name, value, "ann")
	if err != nil || !receipt.Driven {
		d.t.Errorf("answer to %s: %+v, %v", name, receipt, err)
	}
}

func (d *driven) refuses(name, value, want string) {
	d.t.Helper()
	_, err := answerRun(context.Background(), d.store, "demo-1", name, value, "ann")
	var refused *driver.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
		d.t.Errorf("answer to %s: %v; want %s", name, err, want)
	}
}

// Questions of an attempt can be answered by anyone who can reach the run, each by its
// name.
func TestAttemptIsAnsweredFromElsewhere(t *testing.T) {
	other := agent.Question{Text: "May it read this?", Detail: "notes.txt", Options: []string{"allow", "deny", "always"}}
	d := askFrom(t, asking{[]agent.Question{mayI, other}}, chain(task("a", "x")))
	open := d.until("a@1", "a@2")
	texts := map[string]string{}
	for _, q := range open {
		texts[q.Text] = q.ID
		if q.Address != "a" || q.Asked.IsZero() {
			t.Errorf("listed: %+v", q)
		}
	}
	run := texts["May it run this?"]
	d.refuses("a", "allow", `"a" asks 2 questions; answer one of them by its id: a@1, a@2`)
	d.refuses("b", "allow", `there is no open question "b"; the open questions are: a@1, a@2`)
	d.refuses(run, "always", `"`+run+`" does not offer "always"; it offers allow, deny`)
	d.answer("a@2", "deny")
	d.refuses("a@2", "allow", `question a@2 is closed: it was answered with "deny" by ann`)
	d.until("a@1")
	d.answer("a", "allow") // only one is left, so it needs no name
	want := "allow;deny;"
	if run == "a@2" {
		want = "deny;allow;"
	}
	if res := <-d.done; res.Output != want {
		t.Errorf("the attempt was told %q, want %q", res.Output, want)
	}
	d.until()
}

// A question that an agent withdraws, or that outlives its attempt, is closed; the next
// one has another number.
func TestQuestionsThatAreWithdrawn(t *testing.T) {
	withdraw := make(chan struct{})
	attempts := 0
	agents := agentWith(func(ctx context.Context, at driver.Attempt) driver.Outcome {
		attempts++
		if attempts == 1 {
			asking, end := context.WithCancel(ctx)
			go func() { <-withdraw; end() }()
			_, err := at.Ask(asking, mayI)
			left := make(chan struct{})
			go func() { close(left); at.Ask(ctx, mayI) }()
			<-left
			<-withdraw
			return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: err.Error()}}
		}
		return asking{[]agent.Question{mayI}}.Run(ctx, "", nil, at)
	})
	b := chain(task("a", "x"))
	b.Root.Body.Nodes[0].Retry = workflow.Retry{Attempts: 2}
	d := askFrom(t, agents, b)
	d.until("a@1")
	withdraw <- struct{}{}
	d.until("a@2")
	d.refuses("a@1", "allow", "question a@1 is closed: it was withdrawn")
	withdraw <- struct{}{}
	d.until("a@3")
	d.refuses("a@2", "allow", "question a@2 is closed: its attempt has ended")
	d.answer("a@3", "deny")
	if res := <-d.done; res.Output != "deny;" {
		t.Errorf("%s: %v, %s", res.Status, res.Output, res.Error)
	}
	d.refuses("a@3", "allow", "the run is over")
}

// A question of an attempt stays open when the run is interrupted. Its answer is used
// once, by the next attempt that asks the same.
func TestInterruptedWhileAnAttemptAsks(t *testing.T) {
	d := &driven{t: t, store: openStore(t)}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	c := &clerk{silent: true}
	go func() {
		_, err := startRun(ctx, d.store, spec(chain(task("a", "x"))), work{Agents: asking{[]agent.Question{mayI}}, Asker: c})
		done <- err
	}()
	d.until("a@1")
	stop()
	var interrupted *driver.InterruptedError
	if err := <-done; !errors.As(err, &interrupted) {
		t.Error(err)
	}
	if len(c.gone) != 1 || c.gone[0] != "a@1" {
		t.Errorf("taken back: %q", c.gone)
	}
	d.until("a@1")
	receipt, err := answerRun(t.Context(), d.store, "demo-1", "a@1", "allow", "ann")
	if err != nil || receipt.Driven {
		t.Errorf("%+v, %v", receipt, err)
	}
	d.until()
	again := &clerk{say: "deny"}
	res := resume(t, d.store, work{Agents: asking{[]agent.Question{mayI, mayI}}, Asker: again})
	if out := res.Output; out != "allow;deny;" && out != "deny;allow;" || len(again.shown) != 1 {
		t.Errorf("%v; shown: %q", out, again.shown)
	}
}

// Time spent waiting for a person does not count toward the attempt's timeout.
func TestTimeoutWaitsForThePerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clerk{silent: true}
		slow := task("a", "x")
		slow.Timeout = time.Minute
		s, done := openStore(t), make(chan engine.Result)
		sp := spec(chain(slow))
		sp.Limits.Runtime = 2 * time.Minute
		go func() {
			res, err := startRun(t.Context(), s, sp, work{Agents: asking{[]agent.Question{mayI}}, Asker: c, Elsewhere: true})
			if err != nil {
				t.Error(err)
			}
			done <- res
		}()
		time.Sleep(3 * time.Hour)
		if _, err := answerRun(t.Context(), s, "demo-1", "a@1", "allow", ""); err != nil {
			t.Error(err)
		}
		if res := <-done; res.Output != "allow;" {
			t.Errorf("%s: %v %s", res.Status, res.Output, res.Error)
		}
	})
}

// A deadline applies even if the run is not driven, and an answer given before it counts
// even if it is read later.
func TestLateAnswers(t *testing.T) {
	b := func() *workflow.Bundle {
		gate := gate("ok", "yes")
		gate.Timeout = time.Hour
		return &workflow.Bundle{Root: &workflow.Workflow{Name: "demo", Body: workflow.Graph{
			Nodes: []workflow.Node{gate, task("go", "went"), task("late", "too late")},
			Edges: []workflow.Edge{{From: "ok", To: "go"}, {From: "ok", To: "late", On: workflow.OnTimeout}},
		}}}
	}
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		if res := start(t, s, b(), work{Agents: echo}); res.Status != engine.Waiting {
			t.Fatal(res.Status)
		}
		time.Sleep(time.Hour + time.Second)
		_, err := answerRun(t.Context(), s, "demo-1", "ok", "yes", "")
		var refused *driver.RefusedError
		if !errors.As(err, &refused) {
			t.Errorf("a late answer gives %v", err)
		}
		if res := resume(t, s, work{Agents: echo}); res.Output != "too late" {
			t.Errorf("%s: %v", res.Status, res.Output)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		start(t, s, b(), work{Agents: echo})
		time.Sleep(time.Hour - time.Second)
		if _, err := s.Send(t.Context(), "demo-1", &engine.Answered{ID: "ok", Value: "yes"}, time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if res := resume(t, s, work{Agents: echo}); res.Output != "went" {
			t.Errorf("%s: %v", res.Status, res.Output)
		}
	})
}

type agentWith func(ctx context.Context, at driver.Attempt) driver.Outcome

func (f agentWith) Run(ctx context.Context, _ string, _ *engine.StartTask, at driver.Attempt) driver.Outcome {
	return f(ctx, at)
}
