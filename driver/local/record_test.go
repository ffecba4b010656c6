package local_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/workflow"
)

// asker asks a person with a function.
type asker func(q *engine.Question, answer func(engine.Answered) error, leave func()) bool

func (a asker) Ask(q *engine.Question, answer func(engine.Answered) error, leave func()) bool {
	return a(q, answer, leave)
}

func (asker) Withdraw(string) {}

// says returns a person who gives an answer and is told with err whether it was recorded.
func says(value string, err func(error)) asker {
	return func(_ *engine.Question, answer func(engine.Answered) error, _ func()) bool {
		go func() { err(answer(engine.Answered{Value: value, By: "ann"})) }()
		return true
	}
}

// handsOff returns a task that may hand work off.
func handsOff(id string) workflow.Node {
	n := task(id, "lead")
	n.Step.(*workflow.Task).Handoffs = &workflow.Handoffs{To: []string{"helper"}, Max: 9, Depth: 1}
	return n
}

// work that an attempt hands off.
func handed(prompt string, blocking bool) *engine.HandoffAsked {
	return &engine.HandoffAsked{Blocking: blocking, Definition: &workflow.Workflow{Name: "handoff", Body: workflow.Graph{Nodes: []workflow.Node{
		{ID: "handoff", Step: &workflow.Task{Agent: "helper", Prompt: workflow.Template{Text: prompt}}}}}}}
}

// play is a run that ends with an output, whatever happens on the way.
type play struct {
	bundle *workflow.Bundle
	work   func() driver.Work
	before func(s *journal.Store, run string) error // after the start
	output string
}

var plays = map[string]play{
	"tasks": {bundle: chain(task("a", "x"), task("b", "y ${nodes.a.output}")), work: func() driver.Work { return driver.Work{Agents: echo} }, output: "y x"},
	"retry": {
		bundle: func() *workflow.Bundle {
			n := task("a", "x")
			n.Retry = workflow.Retry{Attempts: 2, Delay: time.Millisecond}
			return chain(n)
		}(),
		work: func() driver.Work {
			return driver.Work{Agents: agentFunc(func(_ context.Context, task *engine.StartTask, _ agent.Log) driver.Outcome {
				if task.Attempt == 1 {
					return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: "no"}}
				}
				return driver.Outcome{Output: "x"}
			})}
		},
		output: "x",
	},
	"person": {
		bundle: chain(gate("ok", "yes")),
		work:   func() driver.Work { return driver.Work{Agents: echo, Asker: says("yes", func(error) {})} },
		output: "yes",
	},
	"script": {
		bundle: chain(gate("ok", "yes")),
		work:   func() driver.Work { return driver.Work{Agents: echo, Script: scripted{"yes", time.Millisecond}} },
		output: "yes",
	},
	"question of an attempt": {
		bundle: chain(task("a", "")),
		work: func() driver.Work {
			return driver.Work{Agents: asking{[]agent.Question{mayI}}, Asker: says("allow", func(error) {})}
		},
		output: "allow;",
	},
	"person who leaves": {
		bundle: chain(task("a", "")),
		work: func() driver.Work {
			return driver.Work{Agents: asking{[]agent.Question{mayI}}, Asker: asker(func(_ *engine.Question, _ func(engine.Answered) error, leave func()) bool {
				go leave()
				return true
			})}
		},
		output: "error: " + agent.ErrNobody.Error() + ";",
	},
	"attempt that gives up asking": {
		bundle: chain(task("a", "")),
		work: func() driver.Work {
			shown := make(chan struct{}, 9)
			return driver.Work{
				Asker: asker(func(*engine.Question, func(engine.Answered) error, func()) bool { shown <- struct{}{}; return true }),
				Agents: agentWith(func(ctx context.Context, at driver.Attempt) driver.Outcome {
					short, cancel := context.WithCancel(ctx)
					go func() {
						select {
						case <-shown:
						case <-ctx.Done():
						}
						cancel()
					}()
					_, err := at.Ask(short, mayI)
					return driver.Outcome{Output: err.Error()}
				}),
			}
		},
		output: context.Canceled.Error(),
	},
	"handoff": {
		bundle: chain(handsOff("a")),
		work: func() driver.Work {
			return driver.Work{Agents: attemptFunc(func(ctx context.Context, _ string, task *engine.StartTask, at driver.Attempt) driver.Outcome {
				if task.Agent == "helper" {
					return driver.Outcome{Output: "did " + task.Prompt}
				}
				got, err := at.HandOff(ctx, handed("this", true))
				if err != nil {
					return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: err.Error()}}
				}
				return driver.Outcome{Output: workflow.FormatText(got.Output)}
			})}
		},
		output: "did this",
	},
	"handoff that is given up": {
		bundle: chain(handsOff("a")),
		work: func() driver.Work {
			begun := make(chan struct{}, 9)
			return driver.Work{Agents: attemptFunc(func(ctx context.Context, _ string, task *engine.StartTask, at driver.Attempt) driver.Outcome {
				if task.Agent == "helper" {
					begun <- struct{}{}
					<-ctx.Done()
					return driver.Outcome{}
				}
				short, cancel := context.WithCancel(ctx)
				go func() {
					select {
					case <-begun:
					case <-ctx.Done():
					}
					cancel()
				}()
				_, err := at.HandOff(short, handed("this", true))
				return driver.Outcome{Output: err.Error(), Fault: &engine.Fault{Kind: engine.FaultError, Permanent: true, Message: "given up"}}
			})}
		},
	},
	"message": {
		bundle: chain(gate("ok", "yes")),
		work:   func() driver.Work { return driver.Work{Agents: echo} },
		before: func(s *journal.Store, run string) error {
			var errs []error
			for _, value := range []string{"perhaps", "yes"} {
				_, err := s.Send(context.Background(), run, &engine.Answered{ID: "ok", Value: value}, time.Now())
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		},
		output: "yes",
	},
	"message after a deadline": {
		bundle: func() *workflow.Bundle {
			first, second := gate("first", "yes"), gate("second", "yes")
			first.Timeout, first.OnError = time.Nanosecond, workflow.Continue
			return &workflow.Bundle{Root: &workflow.Workflow{Name: "demo", Body: workflow.Graph{Nodes: []workflow.Node{first, second}}}}
		}(),
		work: func() driver.Work { return driver.Work{Agents: echo} },
		before: func(s *journal.Store, run string) error {
			_, err := s.Send(context.Background(), run, &engine.Answered{ID: "second", Value: "yes"}, time.Now().Add(time.Hour))
			return err
		},
		output: "yes",
	},
}

// scripted is a script that answers all questions after a delay.
type scripted struct {
	value string
	delay time.Duration
}

func (scripted) Task(string, string, int, bool) (agent.Executor, bool) { return nil, false }

func (s scripted) Person(string, string) (string, time.Duration, bool) { return s.value, s.delay, true }

func (scripted) Ended(string) {}

// Whichever change of the journal fails, Drive returns the error, and nothing is lost: the run can be
// driven to its end afterwards.
func TestAnyRecordMayFail(t *testing.T) {
	for name, p := range plays {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			d := openWith(t, dir, local.Options{Poll: time.Millisecond})
			s := spec(p.bundle)
			s.Run = "first"
			if _, err := d.Start(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			store, err := journal.Open(dir, journal.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			var mu sync.Mutex
			left := 0
			local.Refuse(t, dir, func() error {
				mu.Lock()
				defer mu.Unlock()
				if left--; left == 0 {
					return errors.New("it was refused")
				}
				return nil
			}, "INSERT ON events", "UPDATE ON runs", "UPDATE ON inbox", "INSERT ON asked", "DELETE ON asked")
			try := func(run string, nth int) (engine.Result, bool, error) {
				mu.Lock()
				left = nth
				mu.Unlock()
				res, err := d.Drive(t.Context(), run, p.work())
				mu.Lock()
				defer mu.Unlock()
				return res, left <= 0, err
			}
			for nth, more := 1, true; more; nth++ {
				s.Run = fmt.Sprint("demo-", nth)
				s.Owner.Claimed = nth%2 == 0 && p.before == nil // messages are read when a run is taken up
				_, err := d.Start(t.Context(), s)
				if err == nil && p.before != nil {
					err = p.before(store, s.Run)
				}
				if err != nil {
					t.Fatal(err)
				}
				var res engine.Result
				res, more, err = try(s.Run, nth)
				if more {
					if err == nil || !strings.Contains(err.Error(), "it was refused") {
						t.Errorf("change %d failed, and Drive returned %s, %v", nth, res.Status, err)
					}
					res, _, err = try(s.Run, 0)
				}
				if output, _ := res.Output.(string); err != nil || !res.Status.Done() || output != p.output {
					t.Errorf("after change %d failed: %s %v %s, %v", nth, res.Status, res.Output, res.Error, err)
				}
			}
		})
	}
}
