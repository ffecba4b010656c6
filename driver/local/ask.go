package local

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/workflow"
)

var errStopped = errors.New("the run has stopped")

// answer is an answer that a person here gave to a question.
type answer struct {
	engine.Answered
	scripted *engine.Question // the question, if the script answers it
	left     bool             // no one here will answer
	taken    chan error       // receives one value; nil: it was accepted
}

func newAnswer(a engine.Answered) *answer { return &answer{Answered: a, taken: make(chan error, 1)} }

// judge reports to the sender why the answer is not accepted; nil accepts it. Only the first call counts.
func (a *answer) judge(err error) {
	select {
	case a.taken <- err:
	default:
	}
}

// shown is a question that a person here may answer.
type shown struct {
	digest string
	person bool // otherwise the script
}

// ask lets the script answer a question, otherwise people who are here. If no one here answers, it
// waits for the inbox.
func (l *loop) ask(q engine.Question) {
	l.unsaid = true
	if l.asked[q.ID].digest == q.Digest {
		return // a new attempt took over the question of an earlier one
	}
	l.withdraw(q.ID)
	if value, delay, ok := l.script.Answer(&q); ok {
		l.asked[q.ID] = shown{digest: q.Digest}
		a := newAnswer(engine.Answered{ID: q.ID, Value: value, By: scriptName, Via: scriptName, Digest: q.Digest})
		a.scripted = &q
		l.answerLater(a, delay)
		return
	}
	l.askPerson(&q)
}

// askPerson puts a question to the people who are here.
func (l *loop) askPerson(q *engine.Question) {
	if l.o.Asker == nil {
		return
	}
	mail := l.mail
	leave := func() {
		a := newAnswer(engine.Answered{ID: q.ID})
		a.left = true
		mail.post(letter{answer: a})
	}
	l.asked[q.ID] = shown{q.Digest, true} // before it is asked: the answer may come immediately
	here := l.o.Asker.Ask(q, func(said engine.Answered) error {
		said.ID, said.Digest = q.ID, q.Digest
		a := newAnswer(said)
		if !mail.post(letter{answer: a}) {
			return errStopped
		}
		return <-a.taken
	}, leave)
	if !here {
		delete(l.asked, q.ID)
		if q.Kind == engine.PermissionQuestion {
			leave()
		}
	}
}

// scriptName is recorded as the author of a scripted answer.
const scriptName = "replies"

// answerLater posts an answer after a delay, unless the loop ends first.
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

// answered records an answer that was given here, if it is valid. An invalid scripted answer is
// left for people to replace.
func (l *loop) answered(a *answer) error {
	if a.left {
		return l.left(a.ID)
	}
	e := l.now(validAnswer(a.Answered))
	if err := l.run.Admit(e); err != nil {
		a.judge(err)
		if _, open := l.asked[a.ID]; open && a.scripted != nil {
			delete(l.asked, a.ID)
			l.askPerson(a.scripted)
		}
		return nil
	}
	err := l.record(journal.Batch{Events: []engine.Envelope{e}})
	a.judge(err)
	return err
}

// left is called when no one here will answer a question. Unless it may be answered elsewhere, an
// attempt does not wait.
func (l *loop) left(id string) error {
	l.withdraw(id)
	if q := l.queries[id]; q != nil && !l.o.Elsewhere {
		return l.dropQuery(q)
	}
	return nil
}

// validAnswer returns an answer as it will come back from the journal.
func validAnswer(a engine.Answered) *engine.Answered {
	a.Value, a.By, a.Via, a.Comment = driver.Valid(a.Value), driver.Valid(a.By), driver.Valid(a.Via), driver.Valid(a.Comment)
	return &a
}

// forgetAnswered withdraws questions that are no longer open.
func (l *loop) forgetAnswered() {
	l.unsaid = true
	open := map[string]string{}
	for _, q := range l.run.Questions() {
		open[q.ID] = q.Digest
	}
	for id, s := range l.asked {
		if open[id] != s.digest {
			l.withdraw(id)
		}
	}
}

// withdraw withdraws a question from the people who are here.
func (l *loop) withdraw(id string) {
	s, open := l.asked[id]
	delete(l.asked, id)
	if open && s.person {
		l.o.Asker.Withdraw(id)
	}
}

// query is a question that an attempt asks while it runs, and waits for.
type query struct {
	key   attemptKey
	asked agent.Question
	log   *attemptLog
	over  <-chan struct{} // closed when the attempt no longer waits
	id    string          // of the question; "": not recorded yet. Owned by the loop
	done  bool            // it was told. Owned by the loop
	reply chan queryReply // receives one value
}

type queryReply struct {
	value string
	err   error
}

// tell answers it. Only the first answer counts. The log has the answer before the attempt does, which
// may then end and close its log.
func (q *query) tell(value string, err error) {
	if q.done {
		return
	}
	q.done = true
	switch {
	case err == nil:
		q.log.say("[answered " + q.id + "] " + value)
	case errors.Is(err, agent.ErrNobody):
		q.log.say(strings.TrimSuffix("[nobody is available to answer "+q.id, " ") + "]")
	default:
		q.log.say("[withdrawn " + q.id + "]")
	}
	q.reply <- queryReply{value, err}
}

// asking lets an attempt ask questions. Its questions and their answers are in its log.
func (l *loop) asking(key attemptKey, log *attemptLog) agent.Ask {
	mail := l.mail // the rest belongs to the loop
	return func(ctx context.Context, asked agent.Question) (string, error) {
		q := &query{key: key, asked: asked, log: log, over: ctx.Done(), reply: make(chan queryReply, 1)}
		if !mail.post(letter{query: q}) {
			return "", agent.ErrNobody
		}
		select {
		case r := <-q.reply:
			return r.value, r.err
		case <-ctx.Done():
			if mail.post(letter{query: q}) { // so that it is withdrawn
				<-q.reply // the log has it
			}
			return "", context.Cause(ctx)
		}
	}
}

// queried records a question of an attempt, or that the attempt no longer waits for the
// answer.
func (l *loop) queried(q *query) error {
	select {
	case <-q.over:
		return l.dropQuery(q)
	default:
	}
	if l.o.Asker == nil && !l.o.Elsewhere {
		q.tell("", agent.ErrNobody)
		return nil
	}
	ev := &engine.Asked{Address: q.key.address, Attempt: q.key.attempt, Text: driver.Valid(q.asked.Text), Detail: driver.Valid(q.asked.Detail), Custom: q.asked.Custom}
	for _, o := range q.asked.Options {
		ev.Options = append(ev.Options, workflow.Option{Value: driver.Valid(o)})
	}
	e := l.now(ev)
	if l.run.Admit(e) != nil { // the attempt is over
		q.tell("", agent.ErrNobody)
		return nil
	}
	l.query = q
	defer func() { l.query = nil }()
	return l.record(journal.Batch{Events: []engine.Envelope{e}})
}

// known gives the question that an attempt has just asked its id.
func (l *loop) known(q *engine.Question) {
	if l.query == nil || q.Kind != engine.PermissionQuestion || q.Orphaned || l.query.id != "" {
		return
	}
	l.query.id = q.ID
	l.queries[q.ID] = l.query
	text := "[asks " + q.ID + "] " + q.Text
	if q.Detail != "" {
		text += "\n" + q.Detail
	}
	l.query.log.say(text + "\n[answers] " + strings.Join(l.query.asked.Options, ", "))
}

// replied passes the answer to an attempt.
func (l *loop) replied(c *engine.Reply) {
	q := l.queries[c.ID]
	if q == nil && l.query != nil { // it was answered before it was asked
		q = l.query
		q.id = c.ID
	}
	delete(l.queries, c.ID)
	if q != nil {
		q.tell(c.Value, nil)
	}
}

// dropQuery ends a question that no one here can answer.
func (l *loop) dropQuery(q *query) error {
	select {
	case <-q.over:
		q.tell("", context.Canceled)
	default:
		q.tell("", agent.ErrNobody)
	}
	if l.queries[q.id] != q {
		return nil
	}
	delete(l.queries, q.id)
	e := l.now(&engine.Withdrawn{ID: q.id})
	if l.run.Admit(e) != nil {
		return nil
	}
	return l.record(journal.Batch{Events: []engine.Envelope{e}})
}
