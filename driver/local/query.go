package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// query is what an attempt asks a person while it runs. It is no part of the run:
// an attempt that is made again asks again.
type query struct {
	key      attemptKey
	question agent.Question
	over     <-chan struct{} // closed when the attempt does not wait any more
	reply    chan queryReply // gets one value
	shown    time.Time       // since when it can be answered
}

type queryReply struct {
	value string
	err   error
}

// tell answers it. Only the first answer counts.
func (q *query) tell(value string, err error) {
	select {
	case q.reply <- queryReply{value, err}:
	default:
	}
}

// queries are those that are open, by the address of their task. Only the first of
// an address is shown.
type queries map[string][]*query

// asker gives an attempt the way to ask.
func (m *mailbox) asker(key attemptKey) agent.Ask {
	return func(ctx context.Context, question agent.Question) (string, error) {
		q := &query{key: key, question: question, over: ctx.Done(), reply: make(chan queryReply, 1)}
		if !m.post(letter{query: q}) {
			return "", agent.ErrNobody
		}
		select {
		case r := <-q.reply:
			return r.value, r.err
		case <-ctx.Done():
			m.post(letter{query: q}) // so that it is taken back
			return "", context.Cause(ctx)
		}
	}
}

// noting has what an attempt asks, and what it is told, stand in its log.
func (l *attemptLog) noting(ask agent.Ask) agent.Ask {
	return func(ctx context.Context, q agent.Question) (string, error) {
		text := "[asks] " + q.Text
		if q.Detail != "" {
			text += "\n" + q.Detail
		}
		l.write([]byte(text + "\n[answers] " + strings.Join(q.Options, ", ") + "\n"))
		value, err := ask(ctx, q)
		switch {
		case err == nil:
			l.write([]byte("[answered] " + value + "\n"))
		case errors.Is(err, agent.ErrNobody):
			l.write([]byte("[nobody is here to answer]\n"))
		}
		return value, err
	}
}

// queried shows a new question, or takes one back that is over.
func (l *loop) queried(q *query) {
	address := q.key.address
	select {
	case <-q.over:
		l.removeQuery(q)
		return
	default:
	}
	if l.queries == nil {
		l.queries = queries{}
	}
	l.queries[address] = append(l.queries[address], q)
	if len(l.queries[address]) == 1 {
		l.showQuery(q)
	}
}

// showQuery puts a question to a person who is here. If nobody is, it waits for
// the inbox where somebody may look into that, and else nobody answers it.
func (l *loop) showQuery(q *query) {
	q.shown = time.Now().Truncate(time.Microsecond) // messages have no finer time
	mail := l.mail
	post := func(a *answer) error {
		a.address, a.query, a.taken = q.key.address, q, make(chan error, 1)
		if !mail.post(letter{answer: a}) {
			return fmt.Errorf("the run is not driven any more")
		}
		return <-a.taken
	}
	here := l.o.Asker != nil && l.o.Asker.Ask(q.human(),
		func(value, by string) error { return post(&answer{value: value, by: by}) },
		func() { go func() { _ = post(&answer{left: true}) }() })
	if !here && !l.o.Elsewhere {
		l.removeQuery(q)
		q.tell("", agent.ErrNobody)
	}
}

// human is the question as people are shown it.
func (q *query) human() *engine.AskHuman {
	text := q.question.Text
	if q.question.Detail != "" {
		text += "\n\n" + q.question.Detail
	}
	h := &engine.AskHuman{Address: q.key.address, Question: text, Required: true}
	for _, o := range q.question.Options {
		h.Options = append(h.Options, workflow.Option{Value: o})
	}
	return h
}

// answerQuery takes an answer that was given here.
func (l *loop) answerQuery(a *answer) error {
	if a.left {
		if !l.o.Elsewhere {
			l.removeQuery(a.query)
			a.query.tell("", agent.ErrNobody)
		}
		return nil
	}
	return l.settleQuery(a.query, a.value)
}

// answersQuery takes an answer from the inbox; false: it is not for an attempt. One
// that was sent before the question could be seen is about another one.
func (l *loop) answersQuery(ev engine.Event, sent time.Time) (bool, error) {
	a, ok := ev.(*engine.HumanAnswered)
	if !ok || len(l.queries[a.Address]) == 0 {
		return false, nil
	}
	q := l.queries[a.Address][0]
	if sent.Before(q.shown) {
		return true, fmt.Errorf("there is another question now, which was asked after this answer; look at it first")
	}
	return true, l.settleQuery(q, a.Value)
}

func (l *loop) settleQuery(q *query, value string) error {
	if !slices.Contains(q.question.Options, value) {
		return fmt.Errorf("%q is not offered; answer with %s", value, strings.Join(q.question.Options, ", "))
	}
	l.removeQuery(q)
	q.tell(value, nil)
	return nil
}

// removeQuery takes a question back, and shows the next of its attempt.
func (l *loop) removeQuery(q *query) {
	address := q.key.address
	at := slices.Index(l.queries[address], q)
	if at < 0 {
		return
	}
	l.queries[address] = slices.Delete(l.queries[address], at, at+1)
	if at > 0 {
		return
	}
	if l.o.Asker != nil {
		l.o.Asker.Withdraw(address)
	}
	if len(l.queries[address]) > 0 {
		l.showQuery(l.queries[address][0])
	} else {
		delete(l.queries, address)
	}
}

// forgetQueries takes back what an attempt asked that has ended.
func (l *loop) forgetQueries(address string) {
	if len(l.queries[address]) > 0 && l.o.Asker != nil {
		l.o.Asker.Withdraw(address)
	}
	delete(l.queries, address)
}
