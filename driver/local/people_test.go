package local_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/workflow"
)

// readStream is what the first attempt at a left in a stream.
func readStream(t *testing.T, s *journal.Store, stream driver.Stream) string {
	t.Helper()
	text := ""
	for p, err := range s.Stream(t.Context(), driver.AttemptID{Run: "demo-1", Address: "a", Attempt: 1}, stream, 0) {
		if err != nil {
			t.Fatal(err)
		}
		text += string(p.Text)
	}
	return text
}

// person is an Asker who answers with the given words, one after the other, until
// one is taken.
type person struct {
	absent    bool
	leaves    bool // at once
	words     []string
	refusals  []string
	withdrawn []string
	done      chan struct{} // closed when all words are said
}

func (p *person) Ask(q *engine.Question, answer func(engine.Answered) error, leave func()) bool {
	if p.leaves {
		go leave()
		return true
	}
	if p.absent {
		return false
	}
	go func() {
		defer close(p.done)
		for _, w := range p.words {
			if err := answer(engine.Answered{Value: w, By: "ann"}); err != nil {
				p.refusals = append(p.refusals, err.Error())
			}
		}
	}()
	return true
}

func (p *person) Withdraw(address string) { p.withdrawn = append(p.withdrawn, address) }

func TestPersonAtTheTerminal(t *testing.T) {
	s := openStore(t)
	p := &person{words: []string{"perhaps", "yes", "no"}, done: make(chan struct{})}
	res := start(t, s, chain(gate("ok", "yes", "no"), task("b", "${nodes.ok.output}")), work{Agents: echo, Asker: p})
	if res.Status != engine.Success || res.Output != "yes" {
		t.Errorf("%s %v", res.Status, res.Output)
	}
	<-p.done
	if len(p.refusals) != 2 || !strings.Contains(p.refusals[0], `does not offer "perhaps"`) {
		t.Errorf("refusals: %q", p.refusals)
	}
	if diff := cmp.Diff([]string{"ok"}, p.withdrawn); diff != "" {
		t.Errorf("withdrawn (-want +got):\n%s", diff)
	}
	_, events, err := loadRun(t.Context(), s, "demo-1")
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := events[1].Event.(*engine.Answered); !ok || got.By != "ann" || got.Value != "yes" {
		t.Errorf("recorded: %+v", events[1].Event)
	}
}

// Who cannot be asked is not waited for.
func TestNobodyIsHere(t *testing.T) {
	s := openStore(t)
	p := &person{absent: true}
	if res := start(t, s, chain(gate("ok", "yes")), work{Agents: echo, Asker: p}); res.Status != engine.Waiting {
		t.Errorf("the run is %s", res.Status)
	}
}

// Who leaves a question is not waited for either.
func TestPersonLeaves(t *testing.T) {
	s := openStore(t)
	p := &person{leaves: true}
	if res := start(t, s, chain(gate("ok", "yes")), work{Agents: echo, Asker: p}); res.Status != engine.Waiting {
		t.Errorf("the run is %s", res.Status)
	}
}

// A scripted answer that is not offered leaves the question to people.
func TestScriptedAnswerThatIsNotOffered(t *testing.T) {
	script := func() *fakeScript { return &fakeScript{people: map[string]string{"ok": "perhaps"}} }
	s := openStore(t)
	if res := start(t, s, chain(gate("ok", "yes")), work{Agents: echo, Script: script()}); res.Status != engine.Waiting {
		t.Errorf("nobody is here: the run is %s", res.Status)
	}
	p := &person{words: []string{"yes"}, done: make(chan struct{})}
	if res := resume(t, s, work{Agents: echo, Script: script(), Asker: p}); res.Status != engine.Success {
		t.Errorf("a person is here: the run is %s", res.Status)
	}
}

// A person who is here and says nothing is waited for until the deadline.
func TestPersonSaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		p := &person{done: make(chan struct{})}
		began := time.Now()
		res := start(t, s, chain(gate("ok", "yes")), work{Agents: echo, Asker: p, Poll: time.Hour})
		if res.Status != engine.Failed || time.Since(began) != 24*time.Hour {
			t.Errorf("%s after %s", res.Status, time.Since(began))
		}
		if diff := cmp.Diff([]string{"ok"}, p.withdrawn); diff != "" {
			t.Errorf("withdrawn (-want +got):\n%s", diff)
		}
	})
}

// Somebody else answers first: the question is withdrawn here.
func TestAnsweredElsewhere(t *testing.T) {
	s := openStore(t)
	p := &person{done: make(chan struct{})}
	result := make(chan engine.Result)
	go func() {
		res, err := startRun(context.Background(), s, spec(chain(gate("ok", "yes"))), work{Agents: echo, Asker: p, Poll: time.Millisecond})
		if err != nil {
			t.Error(err)
		}
		result <- res
	}()
	<-p.done // it has been asked
	receipt, err := answerRun(t.Context(), s, "demo-1", "ok", "yes", "bob")
	if err != nil || !receipt.Driven {
		t.Errorf("Answer = %+v, %v", receipt, err)
	}
	if res := <-result; res.Status != engine.Success {
		t.Errorf("the run is %s", res.Status)
	}
	if diff := cmp.Diff([]string{"ok"}, p.withdrawn); diff != "" {
		t.Errorf("withdrawn (-want +got):\n%s", diff)
	}
}

// A message whose sender has died is taken by the next driver.
func TestMessageWaitsForADriver(t *testing.T) {
	s := openStore(t)
	start(t, s, chain(gate("ok", "yes")), work{Agents: echo})
	for _, value := range []string{"perhaps", "yes", "yes"} {
		if _, err := s.Send(t.Context(), "demo-1", &engine.Answered{ID: "ok", Value: value}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if res := resume(t, s, work{Agents: echo}); res.Status != engine.Success {
		t.Errorf("the run is %s", res.Status)
	}
	for id, want := range map[int64]string{1: "does not offer", 2: "", 3: "the run is over"} {
		v, ok, err := s.Verdict(t.Context(), id)
		if err != nil || !ok || (want == "") != (v.Refused == "") || !strings.Contains(v.Refused, want) {
			t.Errorf("message %d: %+v, %v, %v", id, v, ok, err)
		}
	}
}

// fakeScript answers from maps, and writes down what it is told.
type fakeScript struct {
	tasks, people map[string]string
	told          []string
}

func (f *fakeScript) Task(address, node string, attempt int, _ bool) (agent.Executor, bool) {
	out, ok := f.tasks[node]
	f.told = append(f.told, "task "+address)
	return agent.Func(func(context.Context, *agent.Task, agent.Log) (agent.Result, error) {
		return agent.Result{Output: out}, nil
	}), ok
}

func (f *fakeScript) Person(address, node string) (string, time.Duration, bool) {
	out, ok := f.people[node]
	f.told = append(f.told, "person "+address)
	return out, 10 * time.Millisecond, ok
}

func (f *fakeScript) Ended(address string) { f.told = append(f.told, "ended "+address) }

func TestScript(t *testing.T) {
	s := openStore(t)
	b := chain(task("a", "real a"), task("b", "real b"), gate("ok", "yes", "no"), gate("sure", "yes"))
	b.Root.Body.Nodes[3].Step.(*workflow.Human).Required = true
	script := func() *fakeScript {
		return &fakeScript{tasks: map[string]string{"a": "scripted"}, people: map[string]string{"ok": "no", "sure": "yes"}}
	}
	first := script()
	res := start(t, s, b, work{Agents: echo, Script: first})
	if res.Status != engine.Waiting || res.Steps[0].Output != "scripted" || res.Steps[1].Output != "real b" || res.Steps[2].Output != "no" {
		t.Errorf("%s %+v", res.Status, res.Steps)
	}
	if diff := cmp.Diff([]string{"task a", "ended a", "task b", "ended b", "person ok", "ended ok"}, first.told); diff != "" {
		t.Errorf("the script was told (-want +got):\n%s", diff)
	}

	// A replay tells a new script the same, and then goes on.
	second := script()
	if res := resume(t, s, work{Agents: echo, Script: second, ScriptAll: true}); res.Status != engine.Success {
		t.Errorf("the run is %s", res.Status)
	}
	told := strings.Join(second.told, ", ")
	if !strings.HasPrefix(told, strings.Join(first.told, ", ")) || !strings.HasSuffix(told, "person sure, ended sure") {
		t.Errorf("the second script was told %s", told)
	}
}

// A defect in whoever asks stops the driver and not the run.
func TestAskerPanics(t *testing.T) {
	s := openStore(t)
	_, err := startRun(t.Context(), s, spec(chain(gate("ok", "yes"))), work{Agents: echo, Asker: panicking{}})
	var broken *driver.BrokenError
	if !errors.As(err, &broken) || broken.Stack == nil {
		t.Errorf("%v", err)
	}
	if res := resume(t, s, work{Agents: echo}); res.Status != engine.Waiting {
		t.Errorf("the run is %s", res.Status)
	}
}

type panicking struct{}

func (panicking) Ask(*engine.Question, func(engine.Answered) error, func()) bool {
	panic("no terminal")
}
func (panicking) Withdraw(string) {}
