package local_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/workflow"
)

// The log of an attempt has its questions and what became of them.
func TestLogOfQuestions(t *testing.T) {
	s := openStore(t)
	cancelled := make(chan context.CancelFunc, 1)
	here := asker(func(q *engine.Question, answer func(engine.Answered) error, leave func()) bool {
		switch q.Text {
		case "Answer?":
			go answer(engine.Answered{Value: "yes"})
		case "Leave?":
			go leave()
		case "Cancel?":
			(<-cancelled)()
		}
		return q.Text != "Absent?"
	})
	var told []string
	ask := agentWith(func(ctx context.Context, at driver.Attempt) driver.Outcome {
		for _, text := range []string{"Answer?", "Leave?", "Cancel?", "Absent?"} {
			short, cancel := context.WithCancel(ctx)
			defer cancel()
			if text == "Cancel?" {
				cancelled <- cancel
			}
			q := agent.Question{Text: text, Options: []string{"yes", "no"}}
			if text == "Answer?" {
				q.Detail = "all of it"
			}
			value, err := at.Ask(short, q)
			if err != nil {
				value = err.Error()
			}
			told = append(told, value)
		}
		return driver.Outcome{}
	})
	start(t, s, chain(task("a", "x")), work{Agents: ask, Asker: here})
	if want := []string{"yes", agent.ErrNobody.Error(), context.Canceled.Error(), agent.ErrNobody.Error()}; !slices.Equal(told, want) {
		t.Errorf("the attempt was told %q", told)
	}
	const want = `[asks a@1] Answer?
all of it
[answers] yes, no
[answered a@1] yes
[asks a@2] Leave?
[answers] yes, no
[nobody is available to answer a@2]
[asks a@3] Cancel?
[answers] yes, no
[withdrawn a@3]
[asks a@4] Absent?
[answers] yes, no
[nobody is available to answer a@4]
`
	if log := readStream(t, s, driver.Output); log != want {
		t.Errorf("the log is\n%s", log)
	}
	alone := openStore(t)
	start(t, alone, chain(task("a", "x")), work{Agents: asking{[]agent.Question{mayI}}})
	if log := readStream(t, alone, driver.Output); log != "[nobody is available to answer]\n" {
		t.Errorf("without anyone, the log is %q", log)
	}
}

// If no one here answers, people elsewhere can.
func TestPersonLeavesAndAnotherAnswers(t *testing.T) {
	for _, absent := range []bool{false, true} {
		s := openStore(t)
		done := make(chan engine.Result)
		go func() {
			res, err := startRun(context.Background(), s, spec(chain(task("a", "x"))), work{Agents: asking{[]agent.Question{mayI}}, Elsewhere: true, Poll: time.Millisecond,
				Asker: asker(func(_ *engine.Question, _ func(engine.Answered) error, leave func()) bool { go leave(); return !absent })})
			if err != nil {
				t.Error(err)
			}
			done <- res
		}()
		d := &driven{t: t, store: s}
		d.until("a@1")
		d.answer("a@1", "allow")
		if res := <-done; res.Output != "allow;" {
			t.Errorf("%s: %v", res.Status, res.Output)
		}
	}
}

// A scripted answer comes after its delay. If it is not valid by then, people are asked, unless the
// question is no longer open. Nothing waits for it when the run has stopped.
func TestScriptedAnswerAfterADelay(t *testing.T) {
	for name, c := range map[string]struct {
		script    scripted
		elsewhere bool // someone else answers before
		interrupt bool
		asked     int
		took      time.Duration
	}{
		"valid":       {script: scripted{"yes", time.Minute}, took: time.Minute},
		"invalid":     {script: scripted{"perhaps", time.Minute}, asked: 1, took: time.Minute},
		"overtaken":   {script: scripted{"no", 2 * time.Minute}, elsewhere: true, took: 30 * time.Second},
		"interrupted": {script: scripted{"yes", time.Minute}, interrupt: true, took: 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := openStore(t)
				asked := 0
				o := work{Agents: echo, Script: c.script, Poll: 100 * time.Millisecond, Asker: asker(func(_ *engine.Question, answer func(engine.Answered) error, _ func()) bool {
					asked++
					go answer(engine.Answered{Value: "yes"})
					return true
				})}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				time.AfterFunc(30*time.Second, func() {
					if c.interrupt {
						cancel()
					}
					if c.elsewhere {
						if _, err := answerRun(t.Context(), s, "demo-1", "ok", "yes", ""); err != nil {
							t.Error(err)
						}
					}
				})
				began := time.Now()
				second := gate("second", "yes")
				b := chain(gate("ok", "yes"))
				if c.elsewhere {
					second.Step.(*workflow.Human).Required = true // only people answer it
					b = chain(gate("ok", "yes", "no"), second)
					o.Asker = asker(func(q *engine.Question, answer func(engine.Answered) error, _ func()) bool {
						if q.ID != "second" {
							t.Errorf("people are asked %s", q.ID)
						}
						time.AfterFunc(5*time.Minute, func() { answer(engine.Answered{Value: "yes"}) })
						return true
					})
					c.took += 5 * time.Minute
				}
				res, err := startRun(ctx, s, spec(b), o)
				if c.interrupt != errors.As(err, new(*driver.InterruptedError)) || !c.interrupt && res.Status != engine.Success || asked != c.asked {
					t.Errorf("%s, %v; %d questions to people", res.Status, err, asked)
				}
				if took := time.Since(began); (took - c.took).Abs() > 2*time.Second {
					t.Errorf("it took %s, want %s", took, c.took)
				}
			})
		})
	}
}

// A message that its sender withdraws while it is read is not recorded.
func TestMessageThatIsWithdrawn(t *testing.T) {
	s := openStore(t)
	start(t, s, chain(gate("ok", "yes")), work{Agents: echo})
	if _, err := s.Send(t.Context(), "demo-1", &engine.Answered{ID: "ok", Value: "yes"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	changeSnapshots(t, s.Dir(), "CREATE TRIGGER gone BEFORE UPDATE ON inbox BEGIN SELECT RAISE(IGNORE); END")
	if res := resume(t, s, work{Agents: echo}); res.Status != engine.Waiting {
		t.Errorf("%s: %v", res.Status, res.Output)
	}
	if kinds := recordedKinds(t, s, "demo-1"); strings.Contains(kinds, "Answered") {
		t.Errorf("recorded are %s", kinds)
	}
}

// An answer at the very moment of the deadline is in time.
func TestAnswerAtTheDeadline(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for late, want := range map[time.Duration]string{0: "Answered ok", time.Microsecond: "TimerFired answer ok"} {
		s, clock := openStore(t), &setClock{now: noon}
		w := work{Agents: echo, Clock: clock}
		start(t, s, chain(until("ok", time.Hour)), w)
		if _, err := s.Send(t.Context(), "demo-1", &engine.Answered{ID: "ok", Value: "yes"}, noon.Add(time.Hour+late)); err != nil {
			t.Fatal(err)
		}
		clock.set(noon.Add(2 * time.Hour))
		resume(t, s, w)
		if kinds := recordedKinds(t, s, "demo-1"); !strings.HasSuffix(kinds, "Recovered, "+want) {
			t.Errorf("%s after the deadline: %s", late, kinds)
		}
	}
}

// lead is an agent that hands work off, and helper the one that receives it.
func crew(lead func(ctx context.Context, at driver.Attempt) string, helper func(ctx context.Context, prompt string) driver.Outcome) attemptFunc {
	return func(ctx context.Context, _ string, task *engine.StartTask, at driver.Attempt) driver.Outcome {
		if task.Agent == "helper" {
			return helper(ctx, task.Prompt)
		}
		return driver.Outcome{Output: lead(ctx, at)}
	}
}

// The log of an attempt has what it handed off.
func TestLogOfHandoffs(t *testing.T) {
	s := openStore(t)
	start(t, s, chain(handsOff("a")), work{Agents: crew(func(ctx context.Context, at driver.Attempt) string {
		first, err := at.HandOff(ctx, handed("one", true))
		if err != nil || first.Status != engine.Success {
			t.Errorf("%+v, %v", first, err)
			return ""
		}
		if again, err := at.HandOff(ctx, &engine.HandoffAsked{ID: first.ID, Blocking: true}); err != nil || again.Status != engine.Success {
			t.Errorf("%+v, %v", again, err)
		}
		if later, err := at.HandOff(ctx, handed("two", false)); err != nil || later.Status != engine.Running {
			t.Errorf("%+v, %v", later, err)
		}
		if unknown, err := at.HandOff(ctx, &engine.HandoffAsked{ID: "a/handoff-9"}); err == nil {
			t.Errorf("%+v", unknown)
		}
		invalid := handed("three", true)
		invalid.Inputs = map[string]any{"x": make(chan int)}
		if unknown, err := at.HandOff(ctx, invalid); err == nil {
			t.Errorf("%+v", unknown)
		}
		return ""
	}, func(_ context.Context, prompt string) driver.Outcome { return driver.Outcome{Output: prompt} })})
	log := readStream(t, s, driver.Output)
	lines := strings.Split(log, "\n")
	for i, want := range []string{"[hands off a/handoff-1] to helper", "[result of a/handoff-1] success", "[result of a/handoff-1] success", "[hands off a/handoff-2] to helper", "[not handed off] ", "[not handed off] ", ""} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) || want == "" && lines[i] != "" {
			t.Errorf("line %d is not %q:\n%s", i+1, want, log)
			break
		}
	}
}

// Of two calls that wait for the same work, one may give up: the other gets the result.
func TestOneOfTwoGivesUp(t *testing.T) {
	s := openStore(t)
	begun, end := make(chan struct{}), make(chan struct{})
	res := start(t, s, chain(handsOff("a")), work{Agents: crew(func(ctx context.Context, at driver.Attempt) string {
		type result struct {
			*engine.Return
			error
		}
		first, second := make(chan result), make(chan result)
		go func() {
			got, err := at.HandOff(ctx, handed("it", true))
			first <- result{got, err}
		}()
		<-begun
		for _, gives := range []bool{true, false} {
			short, cancel := context.WithCancel(ctx)
			if gives {
				cancel()
			}
			go func() {
				defer cancel()
				got, err := at.HandOff(short, &engine.HandoffAsked{ID: "a/handoff-1", Blocking: true})
				second <- result{got, err}
			}()
			if gives {
				if r := <-second; !errors.Is(r.error, context.Canceled) {
					t.Errorf("the one that gave up got %+v, %v", r.Return, r.error)
				}
			}
		}
		// The letters arrive in order, so the others wait when this one is refused.
		if _, err := at.HandOff(ctx, &engine.HandoffAsked{ID: "a/handoff-9"}); err == nil {
			t.Error("unknown work has a result")
		}
		close(end)
		for _, r := range []result{<-first, <-second} {
			if r.error != nil || r.Status != engine.Success {
				t.Errorf("%+v, %v", r.Return, r.error)
			}
		}
		return "done"
	}, func(ctx context.Context, prompt string) driver.Outcome {
		close(begun)
		<-end
		return driver.Outcome{Output: prompt}
	})})
	if res.Output != "done" {
		t.Errorf("%s: %v", res.Status, res.Output)
	}
}

// When an attempt is told to stop, it is told why; and when it has ended, what it began ends.
func TestContextOfAnAttempt(t *testing.T) {
	s := openStore(t)
	var first context.Context
	ctx, interrupt := context.WithCancel(t.Context())
	slow := task("slow", "")
	slow.Timeout, slow.OnError = time.Millisecond, workflow.Continue
	var causes []string
	_, err := startRun(ctx, s, spec(chain(task("a", ""), slow, task("b", ""))), work{Agents: agentFunc(func(ctx context.Context, task *engine.StartTask, _ agent.Log) driver.Outcome {
		switch task.Node {
		case "a":
			first = ctx
			return driver.Outcome{}
		case "slow":
			if first.Err() == nil {
				t.Error("the context of an attempt outlives it")
			}
		case "b":
			interrupt()
		}
		<-ctx.Done()
		causes = append(causes, context.Cause(ctx).Error())
		return driver.Outcome{}
	})})
	if !errors.As(err, new(*driver.InterruptedError)) || !slices.Equal(causes, []string{"cancelled", "interrupted"}) {
		t.Errorf("%v; the causes are %q", err, causes)
	}
}

// An agent that ends its goroutine has failed.
func TestAgentThatExits(t *testing.T) {
	res := start(t, openStore(t), chain(task("a", "")), work{Agents: agentFunc(func(context.Context, *engine.StartTask, agent.Log) driver.Outcome {
		runtime.Goexit()
		return driver.Outcome{}
	})})
	if res.Status != engine.Failed || res.Steps[0].Error != "the agent ended without a result" {
		t.Errorf("%s: %s", res.Status, res.Steps[0].Error)
	}
}

// If the session cannot be stored, the log says so, and the step succeeds.
func TestSessionThatCannotBeStored(t *testing.T) {
	s := openStore(t)
	local.Refuse(t, s.Dir(), func() error { return errors.New("it was refused") }, "INSERT ON attempts")
	res := start(t, s, chain(task("a", "")), work{Agents: agentWith(func(_ context.Context, at driver.Attempt) driver.Outcome {
		at.Note("session", "model")
		return driver.Outcome{}
	})})
	if log := readStream(t, s, driver.Output); res.Status != engine.Success || !strings.HasPrefix(log, "[could not store the session: ") {
		t.Errorf("%s; the log is %q", res.Status, log)
	}
}

// ghost makes a run look as if a process on another machine had died while it drove it.
func ghost(t *testing.T, s *journal.Store, holder string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.Dir(), "leases", "ghost.lock"), []byte(holder), 0o600); err != nil {
		t.Fatal(err)
	}
	changeSnapshots(t, s.Dir(), "UPDATE runs SET driver = 'ghost'")
}

// If the process that drove a run died on another machine, its programs cannot be ended from here.
// Everyone who takes up the run is told.
func TestLeftOnAnotherMachine(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Skip(err)
	}
	for holder, told := range map[string]bool{`{"pid": 1, "host": "elsewhere"}`: true, `{"pid": 1, "host": "` + host + `"}`: false, ``: false} {
		interrupted := func() *journal.Store {
			s := openStore(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if _, err := startRun(ctx, s, spec(beside(task("a", ""), gate("ok", "yes"))), work{Agents: agentFunc(func(ctx context.Context, _ *engine.StartTask, _ agent.Log) driver.Outcome {
				cancel()
				<-ctx.Done()
				return driver.Outcome{}
			})}); !errors.As(err, new(*driver.InterruptedError)) {
				t.Fatal(err)
			}
			ghost(t, s, holder)
			return s
		}
		says := func(what, note string) {
			t.Helper()
			if strings.Contains(note, "died on elsewhere") != told || (note != "") != told {
				t.Errorf("%s, with %s: %q", what, holder, note)
			}
		}
		s := interrupted()
		receipt, err := answerRun(t.Context(), s, "demo-1", "ok", "yes", "")
		if err != nil {
			t.Fatal(err)
		}
		says("the answer", receipt.Note)
		s = interrupted()
		err = with(s, work{}, func(d *local.Driver) error {
			made, err := d.Fork(t.Context(), driver.ForkSpec{From: "demo-1", Address: "a"})
			says("the fork", made.Note)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		s = interrupted()
		resume(t, s, work{Agents: echo})
		log := ""
		for p, err := range s.Stream(t.Context(), driver.AttemptID{Run: "demo-1", Address: "a", Attempt: 2}, driver.Output, 0) {
			if err != nil {
				t.Fatal(err)
			}
			log += string(p.Text)
		}
		for p, err := range s.Stream(t.Context(), driver.AttemptID{Run: "demo-1", Address: "a", Attempt: 1}, driver.Output, 0) {
			if err != nil {
				t.Fatal(err)
			}
			log += string(p.Text)
		}
		says("the log", log)
	}
}

// If an output cannot be read for a later step, the run stops there.
func TestOutputThatIsLostAtOnce(t *testing.T) {
	s := openStore(t)
	changeSnapshots(t, s.Dir(), "CREATE TRIGGER spoil AFTER INSERT ON blobs BEGIN UPDATE blobs SET data = '!' || data; END")
	_, err := startRun(t.Context(), s, spec(chain(task("a", "x"), task("b", "y"), task("c", "of ${nodes.a.output}"))), work{Agents: agentFunc(func(_ context.Context, task *engine.StartTask, _ agent.Log) driver.Outcome {
		if task.Node == "c" {
			t.Error("c began")
		}
		return driver.Outcome{Output: outputOf(task.Node)}
	})})
	if !errors.As(err, new(*engine.LoadError)) {
		t.Errorf("%v", err)
	}
}
