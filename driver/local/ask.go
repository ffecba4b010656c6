package local

import (
	"fmt"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/workflow"
)

// answer is what somebody here says to a question.
type answer struct {
	address, value, by string
	scripted           *engine.AskHuman // the question, if the script answers it
	left               bool             // nothing is said, and nothing will be
	query              *query           // what it answers, if an attempt asks
	taken              chan error       // gets one value; nil: it was taken
}

// judge says why the answer is not taken, or nil. Only the first word counts.
func (a *answer) judge(err error) {
	select {
	case a.taken <- err:
	default:
	}
}

// ask has a question answered by the script, else by people who are here. What
// nobody here answers waits for the inbox.
func (l *loop) ask(q engine.AskHuman) {
	if value, delay, ok := l.script.person(&q); ok {
		l.asked[q.Address] = false
		l.answerLater(&answer{address: q.Address, value: value, by: scriptName, scripted: &q, taken: make(chan error, 1)}, delay)
		return
	}
	l.askPerson(&q)
}

// askPerson puts a question to the people who are here.
func (l *loop) askPerson(q *engine.AskHuman) {
	if l.o.Asker == nil {
		return
	}
	mail := l.mail
	l.asked[q.Address] = true // before it is asked: the answer may come at once
	here := l.o.Asker.Ask(q, func(value, by string) error {
		a := &answer{address: q.Address, value: value, by: by, taken: make(chan error, 1)}
		if !mail.post(letter{answer: a}) {
			return fmt.Errorf("the run is not driven any more")
		}
		return <-a.taken
	}, func() { mail.post(letter{answer: &answer{address: q.Address, left: true, taken: make(chan error, 1)}}) })
	if !here {
		delete(l.asked, q.Address)
	}
}

// scriptName is who answered, when a script did.
const scriptName = "replies"

// answerLater posts an answer after a delay, unless the loop ends before.
func (l *loop) answerLater(a *answer, delay time.Duration) {
	mail := l.mail
	if delay <= 0 {
		mail.post(letter{answer: a})
		return
	}
	fires, stop := l.d.o.Clock.Timer(delay)
	done := l.attempts.base.Done()
	go func() {
		defer stop()
		select {
		case <-fires:
			mail.post(letter{answer: a})
		case <-done:
		}
	}()
}

// answered records an answer that was given here, if it fits. A scripted one that
// does not is left to people.
func (l *loop) answered(a *answer) error {
	if a.query != nil {
		a.judge(l.answerHere(a))
		return nil
	}
	if a.left {
		l.withdraw(a.address)
		return nil
	}
	e := l.now(&engine.HumanAnswered{Address: a.address, Value: valid(a.value), By: valid(a.by)})
	if err := l.run.Admit(e); err != nil {
		a.judge(err)
		if _, open := l.asked[a.address]; open && a.scripted != nil {
			delete(l.asked, a.address)
			l.askPerson(a.scripted)
		}
		return nil
	}
	err := l.record(journal.Batch{Events: []engine.Envelope{e}})
	a.judge(err)
	return err
}

// withdraw takes a question back from those who are here.
func (l *loop) withdraw(address string) {
	person, open := l.asked[address]
	delete(l.asked, address)
	if open && person {
		l.o.Asker.Withdraw(address)
	}
}

// script keeps the duties that an [agent.Script] asks of a driver. Without a
// script it does nothing.
type script struct {
	agent.Script
	all   bool // required questions too
	gates map[string]bool
}

func newScript(s agent.Script, b *workflow.Bundle, all bool) *script {
	sc := &script{Script: s, all: all}
	if s != nil {
		sc.gates = gates(b)
	}
	return sc
}

// gates are the human nodes of a bundle, by workflow and id.
func gates(b *workflow.Bundle) map[string]bool {
	found := map[string]bool{}
	note := func(w *workflow.Workflow) {
		w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
			if _, human := n.Step.(*workflow.Human); human {
				found[w.Name+"/"+n.ID] = true
			}
		})
	}
	note(b.Root)
	for _, w := range b.Called {
		note(w)
	}
	return found
}

func (s *script) task(t *engine.StartTask) (agent.Executor, bool) {
	if s.Script == nil {
		return nil, false
	}
	return s.Script.Task(t.Address, t.Node, t.Attempt)
}

// person is the scripted answer to a question of a human node. Whether a lost
// task did its work is in no script.
func (s *script) person(q *engine.AskHuman) (string, time.Duration, bool) {
	if s.Script == nil || !s.gates[q.Workflow+"/"+q.Node] || q.Required && !s.all {
		return "", 0, false
	}
	return s.Script.Person(q.Address, q.Node)
}

// happened counts an event.
func (s *script) happened(ev engine.Event) {
	if s.Script == nil {
		return
	}
	switch ev := ev.(type) {
	case *engine.TaskEnded:
		s.Script.Ended(ev.Address)
	case *engine.HumanAnswered:
		s.Script.Ended(ev.Address)
	case *engine.Started, *engine.TimerFired, *engine.CancelAsked, *engine.LimitRaised, *engine.Recovered, *engine.Forked:
	}
}

func (s *script) withdrawn(address string) {
	if s.Script != nil {
		s.Script.Ended(address)
	}
}

// commanded counts commands that are not carried out: those of a replay.
func (s *script) commanded(cmds []engine.Command) {
	if s.Script == nil {
		return
	}
	for _, c := range cmds {
		switch c := c.(type) {
		case *engine.StartTask:
			s.task(c)
		case *engine.AskHuman:
			s.person(c)
		case *engine.WithdrawHuman:
			s.withdrawn(c.Address)
		case *engine.CancelTask, *engine.SetTimer, *engine.CancelTimer, *engine.Finish:
		}
	}
}
